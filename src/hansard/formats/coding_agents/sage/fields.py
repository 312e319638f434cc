"""Typed structs for Sage records in their default spelling: the typed (fast) path.

It covers nearly all records: one text, calls, results, and Sage's details, which have the same names in canonical JSON.
For everything else the functions return None and `records.py` does the work; where both apply, both give the same.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from hansard.errors import Unreadable
from hansard.formats.coding_agents.sage.content import NAME
from hansard.formats.coding_agents.sage.records import ROLES, TYPES, Place, follows_unnamed, placeholder_uuid
from hansard.model import exact_json
from hansard.model.conversation import Context, Message, Thinking, Todo, Usage
from hansard.model.parts import Node, Part, TextPart, ToolCallPart, ToolResultPart


class _Wire(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """An object of known keys only, in the order Sage writes them."""


class _Call(_Wire):
    id: str
    name: str
    arguments: dict[str, Any]


class _Result(_Wire):
    tool_call_id: str
    tool_name: str
    content: str | dict[str, Any]
    success: bool
    error: str | None


class _Body(_Wire):
    role: str
    content: str
    tool_calls: list[_Call] | UnsetType = UNSET


class Record(_Wire):
    """A record whose text is exactly what writing it gives."""

    type: Literal["user", "assistant", "system", "tool_result"]
    uuid: str
    parent_uuid: str | None
    timestamp: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    context: Context | UnsetType = UNSET
    message: _Body | UnsetType = UNSET
    tool_results: list[_Result] | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    thinking_metadata: Thinking | UnsetType = UNSET
    todos: list[Todo] | UnsetType = UNSET
    is_sidechain: bool | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


class Respelled(Record):
    """The same record in another spelling: other spaces, escapes, or order of keys."""


_RECORDS = msgspec.json.Decoder(Record, float_hook=exact_json.exact_float)
_RESPELLED = msgspec.json.Decoder(Respelled, float_hook=exact_json.exact_float)


def parse(line: bytes) -> Record | None:
    """The record in a line. A text that equals what the record encodes to has no duplicate keys."""
    try:
        record = _RECORDS.decode(line)
        if exact_json.encode_utf8(record) == line:
            return record
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return parse_respelled(line)


def parse_respelled(line: bytes) -> Record | None:
    """The record in a line that is known to have another spelling."""
    try:
        return exact_json.decode_as(_RESPELLED, line)
    except Unreadable:
        return None


# -- messages ------------------------------------------------------------------------------------------------------


def read_typed(record: Record, place: Place) -> Message | None:
    """The message of a record, if writing it at this place gives the record again."""
    role, body, results = ROLES[record.type], record.message, record.tool_results
    calls = UNSET if body is UNSET else body.tool_calls
    if record.session_id != place.session or calls == [] or results == []:
        return None
    if not _are_plain(record.context, record.usage, record.thinking_metadata, record.todos):
        return None
    parts: list[Any] = []
    if body is not UNSET:
        if body.content or (calls is UNSET and results is UNSET):
            parts.append(TextPart(text=body.content))
        elif calls is UNSET:
            return None
        if body.role != role:
            return None
    elif role != "tool":
        return None
    if calls is not UNSET:
        for call in calls:
            parts.append(ToolCallPart(tool_call_id=call.id, tool_name=call.name, input=call.arguments))
    if results is not UNSET:
        for result in results:
            if (part := _read_result(result)) is None:
                return None
            parts.append(part)
    if not parts:
        return None
    message_id: str | UnsetType = record.uuid
    parent: str | UnsetType | None = record.parent_uuid
    if message_id == placeholder_uuid(place.at):
        message_id = UNSET
        if parent == place.before:
            parent = UNSET
    elif follows_unnamed(parent, place):
        parent = UNSET
    return Message(
        role=role,
        parts=parts,
        id=message_id,
        parent_message_id=parent,
        created_at=record.timestamp,
        context=record.context,
        usage=record.usage,
        thinking=record.thinking_metadata,
        todos=record.todos,
        sidechain=record.is_sidechain,
        metadata=record.metadata,
        extra=UNSET if record.version is UNSET else {NAME: {"version": record.version}},
    )


def write_typed(message: Message, place: Place) -> Record | None:
    """The record of a message that has no residue but a version, and needs no blocks."""
    role = message.role
    version: Any = UNSET
    if message.extra is not UNSET and (own := message.extra.get(NAME)) is not None:
        if type(own) is not dict or len(own) != 1 or type(version := own.get("version")) is not str:
            return None
    if role not in TYPES or not _are_plain(message.context, message.usage, message.thinking, message.todos):
        return None
    text: str | None = None
    calls: list[_Call] = []
    results: list[_Result] = []
    for part in message.parts:
        if part.extra is not UNSET:
            return None
        if type(part) is TextPart and text is None:
            text = part.text
        elif type(part) is ToolCallPart and type(part.input) is dict:
            if part.tool_call_id is UNSET or part.tool_name is UNSET:
                return None
            calls.append(_Call(part.tool_call_id, part.tool_name, part.input))
        elif type(part) is ToolResultPart and (result := _write_result(part)) is not None:
            results.append(result)
        else:
            return None
    body: _Body | UnsetType = UNSET
    if text is not None or calls or role != "tool" or not results:
        if not text and (text is None) != bool(calls or results):
            return None  # no content, or an empty text beside tools: both are lists of blocks
        body = _Body(role, text or "", calls or UNSET)
    return Record(
        type=TYPES[role],  # type: ignore[arg-type]
        uuid=placeholder_uuid(place.at) if message.id is UNSET else message.id,
        parent_uuid=place.before if message.parent_message_id is UNSET else message.parent_message_id,
        timestamp=message.created_at,
        session_id=place.session,
        version=version,
        context=message.context,
        message=body,
        tool_results=results or UNSET,
        usage=message.usage,
        thinking_metadata=message.thinking,
        todos=message.todos,
        is_sidechain=message.sidechain,
        metadata=message.metadata,
    )


def _read_result(result: _Result) -> Part | None:
    """A failed result has its text in `error` and an empty `content`."""
    output: Any = result.content
    if not result.success and output == "" and result.error is not None:
        output = result.error
    elif not result.success or result.error is not None:
        return None
    return ToolResultPart(
        tool_call_id=result.tool_call_id, tool_name=result.tool_name, output=output, is_error=not result.success
    )


def _write_result(part: ToolResultPart) -> _Result | None:
    output: Any = part.output
    if part.tool_call_id is UNSET or part.tool_name is UNSET or part.content is not UNSET:
        return None
    if part.is_error is True:
        return _Result(part.tool_call_id, part.tool_name, "", False, output) if type(output) is str else None
    if type(output) is not str and type(output) is not dict:
        return None
    return _Result(part.tool_call_id, part.tool_name, output, True, None)


def _are_plain(
    context: Context | UnsetType,
    usage: Usage | UnsetType,
    thinking: Thinking | UnsetType,
    todos: list[Todo] | UnsetType,
) -> bool:
    """Whether the details have no fields that Sage lacks."""
    if context is not UNSET and not _is_plain(context):
        return False
    if usage is not UNSET and not (
        _is_plain(usage) and usage.total_tokens is UNSET and usage.reasoning_tokens is UNSET
    ):
        return False
    if thinking is not UNSET and not _is_plain(thinking):
        return False
    return todos is UNSET or all(map(_is_plain, todos))


def _is_plain(node: Node) -> bool:
    return node.extra is UNSET and node.unknown is UNSET
