"""Copy a ledger to another backend, row by row: the same ids, numbers, bodies and hashes, in an empty ledger.

One snapshot is copied in one transaction, so the copy is complete or absent. The copied rows are read again and
compared with the source. Only the search index and the facets are rebuilt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from hansard.errors import StorageError
from hansard.ledger.backends.driver import Driver, Row, Tx
from hansard.ledger.maintenance.backup import all_rows, columns

Progress = Callable[[int, int], None] | None


def copy(source: Driver, target: Driver, progress: Progress = None) -> int:
    """Copy a tenant to an empty ledger on PostgreSQL; the number of messages."""
    sent = ""
    messages = 0

    def into(to: Any, tx: Tx) -> None:
        nonlocal sent, messages
        (held,) = to.one("any_thread")
        if held:
            raise StorageError("the target ledger is not empty; choose an empty database or another tenant")
        digest, messages = _Digest(), 0
        total = tx.all("count_messages")[0][0]
        for table, rows in all_rows(tx):
            to.load(table, columns(table), rows)
            digest.add(table, rows)
            messages += len(rows) if table == "message" else 0
            if progress is not None and table == "message":
                progress(messages, total)
        to.run("feed_everything")
        to.all("number_on")
        sent = digest.hexdigest()

    source.read(lambda tx: target.write(lambda to: into(to, tx)))
    if target.read(_digest_of) != sent:
        raise StorageError("the copied rows differ from the source; do not use the copy, `hansard verify` may show why")
    return messages


def _digest_of(tx: Tx) -> str:
    digest = _Digest()
    for table, rows in all_rows(tx):
        digest.add(table, rows)
    return digest.hexdigest()


class _Digest:
    """One hash over all rows of all tables."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, table: str, rows: list[Row]) -> None:
        listed = [[_plain(value) for value in row] for row in rows]
        if table != "message":
            listed.sort(key=repr)  # in one order on every backend
        for values in listed:
            self._hash.update(f"{table}{values!r}\n".encode("utf-8", "surrogatepass"))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else value
