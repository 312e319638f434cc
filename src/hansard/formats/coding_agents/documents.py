"""Sessions that are one JSON document with a list of entries: Continue, Cline, mini-swe-agent.

The agent writes the whole file each time, so it is read as a whole, and what stands after the last prompt may change.
New messages are put at the end of the list; the rest of the document stays value for value. An agent's module has
functions that read the document and write one entry of the list; `session_file` makes the format of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.coding_agents.edits import Calls, Edit
from hansard.formats.coding_agents.records import RecordReader
from hansard.formats.coding_agents.scanner import Bad, Record, Scanner
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.residue import SchemaMismatch
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message
from hansard.model.exact_json import decode_record
from hansard.model.parts import RawPart

LARGEST = 1 << 29
_LOOK = 1 << 16
_BOM = b"\xef\xbb\xbf"
Fields = dict[str, Any]


def fields_of(value: Any) -> Fields:
    """An object, or an empty one."""
    return value if type(value) is dict else {}


def list_of(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return value if type(value) is list else []


def begins(data: bytes, *marks: bytes) -> bool:
    """Whether the beginning of a file is that of an object with all these texts."""
    head = data[:_LOOK]
    return head.removeprefix(_BOM).lstrip()[:1] == b"{" and all(mark in head for mark in marks)


class DocumentScanner(Scanner):
    """A scanner that gives the whole file as one record."""

    def __init__(self, decode: Callable[[bytes], Any], whole: Callable[[Any], bool]) -> None:
        super().__init__(decode, whole, LARGEST)

    def feed(self, data: bytes) -> Iterator[Record | Bad]:
        self._hold(data)
        return iter(())

    def finish(self) -> Iterator[Record | Bad]:
        raw = b"".join(self._held)
        if self._size > self._longest:
            yield Bad(f"document too long: {self._size} bytes; the limit is {self._longest}", 0, 1)
        elif raw.strip():
            try:
                yield Record(self._decode(raw.removeprefix(_BOM)), raw, 0, 1)
            except Unreadable as error:
                yield Bad(error.problem, 0, 1)


class DocumentReader(RecordReader):
    """The conversation in a document; `read` makes it."""

    def __init__(self, read: Callable[[Fields], Conversation], whole: Callable[[Any], bool]) -> None:
        super().__init__()
        self._read, self._whole = read, whole
        self._conversation = Conversation(messages=[])

    def feed(self, records: Iterable[Record]) -> list[Message]:
        for record in records:
            if self._whole(record.value):
                self._conversation = self._read(record.value)
            else:
                self.report(record, "not a session of this agent", "bad")
        return []

    def finish(self) -> list[Message]:
        messages = self._conversation.messages
        last = max((i for i, one in enumerate(messages) if one.role == "user"), default=0)
        self.unsettled = {str(one.id) for one in messages[last:]}
        return messages

    def conversation(self, messages: list[Message]) -> Conversation:
        return replace(self._conversation, messages=messages)


def read_each(entries: Any, name: str, read: Callable[[int, Fields], list[Message]]) -> list[Message]:
    """The messages of the entries; one that cannot be read is an event."""
    messages: list[Message] = []
    for i, entry in enumerate(list_of(entries)):
        try:
            if type(entry) is not dict:
                raise SchemaMismatch
            messages += read(i, entry)
        except (Unreadable, SchemaMismatch):
            raw = RawPart(format=name, value=entry)
            messages.append(Message(role="event", parts=[raw], id=f"entry-{i}"))
    return messages


def session_file(
    name: str,
    entries: str,
    whole: Callable[[Any], bool],
    read: Callable[[Fields], Conversation],
    head: Callable[[Conversation], Fields],
    write: Callable[[Message], list[Fields]],
    edits: Callable[[Message, str, Calls], Iterator[Edit]] | None,
    ending: str,
) -> SessionFile:
    """The format of an agent: its list is `entries`, a new document begins with `head`, files end with `ending`."""

    def records(conversation: Conversation, already: Conversation | None) -> Iterator[Any]:
        if already is None:
            if conversation != Conversation(messages=[]):
                listed = [entry for message in conversation.messages for entry in _entries(message)]
                begun = head(conversation)
                if not whole({**begun, entries: []}):  # what it kept is not that of a session
                    begun = head(replace(conversation, extra=UNSET))
                yield {**begun, entries: listed}
            return
        for message in conversation.messages[len(already.messages) :]:
            yield from _entries(message)

    def _entries(message: Message) -> list[Any]:
        part = message.parts[0] if len(message.parts) == 1 else None
        if type(part) is RawPart and part.format == name and message.role == "event":
            return [part.value]
        return list(write(message))

    def join(text: bytes, lines: Iterable[bytes]) -> bytes:
        new = [decode_record(line) for line in lines]
        if not new:
            return text
        document = fields_of(decode_record(text.removeprefix(_BOM)))
        return exact_json.encode({**document, entries: [*list_of(document.get(entries)), *new]}) + b"\n"

    return SessionFile(
        name=name,
        reader=partial(DocumentReader, read, whole),
        records=records,
        whole=whole,
        scanner=DocumentScanner,
        join=join,
        edits=edits,
        ending=ending,
    )
