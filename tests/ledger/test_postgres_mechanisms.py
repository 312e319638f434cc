"""What the fault tests of PostgreSQL (`make prove`) rely on, one deterministic test for each mechanism.

The server is real. Another session is put in the way on purpose; nothing here waits for a race.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors

import hansard
from hansard import Ledger
from hansard.errors import StorageError
from hansard.ledger.backends import connection_watchdog
from hansard.ledger.backends.connection_watchdog import ConnectionWatchdog
from hansard.ledger.backends.postgres import _MIGRATING
from hansard.ledger.rows import find_run, find_thread
from tests.ledger.said import said, transcript
from tests.waiting import wait_until, wait_until_async

_WAITS = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
_THREAD = "select 1 from thread where id = 't' for update"
_RUN = "select 1 from run where id = 'r' for update"
_END_ALL = (
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
    "where datname = current_database() and pid <> pg_backend_pid()"
)


@pytest.fixture
def ours(database: str) -> Iterator[Ledger]:
    """A ledger with the thread `t` and the run `r`, whose limits are far away."""
    with hansard.open(database, lock_timeout=60, retry_for=60) as ledger:
        ledger.create_thread("t")
        ledger.append("t", said("first", id="first"))
        ledger.begin_run("t", id="r").release()
        yield ledger


@pytest.fixture
def other(database: str, ours: Ledger) -> Iterator[psycopg.Connection[Any]]:
    """Another session of the same database."""
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


def waiting(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(_WAITS).fetchone()
    assert row is not None
    return int(row[0])


# -- durability: what is acknowledged is in the log --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_that_would_lose_words_in_a_power_loss_is_refused(database: str, postgres: str, name: str) -> None:
    """Both are settings of the whole server, which somebody once turned off for a bulk load."""
    with psycopg.connect(postgres, autocommit=True) as connection:

        def set_to(value: str) -> None:
            connection.execute(f"alter system set {name} = {value}".encode())
            connection.execute("select pg_reload_conf()")
            wait_until(lambda: connection.execute(f"show {name}".encode()).fetchone() == (value,), name)

        set_to("off")
        try:
            with pytest.raises(StorageError, match=f"{name}=off"):
                hansard.open(database)
            hansard.open(database, durability="relaxed").close()
        finally:
            set_to("on")
    hansard.open(database).close()


@pytest.mark.parametrize(("durability", "expected"), [("full", "remote_apply"), ("relaxed", "off")])
def test_an_acknowledgement_means_what_the_server_is_set_to(database: str, durability: str, expected: str) -> None:
    """A server that waits for its standby: our connections do not ask for less."""
    address = f"{database}&options=-c%20synchronous_commit%3Dremote_apply"
    with hansard.open(address, durability=durability) as ledger:

        def job(tx: Any) -> str:
            return str(tx._connection.execute("show synchronous_commit").fetchone()[0])

        assert ledger._driver.write(job) == expected


# -- row locks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["thread", "run"])
def test_a_row_that_is_read_to_be_written_is_locked(ours: Ledger, other: Any, what: str) -> None:
    """`for update`: else two commits both find the head where it was, and a heartbeat that renews a run's lease between
    our read and our write is written over, so that a live run is taken for dead."""

    def job(tx: Any) -> None:
        thread = find_thread(tx, "t", lock=what == "thread")
        if what == "run":
            find_run(tx, thread, "r", lock=True)
        with pytest.raises(errors.LockNotAvailable):
            other.execute(f"{_THREAD if what == 'thread' else _RUN} nowait")

    ours._driver.write(job)
    assert other.execute(f"{_THREAD} nowait").fetchone() == (1,)


def test_a_writer_waits_for_the_one_before_it_and_goes_behind_its_words(ours: Ledger, other: Any) -> None:
    """Appends of two processes: neither overwrites the other's place."""
    writer = threading.Thread(target=lambda: ours.append("t", [said("second"), said("third")]))
    with other.transaction():
        other.execute(_THREAD)
        writer.start()
        with psycopg.connect(other.info.dsn, autocommit=True) as third:
            wait_until(lambda: waiting(third), "the append waits for the thread")
            assert transcript(ours, "t") == ["first"]
    writer.join(60)
    assert transcript(ours, "t") == ["first", "second", "third"]


def test_a_lock_that_is_held_for_too_long_is_one_clear_error_and_nothing_is_half(database: str, other: Any) -> None:
    with hansard.open(database, lock_timeout=0.05, retry_for=0) as hurried:
        with other.transaction():
            other.execute("lock table feed in exclusive mode")  # met when the words are already written
            with pytest.raises(StorageError, match="waited too long for another writer"):
                hurried.append("t", [said("second", id="2"), said("third", id="3")])
        assert [node.id for node in hurried.tree("t")] == ["first"]
        hurried.append("t", [said("second", id="2"), said("third", id="3")])
        assert transcript(hurried, "t") == ["first", "second", "third"]


def test_the_limits_are_set_on_every_connection(database: str) -> None:
    """A connection without them would wait for ever, or hold its locks for ever when its process hangs."""
    with hansard.open(database, statement_timeout=7, lock_timeout=3, network_timeout=2) as ledger:
        driver: Any = ledger._driver
        names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "hansard.tenant")

        def settings() -> list[str]:
            return driver.write(lambda tx: [tx._connection.execute(f"show {name}").fetchone()[0] for name in names])

        expected = ["7s", "3s", "7s", str(driver.tenant)]
        assert settings() == expected
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(_END_ALL)
        assert settings() == expected, "on the connections that replace lost ones"
        assert driver._watchdog.limit == 9


# -- trying again ------------------------------------------------------------------------------------------------------


def test_a_deadlock_is_tried_again(database: str, ours: Ledger) -> None:
    """Somebody's maintenance script locks rows in the other order: neither it nor we see an error."""
    address = f"{database}&options=-c%20deadlock_timeout%3D1ms"
    tries: list[int] = []
    with hansard.open(address, retry_for=60) as hasty, psycopg.connect(database) as script:
        script.execute("set deadlock_timeout = '60s'")
        script.execute(_RUN)
        crossing = threading.Thread(target=lambda: script.execute(_THREAD))

        def job(tx: Any) -> str:
            tries.append(len(tries))
            thread = find_thread(tx, "t", lock=True)
            if len(tries) == 1:
                crossing.start()
                with psycopg.connect(database, autocommit=True) as third:
                    wait_until(lambda: waiting(third), "the script waits for the thread")
            return find_run(tx, thread, "r", lock=True).status

        release = threading.Thread(target=lambda: (crossing.join(60), script.rollback()))
        answer: list[str] = []
        writer = threading.Thread(target=lambda: answer.append(hasty._driver.write(job)))
        writer.start()
        wait_until(lambda: crossing.ident is not None, "the script")
        release.start()
        writer.join(60)
        release.join(60)
    assert answer == ["active"]
    assert len(tries) > 1


def test_a_serialization_failure_is_tried_again(database: str, ours: Ledger) -> None:
    """A server that is set to serializable refuses who read what another has changed since."""
    tries: list[int] = []
    address = f"{database}&options=-c%20default_transaction_isolation%3Dserializable"
    with hansard.open(address, retry_for=60) as strict:

        def job(tx: Any) -> int:
            tries.append(find_thread(tx, "t").messages)
            if len(tries) == 1:
                ours.append("t", said("meanwhile"))
            return find_thread(tx, "t", lock=True).messages

        assert strict._driver.write(job) == 2
    assert tries == [1, 2]


def test_a_connection_that_is_lost_in_the_middle_of_a_call_is_replaced_and_the_call_done_once(ours: Ledger) -> None:
    """A server that restarts, or a failover: the caller sees no error and finds each message once."""
    tries: list[int] = []
    driver: Any = ours._driver
    real = driver._transaction

    def cut(connection: Any, job: Callable[[Any], Any]) -> Any:
        def cut_in_the_middle(tx: Any) -> Any:
            found = job(tx)
            tries.append(1)
            if len(tries) == 1:
                connection_watchdog.hang_up(connection)
            return found

        return real(connection, cut_in_the_middle)

    driver._transaction = cut
    ours.append("t", [said("second", id="2"), said("third", id="3")])
    del driver._transaction
    assert len(tries) == 2
    assert [node.id for node in ours.tree("t")] == ["first", "2", "3"]


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("append", lambda ledger: ledger.append("t", said("2", id="2")), ["first", "2"]),
        ("append several", lambda ledger: ledger.append("t", [said("2"), said("3")]), ["first", "2", "3"]),
        ("append at", lambda ledger: ledger.append("t", said("2"), expected_head="first"), ["first", "2"]),
        ("append behind", lambda ledger: ledger.append("t", said("2"), parent="first"), ["first", "2"]),
        ("begin", lambda ledger: ledger.begin_run("t", id="new").release(), ["first"]),
        ("stage", lambda ledger: ledger.stage("t", "r", said("2", id="2")), ["first"]),
        ("commit", lambda ledger: ledger.commit("t", "r"), ["first"]),
        ("abort", lambda ledger: ledger.abort("t", "r"), ["first"]),
        ("checkout", lambda ledger: ledger.checkout("t", "first"), ["first"]),
    ],
)
def test_a_call_whose_answer_was_lost_after_its_commit_is_done_once(
    ours: Ledger, name: str, call: Callable[[Ledger], object], expected: list[str]
) -> None:
    """The connection breaks between COMMIT and its answer: the call is run again, and finds what it wrote."""
    driver: Any = ours._driver
    real, lost = driver._retry, []

    def again(action: Callable[[Any], Any]) -> Any:
        def answered_late(connection: Any) -> Any:
            found = action(connection)
            if not lost:
                lost.append(name)
                connection_watchdog.hang_up(connection)
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return found

        return real(answered_late)

    driver._retry = again
    call(ours)
    del driver._retry
    assert lost == [name]
    assert transcript(ours, "t") == expected
    assert len(ours.tree("t")) == len(expected) + (name == "stage")
    assert [run.id for run in ours.runs("t")] == (["r", "new"] if name == "begin" else ["r"])
    assert ours.verify() == []


# -- silence -----------------------------------------------------------------------------------------------------------


def test_a_connection_on_which_nothing_is_heard_is_hung_up_and_others_are_not() -> None:
    """A server that hangs while its kernel still answers: TCP never notices, and the caller would wait for ever."""
    watched, far = socket.socketpair()
    answered, other_far = socket.socketpair()
    with watched, far, answered, other_far:
        listener = ConnectionWatchdog(0.01)
        listener._since[answered] = time.monotonic() + 3600  # however slow this is
        listener.answered(answered)
        listener.sent(watched)
        watched.settimeout(60)
        assert watched.recv(1) == b""
        other_far.send(b"x")
        assert answered.recv(1) == b"x"
        assert listener._since == {}
        listener.stop()


def test_every_statement_is_listened_for_until_it_is_answered(ours: Ledger) -> None:
    """The driver tells the watchdog of each call, and takes it back: else it watches nothing, or hangs up on idle
    connections."""
    driver: Any = ours._driver
    for call in (driver.read, driver.write):
        watched = call(lambda tx: (tx.one("thread", id="t"), tx._connection in driver._watchdog._since))
        assert watched[1]
    wait_until(lambda: not driver._watchdog._since, "no call is under way")


def test_who_waits_on_a_silent_connection_is_woken_and_the_call_done(database: str) -> None:
    """The watchdog hangs up under a call that hears nothing: it is tried again on another connection."""
    with hansard.open(database, statement_timeout=20, retry_for=60) as ledger:
        ledger.create_thread("t")
        driver: Any = ledger._driver
        driver._watchdog.stop()
        driver._watchdog = ConnectionWatchdog(0.3)
        heard: list[BaseException] = []

        def job(tx: Any) -> str:
            if not heard:
                try:
                    tx._connection.execute("select pg_sleep(20)")
                except psycopg.OperationalError as error:
                    heard.append(error)
                    raise
            return find_thread(tx, "t").id

        assert driver.write(job) == "t"
        assert [error.sqlstate for error in heard] == [None], "no answer of the server's, but a connection that ended"


# -- cancelling --------------------------------------------------------------------------------------------------------


def test_a_cancelled_call_is_done_whole_and_leaves_no_transaction_open(ours: Ledger, other: Any) -> None:
    """`ledger.aio`: cancelling stops the waiting; a transaction left open would lock the thread for everybody."""

    async def main() -> None:
        with other.transaction():
            other.execute(_THREAD)
            with psycopg.connect(other.info.dsn, autocommit=True) as third:
                task = asyncio.create_task(ours.aio.append("t", [said("second"), said("third")]))
                await wait_until_async(lambda: waiting(third), "the append waits for the thread")
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
        await ours.aio.append("t", said("fourth"))
        await wait_until_async(lambda: len(transcript(ours, "t")) == 4, "the cancelled call")
        assert transcript(ours, "t")[0] == "first"

    asyncio.run(main())
    open_now = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in%'"
    wait_until(lambda: other.execute(open_now).fetchone() == (0,), "no transaction is left open")


# -- opening -----------------------------------------------------------------------------------------------------------


def test_one_at_a_time_makes_the_tables(database: str) -> None:
    """Processes that start together on an empty database: the second waits, and finds the tables made."""
    opened: list[Ledger] = []
    openers = [threading.Thread(target=lambda: opened.append(hansard.open(database))) for _ in range(2)]
    with psycopg.connect(database, autocommit=True) as other, other.transaction():
        other.execute("select pg_advisory_xact_lock(%s)", (_MIGRATING,))
        for opener in openers:
            opener.start()
        with psycopg.connect(database, autocommit=True) as third:
            wait_until(lambda: waiting(third) == 2, "both wait for the lock")
            assert third.execute("select to_regclass('thread')").fetchone() == (None,)
    for opener in openers:
        opener.join(60)
    made = sorted(len(ledger._driver.migrated) for ledger in opened)
    assert made[0] == 0
    assert made[1] > 0
    for ledger in opened:
        ledger.create_thread()
        ledger.close()


# -- standbys ----------------------------------------------------------------------------------------------------------


def test_an_address_with_several_servers_finds_the_one_that_takes_writes(database: str) -> None:
    """After a failover the same address leads to the new primary: the first server is gone, the second takes over."""
    told = psycopg.conninfo.conninfo_to_dict(database)
    host, port = told.get("host"), told.get("port", "5432")
    where = f"host=127.0.0.1,{host}&port=1,{port}&user={told['user']}&target_session_attrs=read-write"
    with hansard.open(f"postgresql:///{told['dbname']}?{where}") as ledger:
        ledger.create_thread("t")
        ledger.append("t", said("moved"))
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(_END_ALL)
        ledger.append("t", said("over"))
        assert transcript(ledger, "t") == ["moved", "over"]


def test_a_server_that_takes_no_writes_can_be_read_and_says_so(database: str, ours: Ledger) -> None:
    """A standby: opening it writes nothing, reading works, a write is one clear error."""
    with hansard.open(f"{database}&options=-c%20default_transaction_read_only%3Don", retry_for=0) as standby:
        assert transcript(standby, "t") == ["first"]
        with pytest.raises(StorageError, match="accepts no writes"):
            standby.append("t", said("no"))
    assert transcript(ours, "t") == ["first"]
