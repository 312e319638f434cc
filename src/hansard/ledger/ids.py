"""Ids and the clock. New ids are ULIDs that increase within a process even when its clock goes back.

The order of messages never depends on ids or times.
"""

from __future__ import annotations

import os
import threading
import time
from functools import lru_cache

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's, in the order of their codes
_RANDOM = bytes(ord(_LETTERS[byte & 31]) for byte in range(256))
_TIME = 10  # characters of the time; sixteen random ones follow
_lock = threading.Lock()
_last = ""


def _forked() -> None:
    """Reset the state in a forked child: new random ids, and a lock that no thread holds."""
    global _lock, _last
    _lock, _last = threading.Lock(), ""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def new_id() -> str:
    """A ULID greater than the one before it.

    >>> a, b = new_id(), new_id()
    >>> len(a), a < b
    (26, True)
    """
    global _last
    now = encode_time(clock())
    with _lock:
        if now > _last[:_TIME]:
            _last = now + os.urandom(16).translate(_RANDOM).decode()
        else:
            _last = increment(_last)
        return _last


class NewIds:
    """Ids for a job, as many as it needs; a job that is run again gets the same ones.

    >>> ids = NewIds()
    >>> ids[1] == ids[1] > ids[0]
    True
    """

    def __init__(self) -> None:
        self._made: list[str] = []

    def __getitem__(self, index: int) -> str:
        while len(self._made) <= index:
            self._made.append(new_id())
        return self._made[index]


def encode_time(moment: int) -> str:
    """Milliseconds since 1970 as the ten characters of a ULID.

    >>> encode_time(0), encode_time((1 << 48) - 1)
    ('0000000000', '7ZZZZZZZZZ')
    """
    return _slow(moment >> 10) + _LETTERS[moment >> 5 & 31] + _LETTERS[moment & 31]


@lru_cache(8)
def _slow(part: int) -> str:
    return "".join(_LETTERS[part >> shift & 31] for shift in range(35, -5, -5))


def increment(text: str) -> str:
    """The next id.

    >>> increment("01ABC"), increment("01AZZ")
    ('01ABD', '01B00')
    """
    kept = text.rstrip("Z")
    return kept[:-1] + _LETTERS[_LETTERS.index(kept[-1]) + 1] + "0" * (len(text) - len(kept))
