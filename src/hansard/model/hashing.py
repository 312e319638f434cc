"""What opaque reasoning is bound to, and the digest of the words before it.

A signature or an encrypted thought is worth something only to the provider (and transport, and model) that
made it, and only behind the same words. The digest chains over what was said: roles and parts, without ids,
times and residue.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import force_setattr, replace

from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import (
    Binding,
    CompactionPart,
    DataPart,
    FilePart,
    RawPart,
    ReasoningPart,
    RetryPart,
    SourcePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)


def opaque(part: Any) -> bool:
    """Does the part carry a proof or a cipher that only its maker understands?"""
    kind = type(part)
    if kind is TextPart or kind is ToolCallPart or kind is ToolResultPart or kind is FilePart:
        return part.signature is not UNSET
    if kind is ReasoningPart or kind is CompactionPart:
        return part.signature is not UNSET or part.encrypted is not UNSET
    return False


def said(part: Any) -> str:
    """The words of a part, as the digest sees them."""
    kind = type(part)
    if kind is TextPart or kind is ReasoningPart:
        return f"\x1ft{part.text}"
    if kind is ToolCallPart:
        words = part.input_text if type(part.input_text) is str else _json(part.input)
        return f"\x1fc{part.tool_name}\x1f{words}"
    if kind is ToolResultPart:
        inner = _json(part.output) if part.content is UNSET else "".join(map(said, part.content))
        return f"\x1fr{inner}"
    if kind is FilePart:
        return f"\x1ff{part.url}\x1f{part.data}\x1f{part.file_id}"
    if kind is DataPart:
        return f"\x1fd{part.name}\x1f{_json(part.data)}"
    if kind is RawPart:
        return f"\x1fw{_json(part.value)}"
    if kind is SourcePart:
        return f"\x1fs{part.url}"
    if kind is RetryPart:
        return f"\x1fy{_json(part.content)}"
    return f"\x1ft{part.text}"  # refusal, compaction


def _json(value: Any) -> str:
    if type(value) is str:
        return value
    return "" if value is UNSET else exact_json.encode(value).decode()


def digests(messages: Sequence[Message], wanted: Container[int]) -> dict[int, str]:
    """For each wanted message the digest of everything said before it."""
    import hashlib  # slow to import, and most conversations do not need it

    chain = hashlib.sha256()
    words: list[str] = []
    found: dict[int, str] = {}
    for i, message in enumerate(messages):
        if i in wanted:
            chain.update("".join(words).encode("utf-8", "surrogatepass"))
            words.clear()
            found[i] = chain.hexdigest()[:32]
        words.append(f"\x1e{message.role}")
        for part in message.parts:
            words.append(said(part))
    return found


def bind(messages: list[Message], provider: str | None, model: str | None = None) -> None:
    """Give every opaque part the binding it was read with. For messages just read only.

    A first message stands behind words we do not see (an answer by itself): its prefix stays open.
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
        usual = Binding(provider=provider or UNSET, model=owner or UNSET, prefix=prefix if i else UNSET)
        for part in message.parts:
            if opaque(part):
                given = part.binding
                force_setattr(part, "binding", usual if given is UNSET else replace(given, prefix=usual.prefix))


def append(conversation: Conversation, answer: Conversation | list[Message]) -> Conversation:
    """The conversation with an answer behind it; opaque reasoning of the answer is bound to the words before it.

    >>> asked = Conversation(messages=[Message(role="user", parts=[TextPart(text="hi")])])
    >>> thought = ReasoningPart(text="", signature="s", binding=Binding(provider="anthropic"))
    >>> answered = append(asked, [Message(role="assistant", parts=[thought])])
    >>> len(answered.messages), len(answered.messages[1].parts[0].binding.prefix)
    (2, 32)
    """
    new = answer.messages if isinstance(answer, Conversation) else answer
    messages = [*conversation.messages, *new]
    first = len(conversation.messages)
    for i, prefix in digests(messages, range(first, len(messages))).items():
        parts = [_bound(part, prefix) for part in messages[i].parts]
        if any(part is not old for part, old in zip(parts, messages[i].parts, strict=True)):
            messages[i] = replace(messages[i], parts=parts)
    return replace(conversation, messages=messages)


def _bound(part: Any, prefix: str) -> Any:
    """An opaque part whose prefix is open, bound to this one."""
    if not opaque(part) or (part.binding is not UNSET and part.binding.prefix is not UNSET):
        return part
    return replace(part, binding=replace(part.binding if part.binding is not UNSET else Binding(), prefix=prefix))
