"""What one UIMessage becomes: an assistant message and, if tools answered, a tool message for each of its steps."""

from __future__ import annotations

from typing import Any

from hansard.formats.residue import Unfit
from hansard.model.conversation import Message
from hansard.model.parts import Part, ToolCallPart, ToolResultPart


class Turn:
    """Takes the parts of one UIMessage in order. Only answers have steps; other roles are one message.

    `loose` gathers the values of the document whose keys nobody has looked at.
    """

    __slots__ = ("_made", "_marks", "_parts", "_results", "_waiting", "loose", "role", "steps")

    def __init__(self, role: str, loose: list[Any]) -> None:
        self.role, self.loose = role, loose
        self.steps = role == "assistant"
        self._made: list[tuple[str, Any, dict[str, Any]]] = []
        self._parts: list[Part] | None = None
        self._results: list[Part] = []
        self._marks: dict[str, Any] = {}
        self._waiting: set[str] = set()

    def add(self, part: Part) -> None:
        """A part of the present step; one before the first `step-start` makes a step without."""
        if self._parts is None:
            self._parts, self._marks = [], {"step": False} if self.steps else {}
        self._parts.append(part)

    def step(self, rest: dict[str, Any]) -> None:
        """A `step-start` with whatever else it said."""
        self._close()
        self._parts, self._marks = [], {"step": rest} if rest else {}

    def tool(self, call: ToolCallPart, result: ToolResultPart | None) -> None:
        """A call and its result, which stands behind it only if the provider made it."""
        call_id = call.tool_call_id
        beside = not self.steps or call.provider_executed is True
        if not beside and type(call_id) is str:
            if result is not None and call_id in self._waiting:
                raise Unfit("toolCallId")  # an earlier call of the step with this id would take the result
            if result is None or result.preliminary is True:
                self._waiting.add(call_id)
        self.add(call)
        if result is not None:
            if beside:
                self.add(result)
            else:
                self._results.append(result)

    def steer(self, message: Message) -> None:
        """What the user said in the middle of the answer."""
        self._close()
        self._made.append(("user", message, {}))

    def messages(self) -> list[tuple[str, Any, dict[str, Any]]]:
        """Role, parts and marks of every message; in place of the parts a whole message that was put in between."""
        self._close()
        if not self._made or self._made[0][1].__class__ is Message:
            self._made.insert(0, (self.role, [], {"step": False} if self.steps else {}))
        return self._made

    def _close(self) -> None:
        if self._parts is not None:
            self._made.append((self.role, self._parts, self._marks))
        if self._results:
            self._made.append(("tool", self._results, {}))
            self._results = []
        self._waiting.clear()
        self._parts = None
