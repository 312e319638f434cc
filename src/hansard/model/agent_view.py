"""A conversation of several agents from the point of view of one agent, as input for its model.

The stored messages name their agents; a model's request has only two sides. In the view of one agent, text of the other
agents is prefixed with their names, and system events, the other agents' reasoning, signatures and encrypted content
are left out. The agent's own messages are unchanged. Its opaque reasoning was produced for the prefix of this view, not
of the stored thread; where that prefix is unchanged, the binding is updated to the view's prefix.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.model.conversation import Conversation, Message
from hansard.model.hashing import digests, opaque
from hansard.model.machinery import all_as_seen
from hansard.model.parts import CompactionPart, FilePart, ReasoningPart, TextPart
from hansard.model.tree import active_path


def agent_view(conversation: Conversation, viewing_agent: str) -> Conversation:
    """Return the conversation as `viewing_agent` sees it; the argument is not modified.

    >>> from hansard.model import Agent
    >>> answer = Message(role="assistant", agent_id="a2", parts=[TextPart(text="Sunny.")])
    >>> thread = Conversation(messages=[answer], agents={"a2": Agent(id="a2", name="Weather")})
    >>> agent_view(thread, viewing_agent="a1").messages[0].parts[0].text
    '{agent:Weather}: Sunny.'
    >>> agent_view(thread, viewing_agent="a2").messages[0].parts[0].text
    'Sunny.'
    """
    agent_of = _agents(conversation)
    stored = all_as_seen([conversation.messages[i] for i in active_path(conversation)])
    shown: list[Message] = []
    came_from: list[int] = []
    for i, message in enumerate(stored):
        if message.role == "event":
            continue
        agent = agent_of(message)
        if agent is not None and agent != viewing_agent:
            seen = _as_others(message, _name(conversation, agent))
            if not seen.parts and message.parts:
                continue
            message = seen
        if message.parent_message_id is not UNSET:
            message = replace(message, parent_message_id=UNSET)
        shown.append(message)
        came_from.append(i)
    return replace(conversation, messages=_rebound(stored, shown, came_from), head=UNSET)


def last_as_input(view: Conversation, viewing_agent: str) -> Conversation:
    """The view with its last message as input, if it is another agent's: a model answers only what is not its own.

    >>> said = Message(role="assistant", agent_id="a2", parts=[TextPart(text="{agent:Weather}: Sunny.")])
    >>> last_as_input(Conversation(messages=[said]), "a1").messages[0].role
    'user'
    """
    last = view.messages[-1] if view.messages else None
    if last is None or last.role != "assistant" or last.agent_id in (viewing_agent, UNSET):
        return view
    parts = [part for part in last.parts if type(part) in (TextPart, FilePart)]
    return replace(view, messages=[*view.messages[:-1], Message(role="user", parts=parts, id=last.id)])


def _agents(conversation: Conversation) -> Any:
    runs = {run.id: run.agent_id for run in conversation.runs} if conversation.runs is not UNSET else {}

    def agent_of(message: Message) -> str | None:
        agent = message.agent_id
        if type(agent) is not str and type(message.run_id) is str:
            agent = runs.get(message.run_id, UNSET)
        return agent if type(agent) is str else None

    return agent_of


def _name(conversation: Conversation, agent_id: str) -> str:
    agent = conversation.agents.get(agent_id) if conversation.agents is not UNSET else None
    return agent.name if agent is not None and type(agent.name) is str else agent_id


def _as_others(message: Message, name: str) -> Message:
    """A message of another agent, prefixed with its name, without reasoning and signatures."""
    parts: list[Any] = []
    for part in message.parts:
        if type(part) is ReasoningPart:
            continue
        if opaque(part):
            changes: dict[str, Any] = {"signature": UNSET, "binding": UNSET}
            if type(part) is CompactionPart:
                changes["encrypted"] = UNSET
            part = replace(part, **changes)
        if type(part) is TextPart and message.role == "assistant":
            part = replace(part, text=f"{{agent:{name}}}: {part.text}")
        parts.append(part)
    return replace(message, parts=parts)


def _rebound(stored: list[Message], shown: list[Message], came_from: list[int]) -> list[Message]:
    signed = {k for k, message in enumerate(shown) if any(map(opaque, message.parts))}
    if not signed:
        return shown
    before = digests(stored, {came_from[k] for k in signed})
    for k, prefix in digests(shown, signed).items():
        parts = [_rebound_part(part, before[came_from[k]], prefix) for part in shown[k].parts]
        shown[k] = replace(shown[k], parts=parts)
    return shown


def _rebound_part(part: Any, before: str, prefix: str) -> Any:
    if not opaque(part) or part.binding is UNSET or part.binding.prefix != before:
        return part
    return replace(part, binding=replace(part.binding, prefix=prefix))


to_model_messages = agent_view  # the name in ThreadProtocol
