"""Documents, rows and messages of the agent store: `read` and `write`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.agent_store.content import NAME, read_content, read_parts, write_content, write_parts
from hansard.formats.contract import Target
from hansard.formats.residue import merge_residue, pack, set_present, take_maybe_str, unpack
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import ToolCallPart, ToolResultPart

_ROLES = {"developer": "system"}
_SNAKE = {
    "threadId": "thread_id",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "resourceId": "resource_id",
}
_CAMEL = {snake: camel for camel, snake in _SNAKE.items()}
_THREAD = {
    "id": "id",
    "title": "title",
    "resourceId": "resource_id",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
}


# -- rows ----------------------------------------------------------------------------------------------------------


def _read_row(record: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The record with camelCase keys, and whether it had snake_case keys."""
    if _CAMEL.keys().isdisjoint(record) or not _SNAKE.keys().isdisjoint(record):
        return dict(record), False
    return {_CAMEL.get(key, key): value for key, value in record.items()}, True


def _write_row(record: dict[str, Any], row: bool) -> dict[str, Any]:
    return {_SNAKE.get(key, key): value for key, value in record.items()} if row else record


# -- messages ------------------------------------------------------------------------------------------------------


def _read_fast(record: dict[str, Any], shared: dict[str, Any], out: list[Message]) -> bool:
    """Fast path for most records: append their messages and return True; False for all others."""
    role, content, message_id = record.get("role"), record.get("content"), record.get("id", UNSET)
    created_at = record.get("createdAt", UNSET)
    if len(record) != 3 + len(shared) + (message_id is not UNSET) + (created_at is not UNSET):
        return False
    if type(role) is not str or role in _SPECIAL or type(content) is not dict or len(content) != 2:
        return False
    if type(message_id) not in _GIVEN or type(created_at) not in _GIVEN:
        return False
    for key, value in shared.items():
        if record.get(key) != value:
            return False
    blocks, format = content.get("parts"), content.get("format")
    if type(blocks) is not list or type(format) is not int or format != 2:
        return False
    parts, results = read_parts(blocks, role)
    if record.get("type", UNSET) != _type(role, parts):
        return False
    out.append(Message(role=role, parts=parts, id=message_id, created_at=created_at))
    if results:
        out.append(Message(role="tool", parts=results))
    return True


_GIVEN = (str, UnsetType)
_SPECIAL = ("developer", "tool", "event")


def _read_message(record: Any, path: str, i: int, shared: dict[str, Any], out: list[Message]) -> None:
    """Read one record into one message, and one more for the results of its invocations."""
    if type(record) is dict and _read_fast(record, shared, out):
        return
    path = path.format(i)
    if type(record) is not dict:
        raise Unreadable("expected a message object", path)
    rest, row = _read_row(record)
    role = rest.pop("role", None)
    if type(role) is not str:
        raise Unreadable("missing role", f"{path}.role")
    if "content" not in rest:
        raise Unreadable("missing content", f"{path}.content")
    for key, value in shared.items():
        if rest.get(key) == value:
            del rest[key]
    hints: dict[str, Any] = {"row": True} if row else {}
    if role in _ROLES:
        hints["role"] = role
    parts, results, held = read_content(rest.pop("content"), role, hints)
    kind = rest.pop("type", UNSET)
    if kind is UNSET:
        hints["type"] = "absent"
    elif kind != _type(role, parts):
        rest["type"] = kind
    metadata = held.pop("metadata") if type(held.get("metadata")) is dict else UNSET
    if held:
        rest["content"] = held
    message_id, created_at = take_maybe_str(rest, "id"), take_maybe_str(rest, "createdAt")
    message = Message(role=role, parts=parts, id=message_id, created_at=created_at, metadata=metadata)
    if role == "tool" and out and not rest and not hints and _answers(out[-1], message) is not None:
        hints["apart"] = True
    out.append(replace(message, extra=pack(NAME, rest, hints)))
    if results:
        out.append(Message(role="tool", parts=results))


def _type(role: str, parts: list[Any]) -> str:
    if role == "event":
        return "event"
    for part in parts:
        if type(part) is ToolCallPart or type(part) is ToolResultPart:
            return "tool"
    return "text"


def _write_fast(message: Message, answers: dict[int, ToolResultPart], shared: dict[str, Any]) -> dict[str, Any]:
    """Fast path for a message without residue and metadata."""
    out: dict[str, Any] = {}
    if message.id is not UNSET:
        out["id"] = message.id
    if shared["threadId"] is not UNSET:
        out["threadId"] = shared["threadId"]
    out["role"] = _ROLES.get(message.role, message.role)
    out["type"] = _type(message.role, message.parts)
    out["content"] = {"format": 2, "parts": write_parts(message.parts, answers)}
    if message.created_at is not UNSET:
        out["createdAt"] = message.created_at
    if shared["resourceId"] is not UNSET:
        out["resourceId"] = shared["resourceId"]
    return out


def _write_message(message: Message, answers: dict[int, ToolResultPart], shared: dict[str, Any]) -> dict[str, Any]:
    if message.extra is message.metadata is UNSET:
        return _write_fast(message, answers, shared)
    rest, hints = unpack(NAME, message.extra)
    held = rest.pop("content", None)
    role = message.role if hints.get("role") == message.role else _ROLES.get(message.role, message.role)
    out = set_present({}, id=message.id, threadId=rest.pop("threadId", shared["threadId"]), role=role)
    if hints.get("type") != "absent":
        out["type"] = rest.pop("type", _type(message.role, message.parts))
    out["content"] = write_content(message, answers, dict(held) if type(held) is dict else {}, hints)
    set_present(out, createdAt=message.created_at, resourceId=rest.pop("resourceId", shared["resourceId"]))
    return _write_row(merge_residue(out, rest), hints.get("row") is True)


def _inner_answers(message: Message) -> dict[int, ToolResultPart]:
    """The results in the same message as their call, by the index of the call."""
    found: dict[int, ToolResultPart] = {}
    if message.role == "tool" or ToolResultPart not in map(type, message.parts):
        return found
    waiting: dict[Any, int] = {}
    for j, part in enumerate(message.parts):
        if type(part) is ToolCallPart and type(part.tool_call_id) is str:
            waiting[part.tool_call_id] = j
        elif type(part) is ToolResultPart and (call := waiting.pop(part.tool_call_id, None)) is not None:
            found[call] = part
    return found


def _answers(asked: Message, message: Message) -> dict[int, ToolResultPart] | None:
    """The results of a tool message by the index of the call, in the message before it, that each answers.

    None if the tool message must be a row of its own: it is merged only if that loses nothing and keeps the order.
    """
    if message.role != "tool" or asked.role == "tool" or not message.parts:
        return None
    if message != Message(role="tool", parts=message.parts):
        return None
    if any(type(part) is ToolResultPart for part in asked.parts):
        return None
    found: dict[int, ToolResultPart] = {}
    at = 0
    for part in message.parts:
        if type(part) is not ToolResultPart or (part.extra is not UNSET and NAME in part.extra):
            return None
        while at < len(asked.parts) and not _is_answer(asked.parts[at], part):
            at += 1
        if at == len(asked.parts):
            return None
        found[at] = part
        at += 1
    return found


def _is_answer(call: Any, part: ToolResultPart) -> bool:
    if type(call) is not ToolCallPart or call.tool_call_id != part.tool_call_id or call.tool_name != part.tool_name:
        return False
    return part.signature is call.state is UNSET and (call.extra is UNSET or "state" not in unpack(NAME, call.extra)[1])


def _write_messages(messages: list[Message], shared: dict[str, Any]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    folded = False
    for i, message in enumerate(messages):
        if folded:
            folded = False
            continue
        answers = _answers(message, messages[i + 1]) if i + 1 < len(messages) else None
        folded = answers is not None
        out.append(_write_message(message, _inner_answers(message) if answers is None else answers, shared))
    return out


# -- documents -----------------------------------------------------------------------------------------------------


def _read_thread(thread: dict[str, Any], hints: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the conversation, and the residue of the thread."""
    rest, row = _read_row(thread)
    if row:
        hints["row"] = True
    fields = {field: rest.pop(key) for key, field in _THREAD.items() if type(rest.get(key)) is str}
    if type(rest.get("metadata")) is dict:
        fields["metadata"] = rest.pop("metadata")
    return fields, rest


def _write_thread(conversation: Conversation, rest: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    unsaid = hints.get("unsaid")
    said = {key: field for key, field in _THREAD.items() if type(unsaid) is not list or field not in unsaid}
    out = set_present({}, **{key: getattr(conversation, field) for key, field in said.items()})
    set_present(out, metadata=conversation.metadata)
    return _write_row(merge_residue(out, rest), hints.get("row") is True)


def _shared(records: list[Any], fields: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    """The thread id and resource id that all messages share.

    The spelling hint `own` lists ids that differ from the thread's, `unsaid` those that only the messages have.
    """
    shared: dict[str, Any] = {}
    for key, field in (("threadId", "id"), ("resourceId", "resource_id")):
        given = fields.get(field)
        common = _name_of(records[0], key) if records else None
        if common is not None and any(_name_of(record, key) != common for record in records):
            common = None
        if given is None and common is not None:
            given = fields[field] = common
            hints.setdefault("unsaid", []).append(field)
        if given is not None and common == given:
            shared[key] = given
        elif given is not None and records:
            hints.setdefault("own", []).append(key)
    return shared


def _name_of(record: Any, key: str) -> str | None:
    value = None
    if type(record) is dict:
        value = record.get(key if key in record or not _SNAKE.keys().isdisjoint(record) else _SNAKE[key])
    return value if type(value) is str else None


def _default_shape(conversation: Conversation, rest: dict[str, Any]) -> str:
    """A list, unless the thread has fields that messages cannot hold."""
    said = (conversation.title, conversation.metadata, conversation.created_at, conversation.updated_at)
    if rest or any(value is not UNSET for value in said):
        return "thread"
    named = conversation.id is not UNSET or conversation.resource_id is not UNSET
    return "thread" if named and not conversation.messages else "list"


def read(document: Any) -> Conversation:
    """A list of messages, one message, or an object with `messages` and fields of the thread."""
    hints: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    shape, records = "list", document
    if type(document) is dict and "messages" not in document:
        shape, records = "message", [document]
    elif type(document) is dict:
        rest = dict(document)
        shape, records = "flat", rest.pop("messages")
        if type(rest.get("thread")) is dict:
            shape = "thread"
            fields, left = _read_thread(rest.pop("thread"), hints)
            if left:
                rest["thread"] = left
        else:
            fields, rest = _read_thread(rest, hints)
    if type(records) is not list:
        raise Unreadable("missing list of messages", "$.messages" if type(document) is dict else "$")
    shared = _shared(records, fields, hints)
    if shape in ("list", "message"):
        hints.pop("unsaid", None)
    messages: list[Message] = []
    path = {"message": "$", "list": "$[{}]"}.get(shape, "$.messages[{}]")
    for i, record in enumerate(records):
        _read_message(record, path, i, shared, messages)
    conversation = Conversation(messages=messages, **fields)
    if shape != _default_shape(conversation, rest):
        hints["shape"] = shape
    return replace(conversation, extra=pack(NAME, rest, hints))


def write(conversation: Conversation, target: Target) -> Any:
    """The shape it was read from; for conversations of other formats a list, or a thread if it has fields to write."""
    rest, hints = unpack(NAME, conversation.extra)
    own = hints.get("own")
    shared = {"threadId": conversation.id, "resourceId": conversation.resource_id}
    for key in own if type(own) is list else ():
        if key in ("threadId", "resourceId"):
            shared[key] = UNSET
    records = _write_messages(conversation.messages, shared)
    shape, default = hints.get("shape"), _default_shape(conversation, rest)
    if shape == "message" and default == "list" and len(records) == 1:
        return records[0]
    if shape == "flat":
        return {**_write_thread(conversation, rest, hints), "messages": records}
    if default == "list" and shape != "thread":
        return records
    left = rest.pop("thread", None)
    thread = _write_thread(conversation, left if type(left) is dict else {}, hints)
    return {"thread": thread, "messages": records, **rest}
