"""What the agents' readers and writers of records share: reports, links between records, events kept raw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Literal

from msgspec import UNSET, Struct

from hansard.formats.coding_agents.scanner import Record
from hansard.model.conversation import Conversation, Message, Snapshot
from hansard.model.parts import RawPart


class Report(Struct, frozen=True, kw_only=True):
    """A defect in a file: a record that cannot be read, or a broken link that was repaired."""

    line: int
    byte: int
    what: str
    kind: Literal["bad", "repair"]


class RecordReader(ABC):
    """Base class of the readers of records, which hold only what is not settled yet.

    `feed` and `finish` return messages in the order of their first records, parents before children; a message once
    returned does not change. `unsettled` names the messages returned by `finish` that more records could have changed.
    """

    names_machinery = False  # whether it says itself which messages of the user no person typed

    def __init__(self) -> None:
        self.repairs: list[Report] = []
        self.unsettled: set[str] = set()
        self.snapshots: list[Snapshot] = []

    @abstractmethod
    def feed(self, records: Iterable[Record]) -> list[Message]:
        """The messages that these records settle."""

    @abstractmethod
    def finish(self) -> list[Message]:
        """The messages still held at the end of the file."""

    @abstractmethod
    def conversation(self, messages: list[Message]) -> Conversation:
        """The conversation around these messages: id, title, head and residue."""

    def report(self, record: Record, what: str, kind: Literal["bad", "repair"] = "repair") -> None:
        """Report a record."""
        self.repairs.append(Report(line=record.line, byte=record.byte, what=what, kind=kind))


class Chain:
    """Ids and parents of the records written for messages, where one message may take several records.

    `derived_id` makes the ids that are missing, of `prefix` and a number.
    """

    def __init__(self, derived_id: Callable[..., str], *prefix: str) -> None:
        self._derived_id, self._prefix = derived_id, prefix
        self._written = 0
        self.last: str | None = None  # the id of the last record
        self.ends: dict[str, str | None] = {}  # the last record of each message

    def links(self, message: Message, count: int) -> list[tuple[str, str | None]]:
        """Id and parent of each of the `count` records of a message."""
        own = self._derived_id(*self._prefix, self._written) if message.id is UNSET else message.id
        parent = message.parent_message_id
        above = self.last if parent is UNSET else self.ends.get(parent) if parent is not None else None
        links: list[tuple[str, str | None]] = []
        for n in range(count):
            self.last = own if not n else self._derived_id(own, n)
            links.append((self.last, above))
            above = self.last
        self._written += bool(count)
        self.ends[own] = above
        return links


def only_part(message: Message) -> Any:
    """The part of a message that has exactly one, else None."""
    return message.parts[0] if len(message.parts) == 1 else None


def raw_record(message: Message, name: str) -> dict[str, Any] | None:
    """The record that a message of the format `name` kept raw, if it has no other part."""
    part = only_part(message)
    value = part.value if type(part) is RawPart and part.format == name else None
    return value if type(value) is dict and type(value.get("type")) is str else None
