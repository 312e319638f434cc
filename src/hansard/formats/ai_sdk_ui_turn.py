"""What one UIMessage becomes: an assistant message and, if tools answered, a tool message for each of its steps."""

from __future__ import annotations

from typing import Any

from hansard.formats.ai_sdk_ui_tools import NAME
from hansard.formats.residue import MARKS, Unfit
from hansard.model.conversation import Message
from hansard.model.parts import Part, ToolCallPart, ToolResultPart


class Turn:
    """Takes the parts of one UIMessage in order and puts its messages behind those in `out`.

    Only answers have steps; other roles are one message. `loose` gathers the values whose keys nobody has looked at.
    """

    __slots__ = ("_parts", "_results", "_waiting", "loose", "out", "role", "start", "steps")

    def __init__(self, role: str, out: list[Message], loose: list[Any]) -> None:
        self.role, self.out, self.loose = role, out, loose
        self.start = len(out)
        self.steps = role == "assistant"
        self._parts: list[Any] | None = None
        self._results: list[Any] | None = None
        self._waiting: set[str] | None = None

    def add(self, part: Part) -> None:
        """A part of the present step; one before the first `step-start` makes a step without."""
        if self._parts is None:
            self._begin({"step": False} if self.steps else None)
        self._parts.append(part)  # type: ignore[union-attr]

    def step(self, rest: dict[str, Any]) -> None:
        """A `step-start` with whatever else it said."""
        self._begin({"step": rest} if rest else None)

    def tool(self, call: ToolCallPart, result: ToolResultPart | None) -> None:
        """A call and its result, which stands behind it only if the provider made it."""
        call_id = call.tool_call_id
        beside = not self.steps or call.provider_executed is True
        if not beside and type(call_id) is str:
            if result is not None and self._waiting and call_id in self._waiting:
                raise Unfit("toolCallId")  # an earlier call of the step with this id would take the result
            if result is None or result.preliminary is True:
                self._waiting = self._waiting or set()
                self._waiting.add(call_id)
        self.add(call)
        if result is None:
            return
        if beside:
            self.add(result)
        elif self._results is None:
            self._results = [result]
            self.out.append(Message(role="tool", parts=self._results))
        else:
            self._results.append(result)

    def steer(self, message: Message) -> None:
        """What the user said in the middle of the answer."""
        self.end()
        self.out.append(message)
        self._parts = self._waiting = None

    def end(self) -> None:
        """There is at least one message."""
        if len(self.out) == self.start:
            self._begin({"step": False} if self.steps else None)

    def _begin(self, marks: dict[str, Any] | None) -> None:
        self._parts, self._results, self._waiting = [], None, None
        if marks is None:
            self.out.append(Message(role=self.role, parts=self._parts))
        else:
            self.out.append(Message(role=self.role, parts=self._parts, extra={NAME: {MARKS: marks}}))
