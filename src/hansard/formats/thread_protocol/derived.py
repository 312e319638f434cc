"""Required fields of a thread that the source lacks, each derived in one way.

    a time of a message   the time before it in the thread, else the next one, else `at`
    started_at            the time of the first message of the turn
    completed_at          the time of its last message; absent while the run is active
    total_usage           the sum of the usage of its responses
    created_at            the earliest time of the thread, else `at`; of an agent: that of the thread
    updated_at            the latest time of the thread, else `at`
    thread_id             a UUID made from the turns without their times
    agent_id, agent_name  that of the turn; the id

The names of derived fields are listed beside them, in `derived`. A time that `at` gives is not derived: it is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from msgspec import UNSET

from hansard.formats.pydantic_ai.fields import lacks
from hansard.model import exact_json
from hansard.model.times import parse_time


class _Missing:
    """The place of a field that is yet to be derived."""


DERIVED: Any = _Missing()
_TIMES = frozenset({"timestamp", "submitted_at", "started_at", "completed_at", "derived"})
_INNER = frozenset({"parts", "event_data", "metadata"})  # what has times of its own


class Derived:
    """Takes derived fields out of a document; with `trust=False` all its fields are said."""

    def __init__(self, trust: bool) -> None:
        self.trust, self.met = trust, False

    def take(self, record: dict[str, Any], hints: dict[str, Any], keys: tuple[str, ...]) -> set[str]:
        """Drop the derived fields of a record, remember which of `keys` are absent or null; return what was derived."""
        names = record.get("derived")
        taken: set[str] = set()
        if self.trust and type(names) is list and names and all(type(name) is str for name in names):
            if set(names) <= record.keys() - {"derived"}:
                taken, self.met = set(names), True
                for name in ("derived", *taken):
                    del record[name]
        for key in keys:
            if key not in record and key not in taken:
                lacks(hints, key)
            elif record.get(key, UNSET) is None:
                hints.setdefault("null", []).append(key)
        return taken


def fill(thread: dict[str, Any], at: str | None) -> None:
    """Derive what is missing, in place."""
    turns = thread["turns"]
    if thread.get("thread_id") is DERIVED:
        _put(thread, "thread_id", _id_of(turns))
    _fill_times(turns, at)
    for turn in turns:
        _fill_turn(turn)
    known = sorted((time, text) for text in _times(turns) if (time := parse_time(text)) is not None)
    for key, found in (("created_at", known[:1]), ("updated_at", known[-1:])):
        if thread.get(key) is DERIVED:
            _put(thread, key, found[0][1] if found else at, derived=bool(found))
    for agent in _agents(thread):
        if agent.get("created_at") is DERIVED:
            _put(agent, "created_at", thread.get("created_at"))
    _tidy(thread)


def _put(record: dict[str, Any], key: str, value: Any, *, derived: bool = True) -> None:
    if value is None or value is UNSET:
        del record[key]
        return
    record[key] = value
    if derived:
        note(record, key)


def note(record: dict[str, Any], key: str) -> None:
    """List a field of a record as derived."""
    before = record.get("derived")
    record["derived"] = [*(before if type(before) is list else ()), key]


def _slots(turns: list[Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Where the messages of a thread say their times, in order."""
    for turn in turns:
        if turn.get("turn_type") == "user":
            yield turn, "submitted_at"
        for record in _records(turn):
            yield record, "timestamp"


def _records(turn: dict[str, Any]) -> list[dict[str, Any]]:
    records = turn.get("messages")
    return [record for record in records if type(record) is dict] if type(records) is list else []


def _fill_times(turns: list[Any], at: str | None) -> None:
    slots = list(_slots(turns))
    values = [record.get(key) for record, key in slots]
    following: Any = None
    after: list[Any] = []
    for value in reversed(values):
        following = value if type(value) is str else following
        after.append(following)
    before: Any = None
    for (record, key), value, later in zip(slots, values, reversed(after), strict=True):
        before = value if type(value) is str else before
        if value is DERIVED:
            near = before or later
            _put(record, key, near or at, derived=near is not None)


def _fill_turn(turn: dict[str, Any]) -> None:
    said = [record["timestamp"] for record in _records(turn) if type(record.get("timestamp")) is str]
    for key, found in (("started_at", said[:1]), ("completed_at", said[-1:])):
        if turn.get(key) is DERIVED:
            _put(turn, key, found[0] if found else None)
    if turn.get("total_usage") is DERIVED:
        _put(turn, "total_usage", aggregate_usage(_records(turn)))


def aggregate_usage(messages: list[Any]) -> dict[str, int] | None:
    """The usage of all responses, summed; None if none says any. What has no total counts input and output.

    >>> aggregate_usage([{"usage": {"input_tokens": 3, "output_tokens": 1}}, {"usage": {"input_tokens": 2}}, {}])
    {'input_tokens': 5, 'output_tokens': 1, 'total_tokens': 6}
    """
    found = [message["usage"] for message in messages if type(message.get("usage")) is dict]
    out: dict[str, int] = {}
    total = 0
    for usage in found:
        counts = {key: count for key, count in usage.items() if type(count) is int and key != "total_tokens"}
        for key, count in counts.items():
            out[key] = out.get(key, 0) + count
        given = usage.get("total_tokens")
        total += given if type(given) is int else counts.get("input_tokens", 0) + counts.get("output_tokens", 0)
    return {**out, "total_tokens": total} if any(found) else None


def _times(turns: list[Any]) -> Iterator[Any]:
    for turn in turns:
        yield from (turn.get(key) for key in ("submitted_at", "started_at", "completed_at"))
        yield from (record.get("timestamp") for record in _records(turn))


def _id_of(turns: list[Any]) -> str:
    """An id made from the turns without their times, so that it does not depend on when it was made."""
    made = sha256(exact_json.encode(_outline(turns))).hexdigest()
    return f"{made[:8]}-{made[8:12]}-8{made[13:16]}-{'89ab'[int(made[16], 16) & 3]}{made[17:20]}-{made[20:32]}"


def _outline(value: Any) -> Any:
    if type(value) is list:
        return [_outline(item) for item in value]
    if type(value) is not dict:
        return _sorted(value)
    kept = {key: item for key, item in value.items() if key not in _TIMES and item is not DERIVED}
    return {key: (_sorted if key in _INNER else _outline)(item) for key, item in sorted(kept.items())}


def _sorted(value: Any) -> Any:
    """Data with the keys of its objects in order."""
    value = exact_json.plain(value)
    if type(value) is dict:
        return {key: _sorted(item) for key, item in sorted(value.items())}
    return [_sorted(item) for item in value] if type(value) is list else value


def _agents(thread: dict[str, Any]) -> list[dict[str, Any]]:
    agents = thread.get("agents")
    return [agent for agent in agents.values() if type(agent) is dict] if type(agents) is dict else []


def _tidy(thread: dict[str, Any]) -> None:
    """The list of derived fields stands last."""
    turns = thread["turns"]
    for record in (thread, *_agents(thread), *turns, *(r for turn in turns for r in _records(turn))):
        if type(record.get("derived")) is list:
            record["derived"] = record.pop("derived")
