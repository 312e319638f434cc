"""A ledger copied into another backend, row by row: the same ids, numbers, bodies and hashes, in an empty ledger.

Everything comes out of one snapshot and goes into one transaction, so there is a whole copy or none. What arrived is
read again and compared with what was sent. Only the search index, and what is derived with it, is made anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from hansard.errors import StorageError
from hansard.ledger.backends.driver import Driver, Row, Tx
from hansard.ledger.maintenance.backup import columns, everything

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
        for table, rows in everything(tx):
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
        raise StorageError("what arrived is not what was sent; do not use the copy, `hansard verify` may say why")
    return messages


def _digest_of(tx: Tx) -> str:
    digest = _Digest()
    for table, rows in everything(tx):
        digest.add(table, rows)
    return digest.hexdigest()


class _Digest:
    """One hash of every row of every table."""

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
