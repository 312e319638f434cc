"""OpenClaw sessions as a whole: tables, reader and writer; pi's reader and writer take the entries."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.coding_agents import rows
from hansard.formats.coding_agents.pi import session as pi
from hansard.formats.coding_agents.pi.records import NAME as PI
from hansard.formats.coding_agents.records import RecordReader
from hansard.formats.coding_agents.rows import Kept, RowScanner, Tables, is_record
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.coding_agents.sub_agents import Calls, after_call, link
from hansard.formats.residue import pack, unpack
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message
from hansard.model.times import milliseconds

_BY_SESSION = ("transcript_events", "transcript_event_identities", "transcript_rewrite_watermarks")
_INDEXES = ("session_transcript_index_state", "session_transcript_active_events")
_RUNS = ("trajectory_runtime_events", "acp_parent_stream_events")
_ARCHIVES = ("session_transcript_archives", "session_transcript_cold_archives")
_OWNER = "coalesce(w.spawned_by, w.parent_session_key)"
TABLES = Tables(
    name="openclaw",
    title="OpenClaw",
    sessions="session_windows",
    key="session_id",
    order="created_at, session_id",
    started=(
        "select w.session_id, (select p.session_id from session_windows p"
        f" where p.session_key = {_OWNER} and p.session_key <> w.session_key and p.created_at <= w.created_at"
        " order by p.created_at desc limit 1) from session_windows w order by w.rowid"
    ),
    owned=dict.fromkeys((*_BY_SESSION, *_INDEXES, *_RUNS, *_ARCHIVES), "session_id"),
    shared={"session_nodes": ("session_key", "session_key")},
    copied=("schema_meta",),
    unread=frozenset({*_BY_SESSION[1:], *_INDEXES, *_RUNS, *_ARCHIVES}),
    needed={
        "session_windows": ("session_id", "session_key", "spawned_by", "parent_session_key", "created_at"),
        "session_nodes": ("session_key", "entry_json"),
        "transcript_events": ("session_id", "seq", "event_json", "event_zstd"),
    },
)
Fields = dict[str, Any]
_OURS = ("key", "entries")
_LARGEST = 4 << 20  # of an entry, as in the table's own checks


class Reader(RecordReader):
    """Holds the rows of a session until the end, since a later line may replace a row."""

    def __init__(self) -> None:
        super().__init__()
        self._kept = Kept()
        self._root = ""
        self._header = pi.Reader()
        self._head: Any = UNSET
        self._leaf: Any = UNSET
        self._count = 0

    def feed(self, records: Iterable[Record]) -> list[Message]:
        for record in records:
            if not self._kept.take(record.value) and record.value is not rows.UNREAD:
                self.report(record, "not a line of a session: expected rows, table, file or fork", "bad")
        return []

    def finish(self) -> list[Message]:
        windows = {str(row.get("session_id")): row for row in self._kept.table("session_windows")}
        named = str(self._kept.header.get("session"))
        self._root = named if named in windows else next(iter(windows), named)
        events: dict[str, list[Fields]] = {}
        for row in self._kept.table("transcript_events"):
            events.setdefault(str(row.get("session_id")), []).append(row)
        given = events.pop(self._root, [])
        self._count = max((_seq(row) for row in given), default=-1) + 1
        messages = self._entries(self._header, given)
        self._head = self._leaf
        self.unsettled |= {str(one.id) for one in messages[-1:]}
        calls = Calls()
        for message in messages:
            calls.note(message)
        for key, given in events.items():
            found = link(self._entries(pi.Reader(), given), calls, key)
            at = after_call(messages, found)
            messages[at:at] = found
        return messages

    def _entries(self, reader: pi.Reader, given: list[Fields]) -> list[Message]:
        """The messages of one session; an entry that cannot be read is reported by its number."""
        self._leaf = UNSET
        records: list[Record] = []
        passed: dict[Any, Any] = {}  # the parents of entries that hold no message
        for row in sorted(given, key=_seq):
            record = Record(_entry(row), b"", 0, _seq(row))
            if type(record.value) is not dict:
                self.report(record, f"entry {_seq(row)} cannot be read", "bad")
                continue
            if record.value.get("parentId") in passed:
                record = record._replace(value={**record.value, "parentId": passed[record.value["parentId"]]})
            if _is_state(record.value):
                passed[record.value.get("id")] = record.value.get("parentId")
                continue
            target = record.value.get("targetId")
            self._leaf = target if record.value.get("type") == "leaf" and type(target) is str else UNSET
            records.append(record)
        self.repairs += reader.repairs
        hidden = {record.value.get("id") for record in records if _is_hidden(record.value)}
        return [replace(one, role="event") if one.id in hidden else one for one in reader.feed(records)]

    def conversation(self, messages: list[Message]) -> Conversation:
        found = self._header.conversation(messages)
        window = next((one for one in self._kept.table("session_windows") if one.get("session_id") == self._root), {})
        node = next(
            (one for one in self._kept.table("session_nodes") if one.get("session_key") == window.get("session_key")),
            {},
        )
        source, title = node.get("fork_source_session_id"), node.get("display_name") or node.get("label")
        session = self._root or self._kept.header.get("session")
        own = {**unpack(PI, found.extra)[0], "key": window.get("session_key"), "entries": self._count or None}
        return replace(
            found,
            id=session if type(session) is str and session else found.id,
            title=title if type(title) is str and title else found.title,
            parent_thread_id=source if type(source) is str and source else UNSET,
            head=self._head if self._head is not UNSET else found.head,
            extra=pack("openclaw", {key: value for key, value in own.items() if value is not None}),
        )


def _is_state(entry: Fields) -> bool:
    """Whether an entry is the program's own state: caches, the model at a moment."""
    name = entry.get("customType") if entry.get("type") == "custom" else None
    return type(name) is str and (name == "model-snapshot" or name.startswith("openclaw."))


def _is_hidden(entry: Fields) -> bool:
    """Whether an entry is a note of the program that the model does not get, such as a tool called by another."""
    body = entry.get("message")
    return type(body) is dict and body.get("role") == "custom" and body.get("excludeFromContext") is True


def _seq(row: Fields) -> int:
    return row["seq"] if type(row.get("seq")) is int else 0


def _entry(row: Fields) -> Any:
    """The entry in a row of `transcript_events`; None if it cannot be read."""
    text = row.get("event_json")
    if type(text) is not str and type(row.get("event_zstd")) is dict:
        import zstandard

        packed = base64.b64decode(str(row["event_zstd"].get("$blob", "")))
        try:
            size = min(_LARGEST, zstandard.frame_content_size(packed)) if packed else 0
            text = (
                zstandard.ZstdDecompressor().decompress(packed, max_output_size=size if size > 0 else _LARGEST).decode()
            )
        except (zstandard.ZstdError, UnicodeDecodeError):
            return None
    try:
        return exact_json.decode_record(str(text).encode("utf-8", "surrogatepass"))
    except Exception:
        return None


# -- writing ---------------------------------------------------------------------------------------------------------

_SCHEMA = [
    "create table session_nodes (session_key text not null primary key, current_session_id text not null,"
    " entry_json text not null, updated_at integer not null) strict",
    "create table session_windows (session_id text not null primary key, session_key text not null, spawned_by text,"
    " parent_session_key text, created_at integer not null, updated_at integer not null) strict",
    "create table transcript_events (session_id text not null, seq integer not null, event_json text,"
    " created_at integer not null, event_zstd blob, primary key (session_id, seq)) strict",
]
_KEYS = {
    "session_nodes": ["session_key"],
    "session_windows": ["session_id"],
    "transcript_events": ["session_id", "seq"],
}


def records(conversation: Conversation, already: Conversation | None) -> Iterator[Fields]:
    """The lines for what a conversation has and `already` has not: a session, and a row for every entry of pi."""
    if already is None and conversation == Conversation(messages=[]):
        return
    ours = _as_pi(conversation)
    new = list(pi.records(ours, None if already is None else _as_pi(already)))
    session = conversation.id if type(conversation.id) is str else ""
    session = session or str(next((one["id"] for one in new if one["type"] == "session"), ""))
    created = milliseconds(conversation.created_at) or 0
    key = unpack("openclaw", conversation.extra)[0].get("key")
    key = key if type(key) is str else f"agent:main:explicit:{session}"
    seq = 0
    if already is None:
        yield {"rows": "openclaw", "session": session, "keys": _KEYS, "schema": [["table", one] for one in _SCHEMA]}
        node = {"session_key": key, "current_session_id": session, "entry_json": "{}", "updated_at": created}
        yield {"table": "session_nodes", "row": node}
        times = {"created_at": created, "updated_at": created}
        window = {"session_id": session, "session_key": key, "spawned_by": None, "parent_session_key": None, **times}
        yield {"table": "session_windows", "row": window}
    else:
        entries = unpack("openclaw", already.extra)[0].get("entries")
        seq = entries if type(entries) is int else len(already.messages) + 1
    for entry in new:
        text = exact_json.encode(entry).decode("utf-8", "surrogatepass")
        time = milliseconds(entry.get("timestamp")) or created
        row = {"session_id": session, "seq": seq, "event_json": text, "created_at": time, "event_zstd": None}
        yield {"table": "transcript_events", "row": row}
        seq += 1


def _as_pi(conversation: Conversation) -> Conversation:
    """The conversation with its residue as pi's; messages of sub-agents are not entries of the session."""
    rest = {name: one for name, one in unpack("openclaw", conversation.extra)[0].items() if name not in _OURS}
    messages = [one for one in conversation.messages if one.sidechain is not True]
    return replace(conversation, messages=messages, extra=pack(PI, rest))


SESSION = SessionFile(
    name="openclaw",
    reader=Reader,
    records=records,
    whole=is_record,
    decode=rows.decoder(TABLES),
    scanner=RowScanner,
    tables=TABLES,
)
read, write = SESSION.read, SESSION.write
split = partial(rows.split, tables=TABLES)
join = partial(rows.join, tables=TABLES)
