"""Tenants share a database and see nothing of each other, not even that the other is there."""

from __future__ import annotations

import psycopg
import pytest

import hansard
from hansard.errors import NotFound, StorageError
from tests.ledger.said import said, transcript


@pytest.mark.opened_twice
def test_two_tenants_have_threads_of_the_same_id(url: str) -> None:
    with hansard.open(url, tenant="a") as a, hansard.open(url, tenant="b") as b:
        a.create_thread("t")
        a.append("t", said("a's", id="m"))
        with pytest.raises(NotFound) as foreign:
            b.transcript("t")
        with pytest.raises(NotFound) as missing:
            a.transcript("u")
        assert str(foreign.value) == str(missing.value).replace("'u'", "'t'")
        b.create_thread("t")
        b.append("t", said("b's", id="m"))
        assert (transcript(a, "t"), transcript(b, "t")) == (["a's"], ["b's"])
        assert len(a.threads().items) == len(b.threads().items) == 1


def test_row_level_security_holds_for_a_role_that_is_no_superuser(database: str) -> None:
    with hansard.open(database, tenant="a") as a, hansard.open(database, tenant="b") as b:
        a.append(a.create_thread("t").id, said("a's secret"))
        number = b._driver.tenant
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("create role plain login")
            connection.execute("grant select, insert on all tables in schema public to plain")
            connection.execute("grant usage on all sequences in schema public to plain")
            connection.execute("set role plain")
            for table in ("thread", "message", "feed", "run", "blob", "segment"):
                assert connection.execute(f"select count(*) from {table}".encode()).fetchone() == (0,)
            connection.execute("select set_config('hansard.tenant', %s, false)", (str(number),))
            assert connection.execute("select count(*) from message").fetchone() == (0,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(
                    "insert into segment (tenant, thread, seg, parent_seg, fork_depth) values (%s, 1, 1, 0, 0)",
                    (a._driver.tenant,),
                )
            connection.execute("select set_config('hansard.tenant', %s, false)", (str(a._driver.tenant),))
            assert connection.execute("select count(*) from message").fetchone() == (1,)
            connection.execute("reset role")
            connection.execute("drop owned by plain")
            connection.execute("drop role plain")


def test_a_server_that_would_lose_acknowledged_words_is_refused(database: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"alter database {name} set synchronous_commit = off".encode())
    with pytest.raises(StorageError, match="synchronous_commit"):
        hansard.open(database)
    with hansard.open(database, durability="relaxed") as ledger:
        ledger.create_thread()


def test_a_thread_stays_in_one_partition(database: str) -> None:
    with hansard.open(database) as ledger:
        thread = ledger.create_thread()
        ledger.append(thread.id, [said(str(i)) for i in range(10)])
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("select set_config('hansard.tenant', %s, false)", (str(ledger._driver.tenant),))
            plan = connection.execute(
                "explain select body from message where tenant = 1 and thread = 1 and seg = 0 and depth > 0"
            ).fetchall()
        assert sum("message_" in line for (line,) in plan) <= 2
        assert "Append" not in str(plan)


def test_of_two_processes_that_are_the_first_of_a_tenant_both_have_it(ledger: hansard.Ledger) -> None:
    """Each looks, finds none and adds it: the second adds nothing and reads the number of the first."""
    for _ in range(2):
        ledger._write(lambda tx: tx.run("add_tenant", name="new"))
    with pytest.raises(NotFound):
        ledger.transcript("none")
