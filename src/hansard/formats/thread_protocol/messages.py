"""ThreadProtocol threads and their agents: `read` and `write`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.formats.pydantic_ai.fields import NAME as PYDANTIC_AI
from hansard.formats.pydantic_ai.fields import is_absent, lacks, settle
from hansard.formats.residue import pack, set_present, take_maybe_str, unpack
from hansard.formats.thread_protocol.derived import DERIVED, Derived, fill, note
from hansard.formats.thread_protocol.records import NAME, required
from hansard.formats.thread_protocol.turns import TurnReading, TurnWriting
from hansard.model import exact_json
from hansard.model.conversation import Agent, Conversation, Message
from hansard.model.parts import RawPart

VERSION = "2.0.0"
_PROFILE = "pydantic_ai"
_ROOT = ("thread_id", "created_at", "updated_at")


# -- agents --------------------------------------------------------------------------------------------------------


def _read_agent(key: str, value: dict[str, Any], derived: Derived) -> Agent | None:
    """An entry of the registry; None for one that was made for turns of no registered agent."""
    rest = dict(value)
    hints: dict[str, Any] = {}
    if "agent_id" in derived.take(rest, hints, ("agent_id", "agent_name", "created_at")):
        return None
    agent_id = take_maybe_str(rest, "agent_id")
    return Agent(
        id=key if agent_id is UNSET else agent_id,
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
    if agent.name is not UNSET:
        out["agent_name"] = agent.name
    elif not is_absent(hints, "agent_name") and "agent_name" not in rest:
        out["agent_name"] = agent.id
        note(out, "agent_name")
    set_present(out, model_name=agent.model, provider_name=agent.provider)
    required(out, hints, created_at=agent.created_at)
    return {**set_present(out, config_ref=agent.config_ref), **rest}


def _unregistered(agent_id: str) -> dict[str, Any]:
    """An entry for an agent that a turn names and the conversation does not list."""
    made = {"agent_id": agent_id, "agent_name": agent_id, "created_at": DERIVED}
    return {**made, "derived": ["agent_id", "agent_name"]}


# -- documents -----------------------------------------------------------------------------------------------------


def read(document: Any) -> Conversation:
    """A thread, or a fragment of one with nothing but its turns.

    Fields that are listed as derived are dropped, if writing derives the same again; else they are said.
    """
    derived = Derived(trust=True)
    conversation = _read(document, derived)
    if derived.met and not exact_json.same(exact_json.plain(write(conversation, Target())), document):
        conversation = _read(document, Derived(trust=False))
    return conversation


def _read(document: Any, derived: Derived) -> Conversation:
    if type(document) is not dict:
        raise Unreadable("expected an object with turns")
    body = dict(document)
    hints: dict[str, Any] = {}
    records = body.pop("turns", None)
    if type(records) is not list:
        raise Unreadable("missing list of turns", "$.turns")
    registry = body.get("agents")
    settle({"version": VERSION, "agents": {}}, body, hints)
    derived.take(body, hints, _ROOT)
    agents: dict[str, Agent] = {}
    if type(registry) is dict and all(type(entry) is dict for entry in registry.values()):
        body.pop("agents", None)
        found = ((key, _read_agent(key, entry, derived)) for key, entry in registry.items())
        agents = {key: agent for key, agent in found if agent is not None}
        for agent_id in dict.fromkeys(_named([turn for turn in records if type(turn) is dict])):
            if agent_id not in registry:
                lacks(hints, f"agents.{agent_id}")
    reading = TurnReading(derived)
    reading.turns(records)
    profile = take_maybe_str(body, _PROFILE)
    return Conversation(
        messages=reading.out,
        id=take_maybe_str(body, "thread_id"),
        title=take_maybe_str(body, "title"),
        agents=agents or UNSET,
        runs=list(reading.runs.values()) or UNSET,
        parent_thread_id=take_maybe_str(body, "parent_thread_id"),
        created_at=take_maybe_str(body, "created_at"),
        updated_at=take_maybe_str(body, "updated_at"),
        metadata=body.pop("metadata") if type(body.get("metadata")) is dict else UNSET,
        extra=_extra(pack(NAME, body, hints), {} if profile is UNSET else {"profile": profile}),
    )


def _extra(own: Any, marks: dict[str, Any]) -> Any:
    kept = pack(PYDANTIC_AI, {}, marks)
    return {**(own or {}), **(kept or {})} or UNSET


def write(conversation: Conversation, target: Target) -> dict[str, Any]:
    """A thread; runs become agent turns, what it requires and the conversation lacks is derived."""
    conversation = _of_first_release(conversation)
    rest, hints = unpack(NAME, conversation.extra)
    writing = TurnWriting(conversation)
    records = writing.turns()
    out: dict[str, Any] = {} if is_absent(hints, "version") else {"version": VERSION}
    required(out, hints, thread_id=conversation.id, created_at=conversation.created_at)
    required(out, hints, updated_at=conversation.updated_at)
    set_present(out, title=conversation.title, metadata=conversation.metadata)
    set_present(out, parent_thread_id=conversation.parent_thread_id)
    agents = {key: _write_agent(agent) for key, agent in (conversation.agents or {}).items()}
    if not is_absent(hints, "agents"):
        for agent_id in _named(records):
            if not is_absent(hints, f"agents.{agent_id}"):
                agents.setdefault(agent_id, _unregistered(agent_id))
    if agents or not is_absent(hints, "agents"):
        out["agents"] = agents
    out["turns"] = records
    profile = unpack(PYDANTIC_AI, conversation.extra)[1].get("profile")
    if type(profile) is str:
        out[_PROFILE] = profile
    out = {**out, **rest}
    fill(out, target.at)
    return out


def _named(turns: list[Any]) -> list[str]:
    """The agents that turns and their messages name."""
    agents = [turn for turn in turns if turn.get("turn_type") == "agent" and type(turn.get("messages")) is list]
    found = [record for turn in agents for record in (turn, *turn["messages"]) if type(record) is dict]
    return [record["agent_id"] for record in found if type(record.get("agent_id")) is str]


# -- residue of the first release ----------------------------------------------------------------------------------

_STRUCTURE = ("turn", "record", "absent", "null")


def _of_first_release(conversation: Conversation) -> Conversation:
    """Version 0.1 kept what it read of messages and parts as residue of this format, not of Pydantic AI."""
    if not any(map(_is_old, conversation.messages)):
        return conversation
    return replace(conversation, messages=[_moved(m) if _is_old(m) else m for m in conversation.messages])


def _is_old(message: Message) -> bool:
    if message.role == "event":
        return False
    rest, hints = unpack(NAME, message.extra)
    return bool(rest or hints.keys() - set(_STRUCTURE)) or any(
        (type(part) is RawPart and part.format == NAME) or (part.extra is not UNSET and NAME in part.extra)
        for part in message.parts
    )


def _moved(message: Message) -> Message:
    parts = [_renamed(part) for part in message.parts]
    usage = message.usage
    if usage is not UNSET:
        usage = replace(usage, extra=_rename(usage.extra))
    rest, hints = unpack(NAME, message.extra)
    structure = {key: value for key, value in hints.items() if key in _STRUCTURE}
    told = {key: value for key, value in hints.items() if key not in _STRUCTURE}
    others = {key: value for key, value in (message.extra or {}).items() if key != NAME}
    extra = {**others, **(pack(PYDANTIC_AI, rest, told) or {}), **(pack(NAME, {}, structure) or {})}
    return replace(message, parts=parts, usage=usage, extra=extra or UNSET)


def _renamed(part: Any) -> Any:
    part = replace(part, extra=_rename(part.extra))
    return replace(part, format=PYDANTIC_AI) if type(part) is RawPart and part.format == NAME else part


def _rename(extra: Any) -> Any:
    if extra is UNSET or NAME not in extra or PYDANTIC_AI in extra:
        return extra
    return {PYDANTIC_AI if key == NAME else key: value for key, value in extra.items()}


__all__ = ["read", "write"]
