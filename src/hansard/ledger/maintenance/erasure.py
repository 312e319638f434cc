"""Erasure: delete a thread from every table and from the file; a tombstone is left.

The tombstone is the thread's row without content: its id, its times, the number of messages and the hash of the head.
No thread can be created again under that id.
"""

from __future__ import annotations

from msgspec.structs import replace

from hansard.errors import NotFound
from hansard.ledger import bodies
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.results import Tombstone
from hansard.ledger.rows import ThreadRow
from hansard.model import native
from hansard.model.conversation import Conversation
from hansard.model.times import iso_time

PAGES = 250  # of the search index that are merged in one transaction
_NOTHING = 2  # fewer changes mean none, by FTS5's documentation
_TABLES = (
    "conversation_messages",
    "projections",
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


def forget(driver: Driver, thread_id: str, now: int) -> Tombstone:
    """Erase a thread: its rows, then deleted terms in the search index, then deleted bytes in the file."""
    stone = driver.write(lambda tx: erase(tx, thread_id, now))
    purge_index(driver)
    return replace(stone, wiped=driver.wipe())


def erase(tx: Tx, thread_id: str, now: int) -> Tombstone:
    """Delete the rows of a thread; for one that is already erased, its tombstone."""
    row = tx.one("lock_thread", id=safe(thread_id))
    if row is None:
        raise NotFound(f"no thread {thread_id!r}; `hansard threads` lists them")
    thread = ThreadRow(*row)
    if thread.forgotten_at is None:
        uses = [bytes(name) for (name,) in tx.all("uses", thread=thread.thread)]
        uses += [bytes(name) for (name,) in tx.all("uses_of_workspaces", thread=thread.thread)]
        tx.run("blind_workspaces", thread=thread.thread)
        tx.one("lock_search")  # a concurrent index update must not add the terms again
        tx.run("unindex_thread", thread=thread.thread)
        for table in _TABLES:
            tx.run(f"forget_{table}", thread=thread.thread)
        if uses:
            tx.one("own_blobs")
        tx.run("forget_uses", thread=thread.thread)
        for name in uses:
            tx.run("delete_unused_blob", hash=name)
        body = bodies.seal(native.encode(Conversation(messages=[], id=thread_id)))
        tx.run("bury_thread", thread=thread.thread, now=now, body=body)
        thread = thread._replace(forgotten_at=now)
    return tombstone(thread)


def purge_index(driver: Driver) -> None:
    """Remove deleted terms from the search index, some pages per transaction: it takes long on a large index, and
    other writers must not wait. If it is interrupted, the next erasure completes it."""
    pages = -PAGES
    while (changed := driver.write(lambda tx: _purge_step(tx, pages))) is not None:  # noqa: B023
        if changed < _NOTHING and pages < 0:
            driver.write(lambda tx: tx.run("tidy_search_at_once"))
            return
        pages = -PAGES if changed < _NOTHING else PAGES


def _purge_step(tx: Tx, pages: int) -> int | None:
    """One step and its number of changes; None if nothing is left to purge."""
    before = tx.one("search_untidy")
    if before is None:
        return None
    tx.run("tidy_search", pages=pages)
    after = tx.one("changes_so_far")
    return int(after[0] - before[0]) if after is not None else 0


def find(tx: Tx, thread_id: str) -> Tombstone:
    """What is left of an erased thread."""
    row = tx.one("thread", id=safe(thread_id))
    if row is None or ThreadRow(*row).forgotten_at is None:
        raise NotFound(f"no thread {thread_id!r} was forgotten")
    return tombstone(ThreadRow(*row))


def tombstone(row: ThreadRow) -> Tombstone:
    """The row of an erased thread as its tombstone."""
    return Tombstone(
        id=unsafe(row.id) or "",
        created_at=iso_time(row.created_at),
        updated_at=iso_time(row.updated_at),
        forgotten_at=iso_time(row.forgotten_at or 0),
        messages=row.messages,
        head_hash=row.head_hash.hex(),
    )
