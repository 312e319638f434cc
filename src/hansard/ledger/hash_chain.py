"""The two chains over a branch: one proves that nothing was changed, one tells that the same was said.

hash   over ids and bodies as stored: sha256(hash of the parent + sha256(id, body))
said   over roles and parts, without ids, times and residue: finds a history that is sent again
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from itertools import chain, count

from msgspec import UNSET
from msgspec.structs import replace

from hansard.ledger import bodies, limits
from hansard.ledger.backends.driver import safe, unsafe
from hansard.ledger.rows import Place
from hansard.model.conversation import Message
from hansard.model.hashing import hashed_content as words_of
from hansard.model.times import iso_time, milliseconds


def other_keys(key: str, body: bytes, said: bytes) -> Iterator[str]:
    """Keys for a message whose id another has: by its body, by its place, and at last by a number."""
    for tail in chain((body.hex()[:12], said.hex()), (f"{said.hex()}~{number}" for number in count(2))):
        yield safe(f"{unsafe(key)}~{tail}") or ""


class Prepared:
    """A message ready to be stored: everything that does not depend on its place."""

    __slots__ = ("agent", "blobs", "body", "created_at", "id", "message", "proof", "role", "said", "stored")

    def __init__(self, message: Message, key: str, said_at: int | None = None) -> None:
        self.message, self.id = message, safe(limits.id_of(key, "a message")) or ""
        self.body = limits.encoded(message, "a message")
        self.stored, texts = bodies.stored(self.body)
        self.blobs = {name: (len(text), bodies.squeezed(text)) for name, text in texts.items()}
        self.role = safe(message.role)
        self.agent = safe(message.agent_id) if type(message.agent_id) is str else None
        self.created_at = milliseconds(message.created_at) if said_at is None else said_at
        self.proof = proof(self.id, self.body)
        self.said = said(message)

    def behind(self, place: Place) -> tuple[bytes, bytes]:
        """The two chains up to and including this message, behind a place."""
        return link(place.hash, self.proof), link(place.said, self.said)[:16]


def last_said(times: Iterable[int | None], now: int) -> int:
    """When the last of some messages was said, as far as they tell: an old conversation is not today's because it is
    read today. What nobody dated is said now, and nothing later than that."""
    return max(0, min(now, max((time for time in times if time is not None), default=now)))


def proof(key: str, body: bytes) -> bytes:
    """What the chain of hashes holds of a message itself."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass") + b"\x00" + body).digest()


def link(before: bytes, own: bytes) -> bytes:
    return hashlib.sha256(before + own).digest()


def said(message: Message) -> bytes:
    """What was said, whoever asks: the same words give the same digest in every format."""
    words = [message.role]
    words += [words_of(part) for part in message.parts]
    return hashlib.sha256("".join(words).encode("utf-8", "surrogatepass")).digest()


def authored(message: Message, key: str, now: int) -> Prepared:
    """A message that is said now: it gets an id and a time where it has none."""
    if message.created_at is not UNSET:
        return Prepared(message if message.id is not UNSET else replace(message, id=key), key)
    name = key if message.id is UNSET else message.id
    return Prepared(replace(message, id=name, created_at=iso_time(now)), key, now)


def clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
