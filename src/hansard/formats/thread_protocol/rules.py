"""What `validate` reports of a thread: the rules of the specification, on the document, with places in it.

    version          "2.0.0"; another one is read and kept
    required         the fields that the specification requires, where they stand
    times            rule 1: every time is a string with a date and time of ISO 8601
    tool-results     rule 2: a return has a call before it, of the same id and tool
    agents           rule 3: agent_id, source_agent and target_agents are keys of the registry
    turns            rule 4: a turn does not begin before the one before it was completed; equal times are allowed
    message-order    rule 5: the messages of a turn are in the order of their times

A document with nothing but `turns` is a fragment: what it lacks of a thread is one warning. The last turn may be that
of an active run, without `completed_at`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from hansard.model.times import is_time, parse_time
from hansard.model.validate import Finding

VERSION = "2.0.0"
_THREAD = ("version", "thread_id", "created_at", "updated_at", "agents")
_AGENT = ("agent_id", "agent_name", "created_at")
_RECORDS = {
    "request": ("timestamp", "agent_id", "parts"),
    "response": ("timestamp", "agent_id", "parts"),
    "system": ("timestamp", "event_type"),
}
_TURNS = {"user": ("submitted_at", "parts"), "agent": ("agent_id", "started_at", "completed_at", "messages")}
_PARTS = {
    "text": ("content",),
    "thinking": ("provider_name",),
    "tool-call": ("tool_name", "tool_call_id", "args"),
    "tool-return": ("tool_name", "tool_call_id", "status", "content"),
    "retry-prompt": ("content",),
    "file": ("content",),
    "user-prompt": ("content",),
}
_TIMES = ("created_at", "updated_at", "submitted_at", "started_at", "completed_at", "timestamp")


class Place(NamedTuple):
    """An object of the document, its path, what it is, and the fields that it must have."""

    value: dict[str, Any]
    path: str
    what: str
    required: tuple[str, ...]


def check(document: Any) -> list[Finding]:
    """What the rules find in a thread."""
    turns = document.get("turns") if type(document) is dict else None
    if type(turns) is not list:
        return []
    checks = (_check_version, _check_required, _check_times, _check_calls, _check_agents, _check_turns, _check_order)
    return [finding for rule in checks for finding in rule(document, turns)]


def _found(rule: str, path: str, problem: str, fix: str, severity: str = "error") -> Finding:
    return Finding(check=rule, path=path, severity=severity, problem=problem, fix=fix)


def _is_fragment(document: dict[str, Any]) -> bool:
    return document.keys() == {"turns"}


# -- what a document consists of -----------------------------------------------------------------------------------


def _places(document: dict[str, Any], turns: list[Any]) -> Iterator[Place]:
    """Every object that the specification names, in order."""
    if not _is_fragment(document):
        yield Place(document, "$", "a thread", _THREAD)
    registry = document.get("agents")
    for key, agent in registry.items() if type(registry) is dict else ():
        if type(agent) is dict:
            yield Place(agent, f"$.agents.{key}", "an agent", _AGENT)
    for k, turn in enumerate(turns):
        yield from _places_of(turn, f"$.turns[{k}]", last=k == len(turns) - 1)


def _places_of(turn: Any, path: str, last: bool) -> Iterator[Place]:
    kind = turn.get("turn_type") if type(turn) is dict else None
    required = _TURNS.get(kind) if type(kind) is str else None
    if required is None:
        return
    if last and kind == "agent":  # it may be that of an active run
        required = tuple(name for name in required if name != "completed_at")
    yield Place(turn, path, f"a turn of type {kind}", required)
    yield from _parts_of(turn, path)
    for record, place in _records(turn, path):
        named = record.get("message_type")
        if type(named) is str and named in _RECORDS:
            yield Place(record, place, f"a message of type {named}", _RECORDS[named])
            yield from _parts_of(record, place)


def _records(turn: dict[str, Any], path: str) -> Iterator[tuple[dict[str, Any], str]]:
    records = turn.get("messages")
    for i, record in enumerate(records if type(records) is list else ()):
        if type(record) is dict:
            yield record, f"{path}.messages[{i}]"


def _parts_of(record: dict[str, Any], path: str) -> Iterator[Place]:
    parts = record.get("parts")
    for j, part in enumerate(parts if type(parts) is list else ()):
        kind = part.get("part_kind") if type(part) is dict else None
        if type(kind) is str and kind in _PARTS:
            yield Place(part, f"{path}.parts[{j}]", f"a part of kind {kind}", _PARTS[kind])


# -- the rules -----------------------------------------------------------------------------------------------------


def _check_version(document: dict[str, Any], turns: list[Any]) -> Iterator[Finding]:
    version = document.get("version")
    if "version" in document and version != VERSION:
        problem = f"version {version!r} is not {VERSION!r}; the thread is read and returned unchanged"
        yield _found("version", "$.version", problem, f"write {VERSION!r}, or check it with what writes {version!r}")


def _check_required(document: dict[str, Any], turns: list[Any]) -> Iterator[Finding]:
    if _is_fragment(document):
        fix = "nothing, if it is meant as one; else add " + ", ".join(_THREAD)
        yield _found("required", "$", "a fragment of a thread: it has nothing but turns", fix, "warning")
    for place in _places(document, turns):
        for name in place.required:
            if name not in place.value:
                fix = "add it"
                if name in _TIMES:
                    fix = "add it, such as 2026-01-02T03:04:05Z"
                yield _found("required", f"{place.path}.{name}", f"{place.what} has no {name}", fix)


def _check_times(document: dict[str, Any], turns: list[Any]) -> Iterator[Finding]:
    for place in _places(document, turns):
        for name in _TIMES:
            value = place.value.get(name, "")
            if name in place.value and not is_time(value) and place.what[:6] != "a part":
                fix = "write it like 2026-01-02T03:04:05Z"
                yield _found("times", f"{place.path}.{name}", f"{value!r} is not an ISO 8601 time", fix)


def _check_calls(document: dict[str, Any], turns: list[Any]) -> Iterator[Finding]:
    called: dict[str, Any] = {}
    for place in _places(document, turns):
        part = place.value
        kind, call_id = part.get("part_kind"), part.get("tool_call_id")
        if type(call_id) is not str:
            continue
        if kind == "tool-call":
            called[call_id] = part.get("tool_name")
        elif kind in ("tool-return", "retry-prompt") and (kind == "tool-return" or type(part.get("tool_name")) is str):
            if call_id not in called:
                fix = "give the return the id of its call, or leave it out"
                yield _found("tool-results", f"{place.path}.tool_call_id", f"no call {call_id!r} before this", fix)
            elif "tool_name" in part and part["tool_name"] != called[call_id]:
                problem = f"the call {call_id!r} is of the tool {called[call_id]!r}, not {part['tool_name']!r}"
                fix = "give call and return the same tool_name"
                yield _found("tool-results", f"{place.path}.tool_name", problem, fix)


def _check_agents(document: dict[str, Any], turns: list[Any]) -> Iterator[Finding]:
    registry = document.get("agents")
    known = registry if type(registry) is dict else {}
    for place in () if _is_fragment(document) else _places(document, turns):
        value = place.value
        if place.what == "an agent":
            key = place.path.removeprefix("$.agents.")
            if "agent_id" in value and value["agent_id"] != key:
                problem = f"the agent {value['agent_id']!r} is registered as {key!r}"
                yield _found("agents", f"{place.path}.agent_id", problem, "register it by its id")
            continue
        targets = value.get("target_agents") if "message_type" in value else None
        named = [(f"{place.path}.{key}", value[key]) for key in ("agent_id", "source_agent") if key in value]
        named += [(f"{place.path}.target_agents[{i}]", one) for i, one in enumerate(_listed(targets))]
        for path, agent_id in named:
            if type(agent_id) is not str or agent_id not in known:
                problem = f"agent {agent_id!r} is not in the registry"
                yield _found("agents", path, problem, "add it to the agents of the thread")


def _listed(value: Any) -> list[Any]:
    return value if type(value) is list else []


def _check_turns(document: dict[str, Any], turns: list[Any]) -> Iterator[Finding]:
    latest: tuple[Any, str, str] = (None, "", "")
    for k, turn in enumerate(turns):
        if type(turn) is not dict or turn.get("turn_type") not in _TURNS:
            continue
        first, last = ("submitted_at",) * 2 if turn["turn_type"] == "user" else ("started_at", "completed_at")
        begun, done = parse_time(turn.get(first)), parse_time(turn.get(last))
        path = f"$.turns[{k}].{first}"
        if begun is not None and done is not None and done < begun:
            problem = f"the turn was completed at {turn[last]}, before it began at {turn[first]}"
            yield _found("turns", path, problem, "correct one of the two times")
        if begun is not None and latest[0] is not None and begun < latest[0]:
            problem = f"the turn begins at {turn[first]}, before {latest[2]} ended at {latest[1]}"
            yield _found("turns", path, problem, "turns must not overlap: correct the times, or order the turns")
        if done is not None and (latest[0] is None or done > latest[0]):
            latest = done, turn[last], f"turns[{k}]"


def _check_order(document: dict[str, Any], turns: list[Any]) -> Iterator[Finding]:
    for k, turn in enumerate(turns):
        before: Any = None
        text = ""
        for record, path in _records(turn, f"$.turns[{k}]") if type(turn) is dict else ():
            time = parse_time(record.get("timestamp"))
            if time is None:
                continue
            if before is not None and time < before:
                problem = f"{record['timestamp']} comes after {text} in the same turn"
                fix = "put the messages in the order of their times, or correct the time"
                yield _found("message-order", f"{path}.timestamp", problem, fix)
            else:
                before, text = time, record["timestamp"]
