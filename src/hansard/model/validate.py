"""Rules that a conversation should keep, each a named check. Findings are advice: documents are stored regardless.

    roles            every role is one that Hansard knows
    parts            the parts of every message are a list of parts
    schema-version   a native message says its schema version, as a number; a newer one is a warning
    times            every time is a date and time of ISO 8601
    tool-results     each result has a call before it; a call without a result before later messages is a warning
    agents           each agent that a message or run names is registered
    turns            turns follow one another; runs that overlap are an error
    message-order    the messages of a turn are in the order of their times

Equal times are in order: a turn may begin at the moment the one before it ended. `hansard.formats.rules.checks` adds
the rules of providers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from hansard.model import native, versions
from hansard.model.calls import Links
from hansard.model.conversation import ROLES, Conversation, Message
from hansard.model.finding import Finding as Finding
from hansard.model.parts import Part, RetryPart
from hansard.model.times import is_time, parse_time
from hansard.model.tree import active_path
from hansard.model.turns import Turn, turns

_HINTS = "$"  # as in `hansard.formats.residue`: where the native format keeps what it read


Check: TypeAlias = Callable[[Conversation], Iterator[Finding]]


def check_roles(conversation: Conversation) -> Iterator[Finding]:
    """Every role is one that Hansard knows. Messages of other roles are kept."""
    for i, message in enumerate(conversation.messages):
        if message.role not in ROLES:
            problem, fix = f"unknown role {message.role!r}", f"use one of {', '.join(ROLES)}"
            yield Finding(check="roles", path=f"$.messages[{i}].role", severity="error", problem=problem, fix=fix)


def check_parts(conversation: Conversation) -> Iterator[Finding]:
    """The parts of every message are a list of parts."""
    fix = "put a text into TextPart(text='...')"
    for i, message in enumerate(conversation.messages):
        path, parts = f"$.messages[{i}].parts", message.parts
        wrong: list[tuple[str, Any]] = [(path, parts)]
        if isinstance(parts, list):
            wrong = [(f"{path}[{j}]", part) for j, part in enumerate(parts) if not isinstance(part, Part)]
        for place, value in wrong:
            problem = f"{value!r:.60} is not a list of parts" if place == path else f"{value!r:.60} is not a part"
            yield Finding(check="parts", path=place, severity="error", problem=problem, fix=fix)


def check_schema_version(conversation: Conversation) -> Iterator[Finding]:
    """What a native document says of its schema version; messages of other formats have none."""
    for i, message in enumerate(conversation.messages):
        kept = message.extra.get(native.NATIVE) if message.extra is not UNSET else None
        marks = kept.get(_HINTS) if type(kept) is dict else None
        if (
            type(marks) is not dict
            or not {"metadata", "schemaVersion"} & marks.keys()
            or marks.get("metadata") == "empty"
        ):
            continue
        found = versions.finding(UNSET if "metadata" in marks else marks["schemaVersion"])
        if found is not None:
            severity, problem, fix = found
            path = f"$.messages[{i}].metadata.schemaVersion"
            yield Finding(check="schema-version", path=path, severity=severity, problem=problem, fix=fix)


def check_times(conversation: Conversation) -> Iterator[Finding]:
    """Every time is a date and time of ISO 8601."""
    for path, time in _times(conversation):
        if time is not UNSET and not is_time(time):
            fix = "write it like 2026-01-02T03:04:05Z"
            yield Finding(
                check="times", path=path, severity="error", problem=f"{time!r} is not an ISO 8601 time", fix=fix
            )


def _times(conversation: Conversation) -> Iterator[tuple[str, Any]]:
    yield "$.createdAt", conversation.created_at
    yield "$.updatedAt", conversation.updated_at
    for key, agent in (conversation.agents or {}).items():
        yield f"$.agents.{key}.createdAt", agent.created_at
    for i, message in enumerate(conversation.messages):
        yield f"$.messages[{i}].createdAt", message.created_at
    for i, run in enumerate(conversation.runs or ()):
        yield f"$.runs[{i}].startedAt", run.started_at
        yield f"$.runs[{i}].completedAt", run.completed_at
    for i, snapshot in enumerate(conversation.snapshots or ()):
        yield f"$.snapshots[{i}].createdAt", snapshot.created_at


def check_tool_results(conversation: Conversation) -> Iterator[Finding]:
    """Each result has a call before it; a call without a result before later messages is a warning.

    Calls at the end and calls that a run lists as pending are not reported.
    """
    indices, messages = _path(conversation)
    links = Links(messages)
    pending = {call.tool_call_id for run in conversation.runs or () for call in run.pending or ()}
    retried = {
        part.tool_call_id
        for message in messages
        for part in message.parts
        if type(part) is RetryPart and part.tool_call_id
    }
    for (i, j), result in links.results.items():
        call = links.calls.get(links.answers.get((i, j), (-1, -1)))
        if call is not None and UNSET not in (call.tool_name, result.tool_name) and call.tool_name != result.tool_name:
            yield Finding(
                check="tool-results",
                path=f"$.messages[{indices[i]}].parts[{j}].toolName",
                severity="warning",
                problem=f"a result of {result.tool_name!r} for a call of {call.tool_name!r}",
                fix="give call and result the same tool name",
            )
        if (i, j) not in links.answers:
            yield Finding(
                check="tool-results",
                path=f"$.messages[{indices[i]}].parts[{j}].toolCallId",
                severity="error",
                problem=f"no call {_shown(result.tool_call_id)} before this result",
                fix="give the result the id of its call, or leave it out",
            )
    last = max((i for i, message in enumerate(messages) if message.role == "assistant"), default=-1)
    for i, j in links.unanswered():
        call = links.calls[i, j]
        if call.provider_executed is True:  # provider-executed: call and result may be one part
            continue
        if i < last and call.tool_call_id not in pending and call.tool_call_id not in retried:
            yield Finding(
                check="tool-results",
                path=f"$.messages[{indices[i]}].parts[{j}].toolCallId",
                severity="warning",
                problem=f"the call {_shown(call.tool_call_id)} has no result, but later messages exist",
                fix="add the result, or one that says the call was interrupted",
            )


def check_agents(conversation: Conversation) -> Iterator[Finding]:
    """Each named agent is registered; a warning without a registry."""
    known = conversation.agents or {}
    severity = "warning" if conversation.agents is UNSET else "error"
    named = [(f"$.messages[{i}].agentId", message.agent_id) for i, message in enumerate(conversation.messages)]
    named += [(f"$.runs[{i}].agentId", run.agent_id) for i, run in enumerate(conversation.runs or ())]
    named += [found for i, message in enumerate(conversation.messages) for found in _sides(i, message)]
    for path, agent_id in named:
        if agent_id is not UNSET and agent_id not in known:
            fix = "add it to the agents of the conversation"
            problem = f"agent {agent_id!r} is not in the registry"
            yield Finding(check="agents", path=path, severity=severity, problem=problem, fix=fix)
    for key, agent in known.items():
        if agent.id != key:
            path, problem = f"$.agents.{key}.id", f"the agent {agent.id!r} is registered as {key!r}"
            yield Finding(check="agents", path=path, severity="error", problem=problem, fix="register it by its id")


def _sides(i: int, message: Message) -> Iterator[tuple[str, Any]]:
    """Source and target of an event, such as a hand-over."""
    if message.role == "event" and message.metadata is not UNSET:
        targets = message.metadata.get("target_agents")
        for agent_id in (message.metadata.get("source_agent"), *(targets if type(targets) is list else ())):
            if type(agent_id) is str:
                yield f"$.messages[{i}].metadata", agent_id


def check_turns(conversation: Conversation) -> Iterator[Finding]:
    """A turn begins after the one before it has ended; two runs that overlap are an error, messages a warning."""
    places = {run.id: k for k, run in enumerate(conversation.runs or ())}
    indices, messages = _path(conversation)
    seen: set[str] = set()
    ended: tuple[Any, str, bool] = (None, "", False)
    for turn in turns(replace(conversation, messages=messages)):
        if turn.kind == "user" and turn.messages[0].run_id is not UNSET:
            continue  # a prompt inside a run is within its time
        started, completed = _span(turn, seen)
        begun, done = parse_time(started), parse_time(completed)
        path = f"$.messages[{indices[turn.start]}]"
        if turn.run is not None and turn.run.id in places:
            path = f"$.runs[{places[turn.run.id]}]"
        if begun is not None and done is not None and done < begun:
            problem, fix = f"it ended at {completed}, before it began at {started}", "correct one of the two times"
            yield Finding(check="turns", path=path, severity="error", problem=problem, fix=fix)
        if begun is not None and ended[0] is not None and begun < ended[0]:
            problem = f"it began at {started}, before the turn before it ended at {ended[1]}"
            both = turn.run is not None and is_time(turn.run.started_at) and ended[2]
            fix = "correct the times" if both else "nothing, if the two ran at the same time; else correct the times"
            severity = "error" if both else "warning"
            yield Finding(check="turns", path=path, severity=severity, problem=problem, fix=fix)
        if done is not None and (ended[0] is None or done > ended[0]):
            ended = (done, completed, turn.run is not None and is_time(turn.run.completed_at))


def _span(turn: Turn, seen: set[str]) -> tuple[Any, Any]:
    """Start and end of a turn, by its run if it has times, else (and for a continued run) by its messages."""
    started: Any = turn.messages[0].created_at
    completed: Any = turn.messages[-1].created_at
    run = turn.run
    if run is not None and run.id not in seen:
        seen.add(run.id)
        started = run.started_at if is_time(run.started_at) else started
        completed = run.completed_at if is_time(run.completed_at) else completed
    return started, completed


def check_message_order(conversation: Conversation) -> Iterator[Finding]:
    """The messages of a turn are in the order of their times."""
    indices, messages = _path(conversation)
    for turn in turns(replace(conversation, messages=messages)):
        before: Any = None
        before_text: Any = ""
        for i, message in enumerate(turn.messages, turn.start):
            time = parse_time(message.created_at)
            if time is None:
                continue
            if before is not None and time < before:
                yield Finding(
                    check="message-order",
                    path=f"$.messages[{indices[i]}].createdAt",
                    severity="error",
                    problem=f"{message.created_at} comes after {before_text} in the same turn",
                    fix="put the messages in the order of their times, or correct the time",
                )
            else:
                before, before_text = time, message.created_at


def _path(conversation: Conversation) -> tuple[list[int], list[Message]]:
    indices = active_path(conversation)
    return indices, [conversation.messages[i] for i in indices]


def _shown(value: Any) -> str:
    return repr(value) if type(value) is str else "without an id"


CHECKS: dict[str, tuple[Check, str]] = {
    "roles": (check_roles, "every role is one that Hansard knows"),
    "parts": (check_parts, "the parts of every message are a list of parts"),
    "schema-version": (check_schema_version, "native messages say their schema version"),
    "times": (check_times, "every time is a date and time of ISO 8601"),
    "tool-results": (check_tool_results, "each result has a call, each call a result"),
    "agents": (check_agents, "each named agent is registered"),
    "turns": (check_turns, "turns follow one another"),
    "message-order": (check_message_order, "the messages of a turn are in the order of their times"),
}


def validate(conversation: Conversation) -> list[Finding]:
    """Run all checks and return their findings.

    >>> from hansard.model import TextPart
    >>> late = Message(role="user", parts=[TextPart(text="hi")], created_at="yesterday")
    >>> [(found.check, found.path) for found in validate(Conversation(messages=[late]))]
    [('times', '$.messages[0].createdAt')]
    """
    if any(True for _ in check_parts(conversation)):  # the other checks look at parts
        return [*check_roles(conversation), *check_parts(conversation)]
    return [finding for check, _ in CHECKS.values() for finding in check(conversation)]
