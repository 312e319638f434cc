"""Bytes of a session file in, records out: any cut of the bytes gives the same records.

Lines end at a line feed and nowhere else. Several objects glued on one line are each a record; a torn one is bad and
the next whole one on its line is found. Nothing raises: what cannot be read comes out as `Bad`, in its place. A line
longer than the limit is not held.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hansard.errors import Unreadable
from hansard.model import exact_json

LONGEST_LINE = 32 * 1024 * 1024  # held as bytes and, in memory, as text of up to four bytes a character
_LONGEST_MENDED = 4 * 1024 * 1024  # a torn line is tried from many places: not a huge one
_TRIES = 64
_EFFORT = 64 * 1024 * 1024  # characters of a torn line that are looked at, some of them many times
_BOM = b"\xef\xbb\xbf"
_SPACE = " \t\r\n\ufeff"
_GLUED = json.JSONDecoder(parse_int=str, parse_float=str)


class Record(NamedTuple):
    """What one record says, its bytes and its place; `glued` when it follows another one on the same line."""

    value: Any
    raw: bytes
    byte: int
    line: int
    glued: bool = False


class Bad(NamedTuple):
    """A stretch of a file that is no record."""

    what: str
    byte: int
    line: int


class Search:
    """A text in which JSON values are looked for; `left` falls below zero when that took too long already."""

    def __init__(self, text: str) -> None:
        self.text, self.left = text, _EFFORT

    def value_at(self, at: int) -> tuple[Any, int] | None:
        """The value that begins there, with its end."""
        if self.left < 0:
            return None
        try:
            value, end = _GLUED.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            self.left -= error.pos - at + error.pos // 16  # the error itself counts the lines before it
            return None
        except (ValueError, RecursionError):
            self.left -= 10_000
            return None
        self.left -= end - at
        return value, end

    def end_of(self, at: int) -> int | None:
        found = self.value_at(at)
        return None if found is None else found[1]


class Scanner:
    """Cuts bytes into records; holds no more than the line that has not ended."""

    def __init__(
        self,
        decode: Callable[[bytes], Any] = exact_json.decode_record,
        whole: Callable[[Any], bool] = lambda value: True,
        longest: int = LONGEST_LINE,
    ) -> None:
        self._decode, self._whole, self._longest = decode, whole, longest
        self._held: list[bytes] = []
        self._size = 0  # of the line that has not ended, held or not
        self._line, self._byte = 1, 0

    def feed(self, data: bytes) -> Iterator[Record | Bad]:
        """The records that end in these bytes. Take them all before feeding more."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            yield from self._ended(data[start:end])
            self._byte += 1
            self._line += 1
            start = end + 1
        if start < len(data):
            self._hold(data[start:])

    def finish(self) -> Iterator[Record | Bad]:
        """The record on a last line that has no end."""
        if self._size:
            yield from self._ended(b"")

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._longest:
            self._held.clear()
        else:
            self._held.append(piece)

    def _ended(self, last: bytes) -> Iterator[Record | Bad]:
        if self._size:
            self._hold(last)
            last = b"".join(self._held)
            self._held.clear()
            size, self._size = self._size, 0
        else:
            size = len(last)
        byte, line = self._byte, self._line
        self._byte += size
        if size > self._longest:
            yield Bad(f"a line of {size} bytes; the longest that is read has {self._longest}", byte, line)
            return
        if not byte and last.startswith(_BOM):
            last, byte = last[3:], 3
        if not last or last.isspace():
            return
        try:
            yield Record(self._decode(last), last, byte, line)
        except Unreadable as error:
            if last.strip():
                yield from self._mended(last, byte, line, error.problem)

    def _mended(self, raw: bytes, byte: int, line: int, problem: str) -> Iterator[Record | Bad]:
        """The records glued on one line, and what is torn between them."""
        if len(raw) > _LONGEST_MENDED or b"{" not in raw[1:]:
            yield Bad(problem, byte, line)
            return
        text = raw.decode("utf-8", "surrogateescape")
        at, glued, before = _skip(text, 0), False, 0
        search = Search(text)
        while at < len(text):
            end = search.end_of(at)
            piece = text[at : end if end is not None else len(text)].encode("utf-8", "surrogateescape")
            byte, before = byte + len(text[before:at].encode("utf-8", "surrogateescape")), at
            search.left -= len(piece)
            if search.left < 0:
                yield Bad("torn at too many places to look for records behind this one", byte, line)
                return
            try:
                yield Record(self._decode(piece), piece, byte, line, glued)
            except Unreadable as error:
                yield Bad(error.problem, byte, line)
                end = None
            at = _skip(text, end) if end is not None else self._next(search, at + 1)
            glued = True

    def _next(self, search: Search, at: int) -> int:
        """Where the next whole record begins behind a torn one."""
        text = search.text
        for _ in range(_TRIES):
            at = text.find("{", at)
            if at < 0:
                break
            end = search.end_of(at)
            if end is not None:
                try:
                    if self._whole(self._decode(text[at:end].encode("utf-8", "surrogateescape"))):
                        return at
                except Unreadable:
                    pass
            at += 1
        return len(text)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
