"""ATIF, the Agent Trajectory Interchange Format of Harbor, versions 1.0 to 1.8.  As of harbor 0.25.0.

    canonical                         native
    user, assistant, system           a step of source user, agent, system (others: system)
    reasoning                         `reasoning_content`
    text, image and sound by address  `message`: a string or a list
    tool-call                         `tool_calls`
    tool-result                       `observation.results` of the step that called
    usage, model, createdAt           `metrics`, `model_name`, `timestamp`
    agents, the first to speak        `agent`
    conversation id                   `session_id`
    everything else                   `extra.hansard` of the step or the trajectory, as a difference

So nothing is lost on the way to ATIF and back: signatures, branches, ids and all. What Harbor's schema forbids never
gets into its own fields. Trajectories of sub-agents stay with the conversation.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Format, Target
from hansard.formats.exchange.atif.content import NAME, holds_sound
from hansard.formats.exchange.atif.record import applied, difference
from hansard.formats.exchange.atif.steps import OURS, joins, read_step, write_step
from hansard.formats.residue import MARKS, Unfit, pack, put, take_maybe_str, unpack
from hansard.model import exact_json, native
from hansard.model.conversation import Agent, Conversation, Message
from hansard.model.tree import active_path

_UNKNOWN = "unknown"


# -- agents and totals ---------------------------------------------------------------------------------------------


def _read_agent(rest: dict[str, Any]) -> Any:
    """The registry with the one agent, UNSET where it only says that nobody knows."""
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
    rest, marks = unpack(NAME, agent.extra)
    version = {} if marks.get("version") == "absent" else {"version": _UNKNOWN}
    name = agent.name if agent.name is not UNSET else agent.id
    return put({"name": name, **version}, model_name=agent.model) | rest


def _totals(messages: list[Message], steps: int) -> dict[str, Any] | None:
    """The sums over all steps, None when nobody counted."""
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
    return "ATIF-v1.8" if any(holds_sound(message.parts) for message in messages) else "ATIF-v1.7"


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """A trajectory; with our record where it is there and still agrees."""
    if type(document) is not dict or type(document.get("steps")) is not list:
        raise Unreadable("no list of steps", "$.steps")
    messages = _read_steps(document["steps"])
    extra = document.get("extra")
    if type(extra) is dict and OURS in extra and (ours := _read_ours(document, messages, extra[OURS])) is not None:
        return ours
    return _read_plain(document, messages)


def _read_steps(steps: list[Any]) -> list[Message]:
    messages: list[Message] = []
    group: list[Message] = []
    for i, step in enumerate(steps):
        found = read_step(step, i + 1, f"$.steps[{i}]")
        for k, message in enumerate(found):
            if message.role == "tool" and joins(group if k == 0 else found[:k], message) != (k > 0):
                rest, marks = unpack(NAME, message.extra)
                marks = {**marks, "step": "same" if k else "own"}
                others = {} if message.extra is UNSET else message.extra
                found[k] = replace(message, extra={**others, NAME: {**rest, MARKS: marks}})
        messages += found
        group = found
    return messages


def _read_plain(document: dict[str, Any], messages: list[Message]) -> Conversation:
    rest = {key: value for key, value in document.items() if key != "steps"}
    marks: dict[str, Any] = {}
    totals = _totals(messages, len(document["steps"]))
    if totals is not None and "final_metrics" not in rest:
        marks["final_metrics"] = "absent"
    elif totals is not None and exact_json.same(rest["final_metrics"], totals):
        del rest["final_metrics"]
    if rest.get("schema_version") == _version(messages):
        del rest["schema_version"]
    elif "schema_version" not in rest:
        marks["schema_version"] = "absent"
    if not document["steps"]:
        marks["steps"] = "none"
    agents = _read_agent(rest) if "agent" in rest else UNSET
    if "agent" not in document:
        marks["agent"] = "absent"
    own_id = take_maybe_str(rest, "session_id")
    return Conversation(messages=messages, id=own_id, agents=agents, extra=pack(NAME, rest, marks))


def _read_ours(document: dict[str, Any], messages: list[Message], record: Any) -> Conversation | None:
    bare = {key: value for key, value in document.items() if key != "extra"}
    if left := {key: value for key, value in document["extra"].items() if key != OURS}:
        bare["extra"] = left
    try:
        aside = record.get("aside", []) if type(record) is dict else []
        shell = native.build(Conversation, applied(_shell(_read_plain(bare, messages)), record), "$")
        every = list(messages)
        for place, value in aside:
            every.insert(place, native.build(Message, value, "$.extra"))
        conversation = replace(shell, messages=every)
        return conversation if exact_json.same(write(conversation, Target()), document) else None
    except (Unfit, Unreadable, TypeError, ValueError):
        return None


def _shell(conversation: Conversation) -> Any:
    return native.plain(replace(conversation, messages=[]))


def write(conversation: Conversation, target: Target) -> Any:
    """The active path as steps, the rest of the conversation in `extra`."""
    path = active_path(conversation)
    messages = [conversation.messages[i] for i in path]
    rest, marks = unpack(NAME, conversation.extra)
    groups: list[list[Message]] = []
    for message in messages:
        if groups and joins(groups[-1], message):
            groups[-1].append(message)
        else:
            groups.append([message])
    if not groups and marks.get("steps") != "none":
        groups = [[]]  # a trajectory has at least one step
    steps = [write_step(group, i + 1) for i, group in enumerate(groups)]
    out: dict[str, Any] = {}
    if marks.get("schema_version") != "absent":
        out["schema_version"] = _version(messages)
    put(out, session_id=conversation.id)
    if marks.get("agent") != "absent":
        out["agent"] = _write_agent(conversation)
    out["steps"] = steps
    totals = _totals(messages, len(steps))
    if totals is not None and marks.get("final_metrics") != "absent":
        out["final_metrics"] = totals
    out |= {key: value for key, value in rest.items() if key != "steps"}
    return _with_record(out, conversation, path, messages)


def _with_record(
    out: dict[str, Any], conversation: Conversation, path: list[int], messages: list[Message]
) -> dict[str, Any]:
    plain = _read_plain(exact_json.copied({**out, "steps": []}) | {"steps": out["steps"]}, messages)
    record = difference(_shell(plain), _shell(conversation)) or {}
    on_path = set(path)
    aside = [[i, native.plain(message)] for i, message in enumerate(conversation.messages) if i not in on_path]
    if aside:
        record["aside"] = aside
    if not record:
        return out
    given = out.get("extra")
    return {**out, "extra": {**(given if type(given) is dict else {}), OURS: record}}


# -- detection -----------------------------------------------------------------------------------------------------


def fits(document: Any) -> int:
    """The version says it."""
    if type(document) is not dict or type(document.get("steps")) is not list:
        return 0
    version = document.get("schema_version")
    return 3 if type(version) is str and version.startswith("ATIF") else 0


FORMAT = Format(
    name=NAME,
    title="ATIF, Harbor's trajectories",
    read=read,
    write=write,
    fits=fits,
    trees=True,
)
