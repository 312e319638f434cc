"""Who speaks now: the event that says that a thread passed from one agent to another."""

from __future__ import annotations

from collections.abc import Sequence

from hansard.model.conversation import Message
from hansard.model.parts import DataPart


def handoff(path: Sequence[Message], agent_id: str) -> list[Message]:
    """An event if the last one to speak was another agent, else nothing."""
    for message in reversed(path):
        if message.role == "assistant" and type(message.agent_id) is str:
            if message.agent_id == agent_id:
                return []
            told = {"from": message.agent_id, "to": agent_id}
            return [Message(role="event", parts=[DataPart(name="agent.handoff", data=told)], agent_id=agent_id)]
    return []
