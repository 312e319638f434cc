"""Through PgBouncer in transaction mode: one server connection serves transactions of many clients in turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

import hansard
from hansard.cli.ledger.doctor import examine
from tests.ledger.said import said, transcript
from tests.pgbouncer import pgbouncer


@pytest.fixture
def pooled(database: str) -> Iterator[str]:
    with pgbouncer(database) as address:
        yield address


@pytest.fixture
def role(database: str) -> Iterator[str]:
    """A role that row-level security applies to."""
    name = f"r{psycopg.conninfo.conninfo_to_dict(database)['dbname']}"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"create role {name} login".encode())
        connection.execute(f"grant create, usage on schema public to {name}".encode())
    yield name
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"drop owned by {name} cascade".encode())
        connection.execute(f"drop role {name}".encode())


def test_two_tenants_on_one_connection_each_see_their_own(pooled: str) -> None:
    with hansard.open(pooled, tenant="acme") as acme, hansard.open(pooled, tenant="bolt") as bolt:
        acme.create_thread("s1")
        acme.append("s1", said("of acme"))
        bolt.create_thread("s2")
        bolt.append("s2", said("of bolt"))
        assert transcript(acme, "s1") == ["of acme"]
        assert transcript(bolt, "s2") == ["of bolt"]
        assert [thread.id for thread in acme.threads().items] == ["s1"]
        assert [thread.id for thread in bolt.threads().items] == ["s2"]
        assert [hit.thread_id for hit in bolt.search("of").items] == ["s2"]


def test_row_level_security_holds_for_a_client_that_names_no_tenant(database: str, role: str) -> None:
    with pgbouncer(database, roles=(role,)) as pooled:
        pooled = pooled.replace("//postgres@", f"//{role}@")
        with hansard.open(pooled, tenant="acme") as acme:
            acme.create_thread("s1")
            acme.append("s1", said("of acme"))
            assert transcript(acme, "s1") == ["of acme"]
            with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as stranger:
                assert stranger.execute("select count(*) from thread").fetchone() == (0,)
                assert stranger.execute("select current_setting('hansard.tenant', true)").fetchone() == ("",)


def test_many_threads_on_two_connections_write_and_read_without_an_error(database: str) -> None:
    failures: list[BaseException] = []

    def work(ledger: hansard.Ledger, name: str) -> None:
        try:
            thread = ledger.create_thread(name).id
            for i in range(20):
                ledger.append(thread, said(f"{name} {i}"))
                assert transcript(ledger, thread)[-1] == f"{name} {i}"
        except BaseException as error:
            failures.append(error)

    with pgbouncer(database, size=2) as pooled, hansard.open(pooled) as one, hansard.open(pooled) as two:
        workers = [threading.Thread(target=work, args=((one, two)[i % 2], f"t{i}")) for i in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert failures == []
        assert {thread.id for thread in two.threads().items} == {f"t{i}" for i in range(6)}


def test_doctor_recognises_the_pooler_and_says_what_follows(pooled: str, database: str) -> None:
    found = {finding.about: finding for finding in examine(pooled)}
    assert "PgBouncer" in found["pooler"].found
    assert "direct_url" in str(found["pooler"].way_out)
    assert "pooler" not in {finding.about for finding in examine(database)}


def test_migrations_may_run_beside_the_pooler(pooled: str, database: str) -> None:
    with hansard.open(pooled, direct_url=database) as ledger:
        ledger.create_thread("t")
    with hansard.open(database) as ledger:
        assert [thread.id for thread in ledger.threads().items] == ["t"]


def test_no_statement_is_prepared_and_nothing_is_set_for_the_session(database: str) -> None:
    with hansard.open(database, connections=1) as ledger:
        ledger.create_thread("t")
        for i in range(10):
            ledger.append("t", said(str(i)))
        with ledger._driver._pool.connection() as connection:  # type: ignore[attr-defined]
            assert connection.execute("select name from pg_prepared_statements").fetchall() == []
            assert connection.execute("select current_setting('hansard.tenant', true)").fetchone() == ("",)
            assert connection.execute("show statement_timeout").fetchone() == ("0",)
    with hansard.open(database, connections=1, prepared_statements=True) as ledger:
        for i in range(10):
            ledger.append("t", said(str(i)))
        with ledger._driver._pool.connection() as connection:  # type: ignore[attr-defined]
            assert connection.execute("select count(*) > 0 from pg_prepared_statements").fetchone() == (True,)
