"""Base of all emitters: deltas in, the bytes of a client's stream out.

An emitter is pure: no clock, no generated ids, no socket. `emit` returns the bytes of a delta for this client (often
none), `finish` those that end the stream. Deltas of several answers may go through one emitter (an agent that calls its
model again): each further answer is another step. So nothing is ended before `finish`, and failures are sent there,
after everything that was received: clients stop reading at an error.

    begin               the stream begins                  turn                another step begins
    open, grow, close   a part, its text, its end          change              a complete part changes
    reset               the step is repeated               end                 end of the stream
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.model import exact_json
from hansard.model.arguments import read_arguments
from hansard.model.conversation import Usage
from hansard.model.parts import ReasoningPart, RefusalPart, RetryPart, TextPart, ToolCallPart, ToolResultPart
from hansard.streams.deltas import (
    Delta,
    End,
    Failure,
    MessageDelta,
    MessageStart,
    Other,
    PartDelta,
    PartEnd,
    PartStart,
    StepReset,
    StepStart,
)
from hansard.streams.text_buffer import joined

CUT = "the stream ended before the answer did"
DONE = b"data: [DONE]\n\n"
GROWING = (TextPart, ReasoningPart, RefusalPart)
_FINISHES = {
    "tool_calls": "tool_call",
    "tool-calls": "tool_call",
    "function_call": "tool_call",
    "content-filter": "content_filter",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "model_context_window_exceeded": "length",
    "failed": "error",
    "MALFORMED_FUNCTION_CALL": "error",
}


class Slot:
    """An open part: what is known of it, and the encoding of its pieces (`head` + JSON text + `tail`)."""

    __slots__ = ("head", "id", "part", "pieces", "sent", "tail")

    def __init__(self, part: Any) -> None:
        self.part, self.id = part, ""
        self.head, self.tail = b"", b""
        self.sent = 0
        self.pieces: list[str] | None = [] if type(part) is ToolCallPart else None

    def whole(self, last: Any) -> Any:
        """The part at its end: its final value, or its start with the pieces."""
        if last is not UNSET:
            return last
        if not self.pieces:
            return self.part
        value, raw = read_arguments(joined(self.pieces))
        return replace(self.part, input=value, input_text=raw)


class EventEmitter:
    """Deltas in, bytes out. A subclass encodes each event for its protocol."""

    name = ""
    targets: tuple[str, ...] = ()
    headers = {"content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no"}

    def __init__(self, target: str | None = None, message_id: str | None = None) -> None:
        self.target, self.message_id = target, message_id
        self.failures: list[str] = []
        self.usage: Usage | UnsetType = UNSET
        self.start = MessageStart()
        self._reason: str | UnsetType = UNSET
        self._ends: list[str] = []
        self._begun = self._over = False
        self._waiting: dict[Any, None] = {}
        self._open: dict[str, Slot] = {}
        self._closed: dict[str, Slot] = {}
        self._out: list[bytes] = []
        self._handlers: dict[type, Any] = {
            MessageStart: self._on_message_start,
            StepStart: self._on_step,
            StepReset: self._on_reset,
            PartStart: self._on_part_start,
            PartEnd: self._on_part_end,
            MessageDelta: self._on_message_delta,
            Failure: self._on_failure,
            Other: self._on_other,
            End: self._on_end,
        }

    # -- for callers --------------------------------------------------------------------------------------

    def emit(self, delta: Delta) -> bytes:
        """The bytes of this delta for the client."""
        if type(delta) is PartDelta:
            slot = self._open.get(delta.key)
            text = delta.text
            if slot is None or not text:
                return b""
            if slot.pieces is not None:
                slot.pieces.append(text)
            if slot.head:
                slot.sent += len(text)
                return slot.head + exact_json.encode(text) + slot.tail
            self.first(slot, text)
        else:
            handler = self._handlers.get(type(delta))
            if handler is not None:
                handler(delta)
        return self._given()

    def finish(self) -> bytes:
        """End of the deltas: the bytes that end the stream; empty when called again."""
        if self._over:
            return b""
        self._over = True
        self._begin()
        for slot in self._open.values():
            self.leave(slot)
        self._open = {}
        if not self.failures and (not self._ends or self._ends[-1] != "done"):
            self.failures.append(CUT)
        self.end()
        return self._given()

    # -- for subclasses to implement -----------------------------------------------------------------------------------

    def go_on(self, call_ids: Iterable[str]) -> None:
        """The answer started in an earlier stream, and the client has these calls."""

    def begin(self) -> None:
        """Start of the stream; `self.start` is what is known of the answer."""

    def turn(self) -> None:
        """Start of another step."""

    def reset(self) -> None:
        """The content of the step is void; its open parts end."""

    def open(self, slot: Slot) -> None:
        """Start of a part; set `head` (and `tail`) if its pieces are to be sent."""

    def first(self, slot: Slot, text: str) -> None:
        """A piece of a part without `head`."""

    def close(self, slot: Slot) -> None:
        """A part is complete: `slot.part`."""

    def change(self, slot: Slot, before: Any) -> None:
        """A complete part has changed: approved, or a preliminary result was replaced."""

    def leave(self, slot: Slot) -> None:
        """The stream ended before this part did."""

    def said(self, delta: MessageDelta) -> None:
        """Usage, finish reason or metadata of the answer."""

    def other(self, delta: Other) -> None:
        """An event without canonical meaning."""

    def end(self) -> None:
        """End of the stream; `self.failures` has all errors, including a cut stream."""

    # -- for subclasses to call --------------------------------------------------------------------------------------

    def send(self, value: Any) -> None:
        """One event with this JSON."""
        self._out.append(b"data: " + exact_json.encode(value) + b"\n\n")

    def grow(self, slot: Slot, text: str) -> None:
        """A piece of an open part."""
        slot.sent += len(text)
        self._out.append(slot.head + exact_json.encode(text) + slot.tail)

    def reason(self) -> str | UnsetType:
        """The canonical finish reason; pending client-side calls are a separate reason."""
        if self.failures:
            return "error"
        word = _FINISHES.get(self._reason, self._reason) if self._reason is not UNSET else UNSET
        return "tool_call" if word == "stop" and self._waiting else word

    # -- the deltas ------------------------------------------------------------------------------------------------

    def _given(self) -> bytes:
        out, self._out = self._out, []
        return b"".join(out)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self.begin()

    def _on_message_start(self, delta: MessageStart) -> None:
        if self._begun:
            self._on_step(StepStart())
            return
        self.start = delta
        self._begin()

    def _on_step(self, delta: StepStart) -> None:
        self._begin()
        self._waiting = {}
        self.turn()

    def _on_reset(self, delta: StepReset) -> None:
        self.reset()
        self._open, self._closed, self._waiting = {}, {}, {}

    def _on_part_start(self, delta: PartStart) -> None:
        self._begin()
        slot = self._open[delta.key] = Slot(delta.part)
        self.open(slot)

    def _on_part_end(self, delta: PartEnd) -> None:
        slot = self._open.pop(delta.key, None) or self._closed.get(delta.key)
        if slot is None:
            return
        before, part = slot.part, slot.whole(delta.part)
        slot.part, slot.pieces = part, None
        if type(part) is ToolCallPart and part.provider_executed is not True:
            self._waiting[part.tool_call_id] = None
        elif type(part) is ToolResultPart and part.preliminary is not True:
            self._waiting.pop(part.tool_call_id, None)
        if delta.key in self._closed:
            self.change(slot, before)
        else:
            self._closed[delta.key] = slot
            self.close(slot)

    def _on_message_delta(self, delta: MessageDelta) -> None:
        self._begin()
        if delta.usage is not UNSET:
            self.usage = delta.usage
        if delta.finish_reason is not UNSET:
            self._reason = delta.finish_reason
        self.said(delta)

    def _on_failure(self, delta: Failure) -> None:
        self.failures.append(delta.text)

    def _on_other(self, delta: Other) -> None:
        self.other(delta)

    def _on_end(self, delta: End) -> None:
        self._ends.append(delta.how)


class PartEmitter(EventEmitter):
    """An emitter for clients that get all parts: text as it grows, calls with their results, other parts complete."""

    def __init__(self, target: str | None = None, message_id: str | None = None) -> None:
        super().__init__(target, message_id)
        self._nameless: list[tuple[str, ToolCallPart]] = []  # calls without an id, with the generated one

    def open_words(self, slot: Slot) -> None:
        """Start of a text, with its first piece."""

    def close_words(self, slot: Slot) -> None:
        """End of a text."""

    def close_call(self, slot: Slot, call: ToolCallPart) -> None:
        """End of a call."""

    def result(self, part: Any) -> None:
        """The result of a call."""

    def part(self, part: Any) -> None:
        """A part without pieces."""

    def first(self, slot: Slot, text: str) -> None:
        if type(slot.part) in GROWING:
            self.open_words(slot)
            self.grow(slot, text)

    def close(self, slot: Slot) -> None:
        kind = type(slot.part)
        if kind is ToolCallPart:
            self.close_call(slot, slot.part)
        elif kind is ToolResultPart or kind is RetryPart:
            self.result(slot.part)
        elif kind in GROWING:
            self.close_words(slot)
        else:
            self.part(slot.part)

    def take_nameless(self, name: Any) -> tuple[str, ToolCallPart | None]:
        """The generated id of the first unanswered call of this name without an id."""
        for i, (call_id, call) in enumerate(self._nameless):
            if call.tool_name == name:
                del self._nameless[i]
                return call_id, call
        return "", None
