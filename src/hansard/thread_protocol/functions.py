"""The transformations of the specification, from Pydantic AI's messages and AI SDK streams and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import HansardError, Unreadable
from hansard.formats.contract import Target
from hansard.formats.pydantic_ai.fields import NEWEST
from hansard.formats.thread_protocol.derived import aggregate_usage
from hansard.model import exact_json
from hansard.model.conversation import Conversation
from hansard.thread_protocol.types import (
    AgentTurn,
    MessagePart,
    SystemMessage,
    ThinkingPart,
    Thread,
    ToolCallPart,
    Turn,
)

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

NAME = "thread-protocol"


def from_agent_run(messages: Sequence[ModelMessage] | Sequence[Mapping[str, Any]] | bytes, agent_id: str) -> AgentTurn:
    """One agent run of Pydantic AI, such as `result.new_messages()`, as one AgentTurn.

    All messages given become messages of the turn. The prompt that began the run belongs to the UserTurn before it,
    so leave it out if that turn is stored: `from_agent_run(messages[1:], agent_id)`. System prompts are left out.

    >>> said = {"part_kind": "text", "content": "Hi"}
    >>> turn = from_agent_run([{"kind": "response", "timestamp": "2026-01-02T03:04:05Z", "parts": [said]}], "agent_001")
    >>> turn["started_at"], turn["messages"][0]["parts"]
    ('2026-01-02T03:04:05Z', [{'content': 'Hi', 'part_kind': 'text'}])
    """
    if type(agent_id) is not str or not agent_id:
        raise HansardError(f"{agent_id!r} is not an agent id; give the key of the agent in the registry")
    records = _records(messages)
    if not records:
        raise HansardError("a run without messages has no turn; give the messages of the run, oldest first")
    conversation = formats.read(records, "pydantic-ai")
    turns = formats.write(conversation, NAME).data["turns"]
    found: list[Any] = []
    for turn in turns:
        run = {"run_id": turn["run_id"]} if turn.get("run_id") else {}
        chat = {"conversation_id": conversation.id} if isinstance(conversation.id, str) else {}
        here = [_as_request(turn)] if turn["turn_type"] == "user" else turn["messages"]
        found += [_of_agent({**run, **chat, **record}, agent_id) for record in here]
    out: dict[str, Any] = {"turn_type": "agent", "agent_id": agent_id}
    times = [record["timestamp"] for record in found if "timestamp" in record]
    out.update({"started_at": times[0], "completed_at": times[-1]} if times else {})
    out["messages"] = found
    total = aggregate_usage(found)
    return cast(AgentTurn, {**out, "total_usage": total} if total is not None else out)


def _records(messages: Any) -> list[Any]:
    """Messages of Pydantic AI as its own JSON."""
    if isinstance(messages, (bytes, str)):
        return _listed(exact_json.decode(messages))
    given = list(messages)
    if all(isinstance(message, Mapping) for message in given):
        return _listed(exact_json.copied(given))
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    return _listed(exact_json.decode(ModelMessagesTypeAdapter.dump_json(given)))


def _listed(value: Any) -> list[Any]:
    if type(value) is not list:
        raise Unreadable("expected a list of ModelMessages")
    return value


def _as_request(turn: dict[str, Any]) -> dict[str, Any]:
    """A user turn as the request that it is."""
    rest = {key: value for key, value in turn.items() if key not in ("turn_type", "submitted_at", "derived")}
    time = {"timestamp": turn["submitted_at"]} if "submitted_at" in turn else {}
    derived = {"derived": ["timestamp"]} if turn.get("derived") else {}
    return {"message_type": "request", **time, **rest, **derived}


def _of_agent(record: dict[str, Any], agent_id: str) -> dict[str, Any]:
    """The record with its agent, which is not derived any more."""
    derived = [name for name in record.get("derived", ()) if name != "agent_id"]
    head: dict[str, Any] = {key: record[key] for key in ("message_type", "timestamp") if key in record}
    rest = {key: value for key, value in record.items() if key not in (*head, "derived", "agent_id")}
    return {**head, "agent_id": agent_id, **rest, **({"derived": derived} if derived else {})}


# -- ThreadProtocol to Pydantic AI ---------------------------------------------------------------------------------


def to_model_messages(
    turns: Thread | Sequence[Turn] | bytes,
    viewing_agent_id: str,
    *,
    agents: Mapping[str, Any] | None = None,
    system_prompt: Callable[[str], str | None] | None = None,
) -> list[ModelMessage]:
    """Turns as the ModelMessages that one of the agents is given, for the Pydantic AI that is installed.

    A UserTurn becomes the request that it is. System messages are skipped. Text of the other agents begins with
    `{agent:NAME}: `; the names come from `agents`, the registry of a thread, or from the thread itself.
    `system_prompt` is called with the `config_ref` of the viewing agent (its id, if it has none), and what it returns
    becomes the first message.
    """
    thread = _thread(turns)
    registry = dict(agents if agents is not None else thread.get("agents") or {})
    viewed = [
        {**turn, "messages": process_agent_turn(turn, viewing_agent_id, registry)} if _is_agents(turn) else turn
        for turn in thread["turns"]
    ]
    whole = {**thread, "turns": [turn for turn in viewed if not _is_agents(turn) or turn["messages"]]}
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, SystemPromptPart

    conversation = _without_made_ids(formats.read(whole, NAME), whole["turns"])
    written = formats.write(conversation, "pydantic-ai", target=Target(profile=NEWEST))
    found = ModelMessagesTypeAdapter.validate_json(exact_json.encode(written.data))
    if system_prompt is not None:
        config = registry.get(viewing_agent_id) or {}
        text = system_prompt(config.get("config_ref") or viewing_agent_id)
        if text:
            found.insert(0, ModelRequest(parts=[SystemPromptPart(text)]))
    return found


def _without_made_ids(conversation: Conversation, turns: list[Any]) -> Conversation:
    """Without the run ids that turns have by their position."""
    made = {f"turn-{k}" for k, turn in enumerate(turns, 1) if type(turn) is dict and "run_id" not in turn}
    messages = [replace(m, run_id=UNSET) if m.run_id in made else m for m in conversation.messages]
    return replace(conversation, messages=messages)


def process_agent_turn(turn: Any, viewing_agent_id: str, agents: Mapping[str, Any] | None = None) -> list[Any]:
    """The messages of a turn as an agent sees them: no system messages, and the others' text with their names."""
    found = []
    for message in turn["messages"]:
        if message.get("message_type") == "system":
            continue
        agent_id = message.get("agent_id", turn.get("agent_id"))
        if agent_id != viewing_agent_id and type(message.get("parts")) is list:
            name = ((agents or {}).get(agent_id) or {}).get("agent_name") or agent_id
            message = {**message, "parts": prefix_agent_name_to_parts(message["parts"], name)}
        found.append(message)
    return found


def prefix_agent_name_to_parts(parts: Sequence[Any], agent_name: str) -> list[Any]:
    """The parts, each text part beginning with the name of its agent.

    >>> prefix_agent_name_to_parts([{"part_kind": "text", "content": "Sunny."}], "Weather")
    [{'part_kind': 'text', 'content': '{agent:Weather}: Sunny.'}]
    """
    return [
        {**part, "content": f"{{agent:{agent_name}}}: {part['content']}"}
        if type(part) is dict and part.get("part_kind") == "text" and type(part.get("content")) is str
        else part
        for part in parts
    ]


def _is_agents(turn: Any) -> bool:
    return type(turn) is dict and turn.get("turn_type") == "agent" and type(turn.get("messages")) is list


def _thread(given: Any) -> dict[str, Any]:
    """A thread, or the turns of one."""
    value = exact_json.decode(given) if isinstance(given, (bytes, str)) else exact_json.copied(given)
    thread = value if type(value) is dict else {"turns": value}
    if type(thread.get("turns")) is not list:
        raise Unreadable("expected a Thread or a list of turns")
    return thread


# -- AI SDK to ThreadProtocol --------------------------------------------------------------------------------------


def from_stream_event(event: Mapping[str, Any], *, at: str | None = None) -> MessagePart | SystemMessage | None:
    """A chunk of an AI SDK stream as the part or SystemMessage it maps to, None for all others.

    `at` is the time of a SystemMessage, by default now. `reasoning-delta` is what AI SDK 5 and later call the
    specification's `thinking-delta`; their `tool-output-available` names no tool, so the part has no `tool_name`.

    >>> from_stream_event({"type": "text-delta", "id": "0", "delta": "Hi"})
    {'part_kind': 'text', 'content': 'Hi'}
    >>> from_stream_event({"type": "data-ui.update", "data": [1]}, at="2026-01-02T03:04:05Z")["event_type"]
    'ui.update'
    >>> from_stream_event({"type": "start-step"})
    """
    kind = event.get("type") if isinstance(event, Mapping) else None
    if type(kind) is not str:
        raise Unreadable("expected a chunk of an AI SDK stream, an object with a type", "$.type")
    if kind == "text-delta":
        return {"part_kind": "text", "content": _field(event, "delta")}
    if kind in ("thinking-delta", "reasoning-delta"):
        return cast(ThinkingPart, {"part_kind": "thinking", "content": _field(event, "delta")})
    if kind == "tool-input-available":
        call_id, name = _field(event, "toolCallId"), _field(event, "toolName")
        return {"part_kind": "tool-call", "tool_name": name, "tool_call_id": call_id, "args": event.get("input")}
    if kind == "tool-output-available":
        named = {"tool_name": event["toolName"]} if type(event.get("toolName")) is str else {}
        call_id, output = _field(event, "toolCallId"), event.get("output")
        said = {"tool_call_id": call_id, "status": "success", "content": output}
        return cast(MessagePart, {"part_kind": "tool-return", **named, **said})
    if not kind.startswith("data-"):
        return None
    now = at if at is not None else datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    said = {"event_type": kind.removeprefix("data-"), "event_data": event.get("data")}
    return cast(SystemMessage, {"message_type": "system", "timestamp": now, **said})


def _field(event: Mapping[str, Any], key: str) -> str:
    value = event.get(key)
    if type(value) is not str:
        raise Unreadable(f"expected a string in a chunk of type {event['type']!r}", f"$.{key}")
    return value


# -- pending calls -------------------------------------------------------------------------------------------------


def get_pending_tool_calls(turn: Turn | Thread | Sequence[Turn]) -> list[ToolCallPart]:
    """The tool calls of an agent turn that have no return, in order; of several turns, or a thread, of all.

    >>> call = {"part_kind": "tool-call", "tool_name": "pay", "tool_call_id": "c1", "args": {}}
    >>> get_pending_tool_calls({"turn_type": "agent", "agent_id": "a", "messages": [{"parts": [call]}]}) == [call]
    True
    """
    given: Any = turn
    turns = given if isinstance(given, (list, tuple)) else given.get("turns", [given])
    calls: dict[str, ToolCallPart] = {}
    returned: set[str] = set()
    for one in turns:
        for message in one.get("messages", ()):
            for part in message.get("parts", ()):  # a SystemMessage has none
                if part.get("part_kind") == "tool-call":
                    calls[part["tool_call_id"]] = part
                elif part.get("part_kind") == "tool-return":
                    returned.add(part["tool_call_id"])
    return [call for call_id, call in calls.items() if call_id not in returned]
