"""Events that are the same but for one string: they are read by their bytes.

Most chunks of a stream say what the chunk before them said about the answer, and then one more piece of it. Where
everything around the piece is, byte for byte, that of an event which was read already, only the piece is new. Behind it
there may be one value that differs too (a usage that counts on, padding): it is only kept. A quote inside a JSON string
is written `\\"`, so what is compared can be no part of a string.
"""

from __future__ import annotations

import re

import msgspec

_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_TEXT = msgspec.json.Decoder(str)
_ANY = msgspec.json.Decoder(msgspec.Raw)


def under(key: str) -> re.Pattern[bytes]:
    """Finds the string under a key."""
    return re.compile(b'"' + key.encode() + rb'":\s*(' + _STRING + b")")


class Repeats:
    """`learn` an event that was read, ask `text` for those that are like it, `forget` when something else came."""

    __slots__ = ("_end", "_head", "_middle", "kept")

    def __init__(self) -> None:
        self._head: bytes | None = None
        self._middle, self._end = b"", b""
        self.kept = b""

    def forget(self) -> None:
        self._head = None

    def learn(self, data: bytes, growing: re.Pattern[bytes], name: str, kept: msgspec.Raw) -> None:
        """`growing` finds the string; the value under `name` behind it, which is `kept` here, may differ."""
        found = growing.search(data)
        if found is None:
            return
        self._head, self._middle, self._end = data[: found.start(1)], b"", data[found.end(1) :]
        value, self.kept = bytes(kept), b""
        if value:
            before, key, rest = self._end.partition(b'"' + name.encode() + b'":')
            if key and rest.startswith(value):
                self._middle, self._end = before + key, rest[len(value) :]

    def text(self, data: bytes) -> str | None:
        """The new piece, if it is the same event again with other words; `kept` is the value that may differ."""
        head, end, middle = self._head, self._end, self._middle
        if head is None or not data.startswith(head) or not data.endswith(end):
            return None
        start, stop = len(head), len(data) - len(end)
        try:
            if not middle:
                return _TEXT.decode(data[start:stop]) or None
            quote = data.find(b'"', start + 1) + 1
            if not data.startswith(middle, quote):  # an escaped quote
                quote = data.find(middle, start)
                if quote < 0:
                    return None
            text = _TEXT.decode(data[start:quote])
            kept = data[quote + len(middle) : stop]
            _ANY.decode(kept)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        self.kept = kept
        return text or None
