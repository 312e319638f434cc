"""Documents and messages of LangChain: `read`, `write` and the envelope of a record."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.langchain.content import read_block, read_input_block, write_block
from hansard.formats.langchain.files import NAME
from hansard.formats.langchain.tools import (
    drop_defaults,
    is_entry,
    place_calls,
    read_entries,
    read_result,
    with_defaults,
    write_call_block,
    write_entry,
    write_result,
)
from hansard.formats.langchain.usage import (
    in_standard_blocks,
    provider_of,
    read_kwargs,
    read_metadata,
    write_kwarg,
    write_metadata,
)
from hansard.formats.residue import HINTS, pack, set_present, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.calls import append_result
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import RawPart, TextPart, ToolCallPart, ToolResultPart

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_CLASSES = {
    "human": "HumanMessage",
    "ai": "AIMessage",
    "system": "SystemMessage",
    "tool": "ToolMessage",
    "function": "FunctionMessage",
    "chat": "ChatMessage",
}
_CHUNKS = {f"{name}Chunk": kind for kind, name in _CLASSES.items()}
_OF_CLASS = {**{name: kind for kind, name in _CLASSES.items()}, **{name: name for name in _CHUNKS}}
_CHAT_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "system": "system"}
_TYPES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "tool"}
_DEVELOPER = {"__openai_role__": "developer"}
_PATH = ["langchain", "schema", "messages"]


# -- the envelope of a record --------------------------------------------------------------------------------------


def open_envelope(record: dict[str, Any]) -> tuple[str, str, dict[str, Any], dict[str, Any]] | None:
    """`(form, type, fields, other envelope fields)`; None for an unknown kind of message."""
    kind = record.get("type")
    if kind == "constructor":
        path, inner = record.get("id"), record.get("kwargs")
        name = path[-1] if type(path) is list and path else None
        if type(name) is not str or name not in _OF_CLASS or type(inner) is not dict:
            return None
        if not exact_json.same(record.get("lc"), 1):
            return None
        around = {key: value for key, value in record.items() if key not in ("lc", "type", "kwargs")}
        if path == [*_PATH, name]:
            del around["id"]
        return "constructor", _OF_CLASS[name], dict(inner), around
    if type(kind) is not str or not (kind in _CLASSES or kind in _CHUNKS):
        return None
    if type(record.get("data")) is dict:
        around = {key: value for key, value in record.items() if key not in ("type", "data")}
        return "wrapped", kind, dict(record["data"]), around
    return ("flat", kind, dict(record), {}) if "content" in record else None


def _close_envelope(form: str, kind: str, fields: dict[str, Any], around: dict[str, Any]) -> dict[str, Any]:
    if form == "constructor":
        name = kind if kind in _CHUNKS else _CLASSES[kind]
        return {"lc": 1, "type": "constructor", "id": [*_PATH, name], "kwargs": fields, **around}
    return {"type": kind, "data": fields, **around} if form == "wrapped" else {"type": kind, **fields}


def _defaults(form: str, kind: str) -> dict[str, Any]:
    """The default values of fields in this form of a record."""
    base = _CHUNKS.get(kind, kind)
    defaults: dict[str, Any] = {"type": kind, "tool_call_id": ""} if base == "tool" else {"type": kind}
    if form == "constructor":
        return defaults
    defaults |= {"additional_kwargs": {}, "response_metadata": {}, "name": None, "id": None}
    if base == "ai":
        defaults |= {"tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None}
    elif base == "tool":
        defaults |= {"artifact": None, "status": "success"}
    if kind == "AIMessageChunk":
        defaults |= {"tool_call_chunks": [], "chunk_position": None}
    return defaults


# -- messages ------------------------------------------------------------------------------------------------------


def _read_message(record: Any, where: str, form: str, names: dict[str, str], out: list[Message]) -> None:
    """Read one record into one message; consecutive tool results become one message."""
    if type(record) is not dict:
        raise Unreadable("expected a message object", where)
    if type(record.get("type")) is not str:
        raise Unreadable(f"invalid type {record.get('type')!r}: expected a string such as 'human'", f"{where}.type")
    opened = open_envelope(record)
    role = _role_of(opened) if opened is not None else None
    if opened is None or role is None:
        raw = RawPart(format=NAME, value=record, extra={NAME: {HINTS: {"at": "messages"}}})
        out.append(Message(role="event", parts=[raw]))
        return
    mine, kind, fields, around = opened
    hints: dict[str, Any] = {"around": around} if around else {}
    if mine != form:
        hints["form"] = mine
    given = frozenset(fields)
    if role == "tool":
        if kind != "tool":
            hints["type"] = kind
        result = read_result(fields, hints, names)
        drop_defaults(fields, hints, _defaults(mine, kind), given)
        result = replace(result, extra=pack(NAME, fields, hints))
        append_result(out, result)
        return
    if kind != _TYPES[role]:
        hints["type"] = kind
    message = _read_record(role, fields, hints, names)
    drop_defaults(fields, hints, _defaults(mine, kind), given)
    out.append(replace(message, extra=pack(NAME, fields, hints)))


def _role_of(opened: tuple[str, str, dict[str, Any], dict[str, Any]]) -> str | None:
    kind, fields = _CHUNKS.get(opened[1], opened[1]), opened[2]
    if kind == "chat":
        role = fields.get("role")
        return _CHAT_ROLES.get(role) if type(role) is str else None
    if kind == "system" and fields.get("additional_kwargs") == _DEVELOPER:
        return "developer"
    return _ROLES[kind]


def _read_record(role: str, fields: dict[str, Any], hints: dict[str, Any], names: dict[str, str]) -> Message:
    standard = role == "assistant" and in_standard_blocks(fields)
    content, own_id = fields.pop("content", UNSET), take_maybe_str(fields, "id")
    if role != "assistant":
        if role == "developer":
            del fields["additional_kwargs"]
        return Message(role=role, parts=_read_content(content, False, fields, hints, read_input_block), id=own_id)
    given = [fields.get(key) or [] for key in ("tool_calls", "invalid_tool_calls")]
    reasoning, others = read_kwargs(fields)
    entries = read_entries(fields, names)
    more = bool(reasoning or entries or others)
    parts = [*_read_content(content, more, fields, hints, read_block), *entries]
    if type(content) is list:
        parts = place_calls(content, entries, given, standard) if entries else parts
        pieces = [(is_entry(part), block) for part, block in zip_longest(parts, content)]
        if standard:
            hints.pop("content", None)
        if _needs_standard_blocks(pieces) != standard:
            hints["version"] = "v1" if standard else "v0"
    message = Message(
        role=role, parts=[*reasoning, *parts, *others], id=own_id, agent_id=take_maybe_str(fields, "name")
    )
    return read_metadata(message, fields, hints, standard)


def _write_record(message: Message, form: str, names: dict[str, str], out: list[Any]) -> None:
    rest, hints = unpack(NAME, message.extra)
    answers = message.role == "assistant"
    provider = provider_of(message) if answers else UNSET
    pieces: list[tuple[bool, Any]] = []
    kwargs: dict[str, Any] = {}
    results: list[ToolResultPart] = []
    for part in message.parts:
        if type(part) is ToolResultPart and not (answers and part.provider_executed is True):
            results.append(part)
        elif answers and write_kwarg(part, kwargs, provider):
            continue
        elif is_entry(part):
            if answers:
                pieces.append((True, part))
        elif (block := write_block(part, provider)) is not UNSET:
            pieces.append((False, block))
    if pieces or kwargs or rest or hints or not message.parts:
        fields: dict[str, Any] = {}
        standard = answers and {"v0": False, "v1": True}.get(str(hints.get("version")), _needs_standard_blocks(pieces))
        _write_content(pieces, kwargs, standard, hints, names, fields)
        set_present(fields, id=message.id, name=message.agent_id if answers else UNSET)
        if answers:
            fields |= write_metadata(message, hints, standard, rest)
        if kwargs or message.role == "developer":
            left = rest.pop("additional_kwargs", {})
            fields["additional_kwargs"] = {**(kwargs or _DEVELOPER), **(left if type(left) is dict else {})}
        out.append(_write_envelope(message.role, form, fields, rest, hints))
    out.extend(_write_result(part, form, names) for part in results)


def _write_result(part: ToolResultPart, form: str, names: dict[str, str]) -> Any:
    rest, hints = unpack(NAME, part.extra)
    return _write_envelope("tool", form, write_result(part, hints, names), rest, hints)


def _write_envelope(role: str, form: str, fields: dict[str, Any], rest: dict[str, Any], hints: dict[str, Any]) -> Any:
    kind, form, around = hints.get("type"), hints.get("form", form), hints.get("around")
    form = form if form in ("wrapped", "constructor", "flat") else "wrapped"
    known = type(kind) is str and (kind in _CLASSES or kind in _CHUNKS)
    if type(kind) is not str or not known or _role_of((form, kind, {**fields, **rest}, {})) != role:
        kind = _TYPES[role]
    fields = {**with_defaults(fields, hints, _defaults(form, kind)), **rest}
    return _close_envelope(form, kind, fields, around if type(around) is dict else {})


def _write_message(message: Message, form: str, names: dict[str, str], out: list[Any]) -> None:
    if message.role == "tool":
        out.extend(_write_result(part, form, names) for part in message.parts if type(part) is ToolResultPart)
    elif message.role in _TYPES:
        _write_record(message, form, names, out)
    else:
        for part in message.parts:
            if type(part) is RawPart and part.format == NAME and unpack(NAME, part.extra)[1].get("at") == "messages":
                out.append(part.value)


# -- content -------------------------------------------------------------------------------------------------------


def _read_content(content: Any, more: bool, fields: dict[str, Any], hints: dict[str, Any], read: Any) -> list[Any]:
    """The parts of content; with `more` the record has other parts too, and "" is the default for no content."""
    if type(content) is str:
        return [TextPart(text=content)] if content or not more else []
    if type(content) is list:
        if _is_plain_text(content) or (more and not content):
            hints["content"] = "list"
        return [read(block) for block in content]
    if content is not UNSET and content is not None:
        fields["content"] = content
    hints["content"] = "null" if content is None else "missing"
    return []


def _write_content(
    pieces: list[tuple[bool, Any]],
    kwargs: dict[str, Any],
    standard: bool,
    hints: dict[str, Any],
    names: dict[str, str],
    fields: dict[str, Any],
) -> None:
    ids = [piece.tool_call_id for is_call, piece in pieces if is_call and type(piece) is ToolCallPart]
    blocks: list[Any] = []
    for is_call, piece in pieces:
        if is_call:
            key, entry = write_entry(piece, names)
            fields.setdefault(key, []).append(entry)
            alone = type(piece) is ToolCallPart and ids.count(piece.tool_call_id) == 1
            piece = write_call_block(piece, standard and alone)
        if piece is not UNSET:
            blocks.append(piece)
    how = hints.get("content")
    if standard or how == "list":
        fields["content"] = blocks
    elif _is_plain_text(blocks):
        fields["content"] = blocks[0]["text"]
    elif blocks:
        fields["content"] = blocks
    elif how == "null":
        fields["content"] = None
    elif how != "missing":
        fields["content"] = "" if kwargs or pieces else []


def _is_plain_text(blocks: list[Any]) -> bool:
    """Whether this is a single text that could be a string as well."""
    block = blocks[0] if len(blocks) == 1 else None
    return type(block) is dict and len(block) == 2 and block.get("type") == "text" and type(block.get("text")) is str


def _needs_standard_blocks(pieces: list[tuple[bool, Any]]) -> bool:
    """Whether there is more than text followed by calls, which only blocks can say. A piece is `(is a call, block)`."""
    calls = False
    for is_call, block in pieces:
        if not is_call and (calls or type(block) is not dict or block.get("type") != "text"):
            return True
        calls = calls or is_call
    return False


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """A list of messages, an object with `messages`, or one message."""
    hints: dict[str, Any] = {}
    body: dict[str, Any] = {}
    records, place = document, "$[{}]"
    if type(document) is dict:
        if type(document.get("messages")) is list:
            body, hints, place = dict(document), {"shape": "object"}, "$.messages[{}]"
            records = body.pop("messages")
        elif "type" in document:
            records, hints, place = [document], {"shape": "one"}, "$"
        else:
            raise Unreadable("expected a message or an object with a list of messages")
    if type(records) is not list:
        raise Unreadable("expected an object or a list")
    first = open_envelope(records[0]) if records and type(records[0]) is dict else None
    form = first[0] if first is not None else "wrapped"
    if form != "wrapped":
        hints["form"] = form
    names: dict[str, str] = {}
    messages: list[Message] = []
    for i, record in enumerate(records):
        _read_message(record, place.format(i), form, names, messages)
    return Conversation(messages=messages, extra=pack(NAME, body, hints))


def write(conversation: Conversation, target: Target) -> Any:
    """The shape it was read from; for conversations of other formats a list."""
    rest, hints = unpack(NAME, conversation.extra)
    form = hints.get("form")
    records: list[Any] = []
    names: dict[str, str] = {}
    for message in conversation.messages:
        _write_message(message, form if type(form) is str else "wrapped", names, records)
    shape = hints.get("shape")
    if shape == "one" and len(records) == 1:
        return records[0]
    return {**rest, "messages": records} if shape == "object" else records
