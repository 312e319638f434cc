"""Fast path of decoders: events that differ only in one string are read by their bytes.

Most events of a stream repeat the previous event with another piece of the answer. After a few of them a pattern is
made from the event's own bytes: all of it literally, except for the piece, for values that are known to vary and have
no meaning (a sequence number, padding), and for spaces before closing brackets. An event that matches the pattern would
be read the same way by the slow path, with only the piece new. A quote inside a JSON string is written `\\"`, so that
no string can match the bytes around it.

Compiling ids takes longer than reading fifty events. So the bytes specific to one answer (before the piece and after
the last value that varies) are compared literally, and the compiled part is the same for every answer of a provider,
and cached. Only when a pattern has matched many events, all of it is compiled to one faster expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

STRING = rb'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*){0,999}"'
NUMBER = rb"(?:0|[1-9][0-9]*)"
OBJECT = rb"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"
_CLOSING = re.compile(rb"[\]} ]+\Z")
_FEW = 3  # events after which a pattern is made
_MANY = 200  # events after which it is compiled
_compiled = lru_cache(256)(re.compile)


class Frame(NamedTuple):
    """The bytes around the data of an event: those before it, an expression for its end, and one such end."""

    head: bytes = b""
    ends: bytes = b""
    end: bytes = b""


class Pattern(NamedTuple):
    """An event whose piece is one string, from left to right; `middle` and `close` are expressions."""

    before: tuple[tuple[bytes, bytes, str], ...]  # values that vary before the piece: the bytes before it, look, key
    prefix: bytes
    middle: bytes  # the piece (the group `text`), and all up to the last value that varies
    rest: bytes
    close: bytes  # brackets, with any spaces before them


class Repeat:
    """A pattern inside its frame, and where its pieces go: to `pieces` of the part `key`, or to `take`.

    `take` is called with the piece and the values that vary, by key; False sends the event to the slow path.
    """

    __slots__ = (
        *("_before", "_close", "_frame", "_matched", "_middle", "_pattern", "_prefix", "_rest"),
        *("compiled", "end", "key", "pieces", "take", "values"),
    )

    def __init__(
        self,
        pattern: Pattern,
        frame: Frame,
        key: str,
        pieces: list[str],
        take: Callable[[str, dict[str, bytes]], bool] | None,
    ) -> None:
        self.key, self.pieces, self.take = key, pieces, take
        self._pattern, self._frame, self._matched = pattern, frame, 0
        self.compiled: Callable[[bytes, int], re.Match[bytes] | None] | None = None
        literals = [*(literal for literal, _, _ in pattern.before), pattern.prefix]
        literals[0] = frame.head + literals[0]
        looks = [(_compiled(look).match, name) for _, look, name in pattern.before]
        self._before = [(literal, *look) for literal, look in zip(literals[:-1], looks, strict=True)]
        self._prefix, self._rest = literals[-1], pattern.rest
        self._middle = _compiled(pattern.middle).match
        self._close = _compiled(pattern.close + frame.ends).match
        self.values: dict[str, bytes] = {}
        self.end = 0

    def match(self, data: bytes, at: int) -> re.Match[bytes] | None:
        """Match an event in its frame: the group `text` is the piece; `end` is set to the end of the event."""
        for literal, look, name in self._before:
            value = look(data, at + len(literal)) if data.startswith(literal, at) else None
            if value is None:
                return None
            self.values[name] = value[0]
            at = value.end()
        if not data.startswith(self._prefix, at):
            return None
        found = self._middle(data, at + len(self._prefix))
        if found is None or not data.startswith(self._rest, found.end()):
            return None
        close = self._close(data, found.end() + len(self._rest))
        if close is None:
            return None
        self.end = close.end()
        self._matched += 1
        return found

    def compile(self) -> None:
        """Set `compiled` once it pays: all that `match` compares, as one expression."""
        if self._matched < _MANY or self.compiled is not None:
            return
        pattern, frame = self._pattern, self._frame
        before = b"".join(re.escape(literal) + _group(name, look) for literal, look, name in pattern.before)
        source = re.escape(frame.head) + before + re.escape(pattern.prefix) + pattern.middle
        self.compiled = re.compile(source + re.escape(pattern.rest) + pattern.close + frame.ends).match

    def matches(self, data: bytes) -> bool:
        """Whether the bytes are one event in its frame, and nothing else."""
        return self.match(data, 0) is not None and self.end == len(data)

    def framed(self, data: bytes) -> bytes:
        """The data of an event in the frame."""
        return self._frame.head + data + self._frame.end


class Learning:
    """Counts consecutive events that extend the same text; a pattern that failed delays the next one."""

    __slots__ = ("_key", "_needed", "count")

    def __init__(self) -> None:
        self.count, self._needed, self._key = 0, _FEW, ""

    def enough(self, key: str) -> bool:
        """Whether it is time to make a pattern."""
        if key != self._key:
            self._key, self.count, self._needed = key, 0, _FEW
        self.count += 1
        return self.count == self._needed

    def failed(self) -> None:
        """The pattern did not match the next event."""
        self.count, self._needed = 0, self._needed * 2

    def forget(self) -> None:
        """Note an event of another type."""
        self.count, self._key = 0, ""


def pattern(data: bytes, field: str, varying: dict[str, bytes]) -> Pattern | None:
    """The pattern of an event whose piece is the string under `field`; `varying` maps keys to patterns of their values.

    >>> found = pattern(b'{"n":1,"delta":"a","id":"x"}', "delta", {"n": NUMBER})
    >>> found.before, found.prefix, found.rest
    (((b'{"n":', b'(?:0|[1-9][0-9]*)', 'n'),), b',"delta":', b',"id":"x"')
    """
    spans: list[tuple[int, int, bytes, str]] = []
    for key, look in {**varying, field: STRING}.items():
        found = list(_value_of(key, look).finditer(data))
        if len(found) == 1:
            spans.append((*found[0].span(1), look, "text" if key == field else key))
        elif found or key == field:
            return None
    spans.sort()
    before: list[tuple[bytes, bytes, str]] = []
    prefix = middle = b""
    end = 0
    for start, stop, look, name in spans:
        if start < end:
            return None
        if middle or name == "text":
            prefix, literal = (prefix, re.escape(data[end:start])) if middle else (data[end:start], b"")
            middle += literal + _group(name, look)
        else:
            before.append((data[end:start], look, name))
        end = stop
    closing = _CLOSING.search(data, end)
    last = closing.start() if closing is not None else len(data)
    close = b"".join(b" *" + re.escape(bytes([bracket])) for bracket in data[last:].replace(b" ", b""))
    return Pattern(tuple(before), prefix, middle, data[end:last], close)


def _group(name: str, look: bytes) -> bytes:
    return b"(?P<" + name.encode() + b">" + look + b")"


@lru_cache(256)
def _value_of(key: str, look: bytes) -> re.Pattern[bytes]:
    """An expression for a key and its value (group 1)."""
    return re.compile(b'"' + re.escape(key.encode()) + rb'": ?(' + look + rb")(?=[,\]} ])")
