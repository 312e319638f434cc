"""Session files: the one mechanism that reads, keeps and writes the files of coding agents.

A session file is evidence. Reading never stops at a bad record: it is reported with its line and byte, as are broken
links that were repaired. The text of a file is kept once, with the conversation (the evidence mark `file`), unless
writing the messages gives the same bytes. Writing returns the kept text, with new records appended for messages that
came later, if the text still contains the messages before them; otherwise all records are written again.

    file = formats.get("claude-code").session       # a SessionFile
    reading = file.open()                            # bounded memory: feed chunks, split anywhere
    for chunk in chunks:
        store(reading.feed(chunk))                   # messages, as soon as they are settled; parents first
    store(reading.finish())
    reading.snapshots()                              # those read since the last call
    thread = reading.conversation([])                # id, title, head ... without messages
    reading.reports                                  # list[Report]: bad records and repairs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.coding_agents.edits import Calls, Edit
from hansard.formats.coding_agents.records import RecordReader, Report
from hansard.formats.coding_agents.rows import Tables
from hansard.formats.coding_agents.scanner import Bad, Record, Scanner
from hansard.formats.contract import Target
from hansard.formats.residue import pack, unpack
from hansard.model import exact_json, native
from hansard.model.conversation import Conversation, Message, Snapshot
from hansard.model.exact_json import decode_record
from hansard.model.machinery import all_as_seen, as_events

EVIDENCE = "file"
REPORTS = "reports"
LISTED = 20_000  # bad records and repairs, each; more are only counted


class Reading:
    """One session file being read; its bytes may be split anywhere."""

    def __init__(self, name: str, scanner: Scanner, reader: RecordReader, whole: Callable[[Any], bool]) -> None:
        self._name, self._scanner, self._reader, self._whole = name, scanner, reader, whole
        self._bad: list[Report] = []
        self.unsettled: set[str] = set()  # once finished: messages that a longer file may change, and those after them
        self.records = 0
        self.known = False  # whether there was a record of this format
        self.unlisted = 0

    def feed(self, data: bytes) -> list[Message]:
        """The messages that these bytes settle."""
        messages = self._shown(self._reader.feed(self._good(self._scanner.feed(data))))
        for reports in (self._bad, self._reader.repairs):
            self.unlisted += max(0, len(reports) - LISTED)
            del reports[LISTED:]
        return messages

    def finish(self) -> list[Message]:
        """The messages still held at the end of the file."""
        found = self._reader.feed(self._good(self._scanner.finish()))
        held = self._reader.finish()
        first = next((i for i, one in enumerate(held) if one.id in self._reader.unsettled), len(held))
        self.unsettled = {str(one.id) for one in held[first:]}
        return self._shown(found + held)

    def _shown(self, messages: list[Message]) -> list[Message]:
        """The messages, with what no person typed as events."""
        return messages if self._reader.names_machinery else list(map(as_events, messages))

    def snapshots(self) -> list[Snapshot]:
        """The snapshots read since the last call; `conversation` has those not yet taken."""
        held = self._reader.snapshots
        taken = held[:]
        held.clear()
        return taken

    def _good(self, found: Iterable[Record | Bad]) -> Iterator[Record]:
        for one in found:
            if isinstance(one, Record):
                self.records += 1
                self.known = self.known or self._whole(one.value)
                yield one
            else:
                self._bad.append(Report(line=one.line, byte=one.byte, what=one.what, kind="bad"))

    @property
    def reports(self) -> list[Report]:
        """Bad records and repairs so far, in file order; `unlisted` counts those beyond the limit."""
        return sorted([*self._bad, *self._reader.repairs], key=lambda report: report.byte)

    def conversation(self, messages: list[Message]) -> Conversation:
        """The conversation around these messages, with the reports as a mark."""
        conversation = self._reader.conversation(messages)
        if not (reports := self.reports):
            return conversation
        listed = [{"line": one.line, "byte": one.byte, "what": one.what, "kind": one.kind} for one in reports]
        return _marked(conversation, self._name, REPORTS, listed)


class SessionFile(Struct, frozen=True, kw_only=True):
    """A format of session files: how its records are read, and written.

    `records(conversation, already)` returns the records for what `conversation` has and `already` has not; with None
    for `already`, all of them. `whole` distinguishes a record from an object inside one, where a torn line is searched
    for the next record. `scanner` and `join` are for files that are not plain lines. `edits` returns the edits of the
    user's files that a tool message records. Of a database, a file is the lines that `rows` makes of one session.
    """

    name: str
    reader: Callable[[], RecordReader]
    records: Callable[[Conversation, Conversation | None], Iterable[Any]]
    whole: Callable[[Any], bool]
    decode: Callable[[bytes], Any] = decode_record
    scanner: Callable[[Callable[[bytes], Any], Callable[[Any], bool]], Scanner] = Scanner
    join: Callable[[bytes, Iterable[bytes]], bytes] | None = None
    edits: Callable[[Message, str, Calls], Iterator[Edit]] | None = None
    ending: str | None = None  # of file names that are a session's id and this, where that names the thread
    tables: Tables | None = None  # of an agent that keeps its sessions in a database

    def open(self) -> Reading:
        """Start reading one file."""
        return Reading(self.name, self.scanner(self.decode, self.whole), self.reader(), self.whole)

    def read(self, document: bytes) -> Conversation:
        """The conversation in a file, with the text of the file unless writing gives the same."""
        reading = self.open()
        messages = reading.feed(document)
        messages += reading.finish()
        if not messages and not reading.known and (reading.records or reading.reports):
            raise Unreadable(f"no record of a {self.name} session", "$", "each line of a session file is a JSON object")
        conversation = reading.conversation(messages)
        return kept(conversation, self.name, document, self._lines(conversation, None))

    def write(self, conversation: Conversation, target: Target) -> bytes:
        """The file it was read from with later messages appended; without one, a new file."""
        text = evidence(conversation, self.name)
        already = self._parsed(text) if text is not None else None
        if text is None or already is None or not is_prefix(already.messages, conversation.messages):
            return b"".join(self._lines(conversation, None))
        return (self.join or append_lines)(text, self._lines(conversation, already))

    def _lines(self, conversation: Conversation, already: Conversation | None) -> Iterator[bytes]:
        """The lines for what a conversation has and `already` has not; events are written as the model saw them."""
        return map(_line, self.records(_as_seen(conversation), None if already is None else _as_seen(already)))

    def _parsed(self, text: bytes) -> Conversation | None:
        """The conversation in a kept text; None if the text is not a session."""
        try:
            return self.read(text)
        except Unreadable:
            return None


def _as_seen(conversation: Conversation) -> Conversation:
    messages = all_as_seen(conversation.messages)
    return conversation if messages is conversation.messages else replace(conversation, messages=messages)


def _line(record: Any) -> bytes:
    return exact_json.encode(record) + b"\n"


# -- keeping the text of a file --------------------------------------------------------------------------------------


def evidence(conversation: Conversation, name: str) -> bytes | None:
    """The bytes of the file that a conversation was read from, if it keeps them."""
    text = unpack(name, conversation.extra)[1].get(EVIDENCE)
    if type(text) is not str:
        return None
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None  # a lone surrogate that no bytes decode to: not the text of a file


def with_evidence(conversation: Conversation, name: str, data: bytes) -> Conversation:
    """The same conversation, keeping the bytes of its file."""
    return _marked(conversation, name, EVIDENCE, data.decode("utf-8", "surrogateescape"))


def without_evidence(conversation: Conversation, name: str) -> Conversation:
    """The same conversation without the bytes of its file, for callers that keep them elsewhere."""
    return _marked(conversation, name, EVIDENCE, None)


def kept(conversation: Conversation, name: str, document: bytes, lines: Iterable[bytes]) -> Conversation:
    """The conversation with the text of its file, unless these lines, compared one by one, are that text."""
    at = 0
    for line in lines:
        if not document.startswith(line, at):
            return with_evidence(conversation, name, document)
        at += len(line)
    return conversation if at == len(document) else with_evidence(conversation, name, document)


def append_lines(text: bytes, lines: Iterable[bytes]) -> bytes:
    """A file with new lines appended, with its own line ending."""
    new = list(lines)
    if not new:
        return text
    ending = b"\r\n" if b"\r\n" in text[-2:] or text[: text.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
    before = b"" if not text or text.endswith(b"\n") else ending
    return text + before + b"".join(line.removesuffix(b"\n") + ending for line in new)


def is_prefix(first: list[Message], messages: list[Message]) -> bool:
    """Whether the messages begin with exactly these."""
    return len(first) <= len(messages) and all(map(native.same, first, messages))


def _marked(conversation: Conversation, name: str, mark: str, value: Any) -> Conversation:
    """The conversation with a mark set, or removed by None."""
    rest, marks = unpack(name, conversation.extra)
    others = {} if conversation.extra is UNSET else {key: v for key, v in conversation.extra.items() if key != name}
    own = pack(
        name,
        rest,
        {**{key: v for key, v in marks.items() if key != mark}, **({mark: value} if value is not None else {})},
    )
    return replace(conversation, extra={**others, **({} if own is UNSET else own)} or UNSET)
