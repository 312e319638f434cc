"""Another session of PostgreSQL in the way, on purpose: deadlocks, locks that are not let go, serialization failures.

A deadlock and a serialization failure are nobody's fault: the call is made again and succeeds. A lock that is held
for too long is one clear StorageError, of which nothing is half done, and the same call works when it is free again.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg

import hansard
from hansard import Ledger
from hansard.errors import StorageError
from tests.faults.harness import Outcome, Place, proof
from tests.ledger.said import said

NOT_AGAIN = "nothing is tried again"
HALF = "each statement is a transaction of its own"
_WAITING = "select count(*) > 0 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
_TOGETHER = 4


@proof(
    "PostgreSQL: deadlocks, locks and serialization failures",
    holds="deadlocks and serialization failures are retried; a held lock is one clear error, nothing partial",
    tries=600,
    sample=16,
    defects=(NOT_AGAIN, HALF),
    control_tries=8,
)
def in_the_way(tries: int, place: Place, defect: str | None) -> Outcome:
    database = place.database()
    failures: list[str] = []
    met: Counter[str] = Counter()
    cases: list[Callable[[str, Ledger, str], list[str]]] = [_deadlock, _row_is_held, _table_is_held]
    address = f"{database}&options=-c%20deadlock_timeout%3D100ms"
    with hansard.open(address) as ledger, hansard.open(address, lock_timeout=0.2) as hurried:
        _watch(ledger, met, defect)
        _watch(hurried, met, defect)
        for number in range(0, tries - tries // 4):
            thread = f"t{number}"
            ledger.create_thread(thread)
            ledger.append(thread, said("first", id="first"))
            ledger.begin_run(thread, id="run", fork_from="first").release()
            ledger.stage(thread, "run", said("answer", "assistant", id="answer"))
            case = cases[number % len(cases)]
            used = ledger if case is _deadlock else hurried
            failures += [f"{thread}: {line}" for line in case(database, used, thread)]
        failures += [str(problem) for problem in ledger.verify()]
    options = "-c%20default_transaction_isolation%3Dserializable"
    with hansard.open(f"{database}&options={options}", retry_for=60) as ledger:
        _watch(ledger, met, defect)
        failures += _serializable(ledger, max(2, tries // 4 // _TOGETHER))
        failures += [str(problem) for problem in ledger.verify()]
    return Outcome(tries=tries, failures=failures, seen=dict(met))


def _watch(ledger: Ledger, met: Counter[str], defect: str | None) -> None:
    """Count what the driver meets, and put the defect in."""
    driver: Any = ledger._driver
    passing = driver._passing

    def counted(error: psycopg.OperationalError) -> bool:
        met[type(error).__name__] += 1
        return bool(passing(error)) and defect != NOT_AGAIN

    driver._passing = counted
    if defect == HALF:
        driver.write = lambda job: driver._again(lambda connection: job(driver._tx(connection)))


def _deadlock(database: str, ledger: Ledger, thread: str) -> list[str]:
    """We lock the thread and want the run; the other has locked the run and then wants the thread."""
    with psycopg.connect(database) as other:
        other.execute("set deadlock_timeout = '5s'")
        other.execute(
            "select 1 from run r join thread t using (tenant, thread) where t.id = %s for update of r", (thread,)
        )
        call = _Call(lambda: ledger.commit(thread, "run"))
        _until_somebody_waits(database, call)
        try:
            other.execute("select 1 from thread where id = %s for update", (thread,))
        except psycopg.errors.DeadlockDetected:
            pass
        other.rollback()
    error = call.answer()
    if error is not None:
        return [f"a deadlock came through: {error}"]
    return _is(ledger, thread, ["first", "answer"], ["first", "answer"], "committed")


def _row_is_held(database: str, ledger: Ledger, thread: str) -> list[str]:
    held = b"select 1 from thread where id = '%s' for update" % thread.encode()
    return _held(database, ledger, thread, held)


def _table_is_held(database: str, ledger: Ledger, thread: str) -> list[str]:
    """The words are written already when the lock is met: they may not stay."""
    return _held(database, ledger, thread, b"lock table feed in exclusive mode")


def _held(database: str, ledger: Ledger, thread: str, lock: bytes) -> list[str]:
    def append() -> None:
        ledger.append(thread, [said("second", id="second"), said("third", id="third")])

    with psycopg.connect(database) as other:
        other.execute(lock)
        call = _Call(append)
        error = call.answer()
        other.rollback()
    found = []
    if not isinstance(error, StorageError) or "waited too long" not in str(error):
        found.append(f"a lock that is held gave {error!r}")
    found += _is(ledger, thread, ["first"], ["first", "answer"], "active")
    append()
    return found + _is(ledger, thread, ["first", "second", "third"], ["first", "answer", "second", "third"], "active")


def _serializable(ledger: Ledger, each: int) -> list[str]:
    """Several at once in one thread, with a server that refuses whoever read what another has changed since."""
    ledger.create_thread("shared")
    found: list[str] = []

    def write(number: int) -> None:
        for n in range(each):
            try:
                ledger.append("shared", [said(f"{number}-{n}", id=f"{number}-{n}")], parent="0-0" if n % 2 else None)
            except Exception as error:
                found.append(f"a serialization failure came through: {error}")

    ledger.append("shared", said("0-0", id="0-0"), parent=None)
    writers = [threading.Thread(target=write, args=(number,)) for number in range(1, _TOGETHER + 1)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    kept = Counter(node.id for node in ledger.tree("shared"))
    wanted = {"0-0"} | {f"{number}-{n}" for number in range(1, _TOGETHER + 1) for n in range(each)}
    if not found and (set(kept) != wanted or max(kept.values()) > 1):
        found.append(f"{len(kept)} of {len(wanted)} are there")
    return found


class _Call(threading.Thread):
    """A call that somebody else is in the way of."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._call, self._error = call, None
        self.start()

    def run(self) -> None:
        try:
            self._call()
        except Exception as error:
            self._error: Exception | None = error

    def answer(self) -> Exception | None:
        self.join(60)
        return TimeoutError("it hangs") if self.is_alive() else self._error


def _until_somebody_waits(database: str, call: _Call) -> None:
    with psycopg.connect(database, autocommit=True) as looking:
        while call.is_alive() and looking.execute(_WAITING).fetchone() != (True,):
            time.sleep(0.002)


def _is(ledger: Ledger, thread: str, path: list[str], every: list[str], status: str) -> list[str]:
    said_now = [str(message.id) for message in ledger.transcript(thread)]
    there = sorted(node.id for node in ledger.tree(thread))
    runs = [str(run.status) for run in ledger.runs(thread)]
    if (said_now, there, runs) == (path, sorted(every), [status]):
        return []
    return [f"half done: the path is {said_now}, there are {there}, the run is {runs}"]
