"""Nobody waits for ever for the journal: whatever becomes of a run, of its ledger or of the process, it is told."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import hansard
from hansard import Ledger
from hansard.errors import Conflict, ForkedHandle, HansardError, StorageError
from hansard.ledger.backends.group_commit import GroupCommit
from hansard.ledger.live.journal import Journal, RunBuffer
from hansard.ledger.live.run_handle import RunHandle
from hansard.model import TextPart
from hansard.streams.deltas import Delta, PartStart
from tests.waiting import wait_until

_SECONDS = 60


def _words(text: str) -> list[Delta]:
    return [PartStart(key="a", part=TextPart(text=text))]


def _run(ledger: Ledger) -> RunHandle:
    return ledger.begin_run(ledger.create_thread().id)


def test_who_waits_no_longer_stops_nobody_else(ledger: Ledger) -> None:
    one, other = _run(ledger), _run(ledger)

    async def impatient() -> None:
        with ledger._journal._changed:
            written = asyncio.wrap_future(one.write(_words("one")))
            written.cancel()
            await asyncio.sleep(0)

    asyncio.run(impatient())
    other.write(_words("two")).result(_SECONDS)
    one.write(_words("three")).result(_SECONDS)
    one.commit()
    assert len(list(ledger.follow(one.value))) == 2


def test_saying_nothing_is_done_at_once_and_hides_nothing_said_behind_it(ledger: Ledger) -> None:
    run = _run(ledger)
    run.write([]).result(0)
    assert not ledger._journal._some  # else the thread would not be woken for what comes next
    with ledger._journal._changed:
        first = run.write(_words("one"))
        assert run.write([]) is first
    first.result(_SECONDS)
    run.write([]).result(_SECONDS)
    run.write(_words("two")).result(_SECONDS)


def test_deltas_before_a_release_become_durable(ledger: Ledger) -> None:
    run = _run(ledger)
    with ledger._journal._changed:
        last = run.write(_words("last"))
        run.release()
    last.result(_SECONDS)
    assert not ledger._journal._buffers
    with pytest.raises(Conflict, match="has ended"):
        run.write(_words("more"))
    run.flush()


def test_releasing_one_handle_of_a_run_keeps_the_other_working(ledger: Ledger) -> None:
    run = _run(ledger)
    again = RunHandle(ledger, run.value, _like(run))
    run.release()
    again.write(_words("still")).result(_SECONDS)


def _like(run: RunHandle) -> Any:
    from hansard.ledger.live.journal import RunBuffer

    old = run._buffer
    return RunBuffer(old.thread_id, old.run_id, old.thread, old.run, old.fence, old.given)


def test_a_run_of_a_closed_ledger_is_told(ledger: Ledger) -> None:
    run = _run(ledger)
    ledger.close()
    with pytest.raises(StorageError, match="closed"):
        run.write(_words("late")).result(_SECONDS)
    with pytest.raises(StorageError, match="closed"):
        run.commit()


@pytest.mark.parametrize("error", [MemoryError, SystemExit])
def test_whatever_is_raised_where_the_journal_writes_its_runs_are_told(
    monkeypatch: pytest.MonkeyPatch, ledger: Ledger, error: type[BaseException]
) -> None:
    run = _run(ledger)

    def breaks(job: Any) -> Any:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(ledger._driver, "write", breaks)
        with pytest.raises(HansardError, match="the journal failed"):
            run.write(_words("lost")).result(_SECONDS)
    _run(ledger).write(_words("kept")).result(_SECONDS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_run_that_came_through_a_fork_is_told(tmp_path: Path) -> None:
    with hansard.open(str(tmp_path / "l.db")) as ledger:
        run = _run(ledger)
        run.write(_words("one")).result(_SECONDS)
        ledger._journal._changed.acquire()  # as its thread may hold it in that moment
        child = os.fork()
        if child == 0:
            told = 0
            for ask in (lambda: run.write(_words("two")), run.flush, run.hurry):
                try:
                    ask()
                except ForkedHandle:
                    told += 1
            run.release()
            ledger.close()
            os._exit(told)
        ledger._journal._changed.release()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        run.commit()


def test_ctrl_c_is_for_the_thread_that_got_it(tmp_path: Path) -> None:
    """Others whose words were in the same transaction are told with an error that they catch."""
    with hansard.open(str(tmp_path / "l.db")) as ledger:
        driver: Any = ledger._driver
        told: list[BaseException] = []

        def interrupted(tx: Any) -> None:
            raise KeyboardInterrupt

        def write(job: Any) -> None:
            try:
                driver.write(job)
            except BaseException as error:
                told.append(error)

        with driver._lock:  # both wait, and share a transaction
            both = [threading.Thread(target=write, args=(job,)) for job in (interrupted, lambda tx: None)]
            for number, thread in enumerate(both, start=1):
                thread.start()
                wait_until(lambda: len(driver._jobs._queue) >= number, "the queue of writers")  # noqa: B023
        for thread in both:
            thread.join(_SECONDS)
        kinds = sorted(type(error).__name__ for error in told)
        assert kinds == ["KeyboardInterrupt", "StorageError"]
        ledger.create_thread()


def test_ctrl_c_never_leaves_the_ledger_locked() -> None:
    """Ctrl-C is raised after each call of a write in turn, where Python looks for signals, not when a timer fires."""

    class Connection:
        in_transaction = False

        def execute(self, text: str) -> None:
            self.in_transaction = text.startswith("begin")

    connection: Any = Connection()
    jobs = GroupCommit(lambda: (connection, connection), lambda error: error)
    ended = False
    for number in itertools.count():
        left = number

        def interrupt(frame: FrameType, event: str, _: Any) -> None:
            nonlocal left
            places = [frame.f_code.co_filename, frame.f_back.f_code.co_filename if frame.f_back else ""]
            if event in ("call", "return", "c_return") and any(name.endswith("group_commit.py") for name in places):
                left -= 1
                if left == -1:
                    raise KeyboardInterrupt

        before = sys.getprofile()
        try:
            sys.setprofile(interrupt)
            jobs.run(lambda tx: None)
            ended = left >= 0
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(before)
        assert not jobs.lock.locked()
        assert not jobs._queue  # what was called off is not done by the next one
        assert not connection.in_transaction
        if ended:
            break
    assert number > 10


def test_what_threads_share_is_changed_under_the_lock_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Otherwise a delta that is given just then is lost, or waits for ever."""
    shared = {
        Journal: {"_urgent", "_stopping", "_some", "_next", "_buffers", "_thread"},
        RunBuffer: {"waiting", "given", "underway", "future", "ended"},
    }
    unguarded: list[str] = []
    watched: list[threading.Condition] = []

    class Buffers(dict[RunBuffer, None]):
        def __setitem__(self, buffer: RunBuffer, value: None) -> None:
            seen(Journal, "_buffers")
            super().__setitem__(buffer, value)

        def pop(self, *buffer: Any) -> Any:
            seen(Journal, "_buffers")
            return super().pop(*buffer)

        def __delitem__(self, buffer: RunBuffer) -> None:
            seen(Journal, "_buffers")
            super().__delitem__(buffer)

        def clear(self) -> None:
            seen(Journal, "_buffers")
            super().clear()

    def seen(kind: type, name: str) -> None:
        if watched and name in shared[kind] and not watched[0]._is_owned():  # type: ignore[attr-defined]
            unguarded.append(f"{kind.__name__}.{name} in {sys._getframe(2).f_code.co_name}")

    def change(self: object, name: str, value: object) -> None:
        if sys._getframe(1).f_code.co_name != "__init__":
            seen(type(self), name)
        object.__setattr__(self, name, value)

    for kind in shared:
        monkeypatch.setattr(kind, "__setattr__", change, raising=False)
    with hansard.open(str(tmp_path / "l.db")) as ledger:
        journal = ledger._journal
        journal._buffers = Buffers()
        watched.append(journal._changed)
        one, other = _run(ledger), _run(ledger)
        one.write(_words("a"))
        journal.hurry()
        one.flush()
        other.write(_words("b") * 40).result(_SECONDS)
        other.write(_words("c"))
        journal.close(other._buffer)
        one.commit()
    assert journal._thread is None
    assert unguarded == []


def test_a_delta_waits_for_others_for_a_moment_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A quarter of a second is the most that a crash may cost."""
    waits: list[float] = []

    class Condition(threading.Condition):
        def wait_for(self, predicate: Any, timeout: float | None = None) -> Any:
            waits.append(timeout if timeout is not None else float("inf"))
            return super().wait_for(predicate, timeout)

    monkeypatch.setattr(threading, "Condition", Condition)
    with hansard.open(str(tmp_path / "l.db")) as ledger:
        for _ in range(3):
            _run(ledger).write(_words("a")).result(_SECONDS)
    assert waits
    assert all(0 < wait <= 0.25 for wait in waits)
