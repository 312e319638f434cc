"""Framing: server-sent events, read and written.

Follows the WHATWG specification: lines end in LF, CRLF or CR, a leading BOM and comments are skipped, several `data`
lines are joined by LF, an event ends at a blank line. Two additions: `finish` returns an incomplete event, because a
cut stream must not lose what was received; and lines that cannot be fields (an HTML page, compressed bytes) are not
skipped like unknown fields: their beginning becomes an event marked as `stray`.
"""

from __future__ import annotations

import re

from msgspec import Struct

from hansard.model.digits import whole_number
from hansard.streams.learned_pattern import Frame

_BOM = b"\xef\xbb\xbf"
_FIELD = re.compile(rb"[A-Za-z][\w-]*:")
_NAMES = (b"data:", b"event:", b"id:", b"retry:")
_MANY = 4  # pieces after which a line counts as long
_SHOWN = 200  # bytes kept of stray lines


class Event(Struct, frozen=True, kw_only=True, gc=False):
    """One event: `data` as bytes, `event` the type, optionally `id` and `retry`."""

    data: bytes
    event: str = "message"
    id: str | None = None
    retry: int | None = None
    stray: bool = False


class SSEReader:
    """`feed` takes bytes, split anywhere, and returns complete events; `finish` returns an incomplete one.

    >>> reader = SSEReader()
    >>> [event.data for event in reader.feed(b"data: a\\ndata: b\\n\\nda")], [event.data for event in reader.finish()]
    ([b'a\\nb'], [])
    """

    ends = re.compile(rb"\n\r?\n")

    def __init__(self) -> None:
        self.rests = False
        self._tail: list[bytes] = []  # pieces of an incomplete line: joined once
        self._begun = False
        self._data: list[bytes] = []
        self._event = ""
        self._named = (b"", "")  # the last `event:` line: most of them are equal
        self._begins, self._line_end = b"data: ", b"\n"  # prefix of data lines, and line end
        self._id: str | None = None
        self._retry: int | None = None
        self._stray = b""

    def feed(self, data: bytes) -> list[Event]:
        """The events that end in these bytes."""
        if self._begun and b"\n" not in data and b"\r" not in data and not self._held():
            self._tail.append(data)
            self.rests = False
            return []
        if len(self._tail) > _MANY and b"\r" not in data and not self._held():
            data = self._end_line(data)
        buffer = b"".join([*self._tail, data]) if self._tail else data
        self._tail = []
        if not self._begun:
            if len(buffer) < 3 and _BOM.startswith(buffer):
                self._tail.append(buffer)
                return []
            buffer = buffer.removeprefix(_BOM)
            self._begun = True
        held = b""
        if b"\r" in buffer:
            self._line_end = b"\r\n"
            # a CR at the end may be half of a CRLF: wait for the next bytes
            held = b"\r" if buffer.endswith(b"\r") else b""
            buffer = buffer[: len(buffer) - len(held)]
            lines = buffer.splitlines()  # of bytes: splits at LF, CRLF and CR only
            rest = b"" if buffer.endswith((b"\n", b"\r")) or not lines else lines.pop()
        else:
            *lines, rest = buffer.split(b"\n")
        if rest or held:
            self._tail.append(rest + held)
        events = self._take(lines)
        begun = self._tail or self._data or self._event or self._id is not None or self._retry is not None
        self.rests = not (begun or self._stray)
        return events

    def frame(self, kind: str) -> Frame:
        """The lines around the data of an event, as in the last one."""
        named = self._named[0] + self._line_end if kind == self._named[1] else b""
        return Frame(named + self._begins, rb"\r?\n\r?\n", b"\n\n")

    def _end_line(self, data: bytes) -> bytes:
        """Finish a long data line without copying it; returns the bytes after it."""
        first, *others = self._tail
        if not self._begun or not first.startswith(b"data: "):
            return data
        rest, _, data = data.partition(b"\n")
        self._tail = []
        self._data.append(b"".join([first[6:], *others, rest]))
        return data

    def _held(self) -> bool:
        return bool(self._tail) and self._tail[-1].endswith(b"\r")

    def finish(self) -> list[Event]:
        """The incomplete event at the end, if it has data."""
        tail, self._tail = b"".join(self._tail), []
        if any(name.startswith(tail) for name in _NAMES):  # cut inside a field name
            tail = b""
        events = self._take(tail.replace(b"\r", b"\n").split(b"\n") if tail else [])
        events += self._take([b""])
        return [*events, self._strays()] if self._stray else events

    def _take(self, lines: list[bytes]) -> list[Event]:
        events: list[Event] = []
        for line in lines:
            if line.startswith(b"data: "):
                self._data.append(line[6:])
            elif line.startswith(b"data:"):
                self._data.append(line[5:])
                self._begins = b"data:"
            elif not line:
                if self._data:
                    data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                    kind = self._event or "message"
                    if self._stray:
                        events.append(self._strays())
                    events.append(Event(data=data, event=kind, id=self._id, retry=self._retry))
                    self._data = []
                self._event, self._id, self._retry = "", None, None
            elif line[:1] != b":":
                self._field(line)
        return events

    def _field(self, line: bytes) -> None:
        if line == self._named[0]:
            self._event = self._named[1]
            return
        name, _, raw = line.partition(b":")
        value = raw.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"event":
            self._event, self._named = value, (line, value)
        elif name == b"id":
            self._id = value if "\0" not in value else self._id
        elif name == b"retry" and (milliseconds := whole_number(value)) is not None and milliseconds >= 0:
            self._retry = milliseconds
        elif name == b"data":
            self._data.append(b"")
        elif _FIELD.match(line) is None and len(self._stray) < _SHOWN:
            self._stray = (self._stray + line[:_SHOWN] + b"\n")[:_SHOWN]

    def _strays(self) -> Event:
        stray, self._stray = self._stray, b""
        return Event(data=stray.strip(), stray=True)


def write_event(data: bytes, event: str | None = None, id: str | None = None) -> bytes:
    """One event as bytes.

    >>> write_event(b'{"a":1}')
    b'data: {"a":1}\\n\\n'
    """
    head = (f"event: {event}\n" if event else "") + (f"id: {id}\n" if id is not None else "")
    if b"\n" in data or b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\ndata: ")
    return head.encode() + b"data: " + data + b"\n\n"
