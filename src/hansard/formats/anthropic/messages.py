"""Documents, messages, roles and system prompts of the Anthropic Messages API: `read` and `write`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.errors import Unreadable
from hansard.formats.anthropic import ROLES
from hansard.formats.anthropic.content import BLOCKS, RECORD_WRITERS, write_block
from hansard.formats.anthropic.fields import NAME, SETTINGS
from hansard.formats.anthropic.settings import DIALECT
from hansard.formats.contract import Target
from hansard.formats.field_table.records import NeedsPlainDecode, Record, Written, body, decode
from hansard.formats.requests import put, take
from hansard.formats.residue import pack, set_present, take_maybe_int, take_maybe_str, unpack
from hansard.model.conversation import Conversation, Message, ModelRef, Usage
from hansard.model.parts import (
    Part,
    RawPart,
    TextPart,
    ToolResultPart,
)

PROVIDER = "anthropic"
_FINISH = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_call", "refusal": "content_filter"}
_STOP = {canonical: native for native, canonical in _FINISH.items()}


# -- messages ------------------------------------------------------------------------------------------------------


class Said(Record):
    """A message of a request, as a typed document has it."""

    role: str
    content: str | list[BLOCKS.record]  # type: ignore[name-defined]


class _Written(Written):
    role: str
    content: Any


_REQUEST = body("Request", "messages", Said, SETTINGS)


def _read_message(record: Any, i: int, names: dict[str, str], out: list[Message]) -> None:
    """One record becomes one message, or several: results of tools are messages of their own."""
    rest: dict[str, Any] = {}
    role: Any
    content: Any
    read: Callable[[list[Any], Any], list[Any]]
    if type(record) is Said:
        role, content, read = record.role, record.content, BLOCKS.read_records
    elif type(record) is dict:
        role, content, read = record.get("role"), record.get("content"), BLOCKS.read_all
        if len(record) > 2 or "content" not in record:
            rest = {key: value for key, value in record.items() if key not in ("role", "content")}
    else:
        raise Unreadable("a message expected", f"$.messages[{i}]")
    parts: list[Any] | None = None
    if not rest and (role == "assistant" or role == "user"):  # as nearly always
        if type(content) is list:
            parts = read(content, names)
            if role == "assistant":
                out.append(Message(role=role, parts=parts))
                return
            if len(parts) == 1 and _is_result(parts[0]):
                out.append(Message(role="tool", parts=parts))
                return
        elif role == "user" and type(content) is str:
            out.append(Message(role="user", parts=[TextPart(text=content)]))
            return
    if type(role) is not str or role in _ROLES_OF_OTHERS:
        raise Unreadable(f"no role {role!r}; it is user, assistant or system", f"$.messages[{i}].role")
    if role not in ROLES:
        if type(record) is Said:
            raise NeedsPlainDecode
        out.append(Message(role="event", parts=[RawPart(format=NAME, value=record)]))
        return
    marks: dict[str, Any] = {}
    if type(content) is str:
        parts = [TextPart(text=content)]
        if role == "assistant":
            marks["content"] = "string"
    elif type(content) is list:
        parts = read(content, names) if parts is None else parts
        if role != "assistant" and _plain_text(parts) is not None:
            marks["content"] = "list"
    elif role == "system" and "content" not in record:  # one of the beta may only change settings
        parts, marks["content"] = [], "none"
    else:
        raise Unreadable("content is neither a string nor a list", f"$.messages[{i}].content")
    if role == "system" and all(message.role == "system" for message in out):
        marks["at"] = "messages"
    extra = pack(NAME, rest, marks) if rest or marks else UNSET
    if role != "user" or type(content) is str:
        out.append(Message(role=role, parts=parts, extra=extra))
        return
    for part_role, run in _runs(parts):
        out.append(Message(role=part_role, parts=run, extra=extra))
        extra = pack(NAME, {}, {"joined": True})


_ROLES_OF_OTHERS = ("tool", "function", "developer", "model")  # a sign that the document is not Anthropic's


def _runs(parts: list[Any]) -> list[tuple[str, list[Any]]]:
    """The parts of a user's record by the role of who says them."""
    if len(parts) == 1:
        return [("tool" if _is_result(parts[0]) else "user", parts)]
    runs: list[tuple[str, list[Any]]] = []
    for part in parts:
        said_by = "tool" if _is_result(part) else "user"
        if runs and runs[-1][0] == said_by:
            runs[-1][1].append(part)
        else:
            runs.append((said_by, [part]))
    return runs or [("user", parts)]


def _is_result(part: Part) -> bool:
    return type(part) is ToolResultPart and part.provider_executed is UNSET


def _plain_text(parts: list[Any]) -> str | None:
    """The text, when a message is one text and nothing else."""
    if len(parts) == 1 and type(parts[0]) is TextPart:
        extra = parts[0].extra
        if extra is UNSET or NAME not in extra:
            return parts[0].text
    return None


def _write_message(message: Message) -> Any:
    """The record of a message: a struct, or a dict where the message has residue."""
    role, extra = "user" if message.role == "tool" else message.role, message.extra
    rest, marks = unpack(NAME, extra) if extra is not UNSET else _NOTHING
    text = _plain_text(message.parts) if marks or role != "assistant" else None
    if text is not None and marks.get("content", "list" if role == "assistant" else "string") == "string":
        content: Any = text
    else:
        parts = message.parts
        if len(parts) == 1:  # spares the call of a comprehension
            (part,) = parts
            content = [RECORD_WRITERS[type(part)](part)]
        else:
            content = [RECORD_WRITERS[type(part)](part) for part in parts]
        if not content and marks.get("content") == "none":
            return {"role": role, **rest}
    if role == "assistant" and message.model is not UNSET:  # an answer, sent back
        return _Written(role, content if type(content) is str else list(map(_sent_back, content)))
    return {"role": role, "content": content, **rest} if rest else _Written(role, content)


_NOTHING: tuple[dict[str, Any], dict[str, Any]] = ({}, {})


def _sent_back(value: Any) -> Any:
    """A block of an answer as a request may hold it: answers say more than requests may."""
    if type(value) is list:
        return list(map(_sent_back, value))
    if type(value) is not dict:
        return value
    cited = str(value.get("type", "")).endswith("_location")
    return {
        key: item if key == "input" else _sent_back(item)
        for key, item in value.items()
        if not (cited and key == "file_id") and not (item is None and key in ("caller", "abort_reason"))
    }


def _write_messages(messages: list[Message]) -> list[Any]:
    out: list[Any] = []
    asked: dict[str, Any] | _Written | None = None  # the user's record that the next message may be a part of
    for message in messages:
        if message.role == "event":
            out += [part.value for part in message.parts if type(part) is RawPart and part.format == NAME]
            asked = None
            continue
        record = _write_message(message)
        if message.role not in ("user", "tool"):
            out.append(record)
            asked = None
        elif asked is not None and message.extra is not UNSET and _joined(message):
            if isinstance(asked, _Written):
                asked = out[-1] = {"role": "user", "content": asked.content}
            asked["content"] = _blocks(asked["content"]) + _blocks(_content(record))
        else:
            out.append(record)
            asked = record
    return out


def _content(record: Any) -> Any:
    return record["content"] if type(record) is dict else record.content


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if type(content) is str else content


def _joined(message: Message) -> bool:
    return "joined" in unpack(NAME, message.extra)[1]


def _read_system(value: Any) -> Message:
    if type(value) is str:
        return Message(role="system", parts=[TextPart(text=value)])
    parts = BLOCKS.read_all(value, {})
    plain = all(type(part) is TextPart and part.extra is UNSET for part in parts)
    return Message(role="system", parts=parts, extra=pack(NAME, {}, {"content": "list"} if plain else {}))


def _write_system(messages: list[Message]) -> Any:
    if len(messages) == 1:
        return _content(_write_message(messages[0]))
    return [write_block(part) for message in messages for part in message.parts]


# -- documents -----------------------------------------------------------------------------------------------------


def _read_response(body: dict[str, Any]) -> Conversation:
    content = body.pop("content")
    marks: dict[str, Any] = {}
    usage, left = _read_usage(body.pop("usage", UNSET))
    if left is not UNSET:
        marks["usage"] = left
    stop = take_maybe_str(body, "stop_reason")
    if stop in _STOP:
        marks["stop_reason"] = stop
    model = ModelRef(provider=PROVIDER, name=take_maybe_str(body, "model"), response_id=take_maybe_str(body, "id"))
    message = Message(
        role="assistant",
        parts=BLOCKS.read_all(content, {}),
        model=model,
        usage=usage,
        finish_reason=_FINISH.get(stop, stop) if stop is not UNSET else UNSET,
        extra=pack(NAME, body, marks),
    )
    return Conversation(messages=[message], extra={NAME: {"$": {"shape": "response"}}})


def _write_response(message: Message) -> dict[str, Any]:
    rest, marks = unpack(NAME, message.extra)
    model = message.model if message.model is not UNSET else ModelRef()
    out = set_present({}, id=model.response_id, model=model.name)
    out["content"] = [write_block(part) for part in message.parts]
    if message.finish_reason is not UNSET:
        out["stop_reason"] = marks.get("stop_reason") or _STOP.get(message.finish_reason, message.finish_reason)
    usage = _write_usage(message.usage, marks.get("usage", UNSET))
    return {**set_present(out, usage=usage), "role": "assistant", **rest}


def _read_usage(value: Any) -> tuple[Usage | UnsetType, Any]:
    """Canonical usage counts cached tokens as input too; other values stay in the residue."""
    if type(value) is not dict or type(value.get("input_tokens")) is not int:
        return UNSET, value
    rest = dict(value)
    read, wrote = take_maybe_int(rest, "cache_read_input_tokens"), take_maybe_int(rest, "cache_creation_input_tokens")
    total = rest.pop("input_tokens") + (read or 0) + (wrote or 0)
    usage = Usage(
        input_tokens=total,
        output_tokens=take_maybe_int(rest, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=wrote,
    )
    return usage, rest or UNSET


def _write_usage(usage: Usage | UnsetType, left: Any) -> Any:
    if usage is UNSET or usage.input_tokens is UNSET:
        return left
    read, wrote = usage.cache_read_tokens, usage.cache_write_tokens
    out: dict[str, Any] = {"input_tokens": usage.input_tokens - (read or 0) - (wrote or 0)}
    set_present(
        out,
        output_tokens=usage.output_tokens,
        cache_read_input_tokens=read,
        cache_creation_input_tokens=wrote,
    )
    return {**out, **(left if type(left) is dict else {})}


def read(document: Any) -> Conversation:
    """A request body, a list of messages, or a response body."""
    shape = "request"
    if type(document) is list:
        document, shape = {"messages": document}, "list"
    if type(document) is not dict:
        raise Unreadable("an object or a list expected")
    body = dict(document)
    if type(body.get("content")) is list and "messages" not in body:
        if body.get("role") == "assistant":
            del body["role"]
            return _read_response(body)
        if body.get("type") == "message" and type(body.get("role")) is str:  # an unknown role stays unchanged
            return _read_response(body)
    records = body.pop("messages", None)
    if type(records) is not list:
        raise Unreadable("no list of messages", "$.messages")
    messages: list[Message] = []
    if type(body.get("system")) in (str, list):
        messages.append(_read_system(body.pop("system")))
    marks: dict[str, Any] = {"shape": "list"} if shape == "list" else {}
    names: dict[str, str] = {}
    for i, record in enumerate(records):
        _read_message(record, i, names, messages)
    tools, settings = take(DIALECT, body, marks)
    return Conversation(messages=messages, tools=tools, settings=settings, extra=pack(NAME, body, marks))


def decode_typed(raw: bytes) -> Any:
    """A request or a list of messages as typed records, None when it holds anything else."""
    return decode(raw, Said, _REQUEST)


def write(conversation: Conversation, target: Target) -> Any:
    """The shape it was read from; for conversations of other formats a request body."""
    rest, marks = unpack(NAME, conversation.extra)
    messages = conversation.messages
    if marks.get("shape") == "response" and len(messages) == 1 and messages[0].role == "assistant":
        return _write_response(messages[0])
    leading = 0
    while leading < len(messages) and messages[leading].role == "system":
        if "at" in unpack(NAME, messages[leading].extra)[1]:
            break
        leading += 1
    records = _write_messages(messages[leading:])
    if marks.get("shape") == "list" and not leading and conversation.tools is conversation.settings is UNSET:
        return records
    out: dict[str, Any] = dict(put(DIALECT, conversation, rest, marks))
    if leading:
        out["system"] = _write_system(messages[:leading])
    out["messages"] = records
    return out
