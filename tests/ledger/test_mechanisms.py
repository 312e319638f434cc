"""One deterministic test for each mechanism that the fault tests (`make prove`) rely on: syncs, locks, fences, retries.

The fault tests show that nothing is lost when processes die, race or lose power. These show in milliseconds that the
mechanism behind it is there: no test here waits for a race or for time to pass.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import hansard
from hansard import Ledger
from hansard.errors import Conflict, StorageError
from hansard.ledger import ids, runs
from hansard.ledger.backends import sqlite
from hansard.ledger.backends.group_commit import QueuedJob
from hansard.ledger.backends.migrations import migrations
from hansard.ledger.ids import clock
from hansard.ledger.live import interrupt, tail
from hansard.ledger.rows import find_run, find_thread
from hansard.model import TextPart
from hansard.streams.deltas import PartDelta, PartStart
from tests.faults.disk_layer import Call, Layer
from tests.ledger.said import said, transcript, words
from tests.waiting import wait_until, wait_until_async

OLDEST = Path(__file__).parent.parent / "golden/ledgers/0001.db"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db")


def acknowledged_calls(ledger: Ledger) -> dict[str, Callable[[], object]]:
    """The calls that write, in an order in which each is possible."""
    run = ledger.begin_run(ledger.create_thread("other").id)
    delta = PartStart(key="a", part=TextPart(text="one"))
    return {
        "create_thread": lambda: ledger.create_thread("t"),
        "append": lambda: ledger.append("t", said("one")),
        "append to the head that is known": lambda: ledger.append("t", said("two")),
        "append several": lambda: ledger.append("t", [said("three"), said("four")]),
        "write deltas": lambda: (run.write([delta]), run.flush()),
        "stage": lambda: run.stage(said("answer", "assistant")),
        "commit": run.commit,
        "checkout": lambda: ledger.checkout("t", ledger.transcript("t")[0].id),
    }


# -- power loss and kill -9: durable before it is acknowledged ---------------------------------------------------------


def test_every_call_syncs_the_log_after_its_last_write_to_it(tmp_path: Path) -> None:
    """Without it a power loss takes back what was acknowledged."""
    calls: list[Call] = []
    with Layer(tmp_path, after=calls.append), hansard.open(str(tmp_path / "ledger.db")) as ledger:
        for name, call in acknowledged_calls(ledger).items():
            calls.clear()
            call()
            kinds = [one.kind for one in list(calls) if one.path.endswith("-wal")]
            assert "write" in kinds, name
            assert kinds[-1] == "sync", name


def test_relaxed_durability_does_not_sync_the_log_for_each_call(tmp_path: Path) -> None:
    """The control of the test above: `durability="relaxed"` saves exactly these syncs."""
    calls: list[Call] = []
    path = str(tmp_path / "ledger.db")
    with Layer(tmp_path, after=calls.append), hansard.open(path, durability="relaxed") as ledger:
        ledger.create_thread("t")
        calls.clear()
        ledger.append("t", said("one"))
        assert {one.kind for one in calls if one.path.endswith("-wal")} == {"write"}


@pytest.mark.parametrize(("durability", "synchronous"), [("full", 2), ("relaxed", 1)])
def test_every_connection_has_the_settings_that_make_it_durable(path: str, durability: str, synchronous: int) -> None:
    """Readers too: any connection may be the one that copies the log into the file."""
    with hansard.open(path, durability=durability) as ledger:
        driver: Any = ledger._driver
        ledger.threads()
        for connection in (driver._writer, *driver._readers):
            found = {name: connection.pragma(name) for name in ("journal_mode", "synchronous", "secure_delete")}
            assert found == {"journal_mode": "wal", "synchronous": synchronous, "secure_delete": 1}
            assert connection.pragma("busy_timeout") == 30_000
        assert driver._readers


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_a_sqlite_that_does_not_sync_is_refused(monkeypatch: pytest.MonkeyPatch, path: str, durability: str) -> None:
    """A connection hook of the host program turned syncs off: the ledger would promise what it cannot keep."""

    def never_syncs(connection: apsw.Connection) -> None:
        connection.execute("pragma synchronous = off")
        connection.authorizer = lambda operation, name, value, *_: (
            apsw.SQLITE_IGNORE
            if operation == apsw.SQLITE_PRAGMA and name == "synchronous" and value is not None
            else apsw.SQLITE_OK
        )

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, never_syncs])
    with pytest.raises(StorageError, match="ignores the synchronous setting"):
        hansard.open(path, durability=durability)


def test_what_a_call_has_acknowledged_every_other_process_reads(ledger: Ledger, reopened: Callable[[], Ledger]) -> None:
    """Acknowledged means committed: a `kill -9` right after the call loses nothing."""
    with reopened() as other:
        states: list[Any] = []
        for name, call in acknowledged_calls(ledger).items():
            call()
            state = (
                [(thread.id, thread.head, thread.updated_at) for thread in other.threads().items],
                [words(other.transcript(thread.id)) for thread in other.threads().items],
                [run.status for run in other.runs("other")],
                [words(other.run_messages("other", run.id)) for run in other.runs("other")],
                [one.seq for run in other.runs("other") for one in _journal(other, run.id)],
            )
            assert state not in states, name
            states.append(state)


def _journal(ledger: Ledger, run_id: str) -> list[tail.NumberedDelta]:
    return ledger._driver.read(lambda tx: tail.deltas_after(tx, "other", run_id, 0))[0]


def test_a_backup_is_synced_before_it_takes_its_name_and_the_name_after(tmp_path: Path) -> None:
    """Else a power loss leaves an empty file where the older backup was."""
    calls: list[Call] = []
    target = str(tmp_path / "copy.db")
    with Layer(tmp_path, after=calls.append), hansard.open(str(tmp_path / "ledger.db")) as ledger:
        ledger.create_thread("t")
        calls.clear()
        ledger.backup(target)
    named = next(number for number, call in enumerate(calls) if call.kind == "rename" and call.to == target)
    copy = [call.kind for call in calls[:named] if call.path == calls[named].path]
    assert "write" in copy
    assert copy[-1] == "sync"
    assert Call("sync", str(tmp_path)) in calls[named:]


# -- races: locks, snapshots, fences -----------------------------------------------------------------------------------


def test_a_read_is_one_snapshot(ledger: Ledger, reopened: Callable[[], Ledger]) -> None:
    """Else a page has its thread from before and its messages from after somebody else's commit."""
    ledger.create_thread("t")
    ledger.append("t", said("before", id="before"))
    with reopened() as other:

        def job(tx: Any) -> list[int]:
            counts = [find_thread(tx, "t").messages]
            other.append("t", said("meanwhile"))
            return [*counts, find_thread(tx, "t").messages, len(tx.all("all_messages", thread=1))]

        assert ledger._driver.read(job) == [1, 1, 1]
        assert transcript(ledger, "t") == ["before", "meanwhile"]


def test_a_write_locks_the_file_before_its_job_reads(path: str) -> None:
    """A transaction that read first and locked later would fail, or write over what others wrote meanwhile."""
    with hansard.open(path) as ledger:
        other = apsw.Connection(path)

        def job(tx: Any) -> None:
            with pytest.raises(apsw.BusyError):
                other.execute("begin immediate")

        ledger._driver.write(job)
        other.execute("begin immediate")
        other.close()


def test_a_write_waits_for_a_writer_in_another_process(path: str) -> None:
    """Two processes that write at once both succeed."""
    with hansard.open(path) as ledger:
        ledger.create_thread("t")
        driver: Any = ledger._driver
        other = apsw.Connection(path)
        other.execute("begin immediate")
        writer = threading.Thread(target=lambda: ledger.append("t", said("waited")))
        writer.start()
        wait_until(lambda: driver._lock.locked() or not writer.is_alive(), "the writer that waits")
        assert transcript(ledger, "t") == []
        assert writer.is_alive()
        other.execute("commit")
        other.close()
        writer.join(60)
        assert transcript(ledger, "t") == ["waited"]


@pytest.mark.parametrize("backend", ["file", "memory"])
def test_one_thread_at_a_time_is_in_a_transaction(tmp_path: Path, backend: str) -> None:
    """Threads share the connection that writes: two at once in it would commit, or undo, each other's work."""
    with hansard.open(":memory:" if backend == "memory" else str(tmp_path / "ledger.db")) as ledger:
        driver: Any = ledger._driver
        order: list[str] = []
        inside, go_on = threading.Event(), threading.Event()
        errors: list[BaseException] = []

        def first(tx: Any) -> None:
            inside.set()
            go_on.wait(60)
            order.append("first")

        def write(job: Callable[[Any], None]) -> None:
            try:
                driver.write(job)
            except BaseException as error:
                errors.append(error)

        one = threading.Thread(target=write, args=(first,))
        one.start()
        assert inside.wait(60)
        two = threading.Thread(target=write, args=(lambda tx: order.append("second"),))
        two.start()
        wait_until(lambda: driver._jobs._queue or not two.is_alive(), "the second thread")
        assert order == []
        assert not driver._lock.acquire(blocking=False)
        go_on.set()
        one.join(60)
        two.join(60)
        assert (errors, order) == ([], ["first", "second"])


def test_a_job_that_fails_leaves_nothing_of_itself(ledger: Ledger) -> None:
    """An append of two messages of which the second is refused: the first would be half of a call."""
    ledger.create_thread("t")
    ledger.append("t", said("one", id="1"))
    with pytest.raises(Conflict):
        ledger.append("t", [said("two", id="2"), said("other", id="1")])
    assert [node.id for node in ledger.tree("t")] == ["1"]
    ledger.append("t", said("three", id="3"))
    assert transcript(ledger, "t") == ["one", "three"]


def test_reads_see_what_another_process_has_just_written(ledger: Ledger, reopened: Callable[[], Ledger]) -> None:
    """Nothing is answered from memory: not the transcript, and not the head that appends remember."""
    with reopened() as other:
        ledger.create_thread("t")
        for number in range(3):
            ledger.append("t", said(f"here {number}"))
            other.append("t", said(f"there {number}"))
            assert transcript(ledger, "t")[-2:] == [f"here {number}", f"there {number}"]


def test_of_two_that_name_the_same_head_the_second_is_refused(ledger: Ledger, reopened: Callable[[], Ledger]) -> None:
    """Else the second goes behind words that its author has not read."""
    ledger.create_thread("t")
    ledger.append("t", said("one", id="1"))
    with reopened() as other:
        other.append("t", said("theirs", id="theirs"), expected_head="1")
        with pytest.raises(Conflict) as refused:
            ledger.append("t", said("ours"), expected_head="1")
    assert (refused.value.expected, refused.value.found) == ("1", "theirs")
    assert transcript(ledger, "t") == ["one", "theirs"]


def test_who_appends_nothing_at_a_head_that_moved_is_told_too(ledger: Ledger) -> None:
    """As a check whether there are new messages."""
    ledger.create_thread("t")
    ledger.append("t", said("one", id="1"))
    ledger.append("t", [], expected_head="1")
    with pytest.raises(Conflict, match="read the new messages"):
        ledger.append("t", [], expected_head="0")


def test_of_two_runs_from_one_head_the_second_commit_is_refused_and_a_forced_one_supersedes(
    ledger: Ledger, reopened: Callable[[], Ledger]
) -> None:
    """One answer stands, and who lost is told."""
    ledger.create_thread("t")
    with reopened() as other:
        one, two = ledger.begin_run("t"), other.begin_run("t")
        one.stage(said("one", "assistant"))
        two.stage(said("two", "assistant"))
        one.commit()
        with pytest.raises(Conflict):
            two.commit()
        assert transcript(ledger, "t") == ["one"]
        other.commit("t", two.id, force=True)
    assert transcript(ledger, "t") == ["two"]
    assert {run.id: run.status for run in ledger.runs("t")} == {one.id: "superseded", two.id: "committed"}


def test_the_database_itself_refuses_a_second_committed_run_at_one_fork_point(
    monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> None:
    """The unique index behind the rule: a release with a mistake in it cannot leave two answers in one place."""
    ledger.create_thread("t")
    ledger.begin_run("t").commit()
    second = ledger.begin_run("t", fork_from=None)
    driver: Any = ledger._driver
    one = ledger._driver.write

    def forgetful(job: Any) -> Any:
        return one(lambda tx: job(_Forgetful(tx)))

    monkeypatch.setattr(driver, "write", forgetful)
    with pytest.raises(StorageError):
        second.commit()
    monkeypatch.undo()
    assert [run.status for run in ledger.runs("t")] == ["committed", "active"]


class _Forgetful:
    """A transaction that does not find the run that is to be superseded."""

    def __init__(self, tx: Any) -> None:
        self._tx = tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def all(self, name: str, /, **values: Any) -> Any:
        return [] if name == "committed_at" else self._tx.all(name, **values)


def test_who_lost_a_run_to_another_can_no_longer_write_to_it(ledger: Ledger) -> None:
    """The fence: a process that was taken for dead comes back, and adds nothing to what replaced it."""
    ledger.create_thread("t")
    run = ledger.begin_run("t")
    driver: Any = ledger._driver

    def take_over(tx: Any) -> None:
        thread = find_thread(tx, "t", lock=True)
        row = find_run(tx, thread, run.id, lock=True)
        row._replace(fence=row.fence + 1).save(tx, thread.thread)

    driver.write(take_over)
    for call in (
        lambda: ledger.stage("t", run.id, said("late", "assistant"), fence=run.fence),
        lambda: ledger.commit("t", run.id, fence=run.fence),
        lambda: ledger.abort("t", run.id, fence=run.fence),
    ):
        with pytest.raises(Conflict, match="taken over"):
            call()
    with pytest.raises(Conflict, match="took it over"):
        run.write([PartStart(key="a", part=TextPart(text="late"))]).result(60)
    assert (ledger.run_messages("t", run.id), ledger.run("t", run.id).status) == ([], "active")


# -- runs: leases, their journal, where they fork ----------------------------------------------------------------------


def test_only_a_run_whose_lease_has_run_out_is_looked_up_as_dead(ledger: Ledger) -> None:
    """A live run that is listed would be taken for dead, or looked at again without end."""
    ledger.create_thread("t")
    run = ledger.begin_run("t")
    driver = ledger._driver
    (lease,) = [row.lease_until for row in _rows(ledger, "t")]
    assert lease is not None

    def dead(now: int) -> list[Any]:
        return driver.read(lambda tx: tx.all("dead_runs", now=now, limit=10))

    assert [dead(lease - 1), dead(lease), dead(lease + 1)] == [[], [], [("t", run.id)]]


def test_a_run_that_shows_life_while_the_dead_are_collected_is_left_alone_and_not_reported(ledger: Ledger) -> None:
    """`recover` says which runs it ended: naming one that goes on sends its user to repeat it."""
    ledger.create_thread("t")
    run = ledger.begin_run("t")
    driver: Any = ledger._driver
    (row,) = _rows(ledger, "t")
    now = clock() + 100_000
    looked: list[Any] = []

    class Renews:
        """The driver, with the run's heartbeat between the look and the write."""

        def read(self, job: Any) -> Any:
            found = driver.read(job)
            if not looked:
                looked.append(found)
                values = {"thread": 1, "run": row.run, "fence": row.fence, "lease_until": now + 1}
                assert driver.write(lambda tx: tx.run("renew_lease", **values)) == 1
            return found

        def write(self, job: Any) -> Any:
            return driver.write(job)

    renewing: Any = Renews()
    assert interrupt.recover(renewing, now) == []
    assert looked == [[("t", run.id)]]
    assert run.commit().status == "committed"


def _rows(ledger: Ledger, thread: str) -> list[Any]:
    def job(tx: Any) -> list[Any]:
        found = find_thread(tx, thread)
        return [find_run(tx, found, run.id) for run in (row.value for row in _all(tx, found))]

    return ledger._driver.read(job)


def _all(tx: Any, thread: Any) -> list[Any]:
    from hansard.ledger.rows import RunRow

    return [RunRow(*row) for row in tx.all("runs", thread=thread.thread)]


def _chunks(ledger: Ledger, thread: str) -> dict[int, int]:
    """How many deltas of each run the journal holds."""

    def job(tx: Any) -> dict[int, int]:
        found = find_thread(tx, thread)
        return {
            row.run: sum(one[1] for one in tx.all("chunks_after", thread=found.thread, run=row.run, after=0, limit=99))
            for row in _all(tx, found)
        }

    return ledger._driver.read(job)


def test_the_next_run_takes_away_the_journal_of_those_that_ended_and_of_no_others(ledger: Ledger) -> None:
    """Left-over pieces would make a ledger grow with every answer twice; those of a live run are all it has said."""
    ledger.create_thread("t")
    delta = PartStart(key="a", part=TextPart(text="one"))
    ended, live = ledger.begin_run("t"), ledger.begin_run("t")
    for run in (ended, live):
        run.write([delta])
        run.flush()
    ended.abort()
    assert _chunks(ledger, "t") == {1: 1, 2: 1}
    ledger.begin_run("t")
    assert _chunks(ledger, "t") == {1: 0, 2: 1, 3: 0}


@pytest.mark.parametrize("fork_from", ["question", None])
def test_a_recording_forks_where_it_was_told_to(ledger: Ledger, fork_from: str | None) -> None:
    """`record(fork_from=)`: an answer that is asked for again replaces the old one instead of following it."""
    ledger.create_thread("t")
    ledger.append("t", [said("question", id="question"), said("old answer", "assistant", id="old")])
    answer = b'data: {"choices": [{"index": 0, "delta": {"content": "new"}, "finish_reason": "stop"}]}\n\n'
    list(ledger.record([answer, b"data: [DONE]\n\n"], format="openai-chat", thread="t", fork_from=fork_from))
    assert transcript(ledger, "t") == (["question", "new"] if fork_from else ["new"])
    assert ledger.runs("t")[0].fork_from_message_id == fork_from


def test_every_delta_that_was_acknowledged_is_in_the_journal_in_its_order(ledger: Ledger) -> None:
    """What follows a stream after a reload reads it from there: a gap is a gap in the answer."""
    ledger.create_thread("t")
    run = ledger.begin_run("t")
    run.write([PartStart(key="0", part=TextPart(text=""))])
    for number in range(100):
        run.write([PartDelta(key="0", text=f"{number} ")])
    run.flush()
    found = ledger._driver.read(lambda tx: tail.deltas_after(tx, "t", run.id, 0))[0]
    assert [one.seq for one in found] == list(range(1, 102))
    assert "".join(one.delta.text for one in found[1:]) == "".join(f"{number} " for number in range(100))


# -- group commit ------------------------------------------------------------------------------------------------------


def _appends(*texts: str) -> list[Callable[[Any], object]]:
    """Jobs that append to the thread `t`; a text that begins with `!` fails after it was written."""

    def job(tx: Any, text: str) -> str:
        from hansard.ledger import messages as message_rules
        from hansard.ledger.messages import Prepared

        message_rules.append(tx, "t", [Prepared(said(text, id=text[:9]), text[:9])], 0)
        if text.startswith("!"):
            raise Conflict(f"no {text}")
        return text

    return [lambda tx, text=text: job(tx, text) for text in texts]  # type: ignore[misc]


def _came(done: list[QueuedJob]) -> list[object]:
    return [type(one.error).__name__ if one.error is not None else one.result for one in done]


def test_a_job_that_fails_takes_no_other_of_its_transaction_with_it(path: str) -> None:
    """One caller's mistake would be an error, or a loss, for everybody who wrote in the same moment."""
    with hansard.open(path) as ledger:
        ledger.create_thread("t")
        driver: Any = ledger._driver
        done = driver.submit(_appends("one", "!two", "three", "!four", "five")).result(60)
        assert _came(done) == ["one", "Conflict", "three", "Conflict", "five"]
    with hansard.open(path) as ledger:
        assert transcript(ledger, "t") == ["one", "three", "five"]
        assert ledger.verify() == []


def test_a_disk_that_is_full_for_one_has_room_for_the_others_of_its_transaction(path: str) -> None:
    """SQLite gives up the whole transaction when the disk is full: the others are written one by one."""
    with hansard.open(path) as ledger:
        ledger.create_thread("t")
        driver: Any = ledger._driver
        most = driver._writer.pragma("max_page_count", driver._writer.pragma("page_count") + 12)
        huge = "huge" + random.Random(1).randbytes(100_000).hex()
        done = driver.submit(_appends("one", huge, "two", "!three", "four")).result(60)
        assert _came(done) == ["one", "StorageError", "two", "Conflict", "four"]
        assert "disk is full" in str(done[1].error)
        assert transcript(ledger, "t") == ["one", "two", "four"]
        with pytest.raises(StorageError, match="disk is full"):
            ledger.append("t", said(huge))
        assert transcript(ledger, "t") == ["one", "two", "four"]
        driver._writer.pragma("max_page_count", most + 10_000)
        ledger.append("t", said(huge))
    with hansard.open(path) as ledger:
        assert len(transcript(ledger, "t")) == 4
        assert ledger.verify() == []


@pytest.mark.parametrize("together", [False, True])
def test_a_commit_that_fails_is_an_error_for_everybody_who_waits_for_it(path: str, together: bool) -> None:
    """A commit whose error nobody hears is an acknowledgement of nothing."""
    with hansard.open(path) as ledger:
        ledger.create_thread("t")
        driver: Any = ledger._driver
        driver._writer.set_commit_hook(lambda: True)
        if together:
            assert _came(driver.submit(_appends("one", "two")).result(60)) == ["StorageError"] * 2
        else:
            with pytest.raises(StorageError):
                ledger.append("t", said("one"))
        driver._writer.set_commit_hook(None)
        assert transcript(ledger, "t") == []
        assert not driver._writer.in_transaction
        ledger.append("t", said("after"))
        assert transcript(ledger, "t") == ["after"]


def test_a_job_that_fails_leaves_no_transaction_open(path: str) -> None:
    """An open one would keep every other process from writing."""
    with hansard.open(path) as ledger:
        ledger.create_thread("t")
        driver: Any = ledger._driver
        other = apsw.Connection(path)

        def nothing_is_open() -> None:
            assert not driver._writer.in_transaction
            other.execute("begin immediate")
            other.execute("rollback")

        with pytest.raises(Conflict):
            driver.write(_appends("!one")[0])
        nothing_is_open()
        assert _came(driver.submit(_appends("!one", "!two")).result(60)) == ["Conflict", "Conflict"]
        nothing_is_open()
        other.close()


def test_closing_writes_what_still_waits(path: str) -> None:
    """A thread that had handed over its words when another closed the ledger: they are written, not dropped."""
    ledger = hansard.open(path)
    ledger.create_thread("t")
    driver: Any = ledger._driver
    waiting = [QueuedJob(job) for job in _appends("one", "two")]
    driver._jobs._queue.extend(waiting)
    ledger.close()
    assert [one.done for one in waiting] == [True, True]
    with hansard.open(path) as again:
        assert transcript(again, "t") == ["one", "two"]


def test_a_cancelled_call_is_done_whole_and_the_next_one_works(path: str) -> None:
    """`ledger.aio`: cancelling stops the waiting, not the write; nothing stays open."""

    async def main() -> None:
        with hansard.open(path) as ledger:
            ledger.create_thread("t")
            driver: Any = ledger._driver
            with driver._lock:
                task = asyncio.create_task(ledger.aio.append("t", [said("one"), said("two")]))
                await wait_until_async(lambda: driver._jobs._queue, "the call is in the queue")
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await asyncio.wait_for(ledger.aio.append("t", said("three")), 60)
            assert transcript(ledger, "t") == ["one", "two", "three"]
            other = apsw.Connection(path)
            other.execute("begin immediate")
            other.close()

    asyncio.run(main())


# -- opening: migrations, other libraries ------------------------------------------------------------------------------


def test_a_migration_that_is_not_the_one_a_ledger_was_made_with_is_refused(tmp_path: Path) -> None:
    """Such a file has other tables than this release thinks: nothing may be written to it."""
    path = tmp_path / "ledger.db"
    hansard.open(str(path)).close()
    other = apsw.Connection(str(path))
    other.execute("update schema_migration set checksum = 'another' where number = 1")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"0001_\w+\.sql is not the one this ledger was created with"):
        hansard.open(str(path))
    assert path.read_bytes() == before


def test_a_migration_that_is_not_the_one_a_server_was_made_with_is_refused(database: str) -> None:
    hansard.open(database).close()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("update schema_migration set checksum = 'another' where number = 1")
    with pytest.raises(StorageError, match=r"0001_\w+\.sql is not the one this ledger was created with"):
        hansard.open(database)


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
def test_who_is_not_the_first_to_migrate_looks_again_under_the_lock(
    monkeypatch: pytest.MonkeyPatch, path: str, old: bool
) -> None:
    """Two processes that open a new file, or one of an older release, at once: the second must not migrate again."""
    if old:
        shutil.copy(OLDEST, path)
    applied, meanwhile = sqlite.applied, []

    def somebody_is_quicker(connection: apsw.Connection, where: str) -> list[tuple[int, str]]:
        found = applied(connection, where)
        if len(found) < len(migrations("sqlite")) and not meanwhile and not connection.readonly("main"):
            meanwhile.append(found)
            with hansard.open(path) as other:
                other.create_thread("theirs")
        return found

    monkeypatch.setattr(sqlite, "applied", somebody_is_quicker)
    with hansard.open(path) as ledger:
        assert meanwhile
        driver: Any = ledger._driver
        assert driver.migrated == []
        assert ledger.thread("theirs").id == "theirs"
        assert ledger.verify() == []


def test_a_file_that_another_sqlite_library_of_this_process_has_open_is_refused(path: str) -> None:
    """When that library closes the file, the system drops our locks on it too, and writers write over one another."""
    hansard.open(path).close()
    other = sqlite3.connect(path)
    other.execute("select count(*) from thread").fetchall()
    with pytest.raises(StorageError, match="another SQLite library"):
        hansard.open(path)
    other.close()
    hansard.open(path).close()


def test_a_backup_has_what_is_only_in_the_log_and_nothing_that_came_later(path: str, tmp_path: Path) -> None:
    """A copy of the file alone would be an older ledger, or a damaged one; one that follows every writer never ends."""
    small = apsw.Connection(path)
    small.execute("pragma page_size = 512")  # so that a megabyte is copied in more than one step
    small.execute("vacuum")
    small.close()
    steps: list[int] = []
    with hansard.open(path) as ledger, hansard.open(path) as other:
        ledger.create_thread("t")
        driver: Any = ledger._driver
        driver._writer.execute("pragma wal_autocheckpoint = 0")
        ledger.append("t", [said(random.Random(1).randbytes(1_200_000).hex(), id="1"), said("and this", id="2")])

        def progress(done: int, total: int) -> None:
            steps.append(done)
            if len(steps) == 1:
                other.append("t", said("later"))

        ledger.backup(str(tmp_path / "copy.db"), progress)
    assert len(steps) > 1
    with hansard.open(str(tmp_path / "copy.db")) as copy:
        assert [message.id for message in copy.transcript("t")] == ["1", "2"]
        assert copy.verify() == []


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_a_clock_that_steps_back_changes_neither_the_order_of_messages_nor_of_ids(
    monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> None:
    """Order is where a message was appended, never when."""
    real, off = time.time_ns, [0]
    monkeypatch.setattr(time, "time_ns", lambda: real() + off[0] * 3_600_000_000_000)
    ledger.create_thread("t")
    made = []
    for number, hours in enumerate((0, -1, 48, -300, 0)):
        off[0] = hours
        ledger.append("t", said(str(number)))
        made += [ids.new_id(), ids.new_id()]
    assert transcript(ledger, "t") == ["0", "1", "2", "3", "4"]
    assert made == sorted(set(made))
    assert ledger.verify() == []


def test_a_run_whose_clock_steps_ahead_keeps_what_it_said(ledger: Ledger) -> None:
    """Another process takes it for dead: what was durable stays with the run, and its writer is told."""
    ledger.create_thread("t")
    run = ledger.begin_run("t")
    run.write([PartStart(key="0", part=TextPart(text="")), PartDelta(key="0", text="durable")])
    run.flush()
    assert interrupt.recover(ledger._driver, clock() + 3_600_000) == [("t", run.id)]
    assert words(ledger.run_messages("t", run.id)) == ["durable"]
    with pytest.raises(Conflict):
        run.commit()
    assert runs.ACTIVE not in {one.status for one in ledger.runs("t")}
