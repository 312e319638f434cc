"""The schema of a SQLite ledger: recognised before a byte is written, brought up to date in one transaction."""

from __future__ import annotations

import os
from typing import Any

import apsw

from hansard.errors import StorageError
from hansard.ledger.backends.migrations import missing

APPLICATION_ID = 0x48616E73  # "Hans"
_WAIT = 30_000


def recognise(path: str, vfs: str | None = None) -> None:
    """Refuse what is no ledger, or one of a newer release; the file is only read."""
    if not os.path.getsize(path):
        return
    try:
        _look(path, apsw.SQLITE_OPEN_READONLY, vfs)
    except apsw.ReadOnlyError:  # somebody died while making it: what was begun has to be rolled back before a look
        _look(path, apsw.SQLITE_OPEN_READWRITE, vfs)


def _look(path: str, flags: int, vfs: str | None) -> None:
    connection = apsw.Connection(path, flags=flags, vfs=vfs)
    try:
        connection.set_busy_timeout(_WAIT)
        missing("sqlite", applied(connection, path), path)
    finally:
        connection.close()


def migrate(connection: apsw.Connection, path: str) -> list[str]:
    """Apply what is missing; the names of what was."""
    if not missing("sqlite", applied(connection, path), path):
        return []
    connection.execute("begin immediate")
    try:
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        connection.execute(
            "create table if not exists schema_migration (number integer primary key, checksum text not null)"
        )
        done = missing("sqlite", applied(connection, path), path)  # somebody may have been quicker
        for migration in done:
            connection.execute(migration.text)
            connection.execute("insert into schema_migration values (?, ?)", (migration.number, migration.checksum))
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
    return [migration.name for migration in done]


def applied(connection: apsw.Connection, path: str) -> list[tuple[int, str]]:
    """The numbers and checksums of the migrations a file has had."""
    names = {name for (name,) in connection.execute("select name from sqlite_schema").fetchall()}
    mark: Any = connection.pragma("application_id")
    if names and mark != APPLICATION_ID:
        raise StorageError(f"{path}: is a SQLite file, but not a ledger; name another one")
    if "schema_migration" not in names:
        return []
    rows: list[Any] = connection.execute("select number, checksum from schema_migration").fetchall()
    return rows
