"""Folds deltas into messages.

The cost of a delta does not depend on the length of the answer: pieces are appended to lists and joined on access. A
tool's input is parsed once, when its part ends or a snapshot is taken; text that is not valid JSON (yet) is kept.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.model.arguments import read_arguments
from hansard.model.conversation import Message
from hansard.model.parts import PARTIAL, DataPart, ToolCallPart, ToolResultPart
from hansard.streams.deltas import (
    Delta,
    End,
    Failure,
    MessageDelta,
    MessageEnd,
    MessageStart,
    PartDelta,
    PartEnd,
    PartStart,
    StepReset,
    StepStart,
)
from hansard.streams.text_buffer import LIMIT, compact, joined


class _Open:
    """An open part."""

    __slots__ = ("grows", "part", "pieces")

    def __init__(self, part: Any) -> None:
        self.part = part
        self.grows = True
        self.pieces: list[str] = []

    def value(self) -> Any:
        """The part so far; a call whose input still grows is a partial one."""
        part = self._whole()
        if self.grows and type(part) is ToolCallPart and part.state is UNSET:
            return replace(part, state=PARTIAL)
        return part

    def close(self, part: Any) -> None:
        self.part = self._whole() if part is UNSET else part
        self.pieces = []
        self.grows = False

    def _whole(self) -> Any:
        if not self.pieces:
            return self.part
        text = joined(self.pieces)
        if type(self.part) is ToolCallPart:
            value, raw = read_arguments(text)
            return replace(self.part, input=value, input_text=raw)
        before = getattr(self.part, "text", None)
        return replace(self.part, text=before + text) if type(before) is str else self.part


class Accumulator:
    """Call `fold` with every delta, `messages` at any time."""

    def __init__(self) -> None:
        self.ended = ""
        self.failures: list[Failure] = []
        self._start: MessageStart = MessageStart()
        self._changes: dict[str, Any] = {}
        self._steps: list[list[_Open]] = [[]]
        self._open: dict[str, _Open] = {}
        self._whole: list[Message] | None = None
        self._handlers: dict[type, Any] = {
            PartStart: self._on_start,
            PartEnd: self._on_end,
            MessageStart: self._on_message_start,
            StepStart: self._on_step,
            StepReset: self._on_reset,
            MessageDelta: self._on_message_delta,
            MessageEnd: self._on_message_end,
            Failure: self.failures.append,
            End: self._on_stop,
        }

    def fold(self, delta: Delta) -> None:
        """Process one delta."""
        if type(delta) is PartDelta:  # most of them
            slot = self._open.get(delta.key)
            if slot is not None:
                pieces = slot.pieces
                pieces.append(delta.text)
                if len(pieces) > LIMIT:
                    compact(pieces)
            return
        handler = self._handlers.get(type(delta))
        if handler is not None:
            handler(delta)

    def messages(self) -> list[Message]:
        """The messages so far; `state` is partial until the end."""
        if self._whole is not None:
            return self._whole
        found: list[Message] = []
        for step in self._steps:
            found += _by_role([slot.value() for slot in step])
        start = self._start
        state = "complete" if self.ended == "done" and not self.failures else "partial"
        if not found and (self._changes or start != MessageStart() or self.failures):
            found = [Message(role="assistant", parts=[])]
        if self.failures and found:
            failed = [DataPart(name="error", data=failure.text) for failure in self.failures]
            found[-1] = replace(found[-1], parts=[*found[-1].parts, *failed])
        if found:
            first, last = found[0], len(found) - 1
            found[0] = replace(first, id=start.id, model=start.model, metadata=start.metadata)
            found[last] = replace(found[last], **self._changes)
        return [replace(message, state=state) if state == "partial" else message for message in found]

    def _on_start(self, delta: PartStart) -> None:
        slot = self._open[delta.key] = _Open(delta.part)
        self._steps[-1].append(slot)

    def _on_end(self, delta: PartEnd) -> None:
        slot = self._open.get(delta.key)
        if slot is not None:
            slot.close(delta.part)

    def _on_message_start(self, delta: MessageStart) -> None:
        self._start = delta

    def _on_step(self, delta: StepStart) -> None:
        if self._steps[-1]:
            self._steps.append([])

    def _on_reset(self, delta: StepReset) -> None:
        self._steps[-1] = []

    def _on_message_delta(self, delta: MessageDelta) -> None:
        for name in ("usage", "finish_reason", "metadata"):
            if getattr(delta, name) is not UNSET:
                self._changes[name] = getattr(delta, name)

    def _on_message_end(self, delta: MessageEnd) -> None:
        self._whole = delta.messages

    def _on_stop(self, delta: End) -> None:
        self.ended = delta.how


def _by_role(parts: list[Any]) -> list[Message]:
    """The parts of one step: the model's answer, then the tool results."""
    said: list[Any] = []
    answered: list[Any] = []
    for part in parts:
        result = type(part) is ToolResultPart and part.provider_executed is not True
        (answered if result else said).append(part)
    found = [Message(role="assistant", parts=said)] if said else []
    return [*found, Message(role="tool", parts=answered)] if answered else found


def fold(deltas: list[Delta]) -> list[Message]:
    """The messages of a complete list of deltas."""
    accumulator = Accumulator()
    for delta in deltas:
        accumulator.fold(delta)
    return accumulator.messages()
