"""Sessions of older Gemini CLI releases: one JSON document instead of a record a line.

Such a document is read as a whole; from a damaged one the whole messages are salvaged. New messages are inserted at
the end of its list, so that the text before them stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hansard.errors import Unreadable
from hansard.formats.coding_agents.gemini_cli import is_message
from hansard.formats.coding_agents.scanner import LONGEST_LINE, Bad, Record, Scanner
from hansard.formats.coding_agents.session_file import append_lines
from hansard.model import exact_json
from hansard.model.exact_json import decode_record

_END = re.compile(rb"\s*\]\s*\}\s*\Z")
_MESSAGES = re.compile(r'"messages"\s*:\s*\[')
_SPACE = " \t\r\n,"
_JSON = json.JSONDecoder(parse_int=str, parse_float=str)


class DocumentScanner(Scanner):
    """A scanner that holds a file whose first line is not a record, to read it as one document."""

    def __init__(self, decode: Callable[[bytes], Any], whole: Callable[[Any], bool]) -> None:
        super().__init__(decode, whole)
        self._start: bytearray | None = bytearray()

    def feed(self, data: bytes) -> Iterator[Record | Bad]:
        if self._start is None:
            yield from super().feed(data)
            return
        self._start += data
        line, end, _ = bytes(self._start[:LONGEST_LINE]).lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")
        if len(self._start) > LONGEST_LINE or (end and (not line.startswith(b"{") or _is_json(line, self._decode))):
            yield from self._as_lines()

    def _as_lines(self) -> Iterator[Record | Bad]:
        held, self._start = bytes(self._start or b""), None
        yield from super().feed(held)

    def finish(self) -> Iterator[Record | Bad]:
        if self._start:
            raw = bytes(self._start)
            try:
                yield Record(self._decode(raw.removeprefix(b"\xef\xbb\xbf")), raw, 0, 1)
                return
            except Unreadable as error:
                problem = error.problem
            lines = Scanner(self._decode, self._whole)
            attempts = [[*lines.feed(raw), *lines.finish()], [*salvaged(raw, self._decode, problem)]]
            yield from max(
                attempts, key=lambda found: sum(type(one) is Record and self._whole(one.value) for one in found)
            )
            return
        yield from super().finish()


def _is_json(text: bytes, decode: Callable[[bytes], Any]) -> bool:
    try:
        decode(text)
    except Unreadable:
        return False
    return True


class _Place:
    """Byte and line of increasing offsets in a text."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self.byte, self.line = text, 0, 0, 1

    def to(self, at: int) -> None:
        passed = self._text[self._at : at]
        self.byte += len(passed.encode("utf-8", "surrogateescape"))
        self.line += passed.count("\n")
        self._at = at


def salvaged(raw: bytes, decode: Callable[[bytes], Any], problem: str) -> Iterator[Record | Bad]:
    """The whole header and messages of a damaged document, and the bad stretches between them."""
    text = raw.decode("utf-8", "surrogateescape")
    found = _MESSAGES.search(text)
    if found is None:
        yield Bad(problem, 0, 1)
        return
    place = _Place(text)
    head = text[: found.start()].rstrip(_SPACE) + "}"
    if _is_json(head.encode("utf-8", "surrogateescape"), decode):
        header = head.encode("utf-8", "surrogateescape")
        yield Record(decode(header), header, 0, 1)
    else:
        yield Bad(problem, 0, 1)
    at = found.end()
    while (at := _skip(text, at)) < len(text) and text[at] != "]":
        place.to(at)
        piece, end = _piece(text, at)
        try:
            yield Record(decode(piece), piece, place.byte, place.line)
        except Unreadable as error:
            yield Bad(error.problem, place.byte, place.line)
            end = _next(text, at + 1, decode)
        at = end


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _piece(text: str, at: int) -> tuple[bytes, int]:
    try:
        end = _JSON.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        end = len(text)
    return text[at:end].encode("utf-8", "surrogateescape"), end


def _next(text: str, at: int, decode: Callable[[bytes], Any]) -> int:
    """Where the next whole message begins."""
    for found in re.compile(r'\{\s*"id"').finditer(text, at):
        piece, end = _piece(text, found.start())
        if end < len(text) and _is_json(piece, decode) and is_message(decode(piece)):
            return found.start()
    return len(text)


def append_records(text: bytes, lines: Iterable[bytes]) -> bytes:
    """A session with new records: in the list of a document, else appended as lines."""
    new = list(lines)
    first = text.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    if not new or not first.startswith(b"{") or _is_json(first, decode_record):
        return append_lines(text, new)
    try:
        document = decode_record(text.removeprefix(b"\xef\xbb\xbf"))
    except Unreadable:
        return append_lines(text, new)
    values = [decode_record(line) for line in new]
    messages = document.get("messages") if type(document) is dict else None
    end = _END.search(text)
    if end is not None and type(messages) is list and all(map(is_message, values)):
        ids = {one["id"] for one in messages if is_message(one)}
        added = b",".join(b"\n    " + line.rstrip(b"\n") for line in new)
        whole = text[: end.start()] + (b"," if messages else b"") + added + text[end.start() :]
        if ids.isdisjoint(one["id"] for one in values) and _is_json(whole, decode_record):
            if exact_json.same(decode_record(whole).get("messages"), [*messages, *values]):
                return whole
    return exact_json.encode(document) + b"\n" + b"".join(new)
