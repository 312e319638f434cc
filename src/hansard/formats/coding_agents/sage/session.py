"""Sage session files: `messages.jsonl` and `snapshots.jsonl`, one record, or a JSON array of records.  Sage 0.1.

    canonical                         native
    conversation id                   sessionId; a record of another session keeps its own
    message                           a record: uuid, parentUuid, timestamp, context, usage, thinkingMetadata,
                                      todos, isSidechain, metadata
    role                              type: user, assistant, system, tool_result; a `ConversationMessage` (no uuid)
                                      is read and written in its older shape
    text, reasoning, file             message.content: a string where one text says it all, else a list of blocks
    tool-call                         message.toolCalls
    tool-result                       toolResults beside or inside `message`; a failure's words are its `error`
    snapshot                          file_history_snapshot
    event with raw(sage)              a record of any other type, word for word

A session file is evidence: what was imported is exported byte for byte. Where the usual spelling of a message or
snapshot is not what stood in the file, its text is kept with it (the mark `line`) and written again as long as the
message still says what the text says. What is no record (blank, torn, not JSON) stays with the conversation.
Lost, and reported: title, agents, runs, models, sources, data parts, calls that stand before text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr, replace

from hansard.errors import Unreadable
from hansard.formats.coding_agents.sage.content import NAME
from hansard.formats.coding_agents.sage.fields import Record, parse, parse_respelled, read_usual, write_usual
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

SPACE = " \t\r\n\ufeff"
_BEGINS = re.compile(r'\{\s*"type"\s*:')
_SCAN = json.JSONDecoder(parse_int=str, parse_float=str)


class Piece(NamedTuple):
    """A stretch of the file, what it holds if it is JSON, and whether it follows the piece before on the same line."""

    text: bytes
    value: Any = UNSET
    glued: bool = False


def decoded(text: bytes) -> Any:
    try:
        return exact_json.decode(text)
    except Unreadable:
        return UNSET


def parsed(text: bytes) -> Any:
    """The typed record, if it is one that the quick way may read, else the value."""
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
    """JSON values one behind the other; what is torn reaches to where the next whole record begins."""
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
    """Where the next whole record begins; the end of the text when there is none, or looking took too long."""
    for found in _BEGINS.finditer(search.text, start):
        if search.left < 0:
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
    """Any bytes as a string, and no two as the same."""
    return piece.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    """The bytes of `_text`; a half character that is none of its making becomes a question mark."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _marked(node: M, marks: dict[str, Any]) -> M:
    """The same with these marks as well; for values just read only."""
    if marks:
        rest, old = unpack(NAME, node.extra)
        force_setattr(node, "extra", pack(NAME, rest, {**old, **marks}))
    return node


def _unmarked(node: M) -> M:
    """The same without the marks that only say how the file looked."""
    rest, marks = unpack(NAME, node.extra)
    if not marks.keys() & _LOOKS:
        return node
    others = {key: value for key, value in marks.items() if key not in _LOOKS}
    kept = {key: value for key, value in node.extra.items() if key != NAME}  # type: ignore[union-attr]
    own = pack(NAME, rest, others)
    return replace(node, extra={**kept, **({} if own is UNSET else own)} or UNSET)


_LOOKS = frozenset({"line", "glued", "at"})


def _kept_line(node: M, place: Place) -> bytes | None:
    """The text a message or snapshot was read from, if that is still what it says."""
    line = unpack(NAME, node.extra)[1].get("line")
    if type(line) is not str:
        return None
    text = _bytes(line)
    if type(node) is Message and (record := parse_respelled(text)) is not None:
        if (quick := read_usual(record, place)) is not None:
            return text if native.same(quick, _unmarked(node)) else None
    value = decoded(text)
    if not is_record(value):
        return None
    again = read_message(value, place) if type(node) is Message else _snapshot_of(value)
    return text if again is not None and native.same(again, _unmarked(node)) else None


def _snapshot_of(value: dict[str, Any]) -> Snapshot | None:
    return read_snapshot(value) if value.get("type") == SNAPSHOT else None


# -- files ---------------------------------------------------------------------------------------------------------


class _Reading:
    """The messages, snapshots and other pieces of one file, as they come."""

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
            if (quick := read_usual(value, place)) is not None:
                if piece.glued or type(value) is not Record:
                    self.keep(quick, piece, type(value) is Record)
                self.before = value.uuid
                self.messages.append(quick)
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

    def keep(self, node: Message | Snapshot, piece: Piece, usual: bool) -> None:
        marks: dict[str, Any] = {"glued": True} if piece.glued else {}
        if not usual:
            marks["line"] = _text(piece.text)
        _marked(node, marks)  # type: ignore[type-var]

    def placed_snapshots(self) -> list[Snapshot]:
        """The snapshots, each marked with its place where that is not the usual one."""
        usual = _Usual(self.messages)
        return [_marked(one, {} if usual.next(one, at) == at else {"at": at}) for at, one in self.snapshots]


class _Usual:
    """Where a snapshot usually stands: behind the message it belongs to and the snapshots before it."""

    def __init__(self, messages: list[Message]) -> None:
        self.behind: dict[Any, int] = {}
        for i, message in enumerate(messages):
            self.behind.setdefault(message.id, i + 1)
        self.last, self.end = 0, len(messages)

    def next(self, snapshot: Snapshot, at: Any = None) -> int:
        """The usual place of the next one; `at` is where it really stands."""
        usual = self.end if snapshot.message_id is UNSET else self.behind.get(snapshot.message_id, self.end)
        usual = max(self.last, usual)
        self.last = max(self.last, min(at, self.end)) if type(at) is int else usual
        return usual


def _uuid(record: dict[str, Any], before: str | None) -> str | None:
    uuid = record.get("uuid")
    return uuid if type(uuid) is str else before


def _session_of(pieces: Iterator[Piece]) -> str | UnsetType:
    """The session the first record names that names one."""
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
    """The file it was read from; for conversations of other formats a line for every message and snapshot."""
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
        if (quick := write_usual(message, place)) is not None:
            lines.append((exact_json.encode(quick), False))
            before = quick.uuid
            continue
        lines.append(_line(message, place))
        before = message.id if type(message.id) is str else _uuid(write_message(message, place), before)
    while waiting:
        lines.append(_line(waiting.pop()[1], Place(len(messages), before, session)))
    return lines


def _placed(snapshots: list[Snapshot], messages: list[Message]) -> list[tuple[int, Snapshot]]:
    """The snapshots with the number of messages before each; the last one first."""
    usual = _Usual(messages)
    placed: list[tuple[int, Snapshot]] = []
    for snapshot in snapshots:
        usual.next(snapshot, unpack(NAME, snapshot.extra)[1].get("at"))
        placed.append((usual.last, snapshot))
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
    """The records with the pieces that are none put back in their places."""
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
    """The text around `count` elements of an array; where the count changed, in the manner of what was kept."""
    if type(kept) is list and kept and all(type(gap) is str for gap in kept):
        if len(kept) == count + 1:
            return kept
        if len(kept) > 1 and count:
            return [kept[0], *[kept[1] if len(kept) > 2 else ","] * (count - 1), kept[-1]]
    return ["[", *[","] * (count - 1), "]"] if count else ["[]"]
