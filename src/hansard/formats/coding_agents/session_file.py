"""Session files: the one mechanism by which the files of coding agents are read, kept and written.

A session file is evidence. Reading never stops at a bad record: it is reported with its line and byte, as are
broken links that were mended. The text of a file is kept once, with the conversation (the mark `file`), unless
writing the messages anew gives the same bytes. Writing gives the kept text back, with new records behind it for
messages that came later, as long as the text still says the messages before them; else all is written anew.

    file = formats.get("claude-code").session       # a SessionFile
    reading = file.open()                            # bounded memory: feed chunks, any cut of the bytes will do
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
from hansard.formats.coding_agents.scanner import Bad, Record, Scanner
from hansard.formats.contract import Target
from hansard.formats.residue import pack, unpack
from hansard.model import exact_json, native
from hansard.model.conversation import Conversation, Message, Snapshot
from hansard.model.exact_json import decode_record

EVIDENCE = "file"
REPORTS = "reports"
LISTED = 20_000  # bad records and repairs, each; what is beyond is only counted


class Reading:
    """One session file being read, from any cut of its bytes."""

    def __init__(self, name: str, scanner: Scanner, reader: RecordReader, whole: Callable[[Any], bool]) -> None:
        self._name, self._scanner, self._reader, self._whole = name, scanner, reader, whole
        self._bad: list[Report] = []
        self.records = 0
        self.known = False  # was there a record of this format's own?
        self.unlisted = 0

    def feed(self, data: bytes) -> list[Message]:
        """The messages that these bytes settled."""
        messages = self._reader.feed(self._good(self._scanner.feed(data)))
        for reports in (self._bad, self._reader.repairs):
            self.unlisted += max(0, len(reports) - LISTED)
            del reports[LISTED:]
        return messages

    def finish(self) -> list[Message]:
        """The messages still held at the end of the file."""
        return self._reader.feed(self._good(self._scanner.finish())) + self._reader.finish()

    def snapshots(self) -> list[Snapshot]:
        """The snapshots read so far; they are given once, and `conversation` has those not yet taken."""
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
        """Bad records and repairs so far, in the order of the file; `unlisted` counts those beyond the limit."""
        return sorted([*self._bad, *self._reader.repairs], key=lambda report: report.byte)

    @property
    def unsettled(self) -> set[str]:
        """The ids of messages that a longer file may say more of."""
        return self._reader.unsettled

    def conversation(self, messages: list[Message]) -> Conversation:
        """The thread around these messages, with the reports as a mark."""
        found = self._reader.conversation(messages)
        if not (reports := self.reports):
            return found
        listed = [{"line": one.line, "byte": one.byte, "what": one.what, "kind": one.kind} for one in reports]
        return _marked(found, self._name, REPORTS, listed)


class SessionFile(Struct, frozen=True, kw_only=True):
    """A format of session files: how its records are read, and written.

    `records(conversation, already)` gives the records that say what `conversation` says and `already` does not;
    with None for `already`, all of them. `whole` tells a record from an object inside one, where a torn line has to
    be searched for the next record. `scanner` and `join` are for files that are not plain lines.
    """

    name: str
    reader: Callable[[], RecordReader]
    records: Callable[[Conversation, Conversation | None], Iterable[Any]]
    whole: Callable[[Any], bool]
    decode: Callable[[bytes], Any] = decode_record
    scanner: Callable[[Callable[[bytes], Any], Callable[[Any], bool]], Scanner] = Scanner
    join: Callable[[bytes, Iterable[bytes]], bytes] | None = None
    edits: Callable[[Message, str, Calls], Iterator[Edit]] | None = None

    def open(self) -> Reading:
        """A reading of one file."""
        return Reading(self.name, self.scanner(self.decode, self.whole), self.reader(), self.whole)

    def read(self, document: bytes) -> Conversation:
        """The conversation in a file, with the text of the file where that is not what we would write."""
        reading = self.open()
        messages = reading.feed(document)
        messages += reading.finish()
        if not messages and not reading.known and (reading.records or reading.reports):
            raise Unreadable(f"no record of a {self.name} session", "$", "each line of a session file is a JSON object")
        conversation = reading.conversation(messages)
        return kept(conversation, self.name, document, map(_line, self.records(conversation, None)))

    def write(self, conversation: Conversation, target: Target) -> bytes:
        """The file it was read from and what came later; without one, a new file."""
        text = evidence(conversation, self.name)
        already = self._told(text) if text is not None else None
        if text is None or already is None or not is_prefix(already.messages, conversation.messages):
            return b"".join(map(_line, self.records(conversation, None)))
        return (self.join or joined)(text, map(_line, self.records(conversation, already)))

    def _told(self, text: bytes) -> Conversation | None:
        """What a kept text says; None for one that is no session."""
        try:
            return self.read(text)
        except Unreadable:
            return None


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
        return None  # half a character that no bytes give: not the text of a file


def with_evidence(conversation: Conversation, name: str, data: bytes) -> Conversation:
    """The same conversation, keeping the bytes of its file."""
    return _marked(conversation, name, EVIDENCE, data.decode("utf-8", "surrogateescape"))


def without_evidence(conversation: Conversation, name: str) -> Conversation:
    """The same conversation without the bytes of its file, for those who keep them elsewhere."""
    return _marked(conversation, name, EVIDENCE, None)


def kept(conversation: Conversation, name: str, document: bytes, lines: Iterable[bytes]) -> Conversation:
    """The conversation with the text of its file, unless these lines are that text: they are looked at in turn."""
    at = 0
    for line in lines:
        if not document.startswith(line, at):
            return with_evidence(conversation, name, document)
        at += len(line)
    return conversation if at == len(document) else with_evidence(conversation, name, document)


def joined(text: bytes, lines: Iterable[bytes]) -> bytes:
    """A file and new lines behind it, ended as its own lines are."""
    new = list(lines)
    if not new:
        return text
    ending = b"\r\n" if b"\r\n" in text[-2:] or text[: text.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
    before = b"" if not text or text.endswith(b"\n") else ending
    return text + before + b"".join(line.removesuffix(b"\n") + ending for line in new)


def is_prefix(first: list[Message], messages: list[Message]) -> bool:
    """Do the messages begin with exactly these?"""
    return len(first) <= len(messages) and all(map(native.same, first, messages))


def _marked(conversation: Conversation, name: str, mark: str, value: Any) -> Conversation:
    """The conversation with a mark set, or taken away by None."""
    rest, marks = unpack(name, conversation.extra)
    others = {} if conversation.extra is UNSET else {key: v for key, v in conversation.extra.items() if key != name}
    own = pack(
        name,
        rest,
        {**{key: v for key, v in marks.items() if key != mark}, **({mark: value} if value is not None else {})},
    )
    return replace(conversation, extra={**others, **({} if own is UNSET else own)} or UNSET)
