"""Events that are the same but for one string: they are read by their bytes.

Most events of a stream say what the event before them said, and then one more piece of the answer. When that happened
often enough, a pattern is made of the event's own bytes: all of it as it stands, but for the piece, for values that are
known to differ and mean nothing (a sequence number, padding), and for room before closing brackets. What the pattern
matches would have been read the same way, and only the piece is new. A quote inside a JSON string is written `\\"`, so
that no string can pass for the bytes around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

STRING = rb'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*){0,999}"'
NUMBER = rb"(?:0|[1-9][0-9]*)"
OBJECT = rb"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"
_CLOSING = re.compile(rb"[\]} ]+\Z")
_ENOUGH = 16


class Repeat:
    """What was learned: `frame` matches an event with what is around it; the piece is the group `at`.

    `pieces` and `key` say where the piece goes; `take` does that instead, where more is to be done.
    """

    __slots__ = ("_payload", "_source", "at", "frame", "key", "pieces", "take")

    def __init__(
        self, source: bytes, framed: bytes, key: str, pieces: list[str], take: Callable[[str, Any], bool] | None
    ) -> None:
        self.key, self.pieces, self.take = key, pieces, take
        compiled = re.compile(framed)
        self.frame, self.at = compiled.match, compiled.groupindex["text"]
        self._source = source
        self._payload: Any = None

    def payload(self, data: bytes, start: int = 0) -> Any:
        """Match an event without what is around it."""
        if self._payload is None:
            self._payload = re.compile(self._source).fullmatch
        return self._payload(data, start)


class Learning:
    """Counts events that grow the same text in a row."""

    __slots__ = ("_key", "count")

    def __init__(self) -> None:
        self.count, self._key = 0, ""

    def enough(self, key: str) -> bool:
        """Is it time to make a pattern?"""
        if key != self._key:
            self._key, self.count = key, 0
        self.count += 1
        return self.count == _ENOUGH

    def forget(self) -> None:
        self.count, self._key = 0, ""


def pattern(data: bytes, field: str, varying: dict[str, bytes]) -> bytes | None:
    """The pattern of an event whose piece is the string under `field`; `varying` are keys and the look of their values.

    >>> found = re.fullmatch(pattern(b'{"n":1,"delta":"a"}', "delta", {"n": NUMBER}), b'{"n":23,"delta":"b" }')
    >>> found["text"], found["n"]
    (b'"b"', b'23')
    """
    spans: list[tuple[int, int, bytes]] = []
    for key, look in {**varying, field: STRING}.items():
        name = key.encode()
        found = list(re.finditer(b'"' + name + rb'": ?(' + look + rb")(?=[,\]} ])", data))
        if len(found) == 1:
            group = b"text" if key == field else name
            spans.append((*found[0].span(1), b"(?P<" + group + b">" + look + b")"))
        elif found or key == field:
            return None
    source, end = b"", 0
    for start, stop, look in sorted(spans):
        if start < end:
            return None
        source += re.escape(data[end:start]) + look
        end = stop
    closing = _CLOSING.search(data, end)
    last = closing.start() if closing is not None else len(data)
    source += re.escape(data[end:last])
    for bracket in data[last:].replace(b" ", b""):
        source += b" *" + re.escape(bytes([bracket]))
    return source
