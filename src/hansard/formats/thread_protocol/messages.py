"""ThreadProtocol threads, their agents, turns and records: `read` and `write`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.pydantic_ai.content import read_response, write_response
from hansard.formats.pydantic_ai.fields import Around, Dialect, is_absent, lacks, settle
from hansard.formats.pydantic_ai.messages.requests import read_request, write_request
from hansard.formats.pydantic_ai.reasoning import take_provider
from hansard.formats.residue import pack, set_present, take_maybe_str, unpack
from hansard.model.conversation import Agent, Conversation, Message, ModelRef, Run, Usage
from hansard.model.parts import DataPart, RawPart
from hansard.model.turns import Turn, from_turns, turns

NAME = "thread-protocol"
VERSION = "2.0.0"
DEFAULT_AGENT = "assistant"
_ANSWERING = ("assistant", "tool", "event")
DIALECT = Dialect(
    NAME,
    {
        **{kind: {} for kind in ("text", "thinking", "tool-call", "retry-prompt", "file", "user-prompt")},
        **{kind: {} for kind in ("url", "binary", "uploaded-file", "text-content", "structured-content")},
        "tool-return": {"status": "success"},
    },
    {"success": (False, UNSET), "error": (True, UNSET), "validation_error": (True, "retried")},
    thinking_id="thinking_id",
    outcome="status",
    times=False,
)


# -- agents --------------------------------------------------------------------------------------------------------


def _read_agent(key: str, value: dict[str, Any]) -> Agent:
    rest = dict(value)
    hints: dict[str, Any] = {}
    agent_id = take_maybe_str(rest, "agent_id")
    if agent_id is UNSET:
        agent_id = key
        if "agent_id" not in rest:
            lacks(hints, "agent_id")
    return Agent(
        id=str(agent_id),
        name=take_maybe_str(rest, "agent_name"),
        model=take_maybe_str(rest, "model_name"),
        provider=take_maybe_str(rest, "provider_name"),
        config_ref=take_maybe_str(rest, "config_ref"),
        created_at=take_maybe_str(rest, "created_at"),
        extra=pack(NAME, rest, hints),
    )


def _write_agent(agent: Agent) -> dict[str, Any]:
    rest, hints = unpack(NAME, agent.extra)
    out: dict[str, Any] = {} if is_absent(hints, "agent_id") else {"agent_id": agent.id}
    set_present(
        out, agent_name=agent.name, model_name=agent.model, provider_name=agent.provider, created_at=agent.created_at
    )
    return {**set_present(out, config_ref=agent.config_ref), **rest}


def _default_agent(created_at: Any) -> dict[str, Any]:
    """The registry entry of the agent whose turns belong to no run."""
    return set_present({"agent_id": DEFAULT_AGENT, "agent_name": DEFAULT_AGENT}, created_at=created_at)


# -- usage ---------------------------------------------------------------------------------------------------------

_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "thinking_tokens": "reasoning_tokens",
    "total_tokens": "total_tokens",
}


def _take_usage(record: dict[str, Any], key: str) -> Usage | UnsetType:
    if type(record.get(key)) is not dict:
        return UNSET
    rest = dict(record.pop(key))
    counts = {name: rest.pop(native) for native, name in _COUNTS.items() if type(rest.get(native)) is int}
    return Usage(**counts, extra=pack(NAME, rest))


def _write_usage(usage: Usage | UnsetType) -> dict[str, Any] | UnsetType:
    if usage is UNSET:
        return UNSET
    out = set_present({}, **{native: getattr(usage, name) for native, name in _COUNTS.items()})
    return {**out, **unpack(NAME, usage.extra)[0]}


# -- messages ------------------------------------------------------------------------------------------------------


def _read_record(record: Any, around: Around, path: str) -> list[Message]:
    """Read one message of an agent turn; a request becomes a message for each role in it."""
    if type(record) is not dict:
        raise Unreadable("expected a message object", path)
    kind, rest = record.get("message_type"), dict(record)
    hints: dict[str, Any] = {}
    rest.pop("message_type", None)
    if kind == "system" and type(rest.get("event_type")) is str:
        return [_read_event(rest)]
    if kind not in ("request", "response"):
        return [_raw_event(record, {"record": True})]
    if type(rest.get("parts")) is not list:
        raise Unreadable("missing list of parts", f"{path}.parts")
    if "agent_id" not in rest:
        lacks(hints, "agent_id")
    who: dict[str, Any] = {"agent_id": take_maybe_str(rest, "agent_id")}
    if kind == "response":
        return [_read_answer(rest, hints, who, around)]
    around.sent = take_maybe_str(rest, "timestamp")
    return _read_runs(rest.pop("parts"), rest, hints, who, around)


def _read_runs(
    blocks: list[Any], rest: dict[str, Any], hints: dict[str, Any], who: dict[str, Any], around: Around
) -> list[Message]:
    found = []
    around.provider, around.model = UNSET, UNSET
    for k, run in enumerate(read_request(blocks, around)):
        if k:
            rest, hints = {}, {"joined": True}
        extra = pack(NAME, rest, {**hints, **run.marks()})
        found.append(Message(role=run.role, parts=run.parts, created_at=around.sent, **who, extra=extra))
    return found


def _read_answer(rest: dict[str, Any], hints: dict[str, Any], who: dict[str, Any], around: Around) -> Message:
    provider, kept = take_provider(rest)
    model = ModelRef(
        provider=provider,
        name=take_maybe_str(rest, "model_name"),
        response_id=take_maybe_str(rest, "provider_response_id"),
    )
    around.provider, around.model = kept.get("provider_name", provider), model.name
    return Message(
        role="assistant",
        parts=read_response(rest.pop("parts"), around),
        created_at=take_maybe_str(rest, "timestamp"),
        **who,
        model=model if model != ModelRef() else UNSET,
        usage=_take_usage(rest, "usage"),
        finish_reason=take_maybe_str(rest, "finish_reason"),
        extra=pack(NAME, {**rest, **kept}, hints),
    )


def _read_event(rest: dict[str, Any]) -> Message:
    data = DataPart(name=rest.pop("event_type"), data=rest.pop("event_data", UNSET))
    at, agent = take_maybe_str(rest, "timestamp"), take_maybe_str(rest, "agent_id")
    return Message(role="event", parts=[data], created_at=at, agent_id=agent, extra=pack(NAME, rest))


def _raw_event(value: Any, hints: dict[str, Any]) -> Message:
    return Message(role="event", parts=[RawPart(format=NAME, value=value)], extra={NAME: {"$": hints}})


def _write_records(start: int, messages: list[Message], agent_id: Any, around: Around) -> list[Any]:
    """Write the messages of an agent turn."""
    out: list[Any] = []
    for i, message in enumerate(messages, start):
        rest, hints = unpack(NAME, message.extra)
        if message.role == "event":
            out += _write_events(message, rest, hints)
        elif message.role == "assistant":
            out.append(_write_answer(i, message, rest, hints, agent_id, around))
        elif parts := write_request(i, message, around):
            if hints.get("joined") is True and out and out[-1].get("message_type") == "request":
                out[-1]["parts"] += parts
                continue
            record = _record("request", message, hints, agent_id)
            out.append({**record, "parts": parts, **rest})
        elif not message.parts and message.role in ("user", "tool"):
            out.append({**_record("request", message, hints, agent_id), "parts": [], **rest})
    return out


def _record(kind: str, message: Message, hints: dict[str, Any], agent_id: Any) -> dict[str, Any]:
    out = set_present({"message_type": kind}, timestamp=message.created_at)
    if message.agent_id is not UNSET:
        agent_id = message.agent_id
    elif is_absent(hints, "agent_id"):
        agent_id = UNSET
    return set_present(out, agent_id=agent_id)


def _write_answer(
    i: int, message: Message, rest: dict[str, Any], hints: dict[str, Any], agent_id: Any, around: Around
) -> dict[str, Any]:
    out = _record("response", message, hints, agent_id)
    model = message.model if message.model is not UNSET else ModelRef()
    set_present(out, model_name=model.name, provider_name=model.provider, provider_response_id=model.response_id)
    out["parts"] = write_response(i, message, around)
    set_present(out, usage=_write_usage(message.usage), finish_reason=message.finish_reason)
    return {**out, **rest}


def _write_events(message: Message, rest: dict[str, Any], hints: dict[str, Any]) -> list[Any]:
    out: list[Any] = []
    for part in message.parts:
        if type(part) is DataPart:
            record = set_present({"message_type": "system"}, timestamp=message.created_at)
            set_present(record, event_type=part.name, event_data=part.data, agent_id=message.agent_id)
            out.append({**record, **rest})
        elif type(part) is RawPart and part.format == NAME and hints.get("record") is True:
            if type(part.value) is dict:
                out.append(part.value)
    return out


# -- turns ---------------------------------------------------------------------------------------------------------


def _read_user_turn(turn: dict[str, Any], around: Around) -> Turn:
    rest = dict(turn)
    hints: dict[str, Any] = {}
    del rest["turn_type"]
    around.sent = take_maybe_str(rest, "submitted_at")
    found = _read_runs(rest.pop("parts"), rest, hints, {}, around)
    if found[0].role != "user":
        found[0] = _marked(found[0], "turn", "user")
    return Turn(kind="user", messages=found)


def _read_agent_turn(turn: dict[str, Any], k: int, around: Around, has_default_agent: bool) -> Turn:
    """Read an agent turn: a run, or no run if it has no fields besides those of the default agent."""
    path = f"$.turns[{k}]"
    messages: list[Message] = []
    for i, record in enumerate(turn["messages"]):
        messages += _read_record(record, around, f"{path}.messages[{i}]")
    plain = has_default_agent and turn.get("agent_id") == DEFAULT_AGENT and len(turn) == 3
    if plain and all(_is_plain(message) for message in messages):
        return Turn(kind="agent", messages=[replace(message, agent_id=UNSET) for message in messages])
    rest = dict(turn)
    hints: dict[str, Any] = {}
    del rest["turn_type"], rest["messages"]
    if "agent_id" not in rest:
        lacks(hints, "agent_id")
    run = Run(
        id=f"turn-{k + 1}",
        agent_id=take_maybe_str(rest, "agent_id"),
        started_at=take_maybe_str(rest, "started_at"),
        completed_at=take_maybe_str(rest, "completed_at"),
        usage=_take_usage(rest, "total_usage"),
        extra=pack(NAME, rest, hints),
    )
    if messages[0].role not in _ANSWERING:
        messages[0] = _marked(messages[0], "turn", "agent")
    return Turn(kind="agent", messages=messages, run=run)


def _is_plain(message: Message) -> bool:
    if message.role not in _ANSWERING:
        return False
    return message.agent_id is UNSET if message.role == "event" else message.agent_id == DEFAULT_AGENT


def _marked(message: Message, mark: str, value: Any) -> Message:
    rest, hints = unpack(NAME, message.extra)
    return replace(message, extra=pack(NAME, rest, {**hints, mark: value}))


def _read_turns(records: list[Any], has_default_agent: bool) -> list[Turn]:
    around = Around(DIALECT)
    found: list[Turn] = []
    for k, turn in enumerate(records):
        if type(turn) is not dict:
            raise Unreadable("expected a turn object", f"$.turns[{k}]")
        kind = turn.get("turn_type")
        if kind == "user" and type(turn.get("parts")) is list:
            found.append(_read_user_turn(turn, around))
        elif kind == "agent" and type(turn.get("messages")) is list and turn["messages"]:
            apart = not found or found[-1].kind == "user" or found[-1].run is not None
            found.append(_read_agent_turn(turn, k, around, has_default_agent and apart))
        elif type(kind) is str:
            found.append(Turn(kind="user", messages=[_raw_event(turn, {"turn": "raw"})]))
        else:
            raise Unreadable("missing turn_type: expected user or agent", f"$.turns[{k}].turn_type")
    return found


def _place(message: Message) -> str | None:
    hints = unpack(NAME, message.extra)[1]
    where = hints.get("turn")
    if hints.get("joined") is True:
        return "same"
    if where == "raw":
        return "user"
    return where if where in ("user", "agent") else None


def _write_turns(conversation: Conversation, around: Around) -> tuple[list[Any], bool]:
    """The turns, and whether one of them belongs to the default agent."""
    out: list[Any] = []
    has_default_agent = False
    for turn in turns(conversation, _place):
        written = _write_user_turn(turn, around) if turn.kind == "user" else _write_agent_turn(turn, around)
        if written is not UNSET:
            out.append(written)
            has_default_agent = has_default_agent or (turn.kind == "agent" and turn.run is None)
    return out, has_default_agent


def _write_user_turn(turn: Turn, around: Around) -> Any:
    first = turn.messages[0]
    rest, hints = unpack(NAME, first.extra)
    if hints.get("turn") == "raw":
        part = first.parts[0] if len(first.parts) == 1 else None
        own = type(part) is RawPart and part.format == NAME and type(part.value) is dict
        return part.value if own and type(part.value.get("turn_type")) is str else UNSET  # type: ignore[union-attr]
    parts = [part for i, message in enumerate(turn.messages, turn.start) for part in write_request(i, message, around)]
    if not parts and (first.role != "user" or first.parts):
        return UNSET
    return {**set_present({"turn_type": "user"}, submitted_at=first.created_at), "parts": parts, **rest}


def _write_agent_turn(turn: Turn, around: Around) -> Any:
    run = turn.run
    if run is None:
        records = _write_records(turn.start, turn.messages, DEFAULT_AGENT, around)
        return {"turn_type": "agent", "agent_id": DEFAULT_AGENT, "messages": records} if records else UNSET
    rest, hints = unpack(NAME, run.extra)
    agent_id: Any = run.agent_id
    if agent_id is UNSET and not is_absent(hints, "agent_id"):
        agent_id = next((message.agent_id for message in turn.messages if message.agent_id is not UNSET), DEFAULT_AGENT)
    records = _write_records(turn.start, turn.messages, agent_id, around)
    if not records:
        return UNSET
    out = set_present(
        {"turn_type": "agent"}, agent_id=agent_id, started_at=run.started_at, completed_at=run.completed_at
    )
    out["messages"] = records
    return {**set_present(out, total_usage=_write_usage(run.usage)), **rest}


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """A thread, or a fragment of one with nothing but its turns."""
    if type(document) is not dict:
        raise Unreadable("expected an object with turns")
    body = dict(document)
    hints: dict[str, Any] = {}
    records = body.pop("turns", None)
    if type(records) is not list:
        raise Unreadable("missing list of turns", "$.turns")
    settle({"version": VERSION, "agents": {}}, body, hints)
    created_at = take_maybe_str(body, "created_at")
    registry = body.get("agents")
    agents: Any = UNSET
    has_default_agent = False
    if type(registry) is dict and all(type(entry) is dict for entry in registry.values()):
        del body["agents"]
        has_default_agent = registry.get(DEFAULT_AGENT) == _default_agent(created_at)
        agents = {key: _read_agent(key, entry) for key, entry in registry.items()}
    found = _read_turns(records, has_default_agent)
    if has_default_agent and any(turn.kind == "agent" and turn.run is None for turn in found):
        del agents[DEFAULT_AGENT]
    messages, runs = from_turns(found)
    return Conversation(
        messages=messages,
        id=take_maybe_str(body, "thread_id"),
        title=take_maybe_str(body, "title"),
        agents=agents or UNSET,
        runs=runs or UNSET,
        created_at=created_at,
        updated_at=take_maybe_str(body, "updated_at"),
        metadata=body.pop("metadata") if type(body.get("metadata")) is dict else UNSET,
        extra=pack(NAME, body, hints),
    )


def write(conversation: Conversation, target: Target) -> dict[str, Any]:
    """A thread; runs become agent turns."""
    rest, hints = unpack(NAME, conversation.extra)
    around = Around(DIALECT, conversation.messages)
    records, has_default_agent = _write_turns(conversation, around)
    out: dict[str, Any] = {} if is_absent(hints, "version") else {"version": VERSION}
    set_present(out, thread_id=conversation.id, created_at=conversation.created_at, updated_at=conversation.updated_at)
    set_present(out, title=conversation.title, metadata=conversation.metadata)
    agents = {key: _write_agent(agent) for key, agent in (conversation.agents or {}).items()}
    if has_default_agent:
        agents.setdefault(DEFAULT_AGENT, _default_agent(conversation.created_at))
    if agents or not is_absent(hints, "agents"):
        out["agents"] = agents
    out["turns"] = records
    return {**out, **rest}
