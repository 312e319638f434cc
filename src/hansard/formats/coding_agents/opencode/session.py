"""OpenCode sessions as a whole: tables, reader and writer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.coding_agents import rows
from hansard.formats.coding_agents.opencode import schema
from hansard.formats.coding_agents.opencode.edits import edits_of
from hansard.formats.coding_agents.opencode.records import (
    fields_of,
    number_of,
    parsed,
    read_message,
    text_of,
    time_of,
    write_message,
)
from hansard.formats.coding_agents.records import RecordReader
from hansard.formats.coding_agents.rows import Kept, RowScanner, Tables, is_record
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.coding_agents.sub_agents import Calls, after_call, link
from hansard.formats.residue import pack, unpack
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message
from hansard.model.parts import ToolCallPart, ToolResultPart
from hansard.model.times import iso_time, milliseconds
from hansard.model.tree import active_path

TABLES = Tables(
    name="opencode",
    title="OpenCode",
    sessions="session",
    key="id",
    parent="parent_id",
    order="time_created, id",
    owned={
        "message": "session_id",
        "todo": "session_id",
        "session_message": "session_id",
        "session_input": "session_id",
        "session_context_epoch": "session_id",
        "event_sequence": "aggregate_id",
        "event": "aggregate_id",
    },
    nested={"part": ("message", "message_id")},
    sorted_by={"message": "time_created, id"},
    shared={"project": ("project_id", "id"), "project_directory": ("project_id", "project_id")},
    copied=("migration", "data_migration"),
    unread=frozenset({"event", "event_sequence", "session_message", "session_input", "session_context_epoch", "todo"}),
    needed={
        "session": ("id", "parent_id", "title", "directory", "time_created"),
        "message": ("id", "session_id", "time_created", "data"),
        "part": ("id", "message_id", "session_id", "data"),
    },
    forks=(
        "select max(time_created) from message where session_id = ?1"
        " and time_created < (select time_created from session where id = ?1)",
        "select s.id from message m join session s on s.id = m.session_id where m.time_created = ?2 and s.id <> ?1"
        " and s.parent_id is null and s.time_created < (select time_created from session where id = ?1)"
        " order by s.time_created limit 1",
    ),
)
Fields = dict[str, Any]
COPIED = "isCopiedContext"


# -- reading ---------------------------------------------------------------------------------------------------------


class Reader(RecordReader):
    """Holds the rows of a session until the end, since a later line may replace a row."""

    def __init__(self, tables: Tables = TABLES) -> None:
        super().__init__()
        self._name = tables.name
        self._kept = Kept()
        self._sessions: dict[str, Fields] = {}
        self._root: Fields = {}

    def feed(self, records: Iterable[Record]) -> list[Message]:
        for record in records:
            if not self._kept.take(record.value):
                if record.value is not rows.UNREAD:
                    self.report(record, "not a line of a session: expected rows, table, file or fork", "bad")
        return []

    def finish(self) -> list[Message]:
        self._sessions = {str(row.get("id")): row for row in self._rows("session")}
        named = self._kept.header.get("session")
        tops = [one for one in self._sessions.values() if str(one.get("parent_id")) not in self._sessions]
        self._root = self._sessions.get(str(named)) or (tops[0] if tops else {})
        by_session: dict[str, list[Fields]] = {}
        for row in self._rows("message"):
            by_session.setdefault(str(row.get("session_id")), []).append(row)
        parts: dict[str, list[Fields]] = {}
        for row in self._rows("part"):
            parts.setdefault(str(row.get("message_id")), []).append(row)
        root = str(self._root.get("id"))
        messages = self._messages(root, by_session.get(root, []), parts)
        calls = Calls()
        for message in messages:
            calls.note(message)
        for key in self._below(root):
            found = link(self._messages(key, by_session.get(key, []), parts), calls, key)
            agent = self._sessions[key].get("agent")
            if type(agent) is str:
                found = [replace(one, name=agent) if one.role == "assistant" else one for one in found]
            at = after_call(messages, found)
            messages[at:at] = found
        return messages

    def _below(self, root: str) -> list[str]:
        """The sessions that this one started, and those that they did."""
        found = [root]
        for one in found:  # grows meanwhile
            found += [key for key, row in self._sessions.items() if row.get("parent_id") == one and key not in found]
        return found[1:]

    def _messages(self, session: str, given: list[Fields], parts: dict[str, list[Fields]]) -> list[Message]:
        given = sorted(given, key=lambda row: (number_of(row.get("time_created")) or 0, str(row.get("id"))))
        began = number_of(self._sessions.get(session, {}).get("time_created")) or 0
        copied = self._kept.fork is not None
        messages: list[Message] = []
        last_turn: list[str] = []
        for row in given:
            info = parsed(row.get("data"))
            if type(info) is not dict or type(row.get("id")) is not str:
                continue
            own = sorted(parts.get(row["id"], []), key=lambda one: str(one.get("id")))
            inner = [data for one in own if type(data := parsed(one.get("data"))) is dict]
            at: Fields = {"id": row["id"], "created_at": time_of(fields_of(info.get("time")).get("created"))}
            if at["created_at"] is UNSET:
                at["created_at"] = time_of(row.get("time_created"))
            at["parent_message_id"] = messages[-1].id if messages else None
            made = read_message(info, inner, at, self._name)
            if copied and (number_of(row.get("time_created")) or began) < began:
                made = [replace(one, usage=UNSET, metadata={COPIED: True}) for one in made]
            if info.get("role") == "user":
                last_turn = []
            last_turn += [str(one.id) for one in made]
            if info.get("role") == "assistant" and "completed" not in fields_of(info.get("time")):
                self.unsettled |= {str(one.id) for one in made}
            messages += made
        self.unsettled |= set(last_turn)
        return messages

    def _rows(self, table: str) -> list[Fields]:
        """The rows of a table; of an older release, its files in their place."""
        found = self._kept.table(table)
        for name, file in self._kept.files.items():
            data = parsed(file.get("text"))
            if type(data) is dict and name.split("/")[-len(_DEPTH.get(table, "")) :][:1] == [table]:
                found.append(_of_file(table, data, file["text"]))
        return found

    def conversation(self, messages: list[Message]) -> Conversation:
        row = self._root or next(iter(self._sessions.values()), {}) or self._first()
        title = text_of(row.get("title"))
        revert = fields_of(parsed(row.get("revert"))).get("messageID")
        head: Any = UNSET
        ids = [one.id for one in messages if one.sidechain is not True]
        if type(revert) is str and revert in ids:
            head = ids[ids.index(revert) - 1] if ids.index(revert) else None
        return Conversation(
            messages=messages,
            id=text_of(row.get("id")),
            title=title if title and not _UNTITLED.fullmatch(title) else UNSET,
            created_at=time_of(row.get("time_created")),
            parent_thread_id=UNSET if self._kept.fork is None else self._kept.fork,
            head=head,
            extra=pack(self._name, self._project(row.get("project_id"))),
        )

    def _project(self, key: Any) -> Fields:
        """The project of the session, by which it is known as one of this agent, and the folder of that project."""
        found = next((one for one in self._rows("project") if one.get("id") == key), {})
        named = {"project": key, "worktree": found.get("worktree")}
        return {name: value for name, value in named.items() if type(value) is str}

    def _first(self) -> Fields:
        """The session's row, while lines are still read."""
        named = self._kept.header.get("session")
        found = self._rows("session")
        return next((one for one in found if one.get("id") == named), found[0] if found else {})


_UNTITLED = re.compile(r"(?:New|Child) session - [\dT:.Z-]+")  # until the model has given one
_DEPTH = {"session": "abc", "message": "abc", "part": "abc"}  # folder, folder, file


def _of_file(table: str, data: Fields, text: str) -> Fields:
    """The row that a file of an older release stands for."""
    time = fields_of(data.get("time"))
    row: Fields = {"id": data.get("id"), "session_id": data.get("sessionID"), "time_created": time.get("created")}
    if table == "session":
        row |= {"parent_id": data.get("parentID"), "title": data.get("title"), "directory": data.get("directory")}
        row |= {"time_updated": time.get("updated"), "project_id": data.get("projectID")}
    elif table == "part":
        row["message_id"] = data.get("messageID")
    return {**row, "data": text}


# -- writing ---------------------------------------------------------------------------------------------------------


def records(tables: Tables, conversation: Conversation, already: Conversation | None) -> Iterator[Fields]:
    """The lines for what a conversation has and `already` has not."""
    if already is None and conversation == Conversation(messages=[]):
        return
    writer = _Writer(tables, conversation)
    if already is None:
        yield from writer.session()
        wanted = {conversation.messages[i].id for i in active_path(conversation)}
        indices = [
            i
            for i, one in enumerate(conversation.messages)
            if one.sidechain is not True and (one.id is UNSET or one.id in wanted)
        ]
        yield from writer.messages(indices)
    else:
        start = len(already.messages)
        yield from writer.messages(list(range(start, len(conversation.messages))), before=already.messages)


class _Writer:
    """Writes one conversation as rows."""

    def __init__(self, tables: Tables, conversation: Conversation) -> None:
        self._tables, self._conversation = tables, conversation
        self._created = first_milliseconds(conversation)
        given = conversation.id if type(conversation.id) is str else ""
        self._session = given if given.startswith("ses_") else session_id(self._created, given or "session")
        contexts = [one.context for one in conversation.messages if one.context is not UNSET]
        self._cwd = next((one.cwd for one in contexts if type(one.cwd) is str and one.cwd), "/")
        models = [one.model for one in conversation.messages if one.model is not UNSET]
        self._provider = next((one.provider for one in models if type(one.provider) is str), "unknown")
        self._model = next((one.name for one in models if type(one.name) is str), "unknown")
        own = unpack(tables.name, conversation.extra)[0]
        self._project = own["project"] if type(own.get("project")) is str else "global"
        self._root = own["worktree"] if type(own.get("worktree")) is str else "/"

    def session(self) -> Iterator[Fields]:
        """The header, the project, and the session."""
        listed = (self._tables.sessions, *self._tables.owned, *self._tables.nested, *self._tables.shared)
        known = schema.keys()
        keys = {name: known[name] for name in listed if name in known}
        copied = {"migration": [{"id": one, "time_completed": self._created} for one in schema.migrations()]}
        named = {"rows": self._tables.name, "session": self._session, "keys": keys}
        yield {**named, "schema": schema.tables(), "copied": copied}
        times = {"time_created": self._created, "time_updated": self._created}
        project = {"id": self._project, "worktree": self._root, "vcs": "git" if self._root != "/" else None}
        yield _row("project", {**project, **times, "sandboxes": "[]"})
        title = self._conversation.title
        row = {"id": self._session, "project_id": self._project, "parent_id": None, "slug": "handed-over"}
        row |= {"directory": self._cwd, "path": self._cwd.strip("/"), "version": schema.VERSION}
        row["title"] = title if type(title) is str and title else f"New session - {iso_time(self._created)}"
        yield _row("session", {**row, "cost": 0.0, **times, "agent": "build"})

    def messages(self, indices: list[int], before: list[Message] = []) -> Iterator[Fields]:  # noqa: B006
        """The messages of these indices, each with the results of its calls, and their parts."""
        given = self._conversation.messages
        asked, time, number = "", self._created, 0
        for one in before:
            if one.role == "user" and type(one.id) is str:
                asked = one.id
            time = max(time, milliseconds(one.created_at) or 0)
        found = {part.tool_call_id: part for i in indices for part in given[i].parts if type(part) is ToolResultPart}
        for i in indices:
            message = given[i]
            if message.role not in ("user", "assistant", "event") or (message.role == "event" and not message.parts):
                continue
            time = max(time + bool(number and time), milliseconds(message.created_at) or 0)
            number += 1
            own = message_id(message.id, time, number)
            if message.role == "user":
                asked = own
            at = {"time": time, "asked": asked, "cwd": self._cwd, "root": self._root}
            at |= {"provider": self._provider, "model": self._model}
            if message.context is not UNSET and type(message.context.cwd) is str:
                at["cwd"] = message.context.cwd
            results = {
                j: found[part.tool_call_id]
                for j, part in enumerate(message.parts)
                if type(part) is ToolCallPart and part.tool_call_id in found
            }
            info, parts = write_message(message, results, at, self._tables.name)
            if not parts:
                continue
            shared = {"session_id": self._session, "time_created": time, "time_updated": time}
            for n, part in enumerate(parts):
                inner = part_id(own, time, n)
                yield _row("part", {"id": inner, "message_id": own, **shared, "data": _json(part)})
            yield _row("message", {"id": own, **shared, "data": _json(info)})


def first_milliseconds(conversation: Conversation) -> int:
    """When a conversation began; 0 if nothing says so."""
    times = [conversation.created_at, *(one.created_at for one in conversation.messages)]
    return next((found for one in times if one is not UNSET and (found := milliseconds(one))), 0)


def dated(conversation: Conversation, now: int) -> Conversation:
    """The conversation with a time, before `now`, if it has none."""
    if first_milliseconds(conversation):
        return conversation
    return replace(conversation, created_at=time_of(max(1, now - len(conversation.messages) - 1)))


def placed(text: bytes, project: str, root: str, directory: str) -> bytes:
    """The lines of a session in a project and a folder."""
    out: list[bytes] = []
    for line in text.splitlines():
        value = exact_json.decode(line)
        row = value.get("row", {})
        if value.get("table") == "project":
            row |= {"id": project, "worktree": root, "vcs": None if project == "global" else "git"}
        elif value.get("table") == "session":
            row |= {"project_id": project, "directory": directory}
            row["path"] = directory.strip("/") if root == "/" else directory.removeprefix(root).strip("/")
        out.append(exact_json.encode(value) + b"\n")
    return b"".join(out)


def _row(table: str, row: Fields) -> Fields:
    return {"table": table, "row": row}


def _json(value: Any) -> str:
    return exact_json.encode(value).decode("utf-8", "surrogateescape")


_MESSAGE_ID = re.compile(r"msg_[0-9a-f]{12}[0-9A-Za-z]{14}")
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _tail(*values: Any) -> str:
    digest = hashlib.sha256("/".join(map(str, values)).encode("utf-8", "surrogatepass")).digest()
    return "".join(_LETTERS[byte % 62] for byte in digest[:14])


def session_id(time: int, name: str) -> str:
    """The id of a session, by which newer ones sort first."""
    return f"ses_{~(time * 0x1000 + 1) & (1 << 48) - 1:012x}{_tail('session', name)}"


def message_id(given: Any, time: int, number: int) -> str:
    """The id of a message, by which they sort in order of time: its own, or one derived from time and number.

    Ids of other agents may begin in the same way, and sort otherwise.
    """
    if type(given) is str and _MESSAGE_ID.fullmatch(given):
        return given
    return f"msg_{(time * 0x1000 + number % 0xFFF + 1) & (1 << 48) - 1:012x}{_tail('message', given, number)}"


def part_id(message: str, time: int, number: int) -> str:
    """The id of a part."""
    return f"prt_{(time * 0x1000 + number % 0xFFF + 1) & (1 << 48) - 1:012x}{_tail(message, number)}"


def session_file(tables: Tables) -> SessionFile:
    """The reader and the writer for an agent with these tables."""
    return SessionFile(
        name=tables.name,
        reader=partial(Reader, tables),
        records=partial(records, tables),
        whole=is_record,
        decode=rows.decoder(tables),
        scanner=RowScanner,
        edits=partial(edits_of, name=tables.name),
        tables=tables,
    )


SESSION = session_file(TABLES)
read, write = SESSION.read, SESSION.write


def split(document: bytes) -> list[bytes]:
    """The lines of each session of a document."""
    return rows.split(document, TABLES)


def join(documents: list[bytes]) -> bytes:
    """The lines of several sessions as one document."""
    return rows.join(documents, TABLES)
