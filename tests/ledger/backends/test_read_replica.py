"""`hansard.open(url, read_url=...)`: reads come from a replica that has one's own writes, else from the primary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import hansard
from hansard.errors import ReadOnlyServer, StorageError
from tests.faults.postgres.server import Postgres
from tests.ledger.said import said, transcript


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Postgres, Postgres]]:
    with Postgres() as primary, primary.standby() as standby:
        with hansard.open(primary.address) as ledger:
            ledger.create_thread("old")
            ledger.append("old", said("words of old"))
            ledger.search("words")
        yield primary, standby


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which server answered each read: the primary, where the ledger falls back to it."""
    from hansard.ledger.backends.postgres import PostgresDriver

    servers: list[str] = []
    snapshot = PostgresDriver._snapshot

    def noted(self: Any, connection: Any, job: Any) -> Any:
        (standby,) = connection.execute("select pg_is_in_recovery()").fetchone()
        servers.append("replica" if standby else "primary")
        return snapshot(self, connection, job)

    monkeypatch.setattr(PostgresDriver, "_snapshot", noted)
    return servers


def test_reads_come_from_the_replica_and_show_ones_own_last_write(
    servers: tuple[Postgres, Postgres], asked: list[str]
) -> None:
    primary, standby = servers
    with hansard.open(primary.address, read_url=standby.address, replica_wait=60) as ledger:
        thread = ledger.create_thread().id
        for i in range(20):
            ledger.append(thread, said(f"number {i}"))
            assert transcript(ledger, thread)[-1] == f"number {i}"
        assert len(ledger.export_conversation(thread).messages) == 20
        assert thread in {one.id for one in ledger.threads().items}
        assert set(asked) == {"replica"}
        assert [hit.thread_id for hit in ledger.search('"number 19"').items] == [thread]
        assert asked[-1] == "replica"


def test_a_replica_that_is_late_or_away_is_replaced_by_the_primary(
    servers: tuple[Postgres, Postgres], asked: list[str]
) -> None:
    primary, standby = servers
    standby.hold("walreceiver", still=True)
    try:
        with hansard.open(primary.address, read_url=standby.address, replica_wait=0.05) as ledger:
            thread = ledger.create_thread().id
            ledger.append(thread, said("not there yet"))
            assert transcript(ledger, thread) == ["not there yet"]
            assert asked == ["primary"]
    finally:
        standby.hold("walreceiver", still=False)
    with hansard.open(primary.address, read_url="postgresql://me@127.0.0.1:1/none", replica_wait=0.05) as ledger:
        assert transcript(ledger, "old") == ["words of old"]
        assert asked[-1] == "primary"


def test_a_standby_alone_can_be_read_and_searched_and_refuses_writes(servers: tuple[Postgres, Postgres]) -> None:
    primary, standby = servers
    with hansard.open(primary.address) as ledger, hansard.open(standby.address) as copy:
        thread = ledger.create_thread().id
        ledger.append(thread, said("words the index does not have"))
        standby.wait_for(f"select count(*)::int from thread where id = '{thread}'", 1)
        assert transcript(copy, "old") == ["words of old"]
        assert "old" in [hit.thread_id for hit in copy.search("words").items]
        assert copy.facts() is not None
        with pytest.raises(ReadOnlyServer, match="is a standby and accepts no writes; open the primary"):
            copy.append("old", said("no"))


def test_a_replica_of_a_file_is_refused() -> None:
    with pytest.raises(StorageError, match=r"read_url is for a ledger on PostgreSQL; ':memory:' is a SQLite file"):
        hansard.open(":memory:", read_url="postgresql://me@127.0.0.1/none")
