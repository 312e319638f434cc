"""Bytes of a session file in, records out: any split of the bytes gives the same records.

Only a line feed ends a line. Several objects on one line are each a record; a torn one is bad, and the next whole one
on its line is found. Nothing raises: what cannot be read comes out as `Bad`, in its place. A line longer than the
limit is not held in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from hansard.errors import Unreadable
from hansard.model import exact_json

LONGEST_LINE = 32 * 1024 * 1024  # held as bytes and, in memory, as text of up to four bytes a character
_LONGEST_REPAIRED = 4 * 1024 * 1024  # parsing a torn line starts at many places, so it is bounded
_TRIES = 64
_EFFORT = 64 * 1024 * 1024  # characters of a torn line to scan, counting repeats
_BOM = b"\xef\xbb\xbf"
_SPACE = " \t\r\n\ufeff"
_GLUED = json.JSONDecoder(parse_int=str, parse_float=str)


class Record(NamedTuple):
    """One record: its value, bytes and place; `glued` if another one precedes it on the same line."""

    value: Any
    raw: bytes
    byte: int
    line: int
    glued: bool = False


class Bad(NamedTuple):
    """Bytes of a file that are not a record."""

    what: str
    byte: int
    line: int


class Search:
    """A search for JSON values in a text; `budget` falls below zero when it has taken too long."""

    def __init__(self, text: str) -> None:
        self.text, self.budget = text, _EFFORT

    def value_at(self, at: int) -> tuple[Any, int] | None:
        """The value that begins at a place, and where it ends."""
        if self.budget < 0:
            return None
        try:
            value, end = _GLUED.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            self.budget -= error.pos - at + error.pos // 16  # the error itself counts the lines before it
            return None
        except (ValueError, RecursionError):
            self.budget -= 10_000
            return None
        self.budget -= end - at
        return value, end

    def end_of(self, at: int) -> int | None:
        """Where the value that begins at a place ends."""
        found = self.value_at(at)
        return None if found is None else found[1]


class Scanner:
    """Splits bytes into records; holds no more than the unfinished line."""

    def __init__(
        self,
        decode: Callable[[bytes], Any] = exact_json.decode_record,
        whole: Callable[[Any], bool] = lambda value: True,
        longest: int = LONGEST_LINE,
    ) -> None:
        self._decode, self._whole, self._longest = decode, whole, longest
        self._held: list[bytes] = []
        self._size = 0  # of the unfinished line, held or not
        self._line, self._byte = 1, 0

    def feed(self, data: bytes) -> Iterator[Record | Bad]:
        """The records that end in these bytes; the caller consumes them all before feeding more."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            yield from self._ended(data[start:end])
            self._byte += 1
            self._line += 1
            start = end + 1
        if start < len(data):
            self._hold(data[start:])

    def finish(self) -> Iterator[Record | Bad]:
        """The record on a last line without a line feed."""
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
            yield Bad(f"line too long: {size} bytes; the limit is {self._longest}", byte, line)
            return
        if not byte and last.startswith(_BOM):
            last, byte = last[3:], 3
        if not last or last.isspace():
            return
        try:
            yield Record(self._decode(last), last, byte, line)
        except Unreadable as error:
            if last.strip():
                yield from self._repaired(last, byte, line, error.problem)

    def _repaired(self, raw: bytes, byte: int, line: int, problem: str) -> Iterator[Record | Bad]:
        """The records that share one line, and the torn bytes between them."""
        if len(raw) > _LONGEST_REPAIRED or b"{" not in raw[1:]:
            yield Bad(problem, byte, line)
            return
        text = raw.decode("utf-8", "surrogateescape")
        at, glued, before = _skip(text, 0), False, 0
        search = Search(text)
        while at < len(text):
            end = search.end_of(at)
            piece = text[at : end if end is not None else len(text)].encode("utf-8", "surrogateescape")
            byte, before = byte + len(text[before:at].encode("utf-8", "surrogateescape")), at
            search.budget -= len(piece)
            if search.budget < 0:
                yield Bad("torn in too many places; later records on this line are not searched for", byte, line)
                return
            try:
                yield Record(self._decode(piece), piece, byte, line, glued)
            except Unreadable as error:
                yield Bad(error.problem, byte, line)
                end = None
            at = _skip(text, end) if end is not None else self._next(search, at + 1)
            glued = True

    def _next(self, search: Search, at: int) -> int:
        """Where the next whole record begins after a torn one."""
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


def first_values(scanner: Scanner, data: bytes, count: int, *, to_end: bool = False) -> list[Any]:
    """The values of the records among the first `count` results of a scanner; `to_end` includes an unended line."""
    found = chain(scanner.feed(data), scanner.finish()) if to_end else scanner.feed(data)
    return [one.value for one in islice(found, count) if isinstance(one, Record)]


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
