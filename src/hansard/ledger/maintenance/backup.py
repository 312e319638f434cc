"""Backup: a consistent copy of the ledger in a SQLite file that is a ledger itself.

A SQLite ledger is copied page by page through SQLite's backup API. A ledger on PostgreSQL is copied row by row out of
one snapshot; rows, numbers and hashes stay the same, only the search index is rebuilt. The file gets its name when it
is complete.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

from hansard.atomic_file import name_beside, take_name
from hansard.errors import StorageError
from hansard.ledger.backends.driver import Driver, Row, Tx, statements
from hansard.ledger.backends.sqlite import SqliteDriver

_BATCH = 500
OF_THREADS = ("thread", "segment", "run", "message", "blob_use", "run_chunk", "snapshot", "source", "source_chunk")
OF_ALL = ("workspace", "workspace_snapshot", "workspace_use", "workspace_change")
# rebuilt in the copy
LEFT = {"tenant", "feed", "fed_upto", "search", "thread_fact", "schema_migration", "workspace_window"}
_PAGED = {"message": ("seg", "depth", 500), "source_chunk": ("source", "at", 16)}  # key columns, rows of a page


def backup(driver: Driver, path: str, progress: Callable[[int, int], None] | None) -> None:
    """Write the copy to a file; an existing one is replaced when the copy is complete."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        raise StorageError(f"{path}: is a folder; choose a file in it")
    if isinstance(driver, SqliteDriver) and not driver.memory and os.path.exists(path):
        if os.path.samefile(path, driver.path):
            raise StorageError(f"{path}: is the ledger itself; choose another file")
    beside = name_beside(path)
    try:
        try:
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}; choose a writable path") from None
        if isinstance(driver, SqliteDriver):
            driver.backup(beside, progress)
        else:
            driver.read(lambda tx: _copy(tx, beside, progress))
        take_name(beside, path)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}; the previous file is unchanged; try again") from None
    finally:
        for name in (beside, f"{beside}-wal", f"{beside}-shm", f"{beside}-journal"):
            with suppress(OSError):  # usually missing; a failing disk was reported above
                os.unlink(name)


def _copy(source: Tx, path: str, progress: Callable[[int, int], None] | None) -> None:
    """Copy all rows of a tenant. The job may be run again, so it starts with an empty file."""
    os.truncate(path, 0)
    target = SqliteDriver(path)
    try:
        total, done = source.all("count_messages")[0][0], 0
        for table, rows in all_rows(source):
            target.load(table, columns(table), rows)
            done += len(rows) if table == "message" else 0
            if progress is not None and table == "message":
                progress(done, total)
        target.write(lambda tx: tx.run("feed_everything"))
    finally:
        target.close()


def all_rows(tx: Tx) -> Iterator[tuple[str, list[Row]]]:
    """The rows of a tenant to copy, as (table, some hundred rows): thread by thread, then the rest."""
    last = 0
    while numbers := tx.all("thread_numbers", after=last, limit=_BATCH):
        for (number,) in numbers:
            for table in OF_THREADS:
                for rows in _pages(tx, table, number):
                    yield table, rows
        last = numbers[-1][0]
    for table in OF_ALL:
        yield table, tx.all(f"copy_{table}")
    after = b""
    while rows := tx.all("blobs_after", after=after, limit=64):
        yield "blob", rows
        after = bytes(rows[-1][0])


def _pages(source: Tx, table: str, thread: int) -> Iterator[list[Row]]:
    """The rows of a thread in one table, in pages where there may be many."""
    if table not in _PAGED:
        yield source.all(f"copy_{table}", thread=thread)
        return
    one, two, limit = _PAGED[table]
    first, second = columns(table).index(one), columns(table).index(two)
    last = {one: -1, two: -1}
    while rows := source.all(f"copy_{table}", thread=thread, limit=limit, **last):
        yield rows
        last = {one: rows[-1][first], two: rows[-1][second]}


def columns(table: str) -> list[str]:
    """The columns of a table that are copied, in the order of its statement."""
    text = statements("sqlite")["blobs_after" if table == "blob" else f"copy_{table}"]
    return [name.strip() for name in text.removeprefix("select").split(" from ")[0].split(",")]
