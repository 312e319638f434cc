"""Documents and messages of UIMessages: `read` and `write`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr

from hansard.errors import Unreadable
from hansard.formats.ai_sdk.ui.content import STEP, Turn, read_parts, write_part, write_steering
from hansard.formats.ai_sdk.ui.events import EVENTS, differ, entry, is_shown, take_entries
from hansard.formats.ai_sdk.ui.rules import conform_to_version
from hansard.formats.ai_sdk.ui.tools import NAME, write_finished, write_tool
from hansard.formats.ai_sdk.ui.versions import read_v4_message, write_v4_message
from hansard.formats.contract import Target
from hansard.formats.field_table.records import Written
from hansard.formats.residue import HINTS, pack, set_present, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model.calls import Place
from hansard.model.conversation import Conversation, Message
from hansard.model.display import Answer, answers
from hansard.model.parts import TextPart, ToolCallPart

_UNSAFE_KEY = b'"__proto__"'
_NO_MARKS: dict[str, Any] = {}


# -- messages ------------------------------------------------------------------------------------------------------


def _default_id(place: int) -> str:
    return f"hansard-{place + 1}"


def _read_message(record: Any, where: str, place: int, before: str, turn: Turn) -> str:
    """Read one UIMessage into one message, or several if it has steps and tools. Returns its role."""
    if type(record) is not dict:
        raise Unreadable("expected a message object", where.format(place))
    role, given, parts, metadata = record.get("role"), record.get("id"), record.get("parts"), record.get("metadata")
    if type(role) is not str:
        raise Unreadable("missing role: expected system, user or assistant", f"{where.format(place)}.role")
    hints: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    if type(metadata) is dict:
        hints["metadata"] = True
        turn.unchecked.append(metadata)
    if len(record) != (4 if hints else 3) or type(given) is not str or type(parts) is not list:
        rest = _read_fields(record, hints)
        turn.unchecked.append(dict(rest))
    if role == "assistant":
        if before == role:
            hints["starts"] = True
    elif role != "user":
        hints["shown"] = True
    if role == "assistant" and "metadata" in hints and "content" not in rest:
        metadata, entries = take_entries(metadata or {}, parts)
        turn.events = list(entries)
        if entries and not metadata:
            del hints["metadata"]
    turn.begin(role)
    if type(rest.get("content")) is str:
        if "parts" in record:
            rest["parts"] = parts
        turn.unchecked.append(parts)
        hints["v4"] = read_v4_message(rest, turn)
    elif type(parts) is list:
        read_parts(turn, parts)
    else:
        raise Unreadable("missing list of parts", f"{where.format(place)}.parts")
    first = turn.first()
    if type(given) is str and given != f"hansard-{place + 1}":
        force_setattr(first, "id", given)
    if role == "user" and not first.parts:
        hints["shown"] = True
    if hints or rest:
        if "metadata" in hints:
            force_setattr(first, "metadata", metadata)
        if "createdAt" in hints:
            force_setattr(first, "created_at", record["createdAt"])
        if first.extra is not UNSET:
            hints.update(first.extra[NAME][HINTS])
        force_setattr(first, "extra", pack(NAME, rest, hints))
    return role


def _read_fields(record: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    """The unknown fields of a message that has more than id, role, parts and metadata."""
    if "id" not in record:
        hints["idless"] = True
    if type(record.get("createdAt")) is str:
        hints["createdAt"] = True
    known = {"role", "parts", *(name for name in ("metadata", "createdAt") if name in hints)}
    if type(record.get("id")) is str:
        known.add("id")
    return {key: value for key, value in record.items() if key not in known}


class _Record(Written):
    id: str
    role: str
    parts: list[Any]


class _Text(Written):
    type: str
    text: str
    state: str | UnsetType


class _StepStart(Written):
    type: str


_STEP_START = _StepStart(STEP)


class _Writer:
    """Writes one conversation for a client."""

    def __init__(self, messages: list[Message], profile: str | None) -> None:
        self.messages, self.profile = messages, profile
        self.answers: dict[Place, Answer] = answers(messages)
        self.calls = 0
        self.old: list[tuple[dict[str, Any], list[tuple[int, Message]]]] = []  # records of version 4, still empty
        self.unchecked: list[Any] = []  # values that may hold the key `__proto__`

    def records(self) -> list[Any]:
        """The UIMessages. An answer continues until the next user message; hidden messages do not end it."""
        out: list[Any] = []
        answer: list[Any] | None = None  # the parts of the answer that is open
        put = self.put
        speaker: Any = UNSET  # the agent of the open answer
        waiting: list[Message] = []  # events before the answer they belong to
        entries: dict[int, list[Any]] = {}  # by the place of their record
        for i, message in enumerate(self.messages):
            if message.role == "event" and is_shown(message):
                if answer is None or differ(speaker, message.agent_id):
                    waiting.append(message)
                elif put == self.put:  # messages of version 4 have no place for it
                    self.put_events(answer, [message], entries.setdefault(len(out) - 1, []))
                continue
            role, hints = message.role, _NO_MARKS
            if message.extra is not UNSET and NAME in message.extra:
                hints = unpack(NAME, message.extra)[1]
            other = role == "assistant" and differ(speaker, message.agent_id)  # another agent's answer is its own
            if answer is not None and not other and (self.joins(role, hints) if hints else role == "assistant"):
                put(answer, message, i, hints, True)
            elif role == "assistant" or role == "user" or hints.get("shown"):
                put = _put_later if hints and self.is_old(hints) else self.put
                parts: list[Any] = []
                if waiting and role != "assistant":
                    self.put_alone(waiting, out, entries)
                elif waiting and put == self.put:
                    self.put_events(parts, waiting, entries.setdefault(len(out), []))
                put(parts, message, i, hints, False)
                if parts or role != "user" or hints.get("shown"):
                    out.append(self.record(message, parts, len(out)))
                    answer, speaker = (parts if role == "assistant" else None), message.agent_id
        for record, pairs in self.old:
            rest, hints = unpack(NAME, pairs[0][1].extra)
            record.update(write_v4_message(pairs, self.answers, hints["v4"], write_part), **rest)
            self.unchecked.append(record)
        self.put_alone(waiting, out, entries)
        for place, told in entries.items():
            out[place] = _with_entries(out[place], told)
        return out

    def put_events(self, parts: list[Any], events: list[Message], told: list[Any]) -> None:
        """Append events as data parts, and what else is said of them to the entries of the record."""
        for message in events:
            for part in message.parts:
                parts.append(write_part(part, "assistant"))
                told.append(entry(message, part))  # type: ignore[arg-type]
                self.unchecked += [parts[-1], told[-1]]
        events.clear()

    def put_alone(self, events: list[Message], out: list[Any], entries: dict[int, list[Any]]) -> None:
        """Events that belong to no answer are a message of their own."""
        if events:
            parts: list[Any] = []
            first = events[0]
            self.put_events(parts, events, entries.setdefault(len(out), []))
            out.append(_Record(first.id if first.id is not UNSET else _default_id(len(out)), "assistant", parts))

    def joins(self, role: str, hints: dict[str, Any]) -> bool:
        if role == "assistant":
            return not hints.get("starts")
        return role == "user" and bool(hints.get("steering")) and self.profile in (None, "v7")

    def is_old(self, hints: dict[str, Any]) -> bool:
        return "v4" in hints and self.profile is None

    def record(self, first: Message, parts: list[Any], place: int) -> Any:
        if first.extra is UNSET or NAME not in first.extra:
            made = first.id if first.id is not UNSET else f"hansard-{place + 1}"
            return _Record(made, first.role, parts)
        rest, hints = unpack(NAME, first.extra)
        out: dict[str, Any] = {}
        if first.id is not UNSET:
            out["id"] = first.id
        elif not hints.get("idless"):
            out["id"] = _default_id(place)
        out["role"] = first.role
        if hints.get("createdAt"):
            set_present(out, createdAt=first.created_at)
        if hints.get("metadata"):
            set_present(out, metadata=first.metadata)
        if self.is_old(hints):
            self.old.append((out, parts))
            return out
        self.unchecked.append((out.get("metadata"), rest))
        out["parts"] = parts
        out.update(rest)
        return out

    def put(self, out: list[Any], message: Message, i: int, hints: dict[str, Any], joined: bool) -> None:
        """Append the parts of a message to its record; in an answer each assistant message begins a step."""
        answer = message.role == "assistant"
        if hints:
            if joined and hints.get("steering"):
                out.append(write_steering(message))
                self.unchecked.append(out[-1])
                return
            step = hints.get("step")
            if answer and step is not False:
                out.append({"type": STEP, **(step if type(step) is dict else {})})
                self.unchecked.append(step)
        elif answer:
            out.append(_STEP_START)
        part: Any
        for j, part in enumerate(message.parts):
            kind = type(part)
            if kind is TextPart and part.extra is UNSET:
                out.append(_Text("text", part.text, "done" if answer else UNSET))
            elif kind is ToolCallPart:
                self.calls += 1
                call_id = part.tool_call_id if part.tool_call_id is not UNSET else f"call-{self.calls}"
                answered = self.answers.get((i, j))
                made = write_finished(part, answered, call_id, self.unchecked)
                out.append(made or write_tool(part, answered, call_id, self.unchecked))
            elif (made := write_part(part, message.role)) is not UNSET:
                out.append(made)
                self.unchecked.append(made)


def _with_entries(record: Any, told: list[Any]) -> dict[str, Any]:
    plain = exact_json.plain(record) if type(record) is not dict else record
    head = {key: plain[key] for key in ("id", "role", "createdAt") if key in plain}
    return {**head, **plain, "metadata": {**plain.get("metadata", {}), EVENTS: told}, "parts": plain["parts"]}


def _put_later(out: list[Any], message: Message, i: int, hints: dict[str, Any], joined: bool) -> None:
    out.append((i, message))


# -- documents -----------------------------------------------------------------------------------------------------


def _without_unsafe_keys(value: Any) -> Any:
    """The data without keys that safe JavaScript parsers reject."""
    if type(value) is dict:
        return {key: _without_unsafe_keys(item) for key, item in value.items() if key != "__proto__"}
    if type(value) is list:
        return [_without_unsafe_keys(item) for item in value]
    return value


def read(document: Any) -> Conversation:
    """A list of UIMessages, one UIMessage, or a request body with `messages` or `message`."""
    hints: dict[str, Any] = {}
    body: dict[str, Any] = {}
    where = "$[{}]"
    if type(document) is list:
        records = document
    elif type(document) is not dict:
        raise Unreadable("expected an object or a list")
    elif type(document.get("messages")) is list:
        body, where = dict(document), "$.messages[{}]"
        records, hints["shape"] = body.pop("messages"), "request"
    elif type(document.get("message")) is dict:
        body, where = dict(document), "$.message"
        records, hints["shape"] = [body.pop("message")], "last"
    elif "role" in document:
        where = "$"
        records, hints["shape"] = [document], "message"
    else:
        raise Unreadable("missing list of messages", "$.messages")
    turn = Turn()
    before = ""
    for i, record in enumerate(records):
        before = _read_message(record, where, i, before, turn)
    if _UNSAFE_KEY in exact_json.encode((turn.unchecked, body)):
        hints["proto"] = True
    return Conversation(messages=turn.out, id=take_maybe_str(body, "id"), extra=pack(NAME, body, hints))


def write(conversation: Conversation, target: Target) -> Any:
    """The shape it was read from; for conversations of other formats a list of UIMessages."""
    rest, hints = unpack(NAME, conversation.extra)
    writing = _Writer(conversation.messages, target.profile)
    records: Any = writing.records()
    if target.profile is not None:
        records = conform_to_version(exact_json.plain(records), target.profile, _default_id)
    if (target.profile is not None or not hints.get("proto")) and _UNSAFE_KEY in exact_json.encode(writing.unchecked):
        records = _without_unsafe_keys(exact_json.plain(records))
    shape = hints.get("shape")
    if shape == "message" and len(records) == 1:
        return records[0]
    if shape == "last" and len(records) == 1:
        return {**set_present({}, id=conversation.id), "message": records[0], **rest}
    if shape in ("request", "last"):
        return {**set_present({}, id=conversation.id), "messages": records, **rest}
    return records
