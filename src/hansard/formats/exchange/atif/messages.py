"""ATIF trajectories, their steps and totals: `read` and `write`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.exchange.atif.content import NAME, has_audio, read_content, result_content, write_content
from hansard.formats.exchange.atif.difference import apply, diff
from hansard.formats.residue import HINTS, SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model import exact_json, native
from hansard.model.conversation import Agent, Conversation, Message, ModelRef, Usage
from hansard.model.display import shown_input
from hansard.model.parts import RawPart, ReasoningPart, ToolCallPart, ToolResultPart
from hansard.model.times import is_time
from hansard.model.tree import active_path

_UNKNOWN = "unknown"
_DIFFERENCE_KEY = native.NATIVE
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_SOURCES = {"user": "user", "assistant": "agent"}
_COUNTS = (
    ("input_tokens", "prompt_tokens"),
    ("output_tokens", "completion_tokens"),
    ("cache_read_tokens", "cached_tokens"),
)


# -- fields of a step ----------------------------------------------------------------------------------------------


def _read_call(item: Any) -> Any:
    try:
        rest = dict(item) if type(item) is dict else {}
        call_id, name = take_str(rest, "tool_call_id"), take_str(rest, "function_name")
        if type(rest.get("arguments")) is not dict:
            raise SchemaMismatch("arguments")
        given = rest.pop("arguments")
        return ToolCallPart(tool_call_id=call_id, tool_name=name, input=given, extra=pack(NAME, rest))
    except SchemaMismatch:
        return RawPart(format=NAME, value=item, extra={NAME: {HINTS: {"at": "tool_calls"}}})


def _write_call(part: ToolCallPart, number: int, k: int) -> dict[str, Any]:
    given = shown_input(part)
    return {
        "tool_call_id": part.tool_call_id if type(part.tool_call_id) is str else f"call_{number}_{k}",
        "function_name": part.tool_name if type(part.tool_name) is str else "",
        "arguments": given if type(given) is dict else {"input": given},
        **unpack(NAME, part.extra)[0],
    }


def _read_result(item: Any, names: dict[Any, Any]) -> Any:
    if type(item) is not dict:
        return RawPart(format=NAME, value=item)
    rest = dict(item)
    call_id = take_maybe_str(rest, "source_call_id")
    output: Any = UNSET
    content: Any = UNSET
    if type(rest.get("content")) is str:
        output = rest.pop("content")
    elif type(rest.get("content")) is list:
        content = read_content(rest.pop("content"), {})
    name = names.get(call_id, UNSET)
    extra = pack(NAME, rest)
    return ToolResultPart(tool_call_id=call_id, tool_name=name, output=output, content=content, extra=extra)


def _write_result(part: Any, known: set[Any]) -> Any:
    if type(part) is RawPart:
        return part.value
    own = {"source_call_id": part.tool_call_id} if part.tool_call_id in known else {}
    return set_present(own, content=result_content(part)) | unpack(NAME, part.extra)[0]


def _read_metrics(rest: dict[str, Any]) -> Usage | UnsetType:
    if type(rest.get("metrics")) is not dict:
        return UNSET
    left = dict(rest["metrics"])
    counts = {name: left.pop(key) for name, key in _COUNTS if type(left.get(key)) is int}
    if not counts:
        return UNSET
    del rest["metrics"]
    return Usage(**counts, extra=pack(NAME, left))


def _write_metrics(usage: Usage | UnsetType) -> Any:
    if usage is UNSET:
        return UNSET
    out: dict[str, Any] = {}
    for name, key in _COUNTS:
        set_present(out, **{key: getattr(usage, name)})
    return (out | unpack(NAME, usage.extra)[0]) or UNSET


# -- steps ---------------------------------------------------------------------------------------------------------


def _read_step_fields(step: dict[str, Any], number: int) -> list[Message]:
    """Read the fields of ATIF in a step."""
    rest = dict(step)
    hints: dict[str, Any] = {}
    if type(rest.get("step_id")) is int and rest["step_id"] == number:
        del rest["step_id"]
    role = _ROLES.get(take_str(rest, "source"))
    if role is None or type(rest.get("message")) not in (str, list):
        raise SchemaMismatch("source")
    parts: list[Any] = []
    if role == "assistant" and type(rest.get("reasoning_content")) is str and rest["reasoning_content"]:
        parts.append(ReasoningPart(text=rest.pop("reasoning_content")))
    parts += read_content(rest.pop("message"), hints)
    if role == "assistant" and type(rest.get("tool_calls")) is list and rest["tool_calls"]:
        parts += [_read_call(item) for item in rest.pop("tool_calls")]
    results: list[Message] = []
    observation = rest.get("observation")
    if type(observation) is dict and type(observation.get("results")) is list and observation["results"]:
        seen = dict(rest.pop("observation"))
        names = {part.tool_call_id: part.tool_name for part in parts if type(part) is ToolCallPart}
        items = [_read_result(item, names) for item in seen.pop("results")]
        results.append(Message(role="tool", parts=items, extra=pack(NAME, seen)))
    time, name = take_maybe_str(rest, "timestamp"), take_maybe_str(rest, "model_name")
    if role == "system" and results and not parts and not rest and not hints and time is UNSET:
        return results
    said = Message(
        role=role,
        parts=parts,
        created_at=time,
        model=UNSET if name is UNSET else ModelRef(name=name),
        usage=_read_metrics(rest) if role == "assistant" else UNSET,
        extra=pack(NAME, rest, hints),
    )
    return [said, *results]


def _write_step_fields(group: list[Message], number: int) -> dict[str, Any]:
    """Write the fields of ATIF for a message and, if present, the tool messages after it."""
    if group and (raw := _raw_step(group[0])) is not None:
        return raw
    results = [message for message in group if message.role == "tool"]
    said = group[0] if group and group[0].role != "tool" else Message(role="system", parts=[])
    rest, hints = unpack(NAME, said.extra)
    step: dict[str, Any] = {"step_id": number}
    if is_time(said.created_at) or ("timestamp" not in rest and "time" in hints):
        step["timestamp"] = said.created_at
    step["source"] = _SOURCES.get(said.role, "system")
    known: set[Any] = set()
    if said.role == "assistant":
        if said.model is not UNSET:
            set_present(step, model_name=said.model.name)
        step["message"] = write_content(said.parts, hints)
        reasoning = [part.text for part in said.parts if type(part) is ReasoningPart and part.text]
        if reasoning:
            step["reasoning_content"] = "\n\n".join(reasoning)
        calls: list[Any] = []
        for part in said.parts:
            if type(part) is ToolCallPart:
                calls.append(_write_call(part, number, len(calls) + 1))
                known.add(calls[-1]["tool_call_id"])
            elif type(part) is RawPart and unpack(NAME, part.extra)[1].get("at") == "tool_calls":
                calls.append(part.value)
        set_present(step, tool_calls=calls or UNSET, metrics=_write_metrics(said.usage))
    else:
        step["message"] = write_content(said.parts, hints)
    if results:
        items = [
            _write_result(part, known)
            for message in results
            for part in message.parts
            if type(part) is ToolResultPart or (type(part) is RawPart and part.format == NAME)
        ]
        step["observation"] = {"results": items, **unpack(NAME, results[0].extra)[0]}
    return {**step, **rest}


def _raw_step(message: Message) -> dict[str, Any] | None:
    """A step of an unknown kind, as it was read."""
    part = message.parts[0] if message.role == "event" and len(message.parts) == 1 else None
    if type(part) is RawPart and part.format == NAME and "step" in unpack(NAME, part.extra)[1]:
        return part.value if type(part.value) is dict else None
    return None


def _write_step(group: list[Message], number: int) -> dict[str, Any]:
    """Write a step; `extra` holds what its other fields cannot say of the messages."""
    step = _write_step_fields(group, number)
    if group and _raw_step(group[0]) is not None:
        return step
    said = _read_step_fields(exact_json.copied(step), number)
    counts = [len(message.parts) for message in group if message.role == "tool"]
    split = _split_results(said, counts) if len(counts) > 1 else None  # keeps the difference small
    record = diff(_as_json(said if split is None else split), _as_json(group))
    if split is not None:
        record = {"results": counts, **(record or {})}
    if record is None:
        return step
    given = step.get("extra")
    return {**step, "extra": {**(given if type(given) is dict else {}), _DIFFERENCE_KEY: record}}


def _as_json(messages: list[Message]) -> list[Any]:
    """The messages as JSON, without the spelling hint for their step, which the reader restores."""
    return [native.plain(_without_step_hint(message)) for message in messages]


def _without_step_hint(message: Message) -> Message:
    rest, hints = unpack(NAME, message.extra)
    if message.extra is UNSET or "step" not in hints:
        return message
    hints = {key: value for key, value in hints.items() if key != "step"}
    others = {key: value for key, value in message.extra.items() if key != NAME}
    own = pack(NAME, rest, hints)
    return replace(message, extra={**others, **(own if own is not UNSET else {})} or UNSET)


def _split_results(messages: list[Message], counts: Any) -> list[Message] | None:
    """Split the message with all results into several, with `counts` results each."""
    last = messages[-1] if messages else None
    if last is None or last.role != "tool" or type(counts) is not list or not all(type(n) is int for n in counts):
        return None
    if sum(counts) != len(last.parts) or min(counts, default=0) < 0:
        return None
    out, at = messages[:-1], 0
    for count in counts:
        out.append(Message(role="tool", parts=last.parts[at : at + count]))
        at += count
    return out


def _read_step(step: Any, number: int, path: str) -> list[Message]:
    """Read a step: with the recorded difference if there is one that still matches, else from its fields."""
    if type(step) is not dict:
        raise Unreadable("expected a step object", path)
    extra = step.get("extra")
    if (
        type(extra) is dict
        and _DIFFERENCE_KEY in extra
        and (restored := _read_step_with_difference(step, number, extra[_DIFFERENCE_KEY], path)) is not None
    ):
        return restored
    try:
        group = _read_step_fields(exact_json.copied(step), number)
        if exact_json.same(_write_step_fields(group, number), step):
            return group
    except SchemaMismatch:
        pass
    return [Message(role="event", parts=[RawPart(format=NAME, value=step, extra={NAME: {HINTS: {"step": True}}})])]


def _read_step_with_difference(step: dict[str, Any], number: int, record: Any, path: str) -> list[Message] | None:
    bare = exact_json.copied({key: value for key, value in step.items() if key != "extra"})
    if left := {key: value for key, value in step["extra"].items() if key != _DIFFERENCE_KEY}:
        bare["extra"] = left
    try:
        group = _read_step_fields(bare, number)
        if type(record) is dict and "results" in record:
            record = dict(record)
            group = _split_results(group, record.pop("results")) or group
        values = apply(_as_json(group), record)
        messages = [native.build(Message, value, path) for value in values] if type(values) is list else None
    except (SchemaMismatch, Unreadable):
        return None
    return messages if messages is not None and exact_json.same(_write_step(messages, number), step) else None


def _joins(group: list[Message], message: Message) -> bool:
    """Whether these results belong to the step of the group."""
    hints = unpack(NAME, message.extra)[1]
    if message.role != "tool" or not group or hints.get("step") == "own":
        return False
    if hints.get("step") == "same":
        return _raw_step(group[0]) is None
    if group[0].role != "assistant":
        return False
    called = {part.tool_call_id for part in group[0].parts if type(part) is ToolCallPart}
    return all(
        type(part) is not ToolResultPart or part.tool_call_id is UNSET or part.tool_call_id in called
        for part in message.parts
    )


# -- agents and totals ---------------------------------------------------------------------------------------------


def _read_agent(rest: dict[str, Any]) -> Any:
    """The registry with the one agent; UNSET if name and version are unknown."""
    given = rest.get("agent")
    if type(given) is not dict or type(given.get("name")) is not str:
        return UNSET
    about = dict(rest.pop("agent"))
    if about == {"name": _UNKNOWN, "version": _UNKNOWN}:
        return UNSET
    name, model = about.pop("name"), take_maybe_str(about, "model_name")
    if about.get("version") == _UNKNOWN:
        del about["version"]
    elif "version" not in about:
        return {name: Agent(id=name, name=name, model=model, extra=pack(NAME, about, {"version": "absent"}))}
    return {name: Agent(id=name, name=name, model=model, extra=pack(NAME, about))}


def _write_agent(conversation: Conversation) -> dict[str, Any]:
    agents = conversation.agents
    if not agents:
        return {"name": _UNKNOWN, "version": _UNKNOWN}
    spoke = (message.agent_id for message in conversation.messages if message.role == "assistant")
    agent = agents[next((name for name in spoke if name in agents), min(agents))]
    rest, hints = unpack(NAME, agent.extra)
    version = {} if hints.get("version") == "absent" else {"version": _UNKNOWN}
    name = agent.name if agent.name is not UNSET else agent.id
    return set_present({"name": name, **version}, model_name=agent.model) | rest


def _totals(messages: list[Message], steps: int) -> dict[str, Any] | None:
    """The sums over all steps; None if no step has counts."""
    usages = [message.usage for message in messages if message.usage is not UNSET]
    out: dict[str, Any] = {}
    for key, name in (
        ("total_prompt_tokens", "input_tokens"),
        ("total_completion_tokens", "output_tokens"),
        ("total_cached_tokens", "cache_read_tokens"),
    ):
        counts = [getattr(usage, name) for usage in usages if getattr(usage, name) is not UNSET]
        if counts:
            out[key] = sum(counts)
    return {**out, "total_steps": steps} if out else None


def _version(messages: list[Message]) -> str:
    return "ATIF-v1.8" if any(has_audio(message.parts) for message in messages) else "ATIF-v1.7"


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """A trajectory; with the recorded difference if there is one that still matches."""
    if type(document) is not dict or type(document.get("steps")) is not list:
        raise Unreadable("missing list of steps", "$.steps")
    messages = _read_steps(document["steps"])
    extra = document.get("extra")
    if (
        type(extra) is dict
        and _DIFFERENCE_KEY in extra
        and (restored := _read_with_difference(document, messages, extra[_DIFFERENCE_KEY])) is not None
    ):
        return restored
    return _read_fields(document, messages)


def _read_steps(steps: list[Any]) -> list[Message]:
    messages: list[Message] = []
    group: list[Message] = []
    for i, step in enumerate(steps):
        found = _read_step(step, i + 1, f"$.steps[{i}]")
        for k, message in enumerate(found):
            if message.role == "tool" and _joins(group if k == 0 else found[:k], message) != (k > 0):
                rest, hints = unpack(NAME, message.extra)
                hints = {**hints, "step": "same" if k else "own"}
                others = {} if message.extra is UNSET else message.extra
                found[k] = replace(message, extra={**others, NAME: {**rest, HINTS: hints}})
        messages += found
        group = found
    return messages


def _read_fields(document: dict[str, Any], messages: list[Message]) -> Conversation:
    rest = {key: value for key, value in document.items() if key != "steps"}
    hints: dict[str, Any] = {}
    totals = _totals(messages, len(document["steps"]))
    if totals is not None and "final_metrics" not in rest:
        hints["final_metrics"] = "absent"
    elif totals is not None and exact_json.same(rest["final_metrics"], totals):
        del rest["final_metrics"]
    if rest.get("schema_version") == _version(messages):
        del rest["schema_version"]
    elif "schema_version" not in rest:
        hints["schema_version"] = "absent"
    if not document["steps"]:
        hints["steps"] = "none"
    agents = _read_agent(rest) if "agent" in rest else UNSET
    if "agent" not in document:
        hints["agent"] = "absent"
    own_id = take_maybe_str(rest, "session_id")
    return Conversation(messages=messages, id=own_id, agents=agents, extra=pack(NAME, rest, hints))


def _read_with_difference(document: dict[str, Any], messages: list[Message], record: Any) -> Conversation | None:
    bare = {key: value for key, value in document.items() if key != "extra"}
    if left := {key: value for key, value in document["extra"].items() if key != _DIFFERENCE_KEY}:
        bare["extra"] = left
    try:
        aside = record.get("aside", []) if type(record) is dict else []
        shell = native.build(Conversation, apply(_shell(_read_fields(bare, messages)), record), "$")
        every = list(messages)
        for place, value in aside:
            every.insert(place, native.build(Message, value, "$.extra"))
        conversation = replace(shell, messages=every)
        return conversation if exact_json.same(write(conversation, Target()), document) else None
    except (SchemaMismatch, Unreadable, TypeError, ValueError):
        return None


def _shell(conversation: Conversation) -> Any:
    return native.plain(replace(conversation, messages=[]))


def write(conversation: Conversation, target: Target) -> Any:
    """The active path as steps, the rest of the conversation in `extra`."""
    path = active_path(conversation)
    messages = [conversation.messages[i] for i in path]
    rest, hints = unpack(NAME, conversation.extra)
    groups: list[list[Message]] = []
    for message in messages:
        if groups and _joins(groups[-1], message):
            groups[-1].append(message)
        else:
            groups.append([message])
    if not groups and hints.get("steps") != "none":
        groups = [[]]  # a trajectory has at least one step
    steps = [_write_step(group, i + 1) for i, group in enumerate(groups)]
    out: dict[str, Any] = {}
    if hints.get("schema_version") != "absent":
        out["schema_version"] = _version(messages)
    set_present(out, session_id=conversation.id)
    if hints.get("agent") != "absent":
        out["agent"] = _write_agent(conversation)
    out["steps"] = steps
    totals = _totals(messages, len(steps))
    if totals is not None and hints.get("final_metrics") != "absent":
        out["final_metrics"] = totals
    out |= {key: value for key, value in rest.items() if key != "steps"}
    return _with_difference(out, conversation, path, messages)


def _with_difference(
    out: dict[str, Any], conversation: Conversation, path: list[int], messages: list[Message]
) -> dict[str, Any]:
    plain = _read_fields(exact_json.copied({**out, "steps": []}) | {"steps": out["steps"]}, messages)
    record = diff(_shell(plain), _shell(conversation)) or {}
    on_path = set(path)
    aside = [[i, native.plain(message)] for i, message in enumerate(conversation.messages) if i not in on_path]
    if aside:
        record["aside"] = aside
    if not record:
        return out
    given = out.get("extra")
    return {**out, "extra": {**(given if type(given) is dict else {}), _DIFFERENCE_KEY: record}}


# -- detection -----------------------------------------------------------------------------------------------------
