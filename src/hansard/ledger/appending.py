"""Appending to the head of a thread, or behind another of its messages, which makes that the path."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from hansard.errors import Conflict
from hansard.ledger.backends.driver import Driver, Tx, unsafe
from hansard.ledger.hash_chain import Prepared, link
from hansard.ledger.messages import add_usage, is_there, put
from hansard.ledger.rows import ROOT, ThreadRow, find_place, find_thread, id_at, seconds

_KEPT = 4096


def append(
    tx: Tx,
    thread_id: str,
    items: list[Prepared],
    now: int,
    parent: str | UnsetType | None = UNSET,
    expected_head: str | UnsetType | None = UNSET,
) -> ThreadRow:
    """Write messages behind the head (or `parent`) and move the head to the last; the row as it is then."""
    thread = find_thread(tx, thread_id, lock=True)
    if expected_head is not UNSET:
        found = unsafe(id_at(tx, thread, thread.head))
        if found != expected_head:
            if items and all(is_there(tx, thread, item) for item in items):
                return thread  # this very call, made again because nobody heard the answer
            raise Conflict(
                f"the head of thread {thread_id!r} is {found!r}, not {expected_head!r}; read what was said meanwhile",
                expected=expected_head,
                found=found,
            )
    place = thread.head if parent is UNSET else ROOT if parent is None else find_place(tx, thread, parent)
    done = put(tx, thread, place, items)
    if not done.added:
        return thread
    return done.thread.at(done.place).save(tx, now)


class Head(NamedTuple):
    """The end of a thread's path as it was when we last looked."""

    thread: int
    seg: int
    depth: int
    hash: bytes
    said: bytes
    version: int
    updated_at: int
    usage: bytes | None


class Heads:
    """Where the heads of threads were when we last looked: an append then need not look again.

    Nothing rests on it: a message goes in only if the head is still the one we know, by its version and its hash. So
    it does not matter who moved it meanwhile, nor whether what we did last was undone behind our back.
    """

    def __init__(self) -> None:
        self._heads: OrderedDict[str, Head] = OrderedDict()

    def keep(self, thread_id: str, row: ThreadRow) -> None:
        self._keep(thread_id, Head(row.thread, *row.head, row.version, row.updated_at, row.usage))

    def _keep(self, thread_id: str, head: Head) -> None:
        self._heads[thread_id] = head
        if len(self._heads) > _KEPT:
            self._heads.popitem(last=False)

    def append_to_server(self, driver: Driver, thread_id: str, item: Prepared, now: int) -> bool:
        """One statement, one round trip; False if the head was moved meanwhile, or the place or id is taken."""
        if (head := self._heads.pop(thread_id, None)) is None:
            return False
        after = _behind(head, item, now)
        if driver.statement("append_one", now=after.updated_at, **_values(head, after, item)) is None:
            return False
        self._keep(thread_id, after)
        return True

    def append_to_file(self, tx: Tx, thread_id: str, item: Prepared, now: int) -> bool:
        """Two statements of a transaction; False, and nothing is written, where `append_to_server` says so."""
        if (head := self._heads.pop(thread_id, None)) is None:
            return False
        after = _behind(head, item, now)
        values = _values(head, after, item)
        if tx.run("append_one", **values) != 1:
            return False
        if after.updated_at > head.updated_at:
            tx.run("move_head", now=after.updated_at, **values)
        else:  # an index that would stay as it is is not written
            tx.run("move_head_now", **values)
        self._keep(thread_id, after)
        return True


def _behind(head: Head, item: Prepared, now: int) -> Head:
    """The head when a message was put behind it."""
    usage, message = head.usage, item.message
    return Head(
        head.thread,
        head.seg,
        head.depth + 1,
        link(head.hash, item.proof),
        link(head.said, item.said)[:16],
        head.version + 1,
        max(seconds(now), head.updated_at),
        usage if message.usage is UNSET else add_usage(usage, [message]),
    )


def _values(head: Head, after: Head, item: Prepared) -> dict[str, Any]:
    return {
        "thread": head.thread,
        "version": head.version,
        "before": head.hash,
        "seg": head.seg,
        "depth": after.depth,
        "id": item.id,
        "role": item.role,
        "agent": item.agent,
        "created_at": item.created_at,
        "hash": after.hash,
        "said": after.said,
        "body": item.stored,
        "usage": after.usage,
    }
