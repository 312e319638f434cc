"""Hansard's own JSON: a conversation, a bare list of messages, one message, or JSON lines.

    shape              document
    conversation       an object with `messages` (the default)
    list, message      messages alone, as the first schema has them
    lines              a message a line; before them a line with the rest of the conversation, if there is any

A file of many conversations has an object with `messages` a line.
Every message carries `metadata.schemaVersion`. Canonical metadata leaves it out; it is written for every message,
and a message that came without it, or with another version, has a mark. Nothing is lost here.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import force_setattr, replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.residue import pack, unpack
from hansard.model import exact_json, native, versions
from hansard.model.conversation import Conversation, Message
from hansard.model.stored import plain

NAME = native.NATIVE
_SHAPES = ("list", "message", "lines")


# -- messages ------------------------------------------------------------------------------------------------------


def _read_version(message: Message) -> None:
    """Take the schema version out of the metadata of a message just read."""
    metadata = message.metadata
    if metadata is UNSET:
        _mark(message, "metadata", "absent")
        return
    if "schemaVersion" not in metadata:
        _mark(message, "metadata", "unversioned")
        return
    version = metadata.pop("schemaVersion")
    if type(version) is not int or version != versions.CURRENT:
        _mark(message, "schemaVersion", version)
    if not metadata:
        if message.extra is not UNSET and unpack(NAME, message.extra)[1].get("metadata") == "empty":
            force_setattr(message, "extra", _unmarked(message.extra, "metadata"))
        else:
            force_setattr(message, "metadata", UNSET)


def _write_version(message: Message) -> Message:
    """Put it back, or leave it out where the message came without."""
    marks = unpack(NAME, message.extra)[1] if message.extra is not UNSET else {}
    if "metadata" not in marks and "schemaVersion" not in marks:
        if message.metadata is UNSET:
            return replace(message, metadata=_PLAIN)
        message = replace(message, metadata={"schemaVersion": versions.CURRENT, **message.metadata})
        if message.metadata == _PLAIN:
            _mark(message, "metadata", "empty")
        return message
    how, version = marks.get("metadata"), marks.get("schemaVersion", versions.CURRENT)
    message = replace(message, extra=_unmarked(message.extra, "metadata", "schemaVersion"))
    metadata = {} if message.metadata is UNSET else message.metadata
    if how == "absent" and message.metadata is UNSET:
        return message
    if how == "unversioned" and message.metadata is not UNSET:
        return message
    return replace(message, metadata={"schemaVersion": version, **metadata})


_PLAIN: dict[str, Any] = {"schemaVersion": versions.CURRENT}


def with_version(message: Message) -> Message:
    """A message of a ledger as the schema has it, with `metadata.schemaVersion`."""
    return _write_version(plain(message))


def without_version(message: Message) -> Message:
    """A message for a ledger: the schema version is taken out of its metadata."""
    if isinstance(message.metadata, dict) and "schemaVersion" in message.metadata:
        _read_version(message)
    return message


def _mark(node: Any, key: str, value: Any) -> None:
    extra = {} if node.extra is UNSET else node.extra
    rest, marks = unpack(NAME, extra)
    packed: Any = pack(NAME, rest, {**marks, key: value})
    force_setattr(node, "extra", {**extra, **packed})


def _unmarked(extra: Any, *keys: str) -> Any:
    rest, marks = unpack(NAME, extra)
    packed: Any = pack(NAME, rest, {key: value for key, value in marks.items() if key not in keys})
    others = {name: value for name, value in extra.items() if name != NAME}
    return {**others, **(packed if packed is not UNSET else {})} or UNSET


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """Any of the four shapes."""
    raw = document if isinstance(document, bytes) else exact_json.encode(document)
    shape, conversation = _read_shape(raw)
    for message in conversation.messages:
        _read_version(message)
    if shape != "conversation":
        _mark(conversation, "shape", shape)
    return conversation


def _read_shape(raw: bytes) -> tuple[str, Conversation]:
    first = raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    quick: Any = native.try_decode(list[Message] if first == b"[" else Conversation, raw)
    if type(quick) is list:
        return "list", Conversation(messages=quick)
    if quick is not None:
        return "conversation", quick
    try:
        value = exact_json.decode(raw)
    except Unreadable:
        lines = raw.split(b"\n")
        if sum(1 for line in lines if line.strip()) < 2:
            raise
        return "lines", _read_lines(lines)
    if type(value) is list:
        return "list", Conversation(messages=_build_messages(value, "$"))
    if type(value) is not dict:
        raise Unreadable("an object or a list expected")
    if type(value.get("messages")) is list:
        rest = {key: item for key, item in value.items() if key != "messages"}
        shell = native.build(Conversation, {**rest, "messages": []}, "$")
        return "conversation", replace(shell, messages=_build_messages(value["messages"], "$.messages"))
    return "message", Conversation(messages=_build_messages([value], "$"))


def _build_messages(values: list[Any], path: str) -> list[Message]:
    return [native.build(Message, versions.upgrade(value), f"{path}[{i}]") for i, value in enumerate(values)]


def _read_lines(lines: list[bytes]) -> Conversation:
    values: list[Any] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                values.append(exact_json.decode(line))
            except Unreadable as error:
                raise Unreadable(f"line {number}: {error.problem}", "$", error.way_out) from None
    shell = Conversation(messages=[])
    if type(values[0]) is dict and "parts" not in values[0] and "content" not in values[0]:
        shell = native.build(Conversation, {**values[0], "messages": []}, "line 1")
        values = values[1:]
        _mark(shell, "header", True)
    return replace(shell, messages=_build_messages(values, "$"))


def write(conversation: Conversation, target: Target) -> bytes:
    """The shape it was read in, as long as that can say everything."""
    marks = unpack(NAME, conversation.extra)[1]
    shape = marks.get("shape") if marks.get("shape") in _SHAPES else None
    messages = _versioned(conversation)
    if shape is None:
        return _document(conversation, messages)
    shell = replace(conversation, messages=[], extra=_unmarked(conversation.extra, "shape", "header"))
    bare = shell == Conversation(messages=[])
    if shape == "lines":
        header = {key: value for key, value in native.plain(shell).items() if key != "messages"}
        lines = [exact_json.encode(header)] if header or "header" in marks else []
        return b"".join(line + b"\n" for line in [*lines, *map(native.encode, messages)])
    if shape == "list" and bare:
        return native.encode(messages)
    if shape == "message" and bare and len(messages) == 1:
        return native.encode(messages[0])
    return _document(conversation, messages)


def _versioned(conversation: Conversation) -> list[Any]:
    messages: list[Any] = [_write_version(message) for message in conversation.messages]
    if any(_version(message) == 0 for message in messages):
        messages = [versions.downgrade(native.plain(message), _version(message)) for message in messages]
    return messages


def _document(conversation: Conversation, messages: list[Any]) -> bytes:
    if all(type(message) is Message for message in messages):
        return native.encode(replace(conversation, messages=messages))
    shell = native.plain(replace(conversation, messages=[]))
    return exact_json.encode({**shell, "messages": native.plain(messages)})


def split(raw: bytes) -> list[bytes]:
    """A document for each line that is a conversation; anything else is one document."""
    first, newline, rest = raw.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")
    if not newline or not rest.strip() or not _is_conversation(first):
        return [raw]
    return [line + b"\n" for line in (first, *rest.split(b"\n")) if line.strip()]


def _is_conversation(line: bytes) -> bool:
    if not line.rstrip().endswith(b"}"):
        return False
    try:
        value = exact_json.decode(line)
    except Unreadable:
        return False
    return type(value) is dict and type(value.get("messages")) is list


def join(documents: list[bytes]) -> bytes:
    """A line for each conversation, whatever shape it had."""
    lines: list[bytes] = []
    for document in documents:
        if not document.startswith(b"{") or b"\n" in document.strip() or not _is_conversation(document):
            conversation = read(document)
            document = _document(conversation, _versioned(conversation))
        lines.append(document.strip() + b"\n")
    return b"".join(lines)


def _version(message: Any) -> Any:
    metadata = message.metadata if type(message) is Message else message.get("metadata")
    return metadata.get("schemaVersion") if type(metadata) is dict else None
