"""Base of all decoders: framing, invalid events, end of stream.

A decoder rebuilds the provider's own answer, piece by piece, and lets the format read it, so that a streamed and a
complete answer cannot differ. `feed` never raises: invalid input becomes a failure, and the valid part stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import HansardError
from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.parts import PARTIAL, DataPart, ToolCallPart
from hansard.streams.deltas import Delta, End, Failure, MessageEnd, Other, PartDelta, PartEnd, PartStart
from hansard.streams.jsonl import LineReader
from hansard.streams.learned_pattern import Frame, Learning, Repeat, pattern
from hansard.streams.sse import Event, SSEReader
from hansard.streams.text_buffer import LIMIT, compact

_DONE = b"[DONE]"
_MUCH = 1 << 16  # bytes cut into events at a time
_TEXT = msgspec.json.Decoder(str).decode
_BEGINNING = 60


class Reader(Protocol):
    """Cuts bytes into events. It `rests` when it holds no incomplete event."""

    rests: bool
    ends: re.Pattern[bytes]  # finds the end of an event

    def feed(self, data: bytes) -> list[Event]: ...
    def finish(self) -> list[Event]: ...
    def frame(self, kind: str) -> Frame:
        """The bytes around the data of an event of this type, as in the last one."""


class EventDecoder:
    """Bytes in, deltas out. A subclass implements `handle` and `whole`, and calls `grew` for common events."""

    name = ""
    VARYING: ClassVar[
        dict[str, bytes]
    ] = {}  # keys of common events whose values vary and have no meaning, with a pattern for each

    def __init__(self) -> None:
        self._handlers: dict[str, Any] = {}
        self._reader: Reader | None = None
        self._kind = ""
        self._varying = self.VARYING
        self._data: bytes | None = None  # of the current event
        self._learning = Learning()
        self._repeat: Repeat | None = None
        self._head = b""
        self._out: list[Delta] = []
        self._failures: list[Failure] = []
        self._open_calls: dict[str, ToolCallPart] = {}  # calls whose input still grows
        self._events = 0
        self._done = self._ending = False
        self._over = False

    # -- for subclasses to implement -----------------------------------------------------------------------------------

    def handle(self, event: Any, kind: str) -> None:
        """Process one parsed event; `kind` is its SSE type. The default calls the handler of its type, or of errors."""
        named = event.get("type", kind) if type(event) is dict else None
        if type(named) is not str or named not in self._handlers:
            named = "error" if type(event) is dict and "type" not in event and "error" in event else ""
        self._handlers.get(named, self.other)(event)

    def whole(self) -> list[Message]:
        """The answer so far, as its format reads it."""
        raise TypeError(f"{type(self).__name__} has no answer")

    def complete(self) -> bool:
        """Whether the provider signalled end of stream; checked at EOF."""
        return False

    def cut_calls(self) -> dict[str, ToolCallPart]:
        """The calls whose input still grows, by key. Asked when the bytes end before the end was said."""
        return self._open_calls

    def settle(self, messages: list[Message]) -> None:
        """Emit what is certain only when the answer is complete."""

    def reader(self, begin: bytes) -> Reader:
        """The framing, by the first bytes."""
        return LineReader() if begin[:1] in b"{[" else SSEReader()

    # -- for callers --------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> list[Delta]:
        """Process bytes, split anywhere; returns the deltas that are certain."""
        if self._reader is None:
            self._head += data
            begin = self._head.lstrip(b"\xef\xbb\xbf \t\r\n")
            if not begin:
                return []
            self._reader = self.reader(begin)
            data, self._head = self._head, self._head[:_BEGINNING]
        elif not self._events and len(self._head) < _BEGINNING:
            self._head += data[: _BEGINNING - len(self._head)]
        reader, repeat = self._reader, self._repeat
        if repeat is not None and reader.rests:
            end = self._repeated(repeat, data)
            if end == len(data):
                out, self._out = self._out, []
                return out
            data = data[end:]
        self._read(reader, data)
        return self._given()

    def _read(self, reader: Reader, data: bytes) -> None:
        """Cut the bytes into events, except for those that the learned pattern matches."""
        start, size = 0, len(data)
        while start < size:
            stop = min(size, start + _MUCH)
            if self._repeat is not None:  # one event, then see
                found = reader.ends.search(data, start, stop)
                stop = found.end() if found is not None else stop
            for event in reader.feed(data[start:stop] if start or stop < size else data):
                self._take(event)
            start = stop
            if self._repeat is not None and reader.rests:
                start = self._repeated(self._repeat, data, start)

    def feed_event(self, event: Any, kind: str = "message") -> list[Delta]:
        """Process one parsed event (an SDK's object as plain data)."""
        self._events += 1
        self._repeat = None
        self._guarded(self.handle, event, kind)
        return self._given()

    def finish(self) -> list[Delta]:
        """End of the bytes: the last event, the complete answer, and how it ended."""
        self._ending = True
        for event in self._reader.finish() if self._reader is not None else []:
            self._take(event)
        if not self._events and not self._failures and self._head.strip():
            self.fail(f"the stream contains no event; it begins with {self._head.strip()!r}{_hint(self._head)}")
        self.close("done" if self._done or self.complete() else "cut")
        return self._given()

    # -- for subclasses to call --------------------------------------------------------------------------------------

    def emit(self, delta: Delta) -> None:
        """Emit a delta."""
        self._out.append(delta)
        if type(delta) is PartStart and type(delta.part) is ToolCallPart:
            self._open_calls[delta.key] = delta.part
        elif type(delta) is PartEnd:
            self._open_calls.pop(delta.key, None)

    def other(self, event: Any) -> None:
        """Emit an event without canonical meaning, unchanged."""
        self._out.append(Other(format=self.name, value=event))

    def fail(self, text: str, error: Any = None) -> None:
        """Emit a failure; it also becomes part of the message."""
        failure = Failure(text=text, error=error) if error is not None else Failure(text=text)
        self._failures.append(failure)
        self._out.append(failure)

    def close(self, how: str) -> None:
        """End of the answer: signalled (`done`) or missing (`cut`)."""
        if self._over:
            return
        self._over = True
        messages: list[Message] = []
        cut = dict(self.cut_calls()) if how == "cut" else {}
        given = len(self._out)
        try:
            messages = self.whole()
            self.settle(messages)
        except Exception as error:  # `feed` must not raise, for any input
            self.fail(f"the answer cannot be read: {error!r}")
            if not messages:  # the deltas so far stay valid
                self.emit(End(how=how))
                return
        if cut:
            self._out[given:] = [_cut_off(delta, cut) for delta in self._out[given:]]
            messages = _with_partial_calls(messages, list(cut.values()))
        if self._failures:
            errors: list[Any] = [DataPart(name="error", data=failure.text) for failure in self._failures]
            last = messages[-1] if messages else Message(role="assistant", parts=[])
            messages = [*messages[:-1], replace(last, parts=[*last.parts, *errors])]
        if how == "cut" or self._failures:
            messages = [*messages[:-1], replace(messages[-1], state="partial")] if messages else []
        self.emit(MessageEnd(messages=messages))
        self.emit(End(how=how))

    def grew(
        self, field: str, key: str, pieces: list[str], take: Callable[[str, dict[str, bytes]], bool] | None = None
    ) -> None:
        """Note that all the current event did was to add a piece, the string under `field`.

        After some events like it a pattern is learned; an event from another parser or of invalid JSON has none.
        """
        if len(pieces) > LIMIT:
            compact(pieces)
        if self._data is not None and self._learning.enough(key) and self._reader is not None:
            learned = pattern(self._data, field, self._varying)
            if learned is not None:
                self._repeat = Repeat(learned, self._reader.frame(self._kind), key, pieces, take)

    def _repeated(self, repeat: Repeat, data: bytes, end: int = 0) -> int:
        """Process the leading events that match the learned pattern; returns where they end."""
        key, pieces, take = repeat.key, repeat.pieces, repeat.take
        out, size = self._out, len(data)
        repeat.compile()
        match = repeat.compiled or repeat.match
        while end < size and (found := match(data, end)) is not None:
            try:
                text = _TEXT(found["text"])
            except (msgspec.DecodeError, UnicodeDecodeError):
                break
            if take is not None:
                if not take(text, {**repeat.values, **found.groupdict()}):
                    break
            elif text:
                pieces.append(text)
                out.append(PartDelta(key=key, text=text))
            else:
                break
            self._events += 1
            end = found.end() if repeat.compiled is not None else repeat.end
        if len(pieces) > LIMIT:
            compact(pieces)
        return end

    def _given(self) -> list[Delta]:
        out, self._out = self._out, []
        return out

    def _take(self, event: Event) -> None:
        data = event.data
        if self._over:  # nothing can follow the end
            self.other(data.decode("utf-8", "replace"))
            return
        repeat = self._repeat
        if repeat is not None:
            event_again = repeat.framed(data)
            if (b"\n" not in data or repeat.matches(event_again)) and self._repeated(repeat, event_again):
                return
            self._repeat = None  # this event may change how such events are read
            self._learning.failed()
        if data == _DONE:
            self._events += 1
            self.on_done()
            return
        if event.stray:
            if self._events or not self._ending:  # otherwise there was nothing else, and `finish` reports it
                self.fail(f"not an event: {data[:_BEGINNING]!r}", data.decode("utf-8", "replace"))
            return
        self._kind = event.event
        known = self._learning.count
        try:
            value = exact_json.decode(data)
            self._data = data
        except HansardError as error:
            value = self._mended(data, error)
            if value is msgspec.UNSET:
                return
        self._events += 1
        self._guarded(self.handle, value, event.event)
        self._data = None
        if self._learning.count == known:
            self._learning.forget()

    def _mended(self, data: bytes, error: HansardError) -> Any:
        """An event with invalid JSON as clients read it: invalid UTF-8 replaced, the last of two equal keys."""
        text = data.decode("utf-8", "replace")
        if not text.strip():  # keep-alive
            return msgspec.UNSET
        value: Any = msgspec.UNSET
        try:
            value = json.loads(text, strict=False, parse_float=exact_json.exact_float, parse_constant=str)
        except (ValueError, RecursionError, HansardError):
            if self._ending and self._events:  # the stream was cut inside its last event: not a failure
                self.other(text)
                return value
        self.fail(f"event {self._events + 1} is not valid JSON: {error}", text[:200])
        self.other(text)
        return value

    def _guarded(self, handle: Callable[[Any, str], None], value: Any, kind: str) -> None:
        try:
            handle(value, kind)
        except Exception as error:  # `feed` must not raise, for any input
            self.fail(f"event {self._events} could not be read: {error!r}")
            self.other(value)

    def on_done(self) -> None:
        """`[DONE]`; events after it still count."""
        self._done = True


def _with_partial_calls(messages: list[Message], cut: list[ToolCallPart]) -> list[Message]:
    """The messages with the calls that were open when the stream was cut marked as partial, from the last one back."""
    left = [(call.tool_call_id, call.tool_name) for call in cut]
    out: list[Message] = []
    for message in reversed(messages):
        parts: list[Any] = []
        for part in reversed(message.parts):
            key = next((one for one in left if type(part) is ToolCallPart and _is_same_call(part, one)), None)
            if key is not None:
                left.remove(key)
                part = replace(part, state=PARTIAL)
            parts.append(part)
        out.append(replace(message, parts=parts[::-1]))
    return out[::-1]


def _cut_off(delta: Delta, cut: dict[str, ToolCallPart]) -> Delta:
    if type(delta) is PartEnd and delta.key in cut and type(delta.part) is ToolCallPart:
        return replace(delta, part=replace(delta.part, state=PARTIAL))
    return delta


def _is_same_call(part: ToolCallPart, begun: tuple[Any, Any]) -> bool:
    """Whether a call is the one that began with this id and name, as far as they were known then."""
    return begun[0] in (UNSET, part.tool_call_id) and begun[1] in (UNSET, part.tool_name)


def _hint(head: bytes) -> str:
    if head.startswith(b"\x1f\x8b"):
        return ": it is gzip, decompress it first"
    return ": it is an HTML page, not a stream" if head.lstrip().startswith(b"<") else ""
