"""New ids: ULIDs that never fall while this process runs, even when its clock does. Order never depends on them."""

from __future__ import annotations

import os
import threading
import time
from base64 import b32encode

_CROCKFORD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")
_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A ULID greater than the one before it.

    >>> a, b = new_id(), new_id()
    >>> len(a), a < b
    (26, True)
    """
    global _last
    now = time.time_ns() // 1_000_000
    with _lock:
        if now > _last >> 80:
            _last = (now << 80) | int.from_bytes(os.urandom(10))
        else:
            _last += 1
        value = _last
    return spelled(value)


class NewIds:
    """Ids for a job, as many as it needs; a job that is run again meets the same ones.

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


def spelled(value: int) -> str:
    """128 bits in Crockford's 26 letters.

    >>> spelled((1 << 128) - 1)
    '7ZZZZZZZZZZZZZZZZZZZZZZZZZ'
    """
    return b32encode(value.to_bytes(20)).translate(_CROCKFORD)[6:].decode()
