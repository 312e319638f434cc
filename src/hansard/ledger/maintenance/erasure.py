"""Forgetting a thread: its words go from every table, a tombstone stays that says there was one.

The tombstone is the thread's row without what it said: its id, its times, how many messages there were and the hash
of the last one on its path. Under that id no thread can be made again.
"""

from __future__ import annotations

from hansard.errors import NotFound
from hansard.ledger import bodies
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.results import Tombstone
from hansard.ledger.rows import ThreadRow
from hansard.model import native
from hansard.model.conversation import Conversation
from hansard.model.times import iso_time

PAGES = 250  # of the index that are put together in one transaction
_NOTHING = 2  # fewer changes than that are none: so FTS5 says it
_TABLES = (
    "messages",
    "feed",
    "facts",
    "runs",
    "all_chunks",
    "snapshots",
    "segments",
    "source_chunks",
    "sources",
    "workspace_uses",
    "workspace_snapshots",
    "workspace_changes",
    "workspace_windows",
)


def forget(tx: Tx, thread_id: str, now: int) -> Tombstone:
    """Delete a thread's words; one that was forgotten before gives its tombstone."""
    row = tx.one("lock_thread", id=safe(thread_id))
    if row is None:
        raise NotFound(f"no thread {thread_id!r}; `hansard threads` lists them")
    thread = ThreadRow(*row)
    if thread.forgotten_at is None:
        uses = [bytes(name) for (name,) in tx.all("uses", thread=thread.thread)]
        uses += [bytes(name) for (name,) in tx.all("uses_of_workspaces", thread=thread.thread)]
        tx.run("blind_workspaces", thread=thread.thread)
        tx.one("lock_search")  # whoever indexes just now is not to put the words back
        tx.run("unindex_thread", thread=thread.thread)
        for table in _TABLES:
            tx.run(f"forget_{table}", thread=thread.thread)
        if uses:
            tx.one("own_blobs")
        tx.run("forget_uses", thread=thread.thread)
        for name in uses:
            tx.run("delete_unused_blob", hash=name)
        body = bodies.sealed(native.encode(Conversation(messages=[], id=thread_id)))
        tx.run("bury_thread", thread=thread.thread, now=now, body=body)
        thread = thread._replace(forgotten_at=now)
    return tombstone(thread)


def tidy(driver: Driver) -> None:
    """Take deleted words out of the index, some pages a transaction: it takes as long as the index is large, and
    others are to write meanwhile. What is cut off is done by whoever forgets next."""
    pages = -PAGES
    while (changed := driver.write(lambda tx: _tidy(tx, pages))) is not None:  # noqa: B023
        if changed < _NOTHING and pages < 0:
            driver.write(lambda tx: tx.run("tidy_search_at_once"))
            return
        pages = -PAGES if changed < _NOTHING else PAGES


def _tidy(tx: Tx, pages: int) -> int | None:
    """One step, and how much it changed; None if there is nothing to do."""
    before = tx.one("search_untidy")
    if before is None:
        return None
    tx.run("tidy_search", pages=pages)
    after = tx.one("changes_so_far")
    return int(after[0] - before[0]) if after is not None else 0


def find(tx: Tx, thread_id: str) -> Tombstone:
    """What is left of a thread that was forgotten."""
    row = tx.one("thread", id=safe(thread_id))
    if row is None or ThreadRow(*row).forgotten_at is None:
        raise NotFound(f"no thread {thread_id!r} was forgotten")
    return tombstone(ThreadRow(*row))


def tombstone(row: ThreadRow) -> Tombstone:
    return Tombstone(
        id=unsafe(row.id) or "",
        created_at=iso_time(row.created_at),
        updated_at=iso_time(row.updated_at),
        forgotten_at=iso_time(row.forgotten_at or 0),
        messages=row.messages,
        head_hash=row.head_hash.hex(),
    )
