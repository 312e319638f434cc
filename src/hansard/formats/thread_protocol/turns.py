"""User turns and agent turns, reader beside writer.

An agent turn is a run; `run_id` names it, and without one its position does. Messages without a run are an agent turn
with `run_id: null`. A run that says nothing but its id is not listed in the conversation: its messages name it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.pydantic_ai.fields import NAME as PYDANTIC_AI
from hansard.formats.pydantic_ai.fields import Around, is_absent
from hansard.formats.pydantic_ai.messages.documents import shares_request
from hansard.formats.residue import pack, set_present, take_maybe_str, unpack
from hansard.formats.thread_protocol.derived import DERIVED, Derived, note
from hansard.formats.thread_protocol.records import (
    CONFIGURING,
    DIALECT,
    NAME,
    Reading,
    marked,
    put_fields,
    raw_event,
    required,
    take_usage,
    write_event_records,
    write_request_record,
    write_requests,
    write_response_record,
    write_usage,
)
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message, Run
from hansard.model.parts import RawPart, RefusalPart, TextPart
from hansard.model.turns import Turn, turns

DEFAULT_AGENT = "assistant"
ACTIVE = "active"
_ANSWERING = ("assistant", "tool", "event")
_ASKING = ("system", "developer", "user")


# -- reading -------------------------------------------------------------------------------------------------------


class TurnReading(Reading):
    """Turns into messages and runs."""

    def __init__(self, derived: Derived) -> None:
        super().__init__(derived)
        self.runs: dict[str, Run] = {}

    def turns(self, records: list[Any]) -> None:
        for k, turn in enumerate(records):
            if type(turn) is not dict:
                raise Unreadable("expected a turn object", f"$.turns[{k}]")
            kind = turn.get("turn_type")
            if kind == "user" and type(turn.get("parts")) is list:
                self.user_turn(turn)
            elif kind == "agent" and type(turn.get("messages")) is list and self.agent_turn(turn, k):
                continue
            elif type(kind) is str:
                self.out.append(raw_event(turn, {"turn": "raw"}))
            else:
                raise Unreadable("missing turn_type: expected user or agent", f"$.turns[{k}].turn_type")

    def user_turn(self, turn: dict[str, Any]) -> None:
        rest, hints, start = dict(turn), dict[str, Any](), len(self.out)
        del rest["turn_type"]
        self.derived.take(rest, hints, ("submitted_at",))
        sent, run_id = take_maybe_str(rest, "submitted_at"), take_maybe_str(rest, "run_id")
        self.request(rest, hints, sent, run_id=run_id, agent_id=take_maybe_str(rest, "agent_id"))
        first = self.out[start]
        before = self.out[start - 1] if start else None
        inside = before is not None and run_id is not UNSET and before.run_id == run_id and before.role in _ANSWERING
        if first.role not in _ASKING or inside:
            self.out[start] = marked(first, {"turn": "user"})

    def agent_turn(self, turn: dict[str, Any], k: int) -> bool:
        """Read an agent turn; False if it has no messages and is not that of an active run."""
        rest, hints, start = dict(turn), dict[str, Any](), len(self.out)
        records = rest.pop("messages")
        if not records and not (rest.get("status") == ACTIVE and type(rest.get("run_id")) is str):
            return False
        del rest["turn_type"]
        self.derived.take(rest, hints, _required_of(rest, records))
        outside = "run_id" in rest and rest["run_id"] is None and not rest.keys() - {"run_id"}
        run_id: Any = UNSET if outside else take_maybe_str(rest, "run_id")
        if run_id is UNSET and not outside:
            run_id = f"turn-{k + 1}"
        run = Run(
            id="" if run_id is UNSET else run_id,
            agent_id=take_maybe_str(rest, "agent_id"),
            status=take_maybe_str(rest, "status"),
            started_at=take_maybe_str(rest, "started_at"),
            completed_at=take_maybe_str(rest, "completed_at"),
            usage=take_usage(rest, "total_usage"),
            extra=UNSET if outside else pack(NAME, rest, hints),
        )
        for i, record in enumerate(records):
            self.record(record, f"$.turns[{k}].messages[{i}]", run_id)
        if not outside and (run != Run(id=run.id) or not records):
            self.runs.setdefault(run.id, run)
        if records and self._wants_mark(start, run_id):
            self.out[start] = marked(self.out[start], {"turn": "agent"})
        return True

    def _wants_mark(self, start: int, run_id: Any) -> bool:
        """Would the first message of an agent turn, unmarked, be part of another turn?"""
        first = self.out[start]
        if first.role not in _ANSWERING:
            return True
        before = self.out[start - 1] if start else None
        return before is not None and before.role in _ANSWERING and before.run_id == run_id


def _required_of(turn: dict[str, Any], records: list[Any]) -> tuple[str, ...]:
    """The fields that a turn should have: an active run has not ended, a sum needs something to sum."""
    ended = () if turn.get("status") == ACTIVE else ("completed_at",)
    used = any(type(record) is dict and record.get("usage") for record in records)
    return ("agent_id", "started_at", *ended, *(("total_usage",) if used else ()))


# -- writing -------------------------------------------------------------------------------------------------------


def _places(messages: list[Message]) -> Iterator[str | None]:
    """For each message: `same` if it shares the request of the one before it, else what a hint says of its turn."""
    for group in _grouped(messages):
        where = unpack(NAME, group[0].extra)[1].get("turn")
        yield "user" if where == "raw" else where if where in ("user", "agent") else None
        yield from ["same"] * (len(group) - 1)


def _stored(messages: list[Message]) -> Iterator[Message]:
    """The messages, less requests that hold nothing but system prompts: turns are formed without these."""
    for group in _grouped(messages):
        if not all(message.role in CONFIGURING and _is_text(message) for message in group):
            yield from group


def _is_text(message: Message) -> bool:
    return all(type(part) in (TextPart, RefusalPart) for part in message.parts)


def joined(before: Message, message: Message) -> bool:
    """Whether two neighbours are parts of one request."""
    told = unpack(PYDANTIC_AI, message.extra)[1].get("joined")
    return told if type(told) is bool else shares_request(before, message)


class TurnWriting:
    """Messages and runs into turns."""

    def __init__(self, conversation: Conversation) -> None:
        messages = list(_stored(conversation.messages))
        self.around = Around(DIALECT, messages)
        self.conversation = replace(conversation, messages=messages)

    def turns(self) -> list[Any]:
        places = _places(self.conversation.messages)
        found = turns(self.conversation, lambda message: next(places))
        runs = {run.id: run for run in self.conversation.runs or ()}
        seen: set[str] = set()
        out: list[Any] = []
        last: list[Any] = []
        for turn in found:
            if turn.kind == "user":
                out += self.user_turn(turn)
                continue
            run = turn.run
            again = run is not None and run.id in seen
            into = last if run is not None and run.status == ACTIVE else out
            into += self.agent_turn(turn, again, len(out) + 1 if into is out else 0)
            if run is not None:
                seen.add(run.id)
        for run in runs.values():
            if run.status == ACTIVE and run.id not in seen:
                last.append(self.finish(run, [], False, 0))
        return out + last

    def user_turn(self, turn: Turn) -> list[Any]:
        first = turn.messages[0]
        hints = unpack(NAME, first.extra)[1]
        if hints.get("turn") == "raw":
            part = first.parts[0] if len(first.parts) == 1 else None
            value = part.value if type(part) is RawPart and part.format == NAME else None
            return [exact_json.plain(value)] if type(value) is dict and type(value.get("turn_type")) is str else []
        if first.role not in ("user", "system", "developer", "tool"):
            return []
        parts, sent, says = write_requests(turn.start, turn.messages, self.around)
        if not says:
            return []
        out = required({"turn_type": "user"}, hints, submitted_at=sent)
        out["parts"] = parts
        set_present(out, agent_id=first.agent_id, run_id=first.run_id)
        return [put_fields(out, first)]

    def agent_turn(self, turn: Turn, again: bool, place: int) -> list[Any]:
        run = turn.run
        agent_id: Any = run.agent_id if run is not None else UNSET
        if agent_id is UNSET:
            named = (message.agent_id for message in turn.messages if message.agent_id is not UNSET)
            agent_id = (next(named, DEFAULT_AGENT) if run is not None else DEFAULT_AGENT) or DEFAULT_AGENT
        records: list[Any] = []
        for start, messages in _requests(turn):
            first = messages[0]
            if first.role == "event":
                records += write_event_records(first)
            elif first.role == "assistant":
                records += write_response_record(start, first, agent_id, self.around)
            else:
                records += write_request_record(start, messages, agent_id, self.around)
        if not records:
            return []
        if run is None:
            out = {"turn_type": "agent", "agent_id": agent_id, "started_at": DERIVED, "completed_at": DERIVED}
            out.update(messages=records, total_usage=DERIVED, run_id=None)
            note(out, "agent_id")
            return [out]
        return [self.finish(run, records, again, place, agent_id)]

    def finish(self, run: Run, records: list[Any], again: bool, place: int, agent_id: Any = UNSET) -> dict[str, Any]:
        """The turn of a run; if it continues in a later turn, the first one has its times and usage."""
        rest, hints = unpack(NAME, run.extra)
        out: dict[str, Any] = {"turn_type": "agent"}
        if run.agent_id is not UNSET and not again:
            out["agent_id"] = run.agent_id
        elif "agent_id" not in rest and not is_absent(hints, "agent_id"):
            out["agent_id"] = DEFAULT_AGENT if agent_id is UNSET else agent_id
            note(out, "agent_id")
        said = Run(id=run.id) if again else run
        required(out, hints, started_at=said.started_at)
        if run.status != ACTIVE or run.completed_at is not UNSET:
            required(out, hints, completed_at=said.completed_at)
        out["messages"] = records
        required(out, hints, total_usage=write_usage(said.usage))
        if run.id != f"turn-{place}":
            out["run_id"] = run.id
        if run.status == ACTIVE:
            out["status"] = ACTIVE
        return {**out, **({} if again else rest)}


def _requests(turn: Turn) -> Iterator[tuple[int, list[Message]]]:
    """The messages of a turn, those together that share a request, each with the index of the first."""
    start = turn.start
    for group in _grouped(turn.messages):
        yield start, group
        start += len(group)


def _grouped(messages: list[Message]) -> Iterator[list[Message]]:
    """Messages, those together that share a request."""
    group: list[Message] = []
    for message in messages:
        asks = message.role not in ("assistant", "event")
        if group and asks and group[-1].role not in ("assistant", "event") and joined(group[-1], message):
            group.append(message)
            continue
        if group:
            yield group
        group = [message]
    if group:
        yield group
