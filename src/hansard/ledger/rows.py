"""Database rows as values, in the order of the columns in `queries.sql`; finding them by id.

`rows` is what SQL returns, `results` what callers get. Fields have the names of the columns.
"""

from __future__ import annotations

from typing import NamedTuple

from hansard.errors import NotFound
from hansard.ledger import bodies
from hansard.ledger.backends.driver import Tx, safe
from hansard.model import native
from hansard.model.conversation import Conversation, Run


class Place(NamedTuple):
    """The position of a message in the tree of its thread, with the two hash chains up to it."""

    seg: int
    depth: int
    hash: bytes
    said: bytes


ROOT = Place(0, 0, b"", b"")


class ThreadRow(NamedTuple):
    """A row of `thread`; `at` and `save` move its head and write it."""

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
        """The row with its head at a place."""
        return self._replace(head_seg=place.seg, head_depth=place.depth, head_hash=place.hash, head_said=place.said)

    def save(self, tx: Tx, now: int) -> ThreadRow:
        """Write the columns that change as a thread grows; an unchanged index is not written. The new row."""
        later = max(whole_seconds(now), self.updated_at)
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
    """A row of `run`."""

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
        """The run as it was last stored."""
        return native.decode_own(Run, bodies.unseal(self.body))

    def at(self, place: Place) -> RunRow:
        return self._replace(seg=place.seg, depth=place.depth, tip_hash=place.hash, tip_said=place.said)

    def with_value(self, value: Run) -> RunRow:
        """The row with another body, and the columns that repeat parts of it."""
        pending = len(value.pending) if isinstance(value.pending, list) else 0
        status = value.status if isinstance(value.status, str) else self.status
        return self._replace(status=status, pending=pending, body=bodies.seal(native.encode(value)))

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


def whole_seconds(now: int) -> int:
    """A time cut to seconds: an indexed column that changes with every message would make appends slow."""
    return now - now % 1000


def find_thread(tx: Tx, thread_id: str, *, lock: bool = False) -> ThreadRow:
    """The row of a thread; `lock` locks it against other writers."""
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


def find_runs(tx: Tx, thread: ThreadRow) -> dict[int, RunRow]:
    """The runs of a thread by their numbers, in the order they began."""
    return {row[0]: RunRow(*row) for row in tx.all("runs", thread=thread.thread)}


def find_place(tx: Tx, thread: ThreadRow, message_id: str) -> Place:
    row = tx.one("place", thread=thread.thread, id=safe(message_id))
    if row is None:
        raise NotFound(f"no message {message_id!r} in thread {thread.id!r}; `hansard tree` shows them")
    return Place(*row[:4])


def id_at(tx: Tx, thread: ThreadRow, place: Place | tuple[int, int]) -> str | None:
    """The stored id of the message at a place; None for the root."""
    seg, depth = place[0], place[1]
    if depth == 0:
        return None
    found = tx.one("id_at_place", thread=thread.thread, seg=seg, depth=depth)
    if found is not None:
        return str(found[0])
    raise NotFound(f"thread {thread.id!r} has no message at ({seg}, {depth}); run `hansard verify`")


def description(row: ThreadRow) -> Conversation:
    """The description of a thread: the conversation without its messages."""
    return native.decode_own(Conversation, bodies.unseal(row.body))
