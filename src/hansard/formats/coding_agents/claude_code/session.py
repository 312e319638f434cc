"""Claude Code session files: `~/.claude/projects/<folder>/<session>.jsonl` and `agent-<id>.jsonl`.  As of 2.1.144.

    canonical                         native
    conversation id, parent thread    sessionId; forkedFrom of the first line
    title                             custom-title, else ai-title, else the summary of a line in this file
    message                           user, assistant, system, attachment and unknown records
    assistant message                 all lines that share message.id: blocks in order, usage of the last one; the
                                      mark `lines` has the other lines' uuids, times and cuts
    tool message                      a user record of tool_result blocks; toolUseResult is residue
    event with data                   system (the subtype names it), attachment
    event with raw(claude-code)       any other record; one without a uuid has an id made of its type and byte
    parent                            parentUuid, from line to line: see `claude_code_tree`; over a compaction
                                      logicalParentUuid; for a sidechain the message whose Task call started it
    context, thinking, todos          cwd, gitBranch, userType; thinkingMetadata; todos
    snapshot                          file-history-snapshot
    head                              the last message that is no sidechain (a last `last-prompt` may name another)

What Claude Code prints for programs (`stream-json`) is read as the session it was. Progress records, pieces of a
stream, superseded titles and lines written twice are in the text of the file only. Every broken link that
was mended is reported. Lost, and reported, when written for others' conversations: agents, runs, ids that are no
UUIDs, thoughts of other providers (their words are kept), data and sources inside a turn.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.coding_agents.claude_code import is_record
from hansard.formats.coding_agents.claude_code.content import (
    NAME,
    SNAPSHOT,
    legal_uuid,
    read_snapshot,
    write_snapshot,
)
from hansard.formats.coding_agents.claude_code.edits import edits_of
from hansard.formats.coding_agents.claude_code.records import (
    Answer,
    Place,
    read_envelope,
    read_event,
    read_user,
    usage_is_made,
    write_answer,
    write_event,
    write_queued,
    write_user,
)
from hansard.formats.coding_agents.compact_ids import Numbers, Uuids
from hansard.formats.coding_agents.identity import derived_uuid, is_derived
from hansard.formats.coding_agents.records import RecordReader
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.residue import unpack
from hansard.model.conversation import Context, Conversation, Message


class Tree:
    """Turns, numbered as they come: the first and the last message of each, and the turn that follows it.

    `sides` has the side chain of every turn, None for the main chain: a side chain is never followed by the main one.
    """

    def __init__(self) -> None:
        self.turns = Numbers()  # of every line
        self.sides: list[str | None] = []
        self._first, self._last = Uuids(), Uuids()
        self._follower = array("q")

    def root(self, message: str | None, side: str | None) -> int:
        """A new turn that follows no other."""
        self.sides.append(side)
        self._first.append(message)
        self._last.append(message)
        self._follower.append(-1)
        return len(self._last) - 1

    def turn(self, before: int, message: str) -> tuple[int, str | None]:
        """A new turn behind another, begun by this message; and the message it answers."""
        parent = self._last[before]
        number = self.root(message, self.sides[before])
        self._follower[before] = number
        return number, parent

    def aside(self, before: int, message: str, side: str | None) -> tuple[int, str | None]:
        """A side chain begun by this message; and the message that called for it."""
        return self.root(message, side), self._first[before]

    def beside(self, turn: int, message: str) -> tuple[int, str | None]:
        """Where a message is put that makes no turn; and the message it stands behind."""
        turn = self._end(turn)
        parent = self._last[turn]
        self._last[turn] = message
        return turn, parent

    def is_last(self, turn: int) -> bool:
        """Has nothing followed this turn?"""
        return self._follower[turn] < 0

    def _end(self, turn: int) -> int:
        """The turn a conversation has come to from this one."""
        passed = []
        while (follower := self._follower[turn]) >= 0:
            passed.append(turn)
            turn = follower
        for one in passed:  # the next look is short
            self._follower[one] = turn
        return turn


HELD = 8 * 1024 * 1024  # an answer may still grow within so many bytes of its last line,
HELD_AT_MOST = 4 * HELD  # and of its first one
_MANY = 50_000
_SYNTHETIC = "<synthetic>"
_CAVEATS = ("<local-command-caveat>", "Caveat: The messages below were generated by the user while running local")
_LOCAL = ("<command-name>", "<local-command-std", "<command-message>", "<bash-")
_SILENT = ("progress", "stream_event")
_TITLES_KEPT = 1000
_TITLES = {"custom-title": ("customTitle", 3), "ai-title": ("aiTitle", 2), "summary": ("summary", 1)}


class Reader(RecordReader):
    """Messages out of records; holds answers that may still grow, and the links between lines."""

    def __init__(self) -> None:
        super().__init__()
        self._tree = Tree()
        self._held: deque[tuple[Message | Answer, int]] = deque()
        self._open: dict[str, Answer] = {}
        self._names: dict[str, str] = {}
        self._tasks: dict[int, str] = {}
        self._last: dict[str | None, int] = {}  # the turn of the last line, of the main chain and every side chain
        self._prompts: dict[str | None, int] = {}  # the turn of the last prompt of each
        self._preserved: dict[str, list[str]] = {}
        self._titles: dict[int, list[tuple[Any, str]]] = {}
        self._session: str | UnsetType = UNSET
        self._first, self._before, self._caveat, self._pointer = "", "", "", ""
        self._source: Any = None  # the session that this one was forked from
        self._time: str | None = None
        self._count = 0

    def feed(self, records: Iterable[Record]) -> list[Message]:
        given: list[Message] = []
        held = self._held
        for record in records:
            self._add(record)
            while held and record.byte - self._end(held[0]) > HELD:
                given.append(self._settled(*held.popleft()))
        return given

    def finish(self) -> list[Message]:
        for answer in self._open.values():
            if self._tree.is_last(answer.turn):
                self.unsettled.add(answer.uuid)
        given = [self._settled(*one) for one in self._held]
        self._held.clear()
        return given

    def conversation(self, messages: list[Message]) -> Conversation:
        session = self._session
        made = session is not UNSET and is_derived(session, "session", self._first)
        return Conversation(
            messages=messages,
            id=UNSET if made else session,
            title=self._title(),
            snapshots=self.snapshots[:] or UNSET,
            head=self._pointer or UNSET,
            parent_thread_id=self._source if type(self._source) is str else UNSET,
        )

    def _title(self) -> str | UnsetType:
        title: str
        for rank in sorted(self._titles, reverse=True):
            for leaf, title in reversed(self._titles[rank]):
                if rank > 1 or (type(leaf) is str and self._tree.turns.get(leaf) is not None):
                    return title
        return UNSET

    @staticmethod
    def _end(held: tuple[Message | Answer, int]) -> int:
        return held[0].end if type(held[0]) is Answer else held[1]

    def _settled(self, one: Message | Answer, end: int) -> Message:
        if type(one) is not Answer:
            return one  # type: ignore[return-value]
        message_id = one.body.get("id")
        if type(message_id) is str and self._open.get(message_id) is one:
            del self._open[message_id]
        return one.message(self._names)

    # -- one record --

    def _add(self, record: Record) -> None:
        value = record.value
        kind = value.get("type") if type(value) is dict else None
        if kind is not None and "sessionId" not in value and type(value.get("session_id")) is str:
            value = _as_kept(value)
        if type(kind) is not str:
            self.report(record, "not a record: an object with a type was expected", "bad")
            return
        if self._session is UNSET and type(value.get("sessionId")) is str:
            self._session = value["sessionId"]
        if type(value.get("uuid")) is not str and kind in ("user", "assistant") and "message" in value:
            value["uuid"] = derived_uuid(kind, record.byte)
        if kind in _TITLES and type(value.get(_TITLES[kind][0])) is str:
            key, rank = _TITLES[kind]
            named = self._titles.setdefault(rank, [])
            del named[: -_TITLES_KEPT if rank == 1 else None]
            named.append((value.get("leafUuid"), value[key]))
            if type(value.get("uuid")) is str and (turn := self._last.get(None)) is not None:
                self._tree.turns[value["uuid"]] = turn  # a line may follow it
        elif type(value.get("uuid")) is str:
            self._add_line(value, kind, record)
        elif kind == SNAPSHOT:
            self.snapshots.append(read_snapshot(value))
        else:
            self._add_note(value, kind, record)

    def _add_note(self, value: dict[str, Any], kind: str, record: Record) -> None:
        """A record outside the chain."""
        leaf = value.get("leafUuid")
        turn = self._tree.turns.get(leaf) if type(leaf) is str else None
        if kind == "last-prompt" and turn is not None and value.get("lastPrompt") == "":
            self._pointer = str(leaf)
            return
        value["uuid"] = derived_uuid(kind, record.byte)
        self._add_event(value, record, self._last.get(None) if turn is None else turn, None)

    def _add_line(self, value: dict[str, Any], kind: str, record: Record) -> None:
        uuid = value["uuid"]
        if (known := self._tree.turns.get(uuid)) is not None:
            self.report(record, f"the record {uuid!r} is written twice; the first one counts")
            later = self._tree.turns.get(str(value.get("parentUuid")))
            if later is not None and later > known:
                self._tree.turns[uuid] = later  # preserved by a compaction: what follows it follows that
            return
        if not self._first:
            self._first = uuid
            source = value.get("forkedFrom")
            self._source = source.get("sessionId") if type(source) is dict else None
        self._pointer = ""
        side = value.get("agentId") or "" if value.get("isSidechain") is True else None
        side = side if type(side) is str else None
        turn = self._parent(value, side, record)
        body: Any = value.get("message")
        said = type(body) is dict and type(body.get("content")) in (list, str)
        if kind in _SILENT:
            turn = self._tree.root(None, side) if turn is None else turn
            self._tree.turns[uuid] = self._last[side] = turn
        elif kind == "assistant" and said:
            self._add_answer(value, body, record, turn, side)
        elif kind == "user" and said:
            self._add_user(value, body["content"], record, turn, side)
        else:
            self._add_event(value, record, turn, side)
        if self._preserved and (moved := self._preserved.pop(uuid, None)) is not None:
            self._move(moved, uuid)

    def _move(self, preserved: list[str], anchor: str) -> None:
        """What follows the messages that a compaction preserved follows its summary."""
        turn = self._tree.turns.get(anchor)
        for uuid in preserved:
            if turn is not None and self._tree.turns.get(uuid) is not None:
                self._tree.turns[uuid] = turn

    def _parent(self, value: dict[str, Any], side: str | None, record: Record) -> int | None:
        """The turn that a line follows; a line whose parent is not there follows the line before it."""
        parent = value.get("parentUuid", UNSET)
        if parent is None and type(value.get("logicalParentUuid")) is str:
            parent = value["logicalParentUuid"]
        before = self._last.get(side)
        if parent is None and value.get("subtype") == "compact_boundary":
            return before
        if parent is None:
            return before if self._first == value["uuid"] else None  # notes may stand before the first line
        if type(parent) is not str:
            return before
        turn = self._tree.turns.get(parent)
        if turn is None:
            follows = "nothing does" if before is None else "it follows the line before it"
            self.report(record, f"the parent {parent!r} of {value['uuid']!r} does not come before it; {follows}")
            return before
        return turn

    def _add_answer(
        self, value: dict[str, Any], body: dict[str, Any], record: Record, turn: int | None, side: str | None
    ) -> None:
        uuid, end = value["uuid"], record.byte + len(record.raw)
        message_id = body.get("id")
        answer = self._open.get(message_id) if type(message_id) is str else None
        if answer is not None and turn is not None and answer.turn < self._prompts.get(side, -1) <= turn:
            answer = None  # asked anew since: an id that is used for every answer
        for block in body["content"]:  # or the letters of a string
            if type(block) is dict and block.get("type") == "tool_use":
                self._note_call(block, uuid if answer is None else answer.uuid)
        if answer is None:
            rest = dict(value)
            del rest["message"], rest["type"]
            fields, turn = self._placed(rest, turn, body.get("model") != _SYNTHETIC, side)
            answer = Answer(uuid, fields, rest, turn, end)
            answer.no_usage = usage_is_made(value.get("version"))
            self._held.append((answer, 0))
            if type(message_id) is str:
                self._open[message_id] = answer
        answer.add(body, uuid, value.get("timestamp", UNSET), min(end, answer.start + HELD_AT_MOST))
        self._tree.turns[uuid] = self._last[side] = answer.turn
        self._time = _time(value, self._time)

    def _note_call(self, block: dict[str, Any], message: str) -> None:
        call, name, given = block.get("id"), block.get("name"), block.get("input")
        if type(call) is str and type(name) is str:
            if len(self._names) >= _MANY:
                self._names = {}
            self._names[call] = name
            if name in ("Task", "Agent") and type(given) is dict and type(given.get("prompt")) is str:
                self._tasks[hash(given["prompt"])] = message

    def _add_user(
        self, value: dict[str, Any], content: Any, record: Record, turn: int | None, side: str | None
    ) -> None:
        uuid = value["uuid"]
        words = content if type(content) is str else _words(content)
        if value.get("isMeta") is True and words.startswith(_CAVEATS):
            self._caveat = uuid
            prompt = False
        elif words.startswith(_LOCAL) and self._caveat and value.get("parentUuid") == self._caveat:
            self._caveat = uuid  # a command that no model saw, and what it printed
            prompt = False
        else:
            prompt = value.get("isMeta") is not True and not _is_result(content)
        started = self._tasks.get(hash(words)) if side is not None and turn is None else None
        rest = dict(value)
        del rest["type"]
        fields, turn = self._placed(rest, turn, prompt, side, started)
        if prompt:
            self._prompts[side] = turn
        messages = read_user(fields, rest, self._names)
        end = record.byte + len(record.raw)
        for message in messages:
            self._held.append((message, end))
        if len(messages) > 1:
            self._count += len(messages) - 1
            self._before = str(messages[-1].id)
            turn, _ = self._tree.beside(turn, self._before)
        self._tree.turns[uuid] = self._last[side] = turn
        self._time = _time(value, self._time)

    def _add_event(self, value: dict[str, Any], record: Record, turn: int | None, side: str | None) -> None:
        uuid, rest = value["uuid"], dict(value)
        if rest.get("subtype") == "compact_boundary" and turn is not None and value.get("parentUuid") is None:
            rest.pop("logicalParentUuid", None)
            self._preserved |= _preserved(value.get("compactMetadata"))
        fields, turn = self._placed(rest, turn, False, side)
        self._held.append((read_event(fields, rest), record.byte + len(record.raw)))
        self._tree.turns[uuid] = self._last[side] = turn
        self._time = _time(value, self._time)

    def _placed(
        self, rest: dict[str, Any], turn: int | None, is_turn: bool, side: str | None, started: str | None = None
    ) -> tuple[dict[str, Any], int]:
        """The fields of a new message, its parent among them, and its turn."""
        uuid = rest["uuid"]
        fields, parent_given = read_envelope(rest, Place(self._count, self._time, self._session, UNSET))
        parent = started
        if turn is None:
            turn = self._tree.root(uuid, side)
        elif self._tree.sides[turn] != side:
            turn, parent = self._tree.aside(turn, uuid, side)
        elif is_turn:
            turn, parent = self._tree.turn(turn, uuid)
        else:
            turn, parent = self._tree.beside(turn, uuid)
        if parent_given or parent != (self._before or None):
            fields["parent_message_id"] = parent
        if is_derived(uuid, self._count):
            fields["id"] = UNSET
        self._before = uuid
        self._count += 1
        return fields, turn


def _as_kept(value: dict[str, Any]) -> dict[str, Any]:
    """A record of what Claude Code prints for programs, as it would keep it."""
    kept = {**value, "sessionId": value["session_id"]}
    del kept["session_id"]
    call = kept.pop("parent_tool_use_id", None)
    return {**kept, "isSidechain": True, "agentId": call} if type(call) is str else kept


def _time(value: dict[str, Any], before: str | None) -> str | None:
    time = value.get("timestamp")
    return time if type(time) is str else before


def _preserved(metadata: Any) -> dict[str, list[str]]:
    """The lines that a compaction kept, under the line they stand behind now."""
    kept = metadata.get("preservedMessages") or metadata.get("preservedSegment") if type(metadata) is dict else None
    if type(kept) is not dict or type(kept.get("anchorUuid")) is not str:
        return {}
    listed = kept.get("uuids")
    uuids: list[Any] = listed if type(listed) is list else [kept.get("headUuid"), kept.get("tailUuid")]
    return {kept["anchorUuid"]: [uuid for uuid in uuids if type(uuid) is str]}


def _words(content: list[Any]) -> str:
    first = content[0] if content else None
    text = first.get("text") if type(first) is dict else None
    return text if type(text) is str else ""


def _is_result(content: Any) -> bool:
    return type(content) is list and any(
        type(block) is dict and block.get("type") == "tool_result" for block in content
    )


# -- writing ---------------------------------------------------------------------------------------------------------


class _Writing:
    """What the records before say to the next one."""

    def __init__(self, conversation: Conversation) -> None:
        self.lines: dict[str, str] = {}
        self.before: str | None = None
        self.time: str | None = None
        self.context: Context | UnsetType = UNSET
        self.at = 0
        given = conversation.id
        if given is UNSET:
            first = conversation.messages[0].id if conversation.messages else ""
            given = derived_uuid("session", derived_uuid(0) if first is UNSET else legal_uuid(first) if first else "")
        self.session = legal_uuid(given)

    def records(self, message: Message) -> list[dict[str, Any]]:
        """The records of one message."""
        parent = message.parent_message_id
        line = self.before if parent is UNSET else self.lines.get(parent) if parent is not None else None
        place = Place(self.at, self.time, self.session, self.context)
        if message.role == "assistant":
            records = write_answer(message, place, line)
        elif message.role == "event":
            records = write_event(message, place, line)
        else:
            records = [write_queued(message, place, line) or write_user(message, place, line)]
        if not records:
            if message.id is not UNSET and line is not None:
                self.lines[message.id] = line
            return []
        self.before = records[-1]["uuid"]
        if message.id is not UNSET:
            self.lines[message.id] = records[-1]["uuid"]
        self.time = records[-1]["timestamp"] if type(records[-1]["timestamp"]) is str else self.time
        self.context = message.context if message.context is not UNSET else self.context
        self.at += 1
        return records


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """The records of what a conversation says beyond `already`."""
    writing = _Writing(conversation)
    start = 0 if already is None else len(already.messages)
    for message in conversation.messages[:start]:
        writing.records(message)
    snapshots = [] if conversation.snapshots is UNSET else conversation.snapshots
    written = 0 if already is None or already.snapshots is UNSET else len(already.snapshots)
    waiting = deque(snapshots[written:])
    if conversation.title is not UNSET and (already is None or already.title != conversation.title):
        yield {"type": "custom-title", "customTitle": conversation.title, "sessionId": writing.session}
    held: dict[str, Any] | None = None
    for message in conversation.messages[start:]:
        new = writing.records(message)
        if not new:
            continue
        if held is not None and unpack(NAME, message.extra)[1].get("joined") is True and new[0]["type"] == "user":
            _join(held, new[0], writing, message)
            continue
        if held is not None:
            yield held
        while waiting and waiting[0].message_id == message.id:
            yield write_snapshot(waiting.popleft())
        yield from new[:-1]
        held = new[-1]
    if held is not None:
        yield held
    yield from map(write_snapshot, waiting)
    if type(conversation.head) is str and (already is None or already.head != conversation.head):
        default = next((one for one in reversed(conversation.messages) if one.sidechain is not True), None)
        if default is None or default.id != conversation.head:
            leaf = legal_uuid(conversation.head)
            yield {"type": "last-prompt", "lastPrompt": "", "leafUuid": leaf, "sessionId": writing.session}


def _join(held: dict[str, Any], more: dict[str, Any], writing: _Writing, message: Message) -> None:
    """One record again for messages that came from one."""
    said = held["message"]["content"], more["message"]["content"]
    blocks = [block for one in said for block in ([{"type": "text", "text": one}] if type(one) is str else one)]
    held["message"] = {**held["message"], "content": blocks}
    writing.before = held["uuid"]
    if message.id is not UNSET:
        writing.lines[message.id] = held["uuid"]


SESSION = SessionFile(name=NAME, reader=Reader, records=records, whole=is_record, edits=edits_of)
read, write = SESSION.read, SESSION.write
