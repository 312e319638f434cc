"""A Sage session file as pieces: its lines, the records that are spread over several, and what lies between them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec import UNSET

from hansard.errors import Unreadable
from hansard.formats.coding_agents.sage.fields import parse
from hansard.formats.coding_agents.sage.records import ROLES, SNAPSHOT
from hansard.formats.coding_agents.scanner import Search
from hansard.model import exact_json

SPACE = " \t\r\n\ufeff"
_BEGINS = re.compile(r'\{\s*"type"\s*:')
_SCAN = json.JSONDecoder(parse_int=str, parse_float=str)


class Piece(NamedTuple):
    """A stretch of the file, what it holds if it is JSON, and whether it follows the piece before on the same line."""

    text: bytes
    value: Any = UNSET
    glued: bool = False


def decoded(text: bytes) -> Any:
    try:
        return exact_json.decode(text)
    except Unreadable:
        return UNSET


def parsed(text: bytes) -> Any:
    """The typed record, if it is one that the quick way may read, else the value."""
    record = parse(text)
    return record if record is not None else decoded(text)


def pieces_of(raw: bytes, parser: Callable[[bytes], Any] = decoded) -> Iterator[Piece]:
    """The lines of a file; from the first record that is spread over several lines on, its values."""
    at, spread = 0, True
    while at >= 0:
        end = raw.find(b"\n", at)
        line = raw[at:end] if end >= 0 else raw[at:]
        begun = line.strip()
        value = parser(line) if begun else UNSET
        if value is UNSET and spread and end >= 0 and begun[:1] in (b"{", b"\xef"):
            values = list(_values(raw[at:])) if begun[-1:] in (b"{", b",", b"[") else []
            if values and values[0].value is not UNSET:
                yield from values
                return
            spread = not values
        if value is UNSET and b"{" in begun[1:]:
            yield from _values(line)
        else:
            yield Piece(line, value)
        at = end + 1 if end >= 0 else -1


def _values(raw: bytes) -> Iterator[Piece]:
    """JSON values one behind the other; what is torn reaches to where the next whole record begins."""
    text = raw.decode("utf-8", "surrogateescape")
    search = Search(text)
    cuts = [0]
    while (start := _skip(text, cuts[-1])) < len(text):
        end = search.end_of(start)
        cuts.append(end if end is not None else _next_record(search, start + 1))
    cuts[-1] = len(text)
    for i, end in enumerate(cuts[1:]):
        piece = text[cuts[i] : end].encode("utf-8", "surrogateescape")
        yield Piece(piece, decoded(piece), i > 0)


def _next_record(search: Search, start: int) -> int:
    """Where the next whole record begins; the end of the text when there is none, or looking took too long."""
    for found in _BEGINS.finditer(search.text, start):
        if search.left < 0:
            break
        value = (search.value_at(found.start()) or ({}, 0))[0]
        if value.get("type") in (*ROLES, SNAPSHOT) and ("uuid" in value or "messageId" in value):
            return found.start()
    return len(search.text)


def _skip(text: str, at: int, over: str = SPACE) -> int:
    while at < len(text) and text[at] in over:
        at += 1
    return at


def elements_of(raw: bytes) -> tuple[list[Piece], list[str]]:
    """The elements of a JSON array, and the text around and between them."""
    text = raw.decode("utf-8", "surrogatepass")
    pieces: list[Piece] = []
    gaps: list[str] = []
    end = 0
    start = _skip(text, text.index("[") + 1)
    while text[start] != "]":
        gaps.append(text[end:start])
        _, end = _SCAN.raw_decode(text, start)
        piece = text[start:end].encode("utf-8", "surrogatepass")
        pieces.append(Piece(piece, decoded(piece)))
        start = _skip(text, end, SPACE + ",")
    return pieces, [*gaps, text[end:]]
