"""pi sessions as a whole: reader and writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.coding_agents.compact_ids import IdNumbers
from hansard.formats.coding_agents.identity import NO_SESSION, NO_TIME, UUID, derived_hex, read_time, write_time
from hansard.formats.coding_agents.pi import is_record
from hansard.formats.coding_agents.pi.edits import edits_of
from hansard.formats.coding_agents.pi.records import NAME, read_body, read_event, write_entries
from hansard.formats.coding_agents.records import Chain, RecordReader
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.residue import pack, take_maybe_str, unpack
from hansard.model.conversation import Context, Conversation, Message
from hansard.model.times import milliseconds

# -- reading ---------------------------------------------------------------------------------------------------------


class Reader(RecordReader):
    """A message for every entry, immediately; entries that only name the session are skipped."""

    def __init__(self) -> None:
        super().__init__()
        self._header: dict[str, Any] | None = None
        self._context: Context | UnsetType = UNSET
        self._title: str | UnsetType = UNSET
        self._known = IdNumbers()
        self._named: dict[str, str | None] = {}  # the parents of entries that only name the session
        self._leaf: str | None = None
        self._last: str | None = None
        self._entries = self._count = 0
        self._without_id = False  # whether the previous message has no id

    def feed(self, records: Iterable[Record]) -> list[Message]:
        return [message for record in records if (message := self._read(record)) is not None]

    def finish(self) -> list[Message]:
        return []

    def conversation(self, messages: list[Message]) -> Conversation:
        rest = dict(self._header or {})
        session, created = take_maybe_str(rest, "id"), read_time(rest.get("timestamp"))
        if created is not UNSET or rest.get("timestamp") == NO_TIME:
            rest.pop("timestamp", None)
        rest.pop("type", None)
        if rest.get("version") == 3:
            del rest["version"]
        if rest.get("cwd") == "/":
            del rest["cwd"]
        parent = rest.get("parentSession")
        found = UUID.findall(parent) if type(parent) is str else []
        return Conversation(
            messages=messages,
            parent_thread_id=found[-1] if found else UNSET,
            id=UNSET if session == NO_SESSION else session,
            title=self._title,
            created_at=created,
            head=self._leaf if self._leaf is not None and self._leaf != self._last else UNSET,
            extra=pack(NAME, rest),
        )

    def _read(self, record: Record) -> Message | None:
        value = record.value
        kind = value.get("type") if type(value) is dict else None
        if type(kind) is not str:
            self.report(record, "not an entry: expected an object with a type", "bad")
            return None
        if kind == "session" and self._header is None:
            self._header = value
            cwd = value.get("cwd")
            self._context = Context(cwd=cwd) if type(cwd) is str and cwd not in ("", "/") else UNSET
            return None
        rest = dict(value)
        fields, own = self._links(rest, record)
        if kind == "session_info":
            self._named[own] = self._leaf = fields["parent_message_id"]
            name = rest.get("name")
            self._title = name if type(name) is str and name else self._title
            return None
        self._leaf = self._last
        return self._message(kind, rest, fields)

    def _message(self, kind: str, rest: dict[str, Any], fields: dict[str, Any]) -> Message:
        del rest["type"]
        body = rest.get("message")
        if kind != "message" or type(body) is not dict:
            return read_event(kind, rest, fields)
        del rest["message"]
        body = dict(body)
        if type(body.get("timestamp")) is int and body["timestamp"] == _milliseconds(fields["created_at"]):
            del body["timestamp"]
        if body.get("api") == "unknown":
            del body["api"]
        return read_body(body, fields, rest)

    def _links(self, rest: dict[str, Any], record: Record) -> tuple[dict[str, Any], str]:
        """Id, parent and time of an entry, and the id that its children refer to."""
        created = read_time(rest.get("timestamp"))
        if created is not UNSET or rest.get("timestamp") == NO_TIME:
            del rest["timestamp"]
        session = (self._header or {}).get("id", "")
        own = take_maybe_str(rest, "id")
        known = own is not UNSET and self._known.get(own) is not None
        if known:
            self.report(record, f"duplicate id {own!r}; this entry gets a new one")
        number, self._entries = self._entries, self._entries + 1
        name = derived_hex(session, number) if own is UNSET or known else own
        parent = self._parent(rest, record)
        is_default = own is not UNSET and not known and own == derived_hex("entry", self._count)
        fields: dict[str, Any] = {"id": name, "parent_message_id": parent, "created_at": created}
        if parent == self._last and (is_default or self._without_id):  # a message without an id has no parent reference
            fields = {"created_at": created, "parent_message_id": UNSET, **({} if is_default else {"id": name})}
        self._without_id = "id" not in fields
        if self._context is not UNSET:
            fields["context"] = self._context
        self._known[name] = number
        if rest.get("type") != "session_info":
            self._last, self._count = name, self._count + 1
        return fields, name

    def _parent(self, rest: dict[str, Any], record: Record) -> str | None:
        if "parentId" not in rest:
            return self._leaf
        given = rest.pop("parentId")
        if given is None:
            return None
        if type(given) is str and self._known.get(given) is not None:
            return self._named.get(given, given)
        self.report(record, f"parent {given!r} not found before it; the entry follows the previous one")
        return self._leaf


def _milliseconds(time: Any) -> int:
    return milliseconds(time) or 0


# -- writing ---------------------------------------------------------------------------------------------------------


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """The records for what a conversation has and `already` has not: a header, and an entry for every message."""
    if already is None and conversation != Conversation(messages=[]):
        rest, _ = unpack(NAME, conversation.extra)
        session = NO_SESSION if conversation.id is UNSET else conversation.id
        head = {"type": "session", "version": rest.pop("version", 3), "id": session}
        head["timestamp"] = write_time(conversation.created_at)
        folders = (one.context.cwd for one in conversation.messages if one.context is not UNSET)
        cwd = next((folder for folder in folders if type(folder) is str and folder), "/")
        yield {**head, "cwd": rest.pop("cwd", cwd), **rest}
    start = 0 if already is None else len(already.messages)
    chain = Chain(derived_hex, "entry")
    for i, message in enumerate(conversation.messages):
        entries = write_entries(message, _milliseconds(message.created_at))
        for entry, (own, parent) in zip(entries, chain.links(message, len(entries)), strict=True):
            if i >= start:
                links = {"id": own, "parentId": parent, "timestamp": write_time(message.created_at)}
                yield {"type": entry.pop("type"), **links, **entry}
    titled = conversation.title is not UNSET and (already is None or already.title != conversation.title)
    last = conversation.messages[-1].id if conversation.messages else UNSET
    moved = type(conversation.head) is str and conversation.head != last
    if titled or (moved and (already is None or already.head != conversation.head)):
        leaf = chain.ends.get(str(conversation.head), conversation.head) if moved else chain.last
        name = "" if conversation.title is UNSET else conversation.title
        entry_id = derived_hex("name", len(conversation.messages), name, leaf)
        yield {"type": "session_info", "id": entry_id, "parentId": leaf, "timestamp": NO_TIME, "name": name}


SESSION = SessionFile(name=NAME, reader=Reader, records=records, whole=is_record, edits=edits_of)
read, write = SESSION.read, SESSION.write
