"""Which format a document is of: the hints of the rows, then `sniff` of the formats that are left.

No reader is loaded. Two formats that are equally sure are refused, not guessed between.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hansard.errors import AmbiguousFormat, UnknownFormat, Unreadable
from hansard.formats.contract import Format
from hansard.formats.registry import own_rows, plugin_rows
from hansard.model import exact_json

CERTAIN = 3
TEXTS = (str, bytes, bytearray, memoryview)


def detect(data: Any) -> str:
    """The name of the format of a document, given as to `read`. An error if two formats fit equally well.

    >>> detect({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})
    'gemini'
    """
    return recognized(data if isinstance(data, TEXTS) else exact_json.copied(data))[0].name


def recognized(data: Any) -> tuple[Format, Any, bool]:
    """The format of a document, its values, and whether a string in them may hold a lone surrogate.

    Parsed values are returned as they are, not copied. Bytes that are not one JSON value stay bytes, if they may be of
    a text format.
    """
    if not isinstance(data, TEXTS):
        return _only(_candidates(data)), data, True
    raw = as_bytes(data)
    try:
        document, surrogates = exact_json.decode_noting(raw)
    except Unreadable:
        if not (found := _candidates(raw)):
            _refuse_containers(raw)
            _refuse_lines(raw)
            raise
        return _only(found), raw, True
    if not (found := _candidates(document)) and (found := _candidates(raw)):
        return _only(found), raw, True  # a text of one line that happens to be JSON
    return _only(found), document, surrogates


_CONTAINERS = (
    (b"\x1f\x8b", "the data is compressed with gzip; decompress it first, as with gunzip"),
    (b"PK\x03\x04", "the data is a zip archive; unpack it, and name the files in it"),
    (b"SQLite format 3\0", "the data is a SQLite database of an unknown kind; name files of sessions, or an export"),
)


def _refuse_containers(raw: bytes) -> None:
    """Name files that hold others: none of their bytes are a document."""
    for magic, what in _CONTAINERS:
        if raw.startswith(magic):
            raise UnknownFormat(what)


def _refuse_lines(raw: bytes) -> None:
    """Name lines of JSON of an unknown format: the file is not damaged."""
    lines = [line for line in raw.splitlines() if line.strip()]
    try:
        for line in lines:
            exact_json.decode(line)
    except Unreadable:
        return
    if len(lines) > 1:
        raise UnknownFormat(f"these {len(lines)} JSON lines fit no format; `hansard formats` lists them")


def as_bytes(data: str | bytes | bytearray | memoryview) -> bytes:
    """Text as the bytes of a file."""
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)


def _candidates(document: Any) -> list[tuple[int, Format]]:
    """The formats that a document may be of, with the confidence of each."""
    found = _sniffed(own_rows().values(), document)
    if max((confidence for confidence, _ in found), default=0) < CERTAIN:
        found += _sniffed(plugin_rows(), document)  # looking for them takes time: only where our own leave a doubt
    return found


def _sniffed(rows: Iterable[Format], document: Any) -> list[tuple[int, Format]]:
    return [(confidence, row) for row in rows if may_be(row, document) and (confidence := row.confidence(document))]


def _only(found: list[tuple[int, Format]]) -> Format:
    if not found:
        raise UnknownFormat("the data fits no format; name it with --from (`hansard formats` lists them)")
    best = max(confidence for confidence, _ in found)
    rows = [row for confidence, row in found if confidence == best]
    if len(rows) > 1:
        fits = " and ".join(row.name for row in rows)
        raise AmbiguousFormat(f"the data fits {fits}; name the right one with --from")
    return rows[0]


def may_be(row: Format, document: Any) -> bool:
    """Whether the hints of the row allow the document, so that its `sniff` is worth a call."""
    if isinstance(document, bytes):
        return row.text
    keys = row.keys
    if type(document) is list:
        keys = row.item_keys
        document = document[0] if document else None
    elif type(document) is not dict:
        return False
    return keys is None or (type(document) is dict and not keys.isdisjoint(document))
