"""GitHub Copilot CLI event logs: `~/.copilot/session-state/<session>/events.jsonl`.  As of 1.0.68.

    canonical                         native
    conversation id, created          session.start: sessionId, startTime; its other data are residue
    context                           cwd and branch of session.start, session.resume or session.context_changed
    message, parent                   an event {type, id, parentId, timestamp, data} in which somebody speaks; over
                                      events of hooks, permissions and turns the parent is the last one who spoke
    system, developer, user           system.message, user.message with files that are there by value
    assistant                         assistant.message: reasoningText with reasoningOpaque, content, toolRequests;
                                      assistant.reasoning where no message says it; tool.user_requested
    tool                              tool.execution_complete
    side chain, agent                 agentId of the event, or the call that started it: events stand in the order of
                                      time, and each agent goes on where it was
    user with compaction              session.compaction_complete
    event with data                   errors, notes and sub-agents as they come
    event with raw(copilot-cli)       any other event

Hooks, permissions, starts of tools, and the beginnings and ends of turns are in the text of the file only.
Lost, and reported: titles, runs, contexts that change, todos, files that are not the user's, the order of parts in an
answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.formats.coding_agents.compact_ids import Numbers, Uuids
from hansard.formats.coding_agents.copilot_cli import is_record
from hansard.formats.coding_agents.copilot_cli.records import (
    NAME,
    READERS,
    THOUGHT,
    Session,
    write_answer,
    write_event,
    write_other,
    write_result,
    write_words,
)
from hansard.formats.coding_agents.identity import NO_SESSION, NO_TIME, derived_uuid, is_derived, read_time, write_time
from hansard.formats.coding_agents.records import Chain, RecordReader, raw_record
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.conversation import Context, Conversation, Message
from hansard.model.parts import RawPart, ToolResultPart

_SILENT = (
    "hook.",
    "permission.",
    "assistant.turn_",
    "tool.execution_start",
    "tool.execution_pro",
    "tool.execution_par",
)


# -- reading ---------------------------------------------------------------------------------------------------------


class Reader(RecordReader):
    """A message for every event in which somebody speaks, at once."""

    def __init__(self) -> None:
        super().__init__()
        self._start: dict[str, Any] = {}
        self._numbers = Numbers()  # of the message each event stands for
        self._ids = Uuids()
        self._session = Session()
        self._agents: dict[str, int] = {}  # the last message of each agent that another one started
        self._thought: tuple[dict[str, Any], str, int] | None = None  # which the next message may say again
        self._context: Context | UnsetType = UNSET
        self._first_seen = False

    def feed(self, records: Iterable[Record]) -> list[Message]:
        return [message for record in records for message in self._read(record)]

    def finish(self) -> list[Message]:
        found = self._settled({})
        self.unsettled = {str(message.id) for message in found}
        return found

    def conversation(self, messages: list[Message]) -> Conversation:
        rest = dict(self._start)
        session, created = take_maybe_str(rest, "sessionId"), read_time(rest.get("startTime"))
        if created is not UNSET or rest.get("startTime") == NO_TIME:
            del rest["startTime"]
        if exact_json.same(rest.get("version"), 1):
            del rest["version"]
        if rest.get("producer") == "hansard":
            del rest["producer"]
            rest.pop("context", None)  # the messages have it
        own = UNSET if session == NO_SESSION else session
        return Conversation(messages=messages, id=own, created_at=created, extra=pack(NAME, rest))

    def _read(self, record: Record) -> list[Message]:
        value = record.value
        kind = value.get("type") if type(value) is dict else None
        if type(kind) is not str:
            self.report(record, "not an event: an object with a type was expected", "bad")
            return []
        data = value.get("data")
        found = self._settled(value)
        parent = self._parent(value, record)
        own = value.get("id")
        if type(own) is not str or self._numbers.get(own) is not None:
            if type(own) is str:
                self.report(record, f"the id {own!r} is given twice; this event has another one here")
            own = derived_uuid(NAME, record.byte)
        if type(data) is dict and kind in ("session.start", "session.resume", "session.model_change"):
            self._session.chose(data.get("newModel" if kind == "session.model_change" else "selectedModel"))
        if type(data) is dict and kind in _PLACED:
            self._context = _read_context(data if kind == "session.context_changed" else data.get("context"))
        if kind == "session.start" and type(data) is dict and not self._first_seen:
            self._first_seen, self._start = True, data
            self._numbers[own] = parent
        elif kind.startswith(_SILENT):
            self._numbers[own] = parent
        elif kind == THOUGHT:
            self._thought = (value, own, parent)
            self._numbers[own] = parent
        else:
            found.append(self._message(value, own, parent))
        return found

    def _settled(self, behind: dict[str, Any]) -> list[Message]:
        """The thought that waited, unless the event behind it is the answer of the same agent that says it too."""
        waiting, self._thought = self._thought, None
        if waiting is None:
            return []
        value, own, parent = waiting
        data, thought = behind.get("data"), value.get("data")
        said = data.get("reasoningText") if type(data) is dict and behind["type"] == "assistant.message" else None
        words = thought.get("content") if type(thought) is dict else None
        if type(said) is str and type(words) is str and words in said and _agent(behind) == _agent(value):
            return []
        return [self._message(value, own, parent)]

    def _message(self, value: dict[str, Any], own: str, parent: int) -> Message:
        kind, data = value["type"], value.get("data")
        created = read_time(value.get("timestamp"))
        rest = {key: one for key, one in value.items() if key not in _ENVELOPE}
        agent, side = rest.get("agentId"), _agent(value)
        before = self._agents.get(side, parent) if type(side) is str else parent
        above = self._ids[before] if before >= 0 else None
        fields: dict[str, Any] = {"id": own, "parent_message_id": above, "created_at": created}
        if is_derived(own, len(self._ids)) and before == len(self._ids) - 1:
            fields = {"created_at": created}
        self._numbers[own] = len(self._ids)
        if self._context is not UNSET:
            fields["context"] = self._context
        if type(side) is str:
            self._agents[side], self._numbers[own] = len(self._ids), parent
            fields["sidechain"] = True
            if type(agent) is str:
                fields["agent_id"] = rest.pop("agentId")
        self._ids.append(own)
        reader = READERS.get(kind)
        if reader is not None and type(data) is dict:
            try:
                message = reader(dict(data), fields, self._session)
            except SchemaMismatch:
                pass
            else:
                return _with_mark(message, rest) if rest else message
        raw = {"type": kind, **set_present({}, data=value.get("data", UNSET)), **rest}
        return Message(role="event", parts=[RawPart(format=NAME, value=raw)], **fields)

    def _parent(self, value: dict[str, Any], record: Record) -> int:
        """The number of the message an event follows; -1 for none."""
        given = value.get("parentId", UNSET)
        if given is None:
            return -1
        if type(given) is str and (number := self._numbers.get(given)) is not None:
            return number
        if given is not UNSET:
            self.report(record, f"the parent {given!r} is not in the file; the event follows the one before it")
        return len(self._ids) - 1


def _agent(event: dict[str, Any]) -> Any:
    """The agent whose event it is, or the call that started it; None for the session's own."""
    agent, data = event.get("agentId"), event.get("data")
    return agent if type(agent) is str else data.get("parentToolCallId") if type(data) is dict else None


_PLACED = frozenset({"session.start", "session.resume", "session.context_changed"})


def _read_context(value: Any) -> Context | UnsetType:
    place = value if type(value) is dict else {}
    cwd, branch = take_maybe_str(dict(place), "cwd"), take_maybe_str(dict(place), "branch")
    return UNSET if cwd is UNSET and branch is UNSET else Context(cwd=cwd, git_branch=branch)


_ENVELOPE = frozenset({"type", "id", "parentId", "timestamp", "data"})


def _with_mark(message: Message, more: dict[str, Any]) -> Message:
    """A message with what its event says beside its data."""
    rest, marks = unpack(NAME, message.extra)
    return replace(message, extra=pack(NAME, rest, {**marks, "envelope": more}))


# -- writing ---------------------------------------------------------------------------------------------------------


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """A start and an event for every message that `already` has not."""
    start = derived_uuid("start")
    if already is None and conversation != Conversation(messages=[]):
        rest, _ = unpack(NAME, conversation.extra)
        session = NO_SESSION if conversation.id is UNSET else conversation.id
        time = write_time(conversation.created_at)
        data = {"sessionId": session, "version": rest.pop("version", 1), "producer": rest.pop("producer", "hansard")}
        place = next((one.context for one in conversation.messages if one.context is not UNSET), Context())
        told = set_present({}, cwd=place.cwd, branch=place.git_branch)
        if told and data["producer"] == "hansard":
            data["context"] = told
        yield _event({"type": "session.start", "data": {**data, "startTime": time, **rest}}, start, None, time)
    chain = Chain(derived_uuid)
    for i, message in enumerate(conversation.messages):
        events = _events(message)
        for event, (own, parent) in zip(events, chain.links(message, len(events)), strict=True):
            if already is None or i >= len(already.messages):
                yield _event(event, own, parent, write_time(message.created_at))


def _event(event: dict[str, Any], own: str, parent: str | None, time: Any) -> dict[str, Any]:
    return {**event, "id": own, "timestamp": time, "parentId": parent}


def _events(message: Message) -> list[dict[str, Any]]:
    _, marks = unpack(NAME, message.extra)
    more = marks.get("envelope")
    beside = dict(more) if type(more) is dict else {}
    if message.sidechain is True:
        set_present(beside, agentId=message.agent_id)
    return [{**event, **beside} for event in _told(message, marks)]


def _told(message: Message, marks: dict[str, Any]) -> list[dict[str, Any]]:
    data, _ = unpack(NAME, message.extra)
    if message.role == "event":
        if (raw := raw_record(message, NAME)) is not None:
            return [dict(raw)]
        event = write_event(message, data)
        return [event] if event is not None else []
    if (other := write_other(message, data, marks)) is not None:
        return [other]
    results = [part for part in message.parts if type(part) is ToolResultPart]
    spoken = len(results) < len(message.parts) or not results
    events: list[dict[str, Any]] = []
    if message.role == "assistant":
        events.append(write_answer(message, data))
    elif spoken:
        events.append(write_words(message, dict(data), marks))
    return events + [write_result(part, dict(data), marks) for part in results]


SESSION = SessionFile(name=NAME, reader=Reader, records=records, whole=is_record)
read, write = SESSION.read, SESSION.write
