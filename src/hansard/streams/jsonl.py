"""JSON lines: bytes in any cut, events out."""

from __future__ import annotations

import re

from hansard.model import exact_json
from hansard.streams.learned_pattern import Frame
from hansard.streams.sse import Event


class LineReader:
    """JSON lines in any cut, in the manner of `SSEReader`.

    A value that is spread over lines (as error bodies are) is one event; a line that is whole again ends a broken one.
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
        """The last line, which nothing ended."""
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


_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)  # one that does not end goes to the end
