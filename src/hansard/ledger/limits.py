"""Limits of a ledger, checked before anything is written; an error names the limit.

The nesting depth has a fixed limit, so that a stored message can always be read again, whatever is left of the stack.
"""

from __future__ import annotations

import re
from typing import Any

from hansard.errors import HansardError, TooLarge
from hansard.model import native

MESSAGE = 64 << 20  # bytes of a message as JSON
DEPTH = 500  # levels of nested lists and objects
ID = 1024  # bytes of an id: PostgreSQL indexes no more than 2,704
PAGE = 10_000  # messages or threads of a page
HITS = 1000  # hits of a page
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ALIKE = bytes.maketrans(b"{}", b"[]")


def encode(value: Any, what: str) -> bytes:
    """A value as JSON, within the limits of size and depth."""
    try:
        body = native.encode(value)
    except RecursionError:
        raise _too_deep(what) from None
    if len(body) > MESSAGE:
        raise TooLarge(
            f"{what} has {len(body):,} bytes, the limit is {MESSAGE:,}; keep large data in a file and link it by url"
        )
    if body.count(b"[") + body.count(b"{") > DEPTH and _deeper(body):
        raise _too_deep(what)
    return body


def check_id(text: str, what: str) -> str:
    """An id, within the limit of length."""
    if len(text) > ID // 4 and len(text.encode("utf-8", "surrogatepass")) > ID:
        raise TooLarge(f"the id of {what}, {text[:40]!r}..., is longer than {ID:,} bytes; choose a shorter one")
    return text


def check_page(limit: int, most: int = PAGE) -> int:
    """The size of a page, within its limit."""
    if not 1 <= limit <= most:
        raise HansardError(f"a limit of {limit} is not between 1 and {most}")
    return limit


def _too_deep(what: str) -> TooLarge:
    return TooLarge(f"{what} is nested deeper than {DEPTH} levels; store such data as text")


def _deeper(body: bytes) -> bool:
    """Whether there are more than `DEPTH` levels; each round removes the innermost brackets."""
    brackets = _STRING.sub(b"", body).translate(_ALIKE, _NO_BRACKETS)
    for _ in range(DEPTH):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)
