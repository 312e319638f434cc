"""One record of a Sage session: a message in the current or the older shape, or a snapshot of the user's files.

A record is read at its place in the file, because three of its fields usually follow from the place: its session, its
parent, and (in files written here from conversations without ids) its uuid. Reading and writing at the same place are
inverse up to spelling; `session.py` keeps the text where the spelling differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from hansard.formats.coding_agents.sage.content import (
    CURRENT,
    INNER,
    NAME,
    OLDER,
    read_body,
    read_result,
    read_tools,
    sorted_parts,
    write_content,
    write_tools,
)
from hansard.formats.residue import SchemaMismatch, merge_residue, pack, set_present, take_maybe_str, unpack
from hansard.model.conversation import Context, Message, Snapshot, Thinking, Todo, Usage
from hansard.model.parts import Node, RawPart

SNAPSHOT = "file_history_snapshot"
ROLES = {"user": "user", "assistant": "assistant", "system": "system", "tool_result": "tool"}
TYPES = {role: kind for kind, role in ROLES.items()}
_OLDER = frozenset({"system", "user", "assistant", "tool"})


class Place(NamedTuple):
    """The place of a message: its index, the uuid of the message before it, the session of the file."""

    at: int
    before: str | None
    session: str | UnsetType


def placeholder_uuid(at: int) -> str:
    """The uuid of a message without an id, derived from its place, since Sage requires one.

    >>> placeholder_uuid(10)
    '00000000-0000-4000-8000-00000000000a'
    """
    return f"00000000-0000-4000-8000-{at:012x}"


def follows_unnamed(parent: Any, place: Place) -> bool:
    """Whether the parent is the message before, and that message has no id of its own."""
    return place.at > 0 and parent is not None and parent == place.before == placeholder_uuid(place.at - 1)


def is_record(value: Any) -> bool:
    """Whether a value may be a record: an object with a type, a uuid, or the older role and content."""
    if type(value) is not dict:
        return False
    return type(value.get("type")) is str or type(value.get("uuid")) is str or is_older(value)


def is_older(record: dict[str, Any]) -> bool:
    """Whether a record is a `ConversationMessage`, the shape before uuids."""
    role = record.get("role")
    if any(key in record for key in ("type", "uuid", "message_id")) or type(role) is not str or role not in _OLDER:
        return False
    return "content" in record or "tool_calls" in record or "tool_results" in record


# -- flat objects --------------------------------------------------------------------------------------------------


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in kinds


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


_Keys = dict[str, tuple[str, Callable[[Any], bool]]]
_CONTEXT: _Keys = {
    "cwd": ("cwd", _is(str)),
    "gitBranch": ("git_branch", _is(str)),
    "platform": ("platform", _is(str)),
    "userType": ("user_type", _is(str)),
}
_THINKING: _Keys = {
    "level": ("level", _is(str)),
    "disabled": ("disabled", _is(bool)),
    "triggers": ("triggers", _is_texts),
}
_TODO: _Keys = {
    "content": ("content", _is(str)),
    "status": ("status", _is(str)),
    "activeForm": ("active_form", _is(str)),
}
_USAGE: _Keys = {
    "inputTokens": ("input_tokens", _is(int)),
    "outputTokens": ("output_tokens", _is(int)),
    "cacheReadTokens": ("cache_read_tokens", _is(int)),
    "cacheWriteTokens": ("cache_write_tokens", _is(int)),
}
_FILES: _Keys = {"trackedFiles": ("files", _is(dict)), "fileBackups": ("backups", _is(dict))}


def _take(keys: _Keys, rest: dict[str, Any]) -> dict[str, Any]:
    """Take the canonical fields out of an object; values of another type stay in it."""
    return {attribute: rest.pop(key) for key, (attribute, fits) in keys.items() if key in rest and fits(rest[key])}


def _read_flat(kind: type[Node], keys: _Keys, value: dict[str, Any]) -> Any:
    rest = dict(value)
    return kind(**_take(keys, rest), extra=pack(NAME, rest))


def _write_flat(node: Node, keys: _Keys) -> dict[str, Any]:
    out = set_present({}, **{key: getattr(node, attribute) for key, (attribute, _) in keys.items()})
    return merge_residue(out, unpack(NAME, node.extra)[0])


def _read_details(rest: dict[str, Any]) -> dict[str, Any]:
    """Context, usage, thinking, todos and metadata, each taken if it has the expected type."""
    fields: dict[str, Any] = {}
    for key, attribute, kind, keys in _DETAILS:
        if type(rest.get(key)) is dict:
            fields[attribute] = _read_flat(kind, keys, rest.pop(key))
    todos = rest.get("todos")
    if type(todos) is list and all(type(item) is dict for item in todos):
        fields["todos"] = [_read_flat(Todo, _TODO, item) for item in rest.pop("todos")]
    if type(rest.get("metadata")) is dict:
        fields["metadata"] = rest.pop("metadata")
    return fields


_DETAILS: tuple[tuple[str, str, type[Node], _Keys], ...] = (
    ("context", "context", Context, _CONTEXT),
    ("usage", "usage", Usage, _USAGE),
    ("thinkingMetadata", "thinking", Thinking, _THINKING),
)


# -- messages ------------------------------------------------------------------------------------------------------


def read_message(record: dict[str, Any], place: Place) -> Message:
    """A record as a message; one of an unknown type, or without the fields of its type, as a raw event."""
    if is_older(record):
        return _read_older(dict(record))
    kind = record.get("type")
    role = ROLES.get(kind) if type(kind) is str else None
    if role is not None and ("toolResults" in record or "message" in record):
        try:
            return _read_current(dict(record), role, place)
        except SchemaMismatch:
            pass
    rest = dict(record)
    fields = _read_links(rest)
    return Message(role="event", parts=[RawPart(format=NAME, value=rest)], **fields)


def write_message(message: Message, place: Place) -> dict[str, Any]:
    """The record of a message, keys in the order Sage writes them."""
    rest, marks = unpack(NAME, message.extra)
    if message.role == "event" and len(message.parts) == 1 and type(message.parts[0]) is RawPart:
        raw = _write_raw(message, message.parts[0])
        if is_record(raw):
            return raw
    if marks.get("older") is True and message.id is UNSET and message.parent_message_id is UNSET:
        return _write_older(message, rest)
    return _write_current(message, rest, marks, place)


def _read_links(rest: dict[str, Any]) -> dict[str, Any]:
    """Id, parent, time and sidechain flag, each taken if it has the expected type."""
    fields: dict[str, Any] = {"id": take_maybe_str(rest, "uuid"), "created_at": take_maybe_str(rest, "timestamp")}
    if "parentUuid" in rest and (rest["parentUuid"] is None or type(rest["parentUuid"]) is str):
        fields["parent_message_id"] = rest.pop("parentUuid")
    if type(rest.get("isSidechain")) is bool:
        fields["sidechain"] = rest.pop("isSidechain")
    return fields


def _read_current(rest: dict[str, Any], role: str, place: Place) -> Message:
    del rest["type"]
    fields = _read_links(rest)
    if fields["id"] == placeholder_uuid(place.at):
        fields["id"] = UNSET
        if fields.get("parent_message_id", UNSET) == place.before:
            del fields["parent_message_id"]
    elif follows_unnamed(fields.get("parent_message_id"), place):
        del fields["parent_message_id"]
    if type(rest.get("sessionId")) is str and rest["sessionId"] == place.session:
        del rest["sessionId"]
    fields.update(_read_details(rest))
    body, outer = rest.pop("message", UNSET), type(rest.get("toolResults")) is list
    marks: dict[str, Any] = {}
    parts: list[Any] = []
    if body is not UNSET:
        if type(body) is not dict:
            raise SchemaMismatch("message")
        body = dict(body)
        own_role = body.get("role")
        if type(own_role) is str and (own_role == role or (role == "system" and own_role not in _OLDER)):
            role = body.pop("role")
        second = {"toolResults": body.pop("toolResults")} if outer and "toolResults" in body else {}
        if type(body.get("toolResults")) is list:
            marks["results"] = "message"
        parts = read_body(body, INNER)
        if body or second:
            rest["message"] = {**body, **second}
    parts += read_tools(rest, "toolResults", read_result, CURRENT)
    return Message(role=role, parts=parts, **fields, extra=pack(NAME, rest, marks))


def _write_current(message: Message, rest: dict[str, Any], marks: dict[str, Any], place: Place) -> dict[str, Any]:
    contents, calls, results = sorted_parts(message.parts)
    inner = rest.pop("message", None)
    held = dict(inner) if type(inner) is dict else {}
    out: dict[str, Any] = {"type": TYPES.get(message.role, "system")}
    out["uuid"] = message.id if message.id is not UNSET else rest.pop("uuid", placeholder_uuid(place.at))
    parent = message.parent_message_id
    out["parentUuid"] = parent if parent is not UNSET else rest.pop("parentUuid", place.before)
    set_present(out, timestamp=message.created_at, sessionId=rest.pop("sessionId", place.session))
    set_present(out, version=rest.pop("version", UNSET))
    if message.context is not UNSET:
        out["context"] = _write_flat(message.context, _CONTEXT)
    inside = marks.get("results") == "message"
    if contents or calls or held or inside or message.role != "tool" or not results:
        body = {"role": held.pop("role", message.role)}
        body["content"] = held.pop("content", UNSET) if not contents else UNSET
        if body["content"] is UNSET:
            body["content"] = write_content(contents, bool(calls or results))
        write_tools(body, calls, results if inside else [], INNER)
        out["message"] = merge_residue(body, held)
    if not inside:
        write_tools(out, [], results, CURRENT)
    for key, attribute, _, keys in _DETAILS[1:]:
        if (detail := getattr(message, attribute)) is not UNSET:
            out[key] = _write_flat(detail, keys)
    if message.todos is not UNSET:
        out["todos"] = [_write_flat(todo, _TODO) for todo in message.todos]
    return merge_residue(set_present(out, isSidechain=message.sidechain, metadata=message.metadata), rest)


def _read_older(rest: dict[str, Any]) -> Message:
    fields: dict[str, Any] = {"role": rest.pop("role"), "created_at": take_maybe_str(rest, "timestamp")}
    if type(rest.get("metadata")) is dict:
        fields["metadata"] = rest.pop("metadata")
    return Message(parts=read_body(rest, OLDER), **fields, extra=pack(NAME, rest, {"older": True}))


def _write_older(message: Message, rest: dict[str, Any]) -> dict[str, Any]:
    contents, calls, results = sorted_parts(message.parts)
    out: dict[str, Any] = {"role": message.role, "content": rest.pop("content", UNSET) if not contents else UNSET}
    if out["content"] is UNSET:
        out["content"] = write_content(contents, bool(calls or results))
    write_tools(out, calls, results, OLDER)
    return merge_residue(set_present(out, timestamp=message.created_at, metadata=message.metadata), rest)


def _write_raw(message: Message, part: RawPart) -> dict[str, Any]:
    """A record of an unknown type: the fields of every record, then its own."""
    if part.format != NAME or type(part.value) is not dict:
        return {}
    out = set_present({}, type=part.value.get("type", UNSET), uuid=message.id, parentUuid=message.parent_message_id)
    return merge_residue(set_present(out, timestamp=message.created_at, isSidechain=message.sidechain), part.value)


# -- snapshots -----------------------------------------------------------------------------------------------------


def read_snapshot(record: dict[str, Any]) -> Snapshot:
    """A snapshot of the user's files; values of another type are residue."""
    rest = dict(record)
    del rest["type"]
    fields: dict[str, Any] = {}
    if type(rest.get("snapshot")) is dict:
        held = dict(rest.pop("snapshot"))
        fields = _take(_FILES, held)
        if held:
            rest["snapshot"] = held
    if type(rest.get("isSnapshotUpdate")) is bool:
        fields["update"] = rest.pop("isSnapshotUpdate")
    message_id, created_at = take_maybe_str(rest, "messageId"), take_maybe_str(rest, "timestamp")
    return Snapshot(message_id=message_id, created_at=created_at, **fields, extra=pack(NAME, rest))


def write_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """The record of a snapshot, keys in the order Sage writes them."""
    rest, _ = unpack(NAME, snapshot.extra)
    out = set_present({"type": SNAPSHOT}, messageId=snapshot.message_id, timestamp=snapshot.created_at)
    set_present(out, isSnapshotUpdate=snapshot.update)
    files = set_present({}, **{key: getattr(snapshot, attribute) for key, (attribute, _) in _FILES.items()})
    held = rest.get("snapshot", {})
    if type(held) is dict:
        rest.pop("snapshot", None)
        out["snapshot"] = merge_residue(files, held)
    return merge_residue(out, rest)
