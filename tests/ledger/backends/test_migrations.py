"""The schema: migrations build what is written down, ledgers of all releases open, newer ones are left alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import hansard
from hansard.errors import SchemaTooNew, StorageError
from hansard.ledger.backends.migrations import migrations
from tests.ledger.said import said, transcript
from tests.ledger.schemas import LEDGERS, SQL, postgres_schema, sqlite_schema

WAY_OUT = "python -m tests.ledger.schemas writes it anew"


def test_the_schema_of_sqlite_is_what_the_migrations_build(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    hansard.open(path).close()
    assert (SQL / "sqlite" / "schema.sql").read_text() == sqlite_schema(path), WAY_OUT


def test_the_schema_of_postgresql_is_what_the_migrations_build(database: str) -> None:
    hansard.open(database).close()
    assert (SQL / "postgres" / "schema.sql").read_text() == postgres_schema(database), WAY_OUT


def test_both_have_the_same_migrations() -> None:
    assert [m.number for m in migrations("sqlite")] == [m.number for m in migrations("postgres")]


def test_every_statement_is_used() -> None:
    """By its name, in another statement, or by a name that is put together: `forget_` and a table."""
    sql = "".join(path.read_text() for path in SQL.rglob("*.sql"))
    code = "".join(path.read_text() for path in SQL.parent.parent.rglob("*.py"))

    def used(name: str) -> bool:
        names = {name, name.removesuffix("_of"), re.sub("^(any|copy|forget)_", "", name)}
        return f"{{{name}}}" in sql or any(f'"{one}"' in code for one in names)

    assert [name for name in re.findall(r"^-- name: (\w+)", sql, re.M) if not used(name)] == []


@pytest.mark.parametrize("number", [migration.number for migration in migrations("sqlite")])
def test_a_ledger_of_every_release_opens(number: int, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    shutil.copy(LEDGERS / f"{number:04}.db", path)
    with hansard.open(str(path)) as ledger:
        assert transcript(ledger, "t") == ["milk?", "word 0", "word 1", "word 2", "sugar"]
        assert {run.status for run in ledger.runs("t")} == {"committed", "failed"}
        assert ledger.tombstone("u").messages == 1
        assert ledger.verify() == []
        ledger.append("t", said("stirred"))
        assert [len(ledger.search(word).items) for word in ("sugar", "stirred")] == [1, 1]
        assert ledger.verify() == []


@pytest.mark.parametrize("mode", ["delete", "wal", "unfinished"])
def test_a_newer_ledger_is_refused_and_not_a_byte_is_written(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "ledger.db"
    hansard.open(str(path)).close()
    other = apsw.Connection(str(path))
    other.execute(f"pragma journal_mode = {'delete' if mode == 'delete' else 'wal'}")
    other.execute("insert into schema_migration values (9999, 'later')")
    if mode == "unfinished":  # what a crash leaves: words that are only in the log
        for name in ("ledger.db", "ledger.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"left-{name}")
    other.close()
    if mode == "unfinished":
        for name in ("ledger.db", "ledger.db-wal"):
            shutil.copy(tmp_path / f"left-{name}", tmp_path / name)
    before = {
        name: (tmp_path / name).read_bytes() for name in ("ledger.db", "ledger.db-wal") if (tmp_path / name).exists()
    }
    with pytest.raises(SchemaTooNew, match=r"version 9999.*nothing was changed"):
        hansard.open(str(path))
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_a_newer_ledger_on_a_server_is_refused(database: str) -> None:
    hansard.open(database).close()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("insert into schema_migration values (9999, 'later')")
    with pytest.raises(SchemaTooNew):
        hansard.open(database)


def test_somebody_elses_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = apsw.Connection(str(path))
    other.execute("create table things (name text)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match="not a ledger"):
        hansard.open(str(path))
    assert path.read_bytes() == before


def test_opening_tells_what_it_migrated(url: str) -> None:
    with hansard.open(url) as ledger:
        driver: Any = ledger._driver
        assert driver.migrated == [migration.name for migration in migrations(driver.dialect)]
    if url != ":memory:":
        with hansard.open(url) as ledger:
            assert ledger._driver.migrated == []
