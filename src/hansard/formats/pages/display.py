"""What a page shows of a conversation: pages are written from the result of `kept`.

Pages cannot be read back, so the losses are what `kept` removes. Shown: text, reasoning, calls, results, files and data
of the active path, with role, time, agent, model and tokens. Not shown: message ids, encrypted reasoning, signatures,
settings, and residue of other formats.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import Conversation, Message, ModelRef, Usage
from hansard.model.tree import active_path

_SHOWN: dict[type, tuple[str, ...]] = {
    p.TextPart: ("text",),
    p.ReasoningPart: ("text",),
    p.ToolCallPart: ("tool_call_id", "tool_name", "input", "input_text"),
    p.ToolResultPart: ("tool_call_id", "tool_name", "output", "content", "is_error", "status"),
    p.FilePart: ("media_type", "url", "data", "file_id", "name"),
    p.SourcePart: ("source_id", "url", "title", "media_type", "name"),
    p.RefusalPart: ("text",),
    p.DataPart: ("name", "data"),
    p.RetryPart: ("content", "tool_call_id", "tool_name"),
    p.CompactionPart: ("text",),
    p.RawPart: ("format", "value"),
}


def kept(conversation: Conversation) -> Conversation:
    """The shown part of a conversation."""
    return Conversation(
        messages=[_kept_message(conversation.messages[i]) for i in active_path(conversation)],
        id=_printable(conversation.id),
        title=_printable(conversation.title),
        created_at=_printable(conversation.created_at),
    )


def _kept_message(message: Message) -> Message:
    model: Any = UNSET
    if message.model is not UNSET and message.model.name is not UNSET:
        model = ModelRef(name=_printable(message.model.name))
    usage: Any = UNSET
    if message.usage is not UNSET:
        usage = Usage(input_tokens=message.usage.input_tokens, output_tokens=message.usage.output_tokens)
    return Message(
        role=_printable(message.role),
        parts=[_kept_part(part) for part in message.parts],
        created_at=_printable(message.created_at),
        agent_id=_printable(message.agent_id),
        model=model,
        usage=usage,
    )


def _kept_part(part: p.Part) -> Any:
    fields = {name: _printable(getattr(part, name)) for name in _SHOWN[type(part)]}
    if type(part) is p.ToolCallPart and part.input is not UNSET:
        del fields["input_text"]
    elif type(part) is p.ToolResultPart and type(part.content) is list:
        fields["content"] = [_kept_part(item) for item in part.content]
    return type(part)(**fields)


def _printable(value: Any) -> Any:
    """Replace characters that a page cannot hold: lone surrogates, NUL."""
    if type(value) is str:
        if not exact_json.is_unicode(value):
            value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value.replace("\x00", "\ufffd")
    if type(value) is list:
        return [_printable(item) for item in value]
    if type(value) is dict:
        return {_printable(key): _printable(item) for key, item in value.items()}
    return value


def spelled(value: Any) -> str:
    """Data as text: strings as they are, the rest as indented JSON.

    >>> spelled("a"), spelled({"a": [1]})
    ('a', '{\\n  "a": [\\n    1\\n  ]\\n}')
    """
    if value is UNSET:
        return ""
    return value if type(value) is str else exact_json.pretty(value).decode()


def call_input(part: p.ToolCallPart) -> str:
    """The input of a call as text."""
    return spelled(part.input_text if part.input is UNSET else part.input)


def about(message: Message) -> list[str]:
    """Model, agent, time and tokens of a message."""
    found = [value for value in (message.agent_id, message.created_at) if type(value) is str and value]
    if message.model is not UNSET and message.model.name:
        found.insert(0, str(message.model.name))
    if message.usage is not UNSET:
        for count, word in ((message.usage.input_tokens, "in"), (message.usage.output_tokens, "out")):
            if count is not UNSET:
                found.append(f"{count} tokens {word}")
    return found


def outcome(part: p.ToolResultPart) -> str:
    """The status of a result, empty for success."""
    if type(part.status) is str and part.status:
        return part.status
    return "error" if part.is_error is True else ""


def heading(role: str) -> str:
    """The heading for a role."""
    return role[:1].upper() + role[1:]
