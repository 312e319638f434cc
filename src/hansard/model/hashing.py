"""Hashes of conversation content, and the binding of opaque reasoning to the prefix it was made for.

A signature or encrypted reasoning is valid only for the provider, transport and model that made it, and only after the
same prefix. The digest covers roles and parts, without ids, times and residue.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import force_setattr, replace

from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import Conversation, Message
from hansard.model.machinery import is_machinery, seen_role


def opaque(part: Any) -> bool:
    """Whether the part carries a signature or encrypted content."""
    kind = type(part)
    if kind is p.TextPart or kind is p.ToolCallPart or kind is p.ToolResultPart or kind is p.FilePart:
        return part.signature is not UNSET
    if kind is p.ReasoningPart or kind is p.CompactionPart:
        return part.signature is not UNSET or part.encrypted is not UNSET
    return False


def hashed_content(part: Any) -> str:
    """Content of a part as the digest covers it."""
    kind = type(part)
    if kind is p.TextPart or kind is p.ReasoningPart:
        return f"\x1ft{part.text}"
    if kind is p.ToolCallPart:
        arguments = part.input_text if type(part.input_text) is str else _json(part.input)
        return f"\x1fc{part.tool_name}\x1f{arguments}"
    if kind is p.ToolResultPart:
        inner = _json(part.output) if part.content is UNSET else "".join(map(hashed_content, part.content))
        return f"\x1fr{inner}"
    if kind is p.FilePart:
        return f"\x1ff{part.url}\x1f{part.data}\x1f{part.file_id}"
    if kind is p.DataPart:
        if is_machinery(part):
            return f"\x1ft{part.data['text']}"
        return f"\x1fd{part.name}\x1f{_json(part.data)}"
    if kind is p.RawPart:
        return f"\x1fw{_json(part.value)}"
    if kind is p.SourcePart:
        return f"\x1fs{part.url}"
    if kind is p.RetryPart:
        return f"\x1fy{_json(part.content)}"
    return f"\x1ft{part.text}"  # refusal, compaction


def _json(value: Any) -> str:
    if type(value) is str:
        return value
    return "" if value is UNSET else exact_json.encode(value).decode()


def digests(messages: Sequence[Message], wanted: Container[int]) -> dict[int, str]:
    """Digest of all content before each wanted message."""
    import hashlib  # slow to import, and most conversations do not need it

    chain = hashlib.sha256()
    contents: list[str] = []
    found: dict[int, str] = {}
    for i, message in enumerate(messages):
        if i in wanted:
            chain.update("".join(contents).encode("utf-8", "surrogatepass"))
            contents.clear()
            found[i] = chain.hexdigest()[:32]
        contents.append(f"\x1e{seen_role(message)}")
        for part in message.parts:
            contents.append(hashed_content(part))
    return found


def bind(messages: list[Message], provider: str | None, model: str | None = None) -> None:
    """Set the binding of each opaque part of messages that were just read.

    The prefix of a first message is unknown (a response by itself) and stays unset.
    """
    part: Any
    signed = []
    for i, message in enumerate(messages):
        if message.role == "assistant":
            for part in message.parts:
                if opaque(part):
                    signed.append(i)
                    break
    if not signed:
        return
    for i, prefix in digests(messages[: signed[-1] + 1], set(signed)).items():
        message = messages[i]
        owner = message.model.name if message.model is not UNSET and type(message.model.name) is str else model
        default = p.Binding(provider=provider or UNSET, model=owner or UNSET, prefix=prefix if i else UNSET)
        for part in message.parts:
            if opaque(part):
                given = part.binding
                force_setattr(part, "binding", default if given is UNSET else replace(given, prefix=default.prefix))


def append_answer(conversation: Conversation, answer: Conversation | Message | Sequence[Message]) -> Conversation:
    """A new conversation with an answer at its end; its opaque reasoning is bound to the conversation before it.

    >>> asked = Conversation(messages=[Message(role="user", parts=[p.TextPart(text="hi")])])
    >>> thought = p.ReasoningPart(text="", signature="s", binding=p.Binding(provider="anthropic"))
    >>> answered = append_answer(asked, [Message(role="assistant", parts=[thought])])
    >>> len(answered.messages), len(answered.messages[1].parts[0].binding.prefix)
    (2, 32)
    """
    if isinstance(answer, Conversation):
        answer = answer.messages
    new = Conversation(messages=[answer] if isinstance(answer, Message) else answer).messages
    messages = [*conversation.messages, *new]
    first = len(conversation.messages)
    for i, prefix in digests(messages, range(first, len(messages))).items():
        parts = [_bound(part, prefix) for part in messages[i].parts]
        if any(part is not old for part, old in zip(parts, messages[i].parts, strict=True)):
            messages[i] = replace(messages[i], parts=parts)
    return replace(conversation, messages=messages)


append = append_answer


def _bound(part: Any, prefix: str) -> Any:
    """Bind an opaque part that has no prefix yet."""
    if not opaque(part) or (part.binding is not UNSET and part.binding.prefix is not UNSET):
        return part
    return replace(part, binding=replace(part.binding if part.binding is not UNSET else p.Binding(), prefix=prefix))
