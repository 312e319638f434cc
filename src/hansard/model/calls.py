"""Pairing of tool calls and results over a whole conversation, and the calls that are still pending.

A result answers the latest unanswered call before it with its id; without an id, the first unanswered call of
its name (Gemini's way). Ids may repeat: every call is one place, `(message, part)`.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from hansard.model.conversation import Conversation, Message
from hansard.model.parts import ToolCallPart, ToolResultPart, is_partial

Place: TypeAlias = tuple[int, int]


class Links:
    """`calls` and `results` in order of their places; `answers` maps a result to its call."""

    def __init__(self, messages: list[Message]) -> None:
        self.calls: dict[Place, ToolCallPart] = {}
        self.results: dict[Place, ToolResultPart] = {}
        self.answers: dict[Place, Place] = {}
        by_id: dict[str, list[Place]] = {}
        nameless: list[Place] = []
        for i, message in enumerate(messages):
            for j, part in enumerate(message.parts):
                if type(part) is ToolCallPart:
                    self.calls[i, j] = part
                    if type(part.tool_call_id) is str:
                        by_id.setdefault(part.tool_call_id, []).append((i, j))
                    else:
                        nameless.append((i, j))
                elif type(part) is ToolResultPart:
                    self.results[i, j] = part
                    call = self._call_for(part, by_id, nameless)
                    if call is not None:
                        self.answers[i, j] = call

    def _call_for(self, result: ToolResultPart, by_id: dict[str, list[Place]], nameless: list[Place]) -> Place | None:
        if type(result.tool_call_id) is str:
            waiting = by_id.get(result.tool_call_id)
            if not waiting:
                return None
            return waiting[-1] if result.preliminary is True else waiting.pop()
        for place in nameless:
            if self.calls[place].tool_name == result.tool_name:
                nameless.remove(place)
                return place
        return None

    def unanswered(self) -> list[Place]:
        """The calls that no result answers."""
        done = set(self.answers.values())
        return [place for place in self.calls if place not in done]


def pending_calls(conversation: Conversation) -> list[tuple[str, ToolCallPart]]:
    """Return each tool call without a result, with its path.

    Calls that the provider executes itself are not pending.

    >>> from hansard.model import TextPart
    >>> call = ToolCallPart(tool_call_id="c1", tool_name="pay", input={})
    >>> pending_calls(Conversation(messages=[Message(role="assistant", parts=[call])]))[0][0]
    '$.messages[0].parts[0]'
    """
    links = Links(conversation.messages)
    waiting = [(place, links.calls[place]) for place in links.unanswered()]
    return [(f"$.messages[{i}].parts[{j}]", call) for (i, j), call in waiting if call.provider_executed is not True]


def without_partial_calls(messages: list[Message]) -> list[Message]:
    """The messages without calls that were cut off, which were never made; a message of nothing else is left out."""
    found: list[Message] = []
    for message in messages:
        if any(map(is_partial, message.parts)):
            parts = [part for part in message.parts if not is_partial(part)]
            found += [replace(message, parts=parts)] if parts else []
        else:
            found.append(message)
    return found


def append_result(messages: list[Message], result: ToolResultPart) -> None:
    """Put one more result into the tool message at the end, or into a new one."""
    if messages and messages[-1].role == "tool":
        messages[-1].parts.append(result)
    else:
        messages.append(Message(role="tool", parts=[result]))


def call_names(messages: list[Message]) -> dict[str, str]:
    """Tool names by call id, for formats whose results do not repeat the name."""
    names: dict[str, str] = {}
    for message in messages:
        for part in message.parts:
            if type(part) is ToolCallPart and part.tool_call_id is not UNSET and type(part.tool_name) is str:
                names[part.tool_call_id] = part.tool_name
    return names
