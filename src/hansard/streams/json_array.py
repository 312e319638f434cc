"""Framing: a JSON array in pieces; each of its items is an event as soon as it is complete.

    [{"candidates": ...},
    {"candidates": ...}]

The reader searches for brackets and ends of strings, each byte once, however the bytes are split; an item that seems to
end at a line end is tried first, because a complete JSON object cannot be part of a longer one.
"""

from __future__ import annotations

import re

import msgspec

from hansard.streams.learned_pattern import Frame
from hansard.streams.sse import Event

_BETWEEN = re.compile(rb"\}(?:\r?\n)?,\r?\n\{|\}\r?\n,\{")  # where an item on lines of its own may end
_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]+|"[^"\\]*(?:\\.[^"\\]*)*")*', re.DOTALL)
_TO_QUOTE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_ANY = msgspec.json.Decoder(msgspec.Raw)
_OPEN, _ARRAY, _QUOTE = b"{[", ord("["), ord('"')


class ArrayReader:
    """`feed` takes bytes, split anywhere, and returns complete items; `finish` returns an incomplete one.

    >>> reader = ArrayReader()
    >>> [event.data for event in reader.feed(b'[{"a":"]"},{"b"')], [event.data for event in reader.finish()]
    ([b'{"a":"]"}'], [b'{"b"'])
    """

    rests = False
    ends = re.compile(rb"\Z")

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._at = 0
        self._quoted = self._inside = False
        self._start = -1
        self._depth = 0

    def feed(self, data: bytes) -> list[Event]:
        """The items that end in these bytes."""
        self._bytes += data
        held = self._bytes
        events: list[Event] = []
        tried = 0  # up to here no end of a line is the end of an item
        while True:
            if self._quoted:
                self._at = self._end_of(_TO_QUOTE)
                if self._at >= len(held) or held[self._at] != _QUOTE:
                    break  # the string continues, or a backslash at the end
                self._quoted = False
                self._at += 1
            self._at = self._end_of(_TO_BRACKET)
            if self._at >= len(held):
                break
            bracket, place = held[self._at], self._at
            self._at += 1
            if bracket == _QUOTE:
                self._quoted = True
            elif bracket in _OPEN:
                if self._start < 0 and bracket == _ARRAY and not self._inside:
                    self._inside = True
                    continue
                if self._start < 0:
                    if place >= tried:
                        between = _BETWEEN.search(held, place)
                        tried = len(held) if between is None else between.start()
                        if between is not None and _is_value(item := bytes(held[place : tried + 1])):
                            events.append(Event(data=item))
                            self._at = place + len(item)
                            continue
                    self._start = place
                self._depth += 1
            elif self._start < 0:
                self._inside = False
            else:
                self._depth -= 1
                if not self._depth:
                    events.append(Event(data=bytes(held[self._start : self._at])))
                    self._start = -1
        done = self._at if self._start < 0 else self._start
        del held[:done]
        self._at -= done
        self._start = -1 if self._start < 0 else 0
        return events

    def frame(self, kind: str) -> Frame:
        """Empty: the bytes between items are for the reader."""
        return Frame()

    def _end_of(self, pattern: re.Pattern[bytes]) -> int:
        found = pattern.match(self._bytes, self._at)
        return found.end() if found is not None else self._at

    def finish(self) -> list[Event]:
        """The incomplete item at the end."""
        rest, self._bytes = bytes(self._bytes), bytearray()
        return [Event(data=rest)] if self._start >= 0 else []


def _is_value(data: bytes) -> bool:
    try:
        _ANY.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
