"""What one UIMessage becomes: an assistant message and, if tools answered, a tool message for each of its steps."""

from __future__ import annotations

from typing import Any

from hansard.formats.ai_sdk.ui.tools import NAME
from hansard.formats.residue import MARKS, Unfit
from hansard.model.conversation import Message
from hansard.model.parts import Part, ToolCallPart, ToolResultPart


class Turn:
    """Takes the parts of one UIMessage after another in order; its messages are the last in `out`.

    Only answers have steps; other roles are one message. `loose` gathers the values whose keys nobody has looked at.
    """

    __slots__ = ("_parts", "_results", "_waiting", "loose", "out", "role", "start", "steps")

    def __init__(self) -> None:
        self.out: list[Message] = []
        self.loose: list[Any] = []
        self._parts: list[Any] | None = None
        self._results: list[Any] | None = None
        self._waiting: set[str] | None = None

    def begin(self, role: str) -> None:
        """The next UIMessage."""
        self.role, self.start = role, len(self.out)
        self.steps = role == "assistant"
        if self.steps:
            self._parts = self._waiting = None
        else:
            self._parts = []
            self.out.append(Message(role=role, parts=self._parts))

    def add(self, part: Part) -> None:
        """A part of the present step; one before the first `step-start` makes a step without."""
        (self._begin({"step": False}) if self._parts is None else self._parts).append(part)

    def step(self, rest: dict[str, Any]) -> None:
        """A `step-start` with whatever else it said."""
        self._begin({"step": rest} if rest else None)

    def tool(self, call: ToolCallPart, result: ToolResultPart | None) -> None:
        """A call and its result, which stands behind it only if the provider made it."""
        call_id = call.tool_call_id
        beside = not self.steps or call.provider_executed is True
        parts = self._begin({"step": False}) if self._parts is None else self._parts
        if not beside and type(call_id) is str:
            if result is not None and self._waiting and call_id in self._waiting:
                raise Unfit("toolCallId")  # an earlier call of the step with this id would take the result
            if result is None or result.preliminary is True:
                self._waiting = self._waiting or set()
                self._waiting.add(call_id)
        parts.append(call)
        if result is None:
            return
        if beside:
            parts.append(result)
        elif self._results is None:
            self._results = [result]
            self.out.append(Message(role="tool", parts=self._results))
        else:
            self._results.append(result)

    def steer(self, message: Message) -> None:
        """What the user said in the middle of the answer."""
        self.first()
        self.out.append(message)
        self._parts = self._waiting = None

    def first(self) -> Message:
        """The first message; there is one even if it says nothing."""
        if len(self.out) == self.start:
            self._begin({"step": False})
        return self.out[self.start]

    def _begin(self, marks: dict[str, Any] | None) -> list[Any]:
        parts: list[Any] = []
        self._parts, self._results, self._waiting = parts, None, None
        if marks is None:
            self.out.append(Message(role="assistant", parts=parts))
        else:
            self.out.append(Message(role="assistant", parts=parts, extra={NAME: {MARKS: marks}}))
        return parts
