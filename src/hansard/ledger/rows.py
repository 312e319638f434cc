"""Rows of the ledger as values, in the order of the columns in `queries.sql`."""

from __future__ import annotations

from typing import NamedTuple

from hansard.errors import NotFound
from hansard.ledger import bodies
from hansard.ledger.backends.driver import Tx, safe
from hansard.model import native
from hansard.model.conversation import Conversation, Run


class Place(NamedTuple):
    """Behind which message something stands: its place, and the two chains up to it."""

    seg: int
    depth: int
    hash: bytes
    said: bytes


ROOT = Place(0, 0, b"", b"")


class ThreadRow(NamedTuple):
    thread: int
    id: str
    title: str | None
    resource: str | None
    parent_thread: str | None
    head_seg: int
    head_depth: int
    head_hash: bytes
    head_said: bytes
    next_seg: int
    next_run: int
    version: int
    messages: int
    created_at: int
    updated_at: int
    usage: bytes | None
    body: bytes
    forgotten_at: int | None

    @property
    def head(self) -> Place:
        return Place(self.head_seg, self.head_depth, self.head_hash, self.head_said)

    def at(self, place: Place) -> ThreadRow:
        """The same with its head there."""
        return self._replace(head_seg=place.seg, head_depth=place.depth, head_hash=place.hash, head_said=place.said)

    def save(self, tx: Tx, now: int) -> ThreadRow:
        """Write what changes while a thread goes on; an index that would stay as it is is not written. The row then."""
        later = max(seconds(now), self.updated_at)
        tx.run(
            "set_thread" if later > self.updated_at else "set_thread_now",
            thread=self.thread,
            head_seg=self.head_seg,
            head_depth=self.head_depth,
            head_hash=self.head_hash,
            head_said=self.head_said,
            next_seg=self.next_seg,
            next_run=self.next_run,
            messages=self.messages,
            usage=self.usage,
            now=later,
        )
        return self._replace(version=self.version + 1, updated_at=later)


class RunRow(NamedTuple):
    run: int
    id: str
    status: str
    agent: str | None
    fork_seg: int
    fork_depth: int
    base_seg: int
    base_depth: int
    seg: int
    depth: int
    tip_hash: bytes
    tip_said: bytes
    staged: int
    pending: int
    chunks: int
    folded: int
    fence: int
    lease_until: int | None
    superseded_by: int | None
    body: bytes

    @property
    def tip(self) -> Place:
        return Place(self.seg, self.depth, self.tip_hash, self.tip_said)

    @property
    def value(self) -> Run:
        """The run as it was last written down."""
        return native.decode_own(Run, bodies.unsealed(self.body))

    def at(self, place: Place) -> RunRow:
        return self._replace(seg=place.seg, depth=place.depth, tip_hash=place.hash, tip_said=place.said)

    def saying(self, value: Run) -> RunRow:
        """The same with another body; the columns that repeat it follow."""
        pending = len(value.pending) if isinstance(value.pending, list) else 0
        status = value.status if isinstance(value.status, str) else self.status
        return self._replace(status=status, pending=pending, body=bodies.sealed(native.encode(value)))

    def save(self, tx: Tx, thread: int) -> None:
        tx.run(
            "set_run",
            thread=thread,
            run=self.run,
            status=self.status,
            seg=self.seg,
            depth=self.depth,
            tip_hash=self.tip_hash,
            tip_said=self.tip_said,
            staged=self.staged,
            pending=self.pending,
            folded=self.folded,
            fence=self.fence,
            lease_until=self.lease_until,
            superseded_by=self.superseded_by,
            body=self.body,
        )


def seconds(now: int) -> int:
    """A time in whole seconds: an indexed column that changes with every message makes appending dear."""
    return now - now % 1000


def find_thread(tx: Tx, thread_id: str, *, lock: bool = False) -> ThreadRow:
    """The row of a thread, locked against other writers if asked."""
    row = tx.one("lock_thread" if lock else "thread", id=safe(thread_id))
    if row is None:
        raise NotFound(f"no thread {thread_id!r}; `hansard threads` lists them")
    found = ThreadRow(*row)
    if found.forgotten_at is not None:
        raise NotFound(f"the thread {thread_id!r} was forgotten; only its tombstone is left")
    return found


def find_run(tx: Tx, thread: ThreadRow, run_id: str, *, lock: bool = False) -> RunRow:
    row = tx.one("lock_run" if lock else "run", thread=thread.thread, id=safe(run_id))
    if row is None:
        raise NotFound(f"no run {run_id!r} in thread {thread.id!r}")
    return RunRow(*row)


def find_place(tx: Tx, thread: ThreadRow, message_id: str) -> Place:
    row = tx.one("place", thread=thread.thread, id=safe(message_id))
    if row is None:
        raise NotFound(f"no message {message_id!r} in thread {thread.id!r}; `hansard tree` shows them")
    return Place(*row[:4])


def id_at(tx: Tx, thread: ThreadRow, place: Place | tuple[int, int]) -> str | None:
    """The id of the message at a place; None for the root."""
    seg, depth = place[0], place[1]
    if depth == 0:
        return None
    found = tx.one("id_at_place", thread=thread.thread, seg=seg, depth=depth)
    if found is not None:
        return str(found[0])
    raise NotFound(f"thread {thread.id!r} has no message at ({seg}, {depth}); run `hansard verify`")


def described(row: ThreadRow) -> Conversation:
    """What a thread says of itself, without messages."""
    return native.decode_own(Conversation, bodies.unsealed(row.body))
