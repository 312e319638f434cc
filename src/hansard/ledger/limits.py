"""What a ledger takes at most; more is refused at the door, by name, before anything is written.

A message that was taken can be read again from anywhere: how deep it nests is bounded by a number of ours, not by how
much of the interpreter's stack happens to be left.
"""

from __future__ import annotations

import re
from typing import Any

from hansard.errors import TooLarge
from hansard.model import native

MESSAGE = 64 << 20  # bytes of a message as JSON
DEPTH = 500  # lists and objects inside one another
ID = 1024  # bytes of an id: PostgreSQL indexes no more than 2,704
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ALIKE = bytes.maketrans(b"{}", b"[]")


def encoded(value: Any, what: str) -> bytes:
    """A value as JSON, if a ledger takes it."""
    try:
        body = native.encode(value)
    except RecursionError:
        raise _too_deep(what) from None
    if len(body) > MESSAGE:
        raise TooLarge(
            f"{what} has {len(body):,} bytes, a ledger takes {MESSAGE:,}; keep large data in a file and name it by url"
        )
    if body.count(b"[") + body.count(b"{") > DEPTH and _deeper(body):
        raise _too_deep(what)
    return body


def id_of(text: str, what: str) -> str:
    """An id, if a ledger takes it."""
    if len(text) > ID // 4 and len(text.encode("utf-8", "surrogatepass")) > ID:
        raise TooLarge(f"the id of {what}, {text[:40]!r}..., is longer than {ID:,} bytes; give it a shorter one")
    return text


def _too_deep(what: str) -> TooLarge:
    return TooLarge(f"{what} nests deeper than {DEPTH} levels; keep such data as text")


def _deeper(body: bytes) -> bool:
    """Are there more than `DEPTH` levels? Every turn takes the innermost brackets away."""
    brackets = _STRING.sub(b"", body).translate(_ALIKE, _NO_BRACKETS)
    for _ in range(DEPTH):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)
