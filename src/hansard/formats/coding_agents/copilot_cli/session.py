"""Copilot CLI event logs as a whole: reader and writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.formats.coding_agents.compact_ids import IdList, IdNumbers
from hansard.formats.coding_agents.copilot_cli import is_record
from hansard.formats.coding_agents.copilot_cli.edits import edits_of
from hansard.formats.coding_agents.copilot_cli.records import (
    NAME,
    READERS,
    THOUGHT,
    USAGE,
    EventState,
    write_answer,
    write_event,
    write_input,
    write_other,
    write_result,
)
from hansard.formats.coding_agents.handover import is_carried
from hansard.formats.coding_agents.identity import (
    NO_SESSION,
    NO_TIME,
    derived_uuid,
    is_derived,
    read_time,
    valid_uuid,
    write_time,
)
from hansard.formats.coding_agents.records import Chain, RecordReader, raw_record
from hansard.formats.coding_agents.scanner import Record
from hansard.formats.coding_agents.session_file import SessionFile
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.conversation import Context, Conversation, Message
from hansard.model.parts import RawPart, TextPart, ToolCallPart, ToolResultPart

_VERSION = "1.0.102"  # what is written follows this release
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
    """A message for every event that is one, immediately."""

    def __init__(self) -> None:
        super().__init__()
        self._start: dict[str, Any] = {}
        self._numbers = IdNumbers()  # of the message that each event belongs to
        self._ids = IdList()
        self._state = EventState()
        self._agents: dict[str, int] = {}  # the last message of each sub-agent
        self._thought: tuple[dict[str, Any], str, int] | None = None  # which the next message may repeat
        self._context: Context | UnsetType = UNSET
        self._first_seen = False
        self._without_id = False  # whether the previous message has no id

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
            if rest.get("copilotVersion") == _VERSION:
                del rest["copilotVersion"]
        own = UNSET if session == NO_SESSION else session
        return Conversation(messages=messages, id=own, created_at=created, extra=pack(NAME, rest))

    def _read(self, record: Record) -> list[Message]:
        value = record.value
        kind = value.get("type") if type(value) is dict else None
        if type(kind) is not str:
            self.report(record, "not an event: expected an object with a type", "bad")
            return []
        data = value.get("data")
        found = self._settled(value)
        parent = self._parent(value, record)
        own = value.get("id")
        if type(own) is not str or self._numbers.get(own) is not None:
            if type(own) is str:
                self.report(record, f"duplicate id {own!r}; this event gets a new one")
            own = derived_uuid(NAME, record.byte)
        if type(data) is dict and kind in ("session.start", "session.resume", "session.model_change"):
            self._state.set_model(data.get("newModel" if kind == "session.model_change" else "selectedModel"))
        if type(data) is dict and kind in _CONTEXT_EVENTS:
            self._context = _read_context(data if kind == "session.context_changed" else data.get("context"))
        if kind == "session.start" and type(data) is dict and not self._first_seen:
            self._first_seen, self._start = True, data
            self._numbers[own] = parent
        elif kind == USAGE and type(data) is dict and type(data.get("usage")) is dict:
            self._state.add_usage(data["usage"])
            self._numbers[own] = parent
        elif kind.startswith(_SILENT):
            self._numbers[own] = parent
        elif kind == THOUGHT:
            self._thought = (value, own, parent)
            self._numbers[own] = parent
        else:
            found.append(self._message(value, own, parent))
        return found

    def _settled(self, following: dict[str, Any]) -> list[Message]:
        """The held reasoning, unless the next event is an answer of the same agent that repeats it."""
        waiting, self._thought = self._thought, None
        if waiting is None:
            return []
        value, own, parent = waiting
        data, thought = following.get("data"), value.get("data")
        text = data.get("reasoningText") if type(data) is dict and following["type"] == "assistant.message" else None
        thought_text = thought.get("content") if type(thought) is dict else None
        if (
            type(text) is str
            and type(thought_text) is str
            and thought_text in text
            and _agent(following) == _agent(value)
        ):
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
        follows = before == len(self._ids) - 1
        if follows and self._without_id:
            del fields["parent_message_id"]
        self._without_id = follows and is_derived(own, len(self._ids))
        if self._without_id:
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
                given = {key: one for key, one in data.items() if key != "messageId" or one != own}  # see `_named`
                message = reader(given, fields, self._state)
            except SchemaMismatch:
                pass
            else:
                return _with_envelope(message, rest) if rest else message
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
            self.report(record, f"parent {given!r} not found before it; the event follows the previous one")
        return len(self._ids) - 1


def _agent(event: dict[str, Any]) -> Any:
    """The sub-agent of an event, or the call that started it; None for the session's own agent."""
    agent, data = event.get("agentId"), event.get("data")
    return agent if type(agent) is str else data.get("parentToolCallId") if type(data) is dict else None


_CONTEXT_EVENTS = frozenset({"session.start", "session.resume", "session.context_changed"})


def _read_context(value: Any) -> Context | UnsetType:
    place = value if type(value) is dict else {}
    cwd, branch = take_maybe_str(dict(place), "cwd"), take_maybe_str(dict(place), "branch")
    return UNSET if cwd is UNSET and branch is UNSET else Context(cwd=cwd, git_branch=branch)


_ENVELOPE = frozenset({"type", "id", "parentId", "timestamp", "data"})


def _with_envelope(message: Message, fields: dict[str, Any]) -> Message:
    """A message with the other fields of its event as a mark."""
    rest, marks = unpack(NAME, message.extra)
    return replace(message, extra=pack(NAME, rest, {**marks, "envelope": fields}))


# -- writing ---------------------------------------------------------------------------------------------------------


def records(conversation: Conversation, already: Conversation | None) -> Iterator[dict[str, Any]]:
    """The records for what a conversation has and `already` has not: a start, and an event for every message."""
    start = derived_uuid("start")
    if already is None and conversation != Conversation(messages=[]):
        rest, _ = unpack(NAME, conversation.extra)
        session = NO_SESSION if conversation.id is UNSET else conversation.id
        time = write_time(conversation.created_at)
        data = {"sessionId": session, "version": rest.pop("version", 1), "producer": rest.pop("producer", "hansard")}
        place = next((one.context for one in conversation.messages if one.context is not UNSET), Context())
        context = set_present({}, cwd=place.cwd, branch=place.git_branch)
        if data["producer"] == "hansard":
            data["copilotVersion"] = rest.pop("copilotVersion", _VERSION)  # it refuses a session without
            if context:
                data["context"] = context
        yield _event({"type": "session.start", "data": {**data, "startTime": time, **rest}}, start, None, time)
    chain = Chain(derived_uuid)
    ids: dict[str | None, str | None] = {None: None}
    for i, message in enumerate(conversation.messages):
        new = already is None or i >= len(already.messages)
        events = _events(message)
        for n, (own, parent) in enumerate(chain.links(message, len(events))):
            valid = own if not new else derived_uuid(NAME, own) if n else valid_uuid(own)
            ids[own] = valid  # of a message's further events: other ids than other agents' writers derive
            if new:
                yield _event(_named(events[n], valid), valid, ids[parent], write_time(message.created_at))


def _named(event: dict[str, Any], own: str | None) -> dict[str, Any]:
    """An answer with the id that the CLI requires: that of the event where the answer has none."""
    if event["type"] != "assistant.message" or "messageId" in event["data"]:
        return event
    return {**event, "data": {"messageId": own, **event["data"]}}


def _event(event: dict[str, Any], own: str, parent: str | None, time: Any) -> dict[str, Any]:
    return {**event, "id": own, "timestamp": time, "parentId": parent}


def _events(message: Message) -> list[dict[str, Any]]:
    _, marks = unpack(NAME, message.extra)
    fields = marks.get("envelope")
    beside = dict(fields) if type(fields) is dict else {}
    if message.sidechain is True:
        set_present(beside, agentId=message.agent_id)
    return [{**event, **beside} for event in _message_events(message, marks)]


def _message_events(message: Message, marks: dict[str, Any]) -> list[dict[str, Any]]:
    data, _ = unpack(NAME, message.extra)
    if message.role == "event":
        if (raw := raw_record(message, NAME)) is not None:
            return [dict(raw)]
        event = write_event(message, data)
        return [event] if event is not None else []
    if (other := write_other(message, data, marks)) is not None:
        return [other]
    results = [part for part in message.parts if type(part) is ToolResultPart]
    has_text = len(results) < len(message.parts) or not results
    events: list[dict[str, Any]] = []
    pieces = _pieces(message)
    for i, piece in enumerate(pieces if message.role == "assistant" or has_text else []):
        rest = dict(data) if i == len(pieces) - 1 else {}
        events.append(write_answer(piece, rest) if message.role == "assistant" else write_input(piece, rest, marks))
    return events + [write_result(part, dict(data), marks) for part in results]


def _pieces(message: Message) -> list[Message]:
    """The message as several: an answer has one text, and a call or result carried as text stands alone in a prompt."""
    texts = [part for part in message.parts if type(part) is TextPart]
    answer = message.role == "assistant"
    if len(texts) < 2 or not (answer or any(is_carried(part.text) for part in texts)):
        return [message]
    calls = [part for part in message.parts if type(part) is ToolCallPart]
    pieces: list[list[Any]] = [[]]
    for part in message.parts:
        if type(part) is TextPart and any(type(one) is TextPart for one in pieces[-1]):
            pieces.append([])
        if type(part) is not ToolCallPart:
            pieces[-1].append(part)
    pieces[-1] += calls  # in the last event: results follow their calls
    model = message.model if message.model is UNSET else replace(message.model, response_id=UNSET)
    earlier = [replace(message, parts=parts, usage=UNSET, model=model) for parts in pieces[:-1]]
    return [*earlier, replace(message, parts=pieces[-1])]


SESSION = SessionFile(name=NAME, reader=Reader, records=records, whole=is_record, edits=edits_of)
read, write = SESSION.read, SESSION.write
