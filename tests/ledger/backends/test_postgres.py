"""What only a server can do to us: it is away, it was restarted, it answers a child instead of its parent."""

from __future__ import annotations

import os
from typing import Any

import psycopg
import pytest

import hansard
from hansard.errors import ForkedHandle, StorageError
from hansard.ledger.backends.postgres import _sql
from hansard.ledger.rows import find_thread
from tests.ledger.said import said, transcript


def test_a_server_that_is_not_there_is_one_clear_error() -> None:
    with pytest.raises(StorageError, match="does not answer"):
        hansard.open("postgresql://nobody@127.0.0.1:1/none")


def test_a_handle_that_came_through_a_fork_is_refused(database: str) -> None:
    with hansard.open(database) as ledger:
        thread = ledger.create_thread("t").id
        pid = os.fork()
        if pid == 0:
            try:
                ledger.append(thread, said("child"))
            except ForkedHandle:
                ledger.close()
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        ledger.append(thread, said("parent"))
        assert transcript(ledger, "t") == ["parent"]


def test_connections_that_ended_while_nobody_used_them_are_not_tried(database: str) -> None:
    with hansard.open(database, retry_for=0) as ledger:
        ledger.create_thread("t")
        with psycopg.connect(database, autocommit=True) as other:
            other.execute(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
                "where datname = current_database() and pid <> pg_backend_pid()"
            )
        ledger.append("t", said("still here"))
        assert transcript(ledger, "t") == ["still here"]


def test_the_address_may_set_the_limits_of_the_network_itself(database: str) -> None:
    with hansard.open(f"{database}&connect_timeout=3&keepalives_count=9", network_timeout=5) as ledger:
        told = ledger._driver._pool.kwargs  # type: ignore[attr-defined]
        told = {name: value for name, value in told.items() if name not in ("autocommit", "prepare_threshold")}
        assert sorted(told) == ["keepalives_idle", "keepalives_interval", "tcp_user_timeout"]
        assert told["tcp_user_timeout"] == 5000


def test_a_place_is_found_by_the_index_of_places_before_the_server_has_looked_at_the_table(database: str) -> None:
    with hansard.open(database) as ledger:
        thread = ledger.create_thread("t").id
        ledger.append(thread, [said(str(i)) for i in range(1000)])

        def plan(tx: Any) -> str:
            values = {"tenant": tx._tenant, "thread": find_thread(tx, thread).thread, "seg": 0, "depth": 900}
            return str(tx._connection.execute(b"explain " + _sql()["id_at_place"], values).fetchall())

        assert "depth >=" in ledger._driver.read(plan).partition("Index Cond")[2].partition("Filter")[0]
