"""Sage session files as a whole: reader, writer, and the text between records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr, replace

from hansard.errors import Unreadable
from hansard.formats.coding_agents.sage.complete import migrated
from hansard.formats.coding_agents.sage.content import NAME
from hansard.formats.coding_agents.sage.fields import Record, parse, parse_respelled, read_typed, write_typed
from hansard.formats.coding_agents.sage.records import (
    ROLES,
    SNAPSHOT,
    Place,
    is_record,
    read_message,
    read_snapshot,
    write_message,
    write_snapshot,
)
from hansard.formats.coding_agents.scanner import Search
from hansard.formats.contract import Target
from hansard.formats.residue import HINTS, pack, unpack
from hansard.model import exact_json, native
from hansard.model.conversation import Conversation, Message, Snapshot

__all__ = ["migrated", "read", "write"]

SPACE = " \t\r\n\ufeff"
_BEGINS = re.compile(r'\{\s*"type"\s*:')
_SCAN = json.JSONDecoder(parse_int=str, parse_float=str)


class Piece(NamedTuple):
    """A stretch of the file, its value if it is JSON, and whether it shares a line with the piece before."""

    text: bytes
    value: Any = UNSET
    glued: bool = False


def decoded(text: bytes) -> Any:
    try:
        return exact_json.decode(text)
    except Unreadable:
        return UNSET


def parsed(text: bytes) -> Any:
    """The typed record, if the typed path may read it, else the value."""
    record = parse(text)
    return record if record is not None else decoded(text)


def pieces_of(raw: bytes, parser: Callable[[bytes], Any] = decoded) -> Iterator[Piece]:
    """The lines of a file; from the first record that is spread over several lines on, its values."""
    at, spread = 0, True
    while at >= 0:
        end = raw.find(b"\n", at)
        line = raw[at:end] if end >= 0 else raw[at:]
        begun = line.strip()
        value = parser(line) if begun else UNSET
        if value is UNSET and spread and end >= 0 and begun[:1] in (b"{", b"\xef"):
            values = list(_values(raw[at:])) if begun[-1:] in (b"{", b",", b"[") else []
            if values and values[0].value is not UNSET:
                yield from values
                return
            spread = not values
        if value is UNSET and b"{" in begun[1:]:
            yield from _values(line)
        else:
            yield Piece(line, value)
        at = end + 1 if end >= 0 else -1


def _values(raw: bytes) -> Iterator[Piece]:
    """Consecutive JSON values; a torn stretch extends to where the next whole record begins."""
    text = raw.decode("utf-8", "surrogateescape")
    search = Search(text)
    cuts = [0]
    while (start := _skip(text, cuts[-1])) < len(text):
        end = search.end_of(start)
        cuts.append(end if end is not None else _next_record(search, start + 1))
    cuts[-1] = len(text)
    for i, end in enumerate(cuts[1:]):
        piece = text[cuts[i] : end].encode("utf-8", "surrogateescape")
        yield Piece(piece, decoded(piece), i > 0)


def _next_record(search: Search, start: int) -> int:
    """Where the next whole record begins; the end of the text if there is none, or the search took too long."""
    for found in _BEGINS.finditer(search.text, start):
        if search.budget < 0:
            break
        value = (search.value_at(found.start()) or ({}, 0))[0]
        if value.get("type") in (*ROLES, SNAPSHOT) and ("uuid" in value or "messageId" in value):
            return found.start()
    return len(search.text)


def _skip(text: str, at: int, over: str = SPACE) -> int:
    while at < len(text) and text[at] in over:
        at += 1
    return at


def elements_of(raw: bytes) -> tuple[list[Piece], list[str]]:
    """The elements of a JSON array, and the text around and between them."""
    text = raw.decode("utf-8", "surrogatepass")
    pieces: list[Piece] = []
    gaps: list[str] = []
    end = 0
    start = _skip(text, text.index("[") + 1)
    while text[start] != "]":
        gaps.append(text[end:start])
        _, end = _SCAN.raw_decode(text, start)
        piece = text[start:end].encode("utf-8", "surrogatepass")
        pieces.append(Piece(piece, decoded(piece)))
        start = _skip(text, end, SPACE + ",")
    return pieces, [*gaps, text[end:]]


M = TypeVar("M", Message, Snapshot)


# -- evidence ------------------------------------------------------------------------------------------------------


def _text(piece: bytes) -> str:
    """Any bytes as a string, reversibly."""
    return piece.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    """The bytes of `_text`; a lone surrogate that `_text` cannot have made becomes a question mark."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _marked(node: M, marks: dict[str, Any]) -> M:
    """Add marks in place; only for values just read."""
    if marks:
        rest, old = unpack(NAME, node.extra)
        force_setattr(node, "extra", pack(NAME, rest, {**old, **marks}))
    return node


def _unmarked(node: M) -> M:
    """A copy without the marks that describe only the spelling of the file."""
    rest, marks = unpack(NAME, node.extra)
    if not marks.keys() & _SPELLING_MARKS:
        return node
    others = {key: value for key, value in marks.items() if key not in _SPELLING_MARKS}
    kept = {key: value for key, value in node.extra.items() if key != NAME}  # type: ignore[union-attr]
    own = pack(NAME, rest, others)
    return replace(node, extra={**kept, **({} if own is UNSET else own)} or UNSET)


_SPELLING_MARKS = frozenset({"line", "glued", "at"})


def _kept_line(node: M, place: Place) -> bytes | None:
    """The text a message or snapshot was read from, if it still matches."""
    line = unpack(NAME, node.extra)[1].get("line")
    if type(line) is not str:
        return None
    text = _bytes(line)
    if type(node) is Message and (record := parse_respelled(text)) is not None:
        if (typed := read_typed(record, place)) is not None:
            return text if native.same(typed, _unmarked(node)) else None
    value = decoded(text)
    if not is_record(value):
        return None
    reread = read_message(value, place) if type(node) is Message else _snapshot_of(value)
    return text if reread is not None and native.same(reread, _unmarked(node)) else None


def _snapshot_of(value: dict[str, Any]) -> Snapshot | None:
    return read_snapshot(value) if value.get("type") == SNAPSHOT else None


# -- files ---------------------------------------------------------------------------------------------------------


class _Reading:
    """State of reading one file: messages, snapshots and other pieces."""

    def __init__(self, session: str | UnsetType) -> None:
        self.session = session
        self.messages: list[Message] = []
        self.snapshots: list[tuple[int, Snapshot]] = []
        self.others: list[list[Any]] = []
        self.count = 0
        self.before: str | None = None

    def add(self, piece: Piece) -> None:
        value = piece.value
        if isinstance(value, Record):
            place = Place(len(self.messages), self.before, self.session)
            if (typed := read_typed(value, place)) is not None:
                if piece.glued or type(value) is not Record:
                    self.keep(typed, piece, type(value) is Record)
                self.before = value.uuid
                self.messages.append(typed)
                self.count += 1
                return
            value = decoded(piece.text)
        if not is_record(value):
            self.others.append([self.count, _text(piece.text), *([True] if piece.glued else [])])
        elif value.get("type") == SNAPSHOT:
            snapshot = read_snapshot(value)
            self.keep(snapshot, piece, exact_json.encode(write_snapshot(snapshot)) == piece.text)
            self.snapshots.append((len(self.messages), snapshot))
        else:
            place = Place(len(self.messages), self.before, self.session)
            message = read_message(value, place)
            record = write_message(message, place)
            self.keep(message, piece, exact_json.encode(record) == piece.text)
            self.before = _uuid(record, self.before)
            self.messages.append(message)
        self.count += 1

    def keep(self, node: Message | Snapshot, piece: Piece, default: bool) -> None:
        marks: dict[str, Any] = {"glued": True} if piece.glued else {}
        if not default:
            marks["line"] = _text(piece.text)
        _marked(node, marks)  # type: ignore[type-var]

    def placed_snapshots(self) -> list[Snapshot]:
        """The snapshots, each marked with its place if that is not the default one."""
        default = _DefaultPlaces(self.messages)
        return [_marked(one, {} if default.next(one, at) == at else {"at": at}) for at, one in self.snapshots]


class _DefaultPlaces:
    """The default place of a snapshot: after its message and the snapshots before it."""

    def __init__(self, messages: list[Message]) -> None:
        self.after: dict[Any, int] = {}
        for i, message in enumerate(messages):
            self.after.setdefault(message.id, i + 1)
        self.last, self.end = 0, len(messages)

    def next(self, snapshot: Snapshot, at: Any = None) -> int:
        """The default place of the next snapshot; `at` is its real place."""
        default = self.end if snapshot.message_id is UNSET else self.after.get(snapshot.message_id, self.end)
        default = max(self.last, default)
        self.last = max(self.last, min(at, self.end)) if type(at) is int else default
        return default


def _uuid(record: dict[str, Any], before: str | None) -> str | None:
    uuid = record.get("uuid")
    return uuid if type(uuid) is str else before


def _session_of(pieces: Iterator[Piece]) -> str | UnsetType:
    """The session id of the first record that has one."""
    for piece in pieces:
        if b"sessionId" in piece.text and is_record(piece.value) and type(piece.value.get("sessionId")) is str:
            return piece.value["sessionId"]  # type: ignore[no-any-return]
    return UNSET


def read(document: bytes) -> Conversation:
    """A file of lines, one record over several lines, or an array of records."""
    marks: dict[str, Any] = {}
    raw = document.removesuffix(b"\n")
    listed = raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[" and type(decoded(document)) is list
    if listed:
        pieces, gaps = elements_of(document)
        marks["shape"] = "array"
        if gaps != _gaps(len(pieces), None):
            marks["gaps"] = gaps
        reading = _Reading(_session_of(iter(pieces)))
        for piece in pieces:
            reading.add(piece)
    else:
        reading = _Reading(_session_of(pieces_of(raw)) if b'"sessionId"' in raw else UNSET)
        for piece in pieces_of(raw, parsed) if document else ():
            reading.add(piece)
        if document and not document.endswith(b"\n"):
            marks["unended"] = True
    if not reading.messages and not reading.snapshots and any(text.strip(SPACE) for _, text, *_ in reading.others):
        raise Unreadable("no record of a Sage session", "$", "its records have a type, or a role and content")
    if reading.others:
        marks["others"] = reading.others
    return Conversation(
        messages=reading.messages,
        id=reading.session,
        snapshots=reading.placed_snapshots() or UNSET,
        extra=pack(NAME, {}, marks),
    )


def write(conversation: Conversation, target: Target) -> bytes:
    """The file it was read from; for other conversations, a line for every message and snapshot."""
    marks = unpack(NAME, conversation.extra)[1]
    lines = _with_others(_lines(conversation), marks.get("others"))
    if marks.get("shape") == "array":
        gaps = _gaps(len(lines), marks.get("gaps"))
        texts = [text for text, _ in lines]
        return b"".join(_bytes(gap) + text for gap, text in zip(gaps, [*texts, b""], strict=True))
    out = b"".join(text if glued or not i else b"\n" + text for i, (text, glued) in enumerate(lines))
    return out + b"\n" if lines and "unended" not in marks else out


def _lines(conversation: Conversation) -> list[tuple[bytes, bool]]:
    """Every record as text, and whether it follows the one before it on the same line."""
    lines: list[tuple[bytes, bool]] = []
    messages = conversation.messages
    snapshots = [] if conversation.snapshots is UNSET else conversation.snapshots
    waiting = _placed(snapshots, messages) if snapshots else []
    session = conversation.id
    before: str | None = None
    for i, message in enumerate(messages):
        while waiting and waiting[-1][0] <= i:
            lines.append(_line(waiting.pop()[1], Place(i, before, session)))
        place = Place(i, before, session)
        if (typed := write_typed(message, place)) is not None:
            lines.append((exact_json.encode(typed), False))
            before = typed.uuid
            continue
        lines.append(_line(message, place))
        before = message.id if type(message.id) is str else _uuid(write_message(message, place), before)
    while waiting:
        lines.append(_line(waiting.pop()[1], Place(len(messages), before, session)))
    return lines


def _placed(snapshots: list[Snapshot], messages: list[Message]) -> list[tuple[int, Snapshot]]:
    """The snapshots with the number of messages before each; the last one first."""
    default = _DefaultPlaces(messages)
    placed: list[tuple[int, Snapshot]] = []
    for snapshot in snapshots:
        default.next(snapshot, unpack(NAME, snapshot.extra)[1].get("at"))
        placed.append((default.last, snapshot))
    return placed[::-1]


def _line(node: Message | Snapshot, place: Place) -> tuple[bytes, bool]:
    glued = False
    if node.extra is not UNSET and type(own := node.extra.get(NAME)) is dict and HINTS in own:
        glued = unpack(NAME, node.extra)[1].get("glued") is True
        if (kept := _kept_line(node, place)) is not None:  # type: ignore[type-var]
            return kept, glued
    record = write_message(node, place) if type(node) is Message else write_snapshot(node)  # type: ignore[arg-type]
    return exact_json.encode(record), glued


def _with_others(lines: list[tuple[bytes, bool]], others: Any) -> list[tuple[bytes, bool]]:
    """The records, with the other pieces inserted at their places."""
    if type(others) is not list:
        return lines
    records = iter(lines)
    out: list[tuple[bytes, bool]] = []
    for entry in others:
        match entry:
            case [int(at), str(text), *glued] if lines or not text.strip(SPACE):
                out += islice(records, max(0, at - len(out)))
                out.append((_bytes(text), glued == [True]))
    return [*out, *records]


def _gaps(count: int, kept: Any) -> list[str]:
    """The text around `count` elements of an array; if the count changed, in the style of the kept text."""
    if type(kept) is list and kept and all(type(gap) is str for gap in kept):
        if len(kept) == count + 1:
            return kept
        if len(kept) > 1 and count:
            return [kept[0], *[kept[1] if len(kept) > 2 else ","] * (count - 1), kept[-1]]
    return ["[", *[","] * (count - 1), "]"] if count else ["[]"]
