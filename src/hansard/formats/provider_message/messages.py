"""Documents and messages of the provider-neutral format: `read` and `write`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.provider_message import ROLES
from hansard.formats.provider_message.content import (
    NAME,
    is_text,
    read_content,
    read_file_ids,
    write_content,
    write_file_ids,
    write_texts,
)
from hansard.formats.provider_message.reasoning import (
    read_reasoning,
    read_signatures,
    write_reasoning,
    write_signatures,
)
from hansard.formats.provider_message.tools import Calls, read_call, read_result, write_call, write_result
from hansard.formats.residue import HINTS, pack, set_present, take_maybe_str, unpack
from hansard.model.calls import append_result
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import RawPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart

# -- messages ------------------------------------------------------------------------------------------------------


def _read_message(record: Any, place: str, i: int, calls: Calls, out: list[Message]) -> None:
    """Read one record into one message; consecutive tool results become one message."""
    if type(record) is not dict:
        raise Unreadable("expected a message object", place.format(i))
    role = record.get("role")
    if type(role) is not str:
        raise Unreadable(f"invalid role {role!r}: expected a string such as 'user'", f"{place.format(i)}.role")
    if type(record.get("content")) is str and (fast := _read_fast(record, role, calls)) is not None:
        if type(fast) is Message:
            out.append(fast)
        else:
            append_result(out, fast)
        return
    taken = dict(record)
    del taken["role"]
    if role in ROLES:
        out.append(_read_record(role, taken, calls))
    elif role == "tool":
        append_result(out, read_result(taken, calls))
    else:
        raw = RawPart(format=NAME, value=record, extra={NAME: {HINTS: {"at": "messages"}}})
        out.append(Message(role="event", parts=[raw]))


def _read_fast(record: dict[str, Any], role: str, calls: Calls) -> Any:
    """Fast path for most records: text, calls or the output of a call; None for all others."""
    content = record["content"]
    if len(record) == 2:
        return Message(role=role, parts=[TextPart(text=content)]) if role in ROLES else None
    if len(record) > 3:
        return None
    if role == "tool":
        if type(call_id := record.get("call_id")) is not str:
            return None
        name = calls.names.get(call_id, UNSET)
        return ToolResultPart(tool_call_id=call_id, tool_name=name, output=content, is_error=False)
    items = record.get("tool_calls")
    if role not in ROLES or type(items) is not list or not items:
        return None
    parts: list[Any] = [TextPart(text=content)] if content else []
    for item in items:
        parts.append(read_call(item, calls))
    return Message(role=role, parts=parts)


def _read_record(role: str, record: dict[str, Any], calls: Calls) -> Message:
    hints: dict[str, Any] = {}
    content, own_id = record.pop("content", UNSET), take_maybe_str(record, "id")
    name = take_maybe_str(record, "name")
    reasoning: list[Any] = []
    said: list[Any] = []
    if record:
        reasoning = read_reasoning(record, hints)
        said = _read_refusal(record, hints)
        if type(record.get("tool_calls")) is list and record["tool_calls"]:
            said += [read_call(item, calls) for item in record.pop("tool_calls")]
    parts = [*reasoning, *read_content(content, record, hints, bool(reasoning or said)), *said]
    if "extra" in record:
        read_signatures(record, parts, hints)
        read_file_ids(record, parts)
    return Message(role=role, parts=parts, id=own_id, name=name, extra=pack(NAME, record, hints))


def _read_refusal(record: dict[str, Any], hints: dict[str, Any]) -> list[Any]:
    refusal = record.get("refusal")
    if type(refusal) is str and refusal:
        return [RefusalPart(text=record.pop("refusal"))]
    if type(refusal) is not list or not refusal:
        return []
    parts: list[Any] = []
    for block in record.pop("refusal"):
        if is_text(block):
            rest = dict(block)
            del rest["type"]
            parts.append(RefusalPart(text=rest.pop("text"), extra=pack(NAME, rest)))
        else:
            parts.append(RawPart(format=NAME, value=block, extra={NAME: {HINTS: {"at": "refusal"}}}))
    if len(parts) == 1 and parts[0].extra is UNSET:
        hints["refusal"] = "list"
    return parts


def _write_refusal(parts: list[Any], hints: dict[str, Any], out: dict[str, Any]) -> bool:
    refusal = write_texts(parts, hints.get("refusal"))
    set_present(out, refusal=refusal)
    return refusal is not UNSET


_RAW_GROUPS = {"reasoning": 0, "thinking_blocks": 0, "refusal": 2, "tool_calls": 3}
_GROUPS = {ReasoningPart: 0, RefusalPart: 2, ToolCallPart: 3, ToolResultPart: 4}


def _write_record(message: Message, known: Calls, out: list[Any]) -> None:
    rest, hints = unpack(NAME, message.extra)
    groups: tuple[list[Any], ...] = ([], [], [], [], [])
    for part in message.parts:
        place = _GROUPS.get(type(part), 1)
        if type(part) is RawPart and part.extra is not UNSET:
            at = unpack(NAME, part.extra)[1].get("at")
            place = _RAW_GROUPS.get(at, 1) if type(at) is str else 1
        groups[place].append(part)
    reasoning, content, refusals, calls, results = groups
    record: dict[str, Any] = dict(rest)
    more = write_reasoning(reasoning, hints, record)
    more = _write_refusal(refusals, hints, record) or more
    if calls:
        record["tool_calls"] = [write_call(part, known) for part in calls]
        more = True
    body = write_content(content, hints, more)
    write_signatures(reasoning, content if body else [], calls, hints, record)
    write_file_ids(content, record)
    if body or more or rest or not message.parts or body == "":
        out.append({**set_present({"role": message.role}, content=body, id=message.id, name=message.name), **record})
    out.extend(write_result(part, known) for part in results)


def _write_fast(message: Message, known: Calls) -> dict[str, Any] | None:
    """Fast path for most messages: a text and perhaps calls; None for all others."""
    if message.extra is not UNSET or message.id is not UNSET or message.name is not UNSET:
        return None
    text: str | None = None
    calls: list[Any] = []
    for part in message.parts:
        if type(part) is TextPart and text is None and part.extra is part.signature is UNSET:
            text = part.text
        elif type(part) is ToolCallPart and part.signature is UNSET:
            calls.append(write_call(part, known))
        else:
            return None
    if calls:
        return {"role": message.role, "content": text or "", "tool_calls": calls}
    return {"role": message.role, "content": text} if text is not None else None


def _write_message(message: Message, known: Calls, out: list[Any]) -> None:
    if message.role in ROLES:
        if (fast := _write_fast(message, known)) is not None:
            out.append(fast)
        else:
            _write_record(message, known, out)
    elif message.role == "tool":
        out.extend(write_result(part, known) for part in message.parts if type(part) is ToolResultPart)
    else:
        for part in message.parts:
            if type(part) is RawPart and part.format == NAME and "at" in unpack(NAME, part.extra)[1]:
                out.append(part.value)


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """A list of messages, an object with `messages`, or one message."""
    hints: dict[str, Any] = {}
    body: dict[str, Any] = {}
    records = document
    if type(document) is dict:
        if type(document.get("messages")) is list:
            body, hints = dict(document), {"shape": "object"}
            records = body.pop("messages")
        elif "role" in document:
            records, hints = [document], {"shape": "one"}
        else:
            raise Unreadable("expected a message or an object with a list of messages")
    if type(records) is not list:
        raise Unreadable("expected an object or a list")
    calls = Calls(records)
    messages: list[Message] = []
    place = {"object": "$.messages[{}]", "one": "$"}.get(hints.get("shape", ""), "$[{}]")
    for i, record in enumerate(records):
        _read_message(record, place, i, calls, messages)
    return Conversation(messages=messages, extra=pack(NAME, body, hints))


def write(conversation: Conversation, target: Target) -> Any:
    """The shape it was read from; for conversations of other formats a list."""
    rest, hints = unpack(NAME, conversation.extra)
    records: list[Any] = []
    known = Calls([])
    for message in conversation.messages:
        _write_message(message, known, records)
    shape = hints.get("shape")
    if shape == "one" and len(records) == 1:
        return records[0]
    return {**rest, "messages": records} if shape == "object" else records


# -- detection -----------------------------------------------------------------------------------------------------
