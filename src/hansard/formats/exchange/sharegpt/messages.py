"""Records of ShareGPT files: `read`, `write`, `split` and `join`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.exchange.dataset import join, read_one, split, write_one
from hansard.formats.exchange.sharegpt import LISTS
from hansard.formats.residue import HINTS, pack, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message
from hansard.model.display import shown_input, shown_output
from hansard.model.parts import CompactionPart, RawPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart

NAME = "sharegpt"
_FROM = {"user": "human", "assistant": "gpt", "system": "system", "developer": "system"}
_ROLES = {
    **{"human": "user", "user": "user"},
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bot", "bing", "bard", "model"), "assistant"),
    "system": "system",
    "function_call": "call",
    **dict.fromkeys(("observation", "tool", "function_response"), "result"),
}
_DEFAULT_FROM = {
    "user": "human",
    "assistant": "gpt",
    "system": "system",
    "call": "function_call",
    "result": "observation",
}
_KEYS = (("from", "value"), ("role", "content"))


# -- records -------------------------------------------------------------------------------------------------------


def _read_record(record: Any, path: str, waiting: list[Any]) -> Message:
    """Read a record; `waiting` holds the names of calls without an observation."""
    if type(record) is not dict:
        raise Unreadable("expected a message object", path)
    rest, hints = dict(record), {}
    keys = next((pair for pair in _KEYS if type(record.get(pair[0])) is str), None)
    text = record.get(keys[1]) if keys is not None else None
    kind = _ROLES.get(record[keys[0]]) if keys is not None else None
    if keys is None or kind is None or type(text) is not str:
        return _raw(record)
    said = rest.pop(keys[0])
    del rest[keys[1]]
    if said != _DEFAULT_FROM[kind]:
        hints["from"] = said
    if keys != _KEYS[0]:
        hints["keys"] = list(keys)
    extra = pack(NAME, rest, hints)
    if kind == "result":
        name = waiting.pop(0) if waiting else UNSET
        return Message(role="tool", parts=[ToolResultPart(tool_name=name, output=text)], extra=extra)
    if kind != "call":
        return Message(role=kind, parts=[TextPart(text=text)], extra=extra)
    calls = _read_calls(text)
    if calls is None:
        return _raw(record)
    waiting[:] = [call.tool_name for call in calls]
    if _write_calls(calls) != text:
        hints["value"] = text
    return Message(role="assistant", parts=[*calls], extra=pack(NAME, rest, hints))


def _raw(record: Any) -> Message:
    return Message(role="event", parts=[RawPart(format=NAME, value=record)])


def _read_calls(text: str) -> list[ToolCallPart] | None:
    """Read the calls in a JSON string; None if it holds anything else."""
    try:
        value = exact_json.decode(text)
    except Unreadable:
        return None
    calls: list[ToolCallPart] = []
    for item in value if type(value) is list and len(value) > 1 else [value]:
        if type(item) is not dict or item.keys() != {"name", "arguments"} or type(item["name"]) is not str:
            return None
        calls.append(ToolCallPart(tool_name=item["name"], input=item["arguments"]))
    return calls


def _write_calls(calls: list[ToolCallPart]) -> str:
    said = [{"name": call.tool_name if call.tool_name else "", "arguments": shown_input(call)} for call in calls]
    return _text(said[0] if len(said) == 1 else said)


def _text(value: Any) -> str:
    return exact_json.encode(value).decode()


def _write_message(message: Message) -> list[Any]:
    """Write one record per sequence of texts or of calls, and one per result."""
    if message.role == "event":
        return [part.value for part in message.parts if type(part) is RawPart and part.format == NAME]
    groups: list[tuple[str, list[Any]]] = []
    for part in message.parts:
        kind = _KINDS.get(type(part))
        if kind is not None and groups and groups[-1][0] == kind and kind != "result":
            groups[-1][1].append(part)
        elif kind is not None:
            groups.append((kind, [part]))
    rest, hints = unpack(NAME, message.extra)
    if len(groups) != 1:
        rest, hints = {}, {}
    return [_write_group(kind, parts, message.role, rest, hints) for kind, parts in groups]


_KINDS: dict[type, str] = {
    **dict.fromkeys((TextPart, RefusalPart, CompactionPart), "text"),
    ToolCallPart: "call",
    ToolResultPart: "result",
}


def _write_group(kind: str, parts: list[Any], role: str, rest: dict[str, Any], hints: dict[str, Any]) -> Any:
    if kind == "text":
        said = _FROM.get(role, "human")
        text = "\n\n".join(part.text for part in parts if type(part.text) is str)
    elif kind == "call":
        said, text = "function_call", _write_calls(parts)
        written = hints.get("value")
        if type(written) is str and _same_calls(written, text):
            text = written
    else:
        said, output = "observation", shown_output(parts[0])
        text = output if type(output) is str else _text(output)
    other, keys = hints.get("from"), hints.get("keys")
    if type(other) is str and _DEFAULT_FROM.get(_ROLES.get(other, "")) == said:
        said = other
    pair = _KEYS[1] if keys == list(_KEYS[1]) else _KEYS[0]
    return {pair[0]: said, pair[1]: text, **rest}


def _same_calls(written: str, text: str) -> bool:
    try:
        return exact_json.same(exact_json.decode(written), exact_json.decode(text))
    except Unreadable:
        return False


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """An array of one conversation, or its line."""
    body, hints = read_one(document, "list")
    key = next((key for key in LISTS if type(body.get(key)) is list), None)
    if key is None:
        raise Unreadable("missing list of messages", "$.conversations")
    records = body.pop(key)
    if key != LISTS[0]:
        hints["key"] = key
    messages: list[Message] = []
    if type(body.get("system")) is str:
        extra = {NAME: {HINTS: {"at": "system"}}}
        messages.append(Message(role="system", parts=[TextPart(text=body.pop("system"))], extra=extra))
    waiting: list[Any] = []
    messages += [_read_record(record, f"$.{key}[{i}]", waiting) for i, record in enumerate(records)]
    own_id = take_maybe_str(body, "id")
    return Conversation(messages=messages, id=own_id, extra=pack(NAME, body, hints))


def write(conversation: Conversation, target: Target) -> bytes:
    """The shape it was read in; for conversations of other formats an array."""
    rest, hints = unpack(NAME, conversation.extra)
    key = hints.get("key")
    out: dict[str, Any] = {} if conversation.id is UNSET else {"id": conversation.id}
    records: list[Any] = []
    for i, message in enumerate(conversation.messages):
        written = _write_message(message)
        first = written[0] if i == 0 and len(written) == 1 and message.role == "system" else {}
        if "value" in first and unpack(NAME, message.extra)[1].get("at") == "system":
            out["system"] = first["value"]
        else:
            records += written
    out[key if key in LISTS else LISTS[0]] = records
    return write_one({**out, **{name: rest[name] for name in rest if name not in out}}, hints, "list")


__all__ = ["join", "read", "split", "write"]
