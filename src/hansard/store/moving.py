"""A ledger copied into another backend, row by row: the same ids, numbers, bodies and hashes, in an empty ledger.

Everything comes out of one snapshot and goes into one transaction, so there is a whole copy or none. What arrived is
read again and compared with what was sent. Only the search index, and what is derived with it, is made anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from hansard.errors import StorageError
from hansard.store.copying import _BATCH, _OF_ALL, _OF_THREADS, _columns, _pages
from hansard.store.driver import Driver, Row, Tx

Progress = Callable[[int, int], None] | None


def copy(source: Driver, target: Driver, progress: Progress = None) -> int:
    """Copy everything of a tenant into an empty ledger on PostgreSQL; how many messages there were."""
    sent = ""
    messages = 0

    def into(to: Any, tx: Tx) -> None:
        nonlocal sent, messages
        (held,) = to.one("any_thread")
        if held:
            raise StorageError("the other ledger is not empty; name an empty database, or another tenant")
        digest, messages = _Digest(), 0
        total = tx.all("count_messages")[0][0]
        for table, rows in _tables(tx):
            to.load(table, _columns(table), rows)
            digest.add(table, rows)
            messages += len(rows) if table == "message" else 0
            if progress is not None and table == "message":
                progress(messages, total)
        to.run("feed_everything")
        to.all("number_on")
        sent = digest.hexdigest()

    source.read(lambda tx: target.write(lambda to: into(to, tx)))
    if target.read(_digest_of) != sent:
        raise StorageError("what arrived is not what was sent; do not use the copy, `hansard verify` may say why")
    return messages


def _digest_of(tx: Tx) -> str:
    digest = _Digest()
    for table, rows in _tables(tx):
        digest.add(table, rows)
    return digest.hexdigest()


class _Digest:
    """One hash of every row of every table."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, table: str, rows: list[Row]) -> None:
        for row in rows:
            values = [bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else value for value in row]
            self._hash.update(f"{table}{values!r}\n".encode("utf-8", "surrogatepass"))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def _tables(tx: Tx) -> Iterator[tuple[str, list[Row]]]:
    """All rows that are copied, in one order on every backend."""
    last = 0
    while numbers := tx.all("thread_numbers", after=last, limit=_BATCH):
        for (number,) in numbers:
            for table in _OF_THREADS:
                for rows in _pages(tx, table, number):
                    yield table, rows if len(rows) < 2 or table == "message" else sorted(rows, key=repr)
        last = numbers[-1][0]
    for table in _OF_ALL:
        yield table, sorted(tx.all(f"copy_{table}"), key=repr)
    after = b""
    while rows := tx.all("blobs_after", after=after, limit=64):
        yield "blob", rows
        after = bytes(rows[-1][0])
