"""The two hash chains of a thread: of messages as stored, and of their content alone.

`hash` proves ids and bodies byte for byte; `said` is the same for the same content in any format, so that histories can
be compared. Each message's link covers everything before it on its branch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain, count

from hansard.ledger.backends.driver import safe, unsafe
from hansard.model.conversation import Message
from hansard.model.hashing import hashed_content
from hansard.model.machinery import seen_role


def message_hash(key: str, body: bytes) -> bytes:
    """The hash of a message itself: its id and its body."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass") + b"\x00" + body).digest()


def link(before: bytes, own: bytes) -> bytes:
    """A chain with one more hash."""
    return hashlib.sha256(before + own).digest()


def said(message: Message) -> bytes:
    """The digest of a message's role and content: the same in every format."""
    content = [seen_role(message)]
    content += [hashed_content(part) for part in message.parts]
    return hashlib.sha256("".join(content).encode("utf-8", "surrogatepass")).digest()


def other_keys(key: str, body: bytes, content: bytes) -> Iterator[str]:
    """Ids for a message whose own id another message has: by its body's hash, its place, and then by numbers."""
    for tail in chain((body.hex()[:12], content.hex()), (f"{content.hex()}~{number}" for number in count(2))):
        yield safe(f"{unsafe(key)}~{tail}") or ""


def last_time(times: Iterable[int | None], now: int) -> int:
    """The time of the last message, as far as the messages are dated and never later than now: importing an old
    conversation does not make it today's. Undated messages count as written now."""
    return max(0, min(now, max((time for time in times if time is not None), default=now)))
