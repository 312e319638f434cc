"""Framing: JSON lines."""

from __future__ import annotations

import re

from hansard.model import exact_json
from hansard.streams.learned_pattern import Frame
from hansard.streams.sse import Event


class LineReader:
    """Reads JSON lines, split anywhere, with the interface of `SSEReader`.

    A value over several lines (such as an error body) is one event; a complete line ends a broken one.
    """

    ends = re.compile(rb"\n")

    def __init__(self) -> None:
        self.rests = False
        self._tail: list[bytes] = []
        self._held: list[bytes] = []
        self._depth = 0

    def feed(self, data: bytes) -> list[Event]:
        """The lines that end in these bytes."""
        if b"\n" not in data:
            self._tail.append(data)
            self.rests = False
            return []
        *lines, rest = b"".join([*self._tail, data]).split(b"\n")
        self._tail = [rest] if rest else []
        events = self._take(lines)
        self.rests = not self._tail and not self._held
        return events

    def frame(self, kind: str) -> Frame:
        return Frame(ends=rb"\r?\n", end=b"\n")

    def finish(self) -> list[Event]:
        """The last line, without a line end."""
        tail, self._tail = b"".join(self._tail), []
        events = self._take([tail])
        held, self._held = self._held, []
        return [*events, Event(data=b"\n".join(held))] if held else events

    def _take(self, lines: list[bytes]) -> list[Event]:
        events: list[Event] = []
        for line in lines:
            if self._held or (line[:1] == b"{" and not line.endswith((b"}", b"}\r"))):
                self._hold(line, events)
            elif line.strip():
                events.append(Event(data=line))
        return events

    def _hold(self, line: bytes, events: list[Event]) -> None:
        if self._held and line[:1] == b"{" and exact_json.is_json(line):
            events += [Event(data=b"\n".join(self._held)), Event(data=line)]
            self._held, self._depth = [], 0
            return
        self._held.append(line)
        bare = _STRINGS.sub(b"", line)
        self._depth += sum(map(bare.count, (b"{", b"["))) - sum(map(bare.count, (b"}", b"]")))
        if self._depth <= 0:
            events.append(Event(data=b"\n".join(self._held)))
            self._held, self._depth = [], 0


_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)  # an incomplete one extends to the end
