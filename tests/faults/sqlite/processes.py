"""Many processes and one file: writers, openings at the same moment, backups under load, forks, a second library."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections import Counter
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hansard
from hansard.errors import ForkedHandle, HansardError, StorageError
from hansard.ledger.backends import sqlite
from hansard.ledger.backends.migrations import missing
from tests.faults.harness import Outcome, Place, proof
from tests.faults.processes import Failed, started, together, wait
from tests.ledger.said import said, words

OLD = Path(__file__).parent.parent.parent / "golden/ledgers/0001.db"
WRITERS, EACH = 8, 10


class Deferred:
    """A connection whose transactions read before they lock."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, text: str, *values: Any) -> Any:
        return self._connection.execute("begin" if text == "begin immediate" else text, *values)


def write(number: int, barrier: Barrier, url: str, each: int, defect: str | None) -> bool:
    with hansard.open(url) as ledger:
        if defect is not None:
            ledger._driver._writer = Deferred(ledger._driver._writer)  # type: ignore[attr-defined]
        own = ledger.create_thread(f"t{number}").id
        wait(barrier)
        for step in range(each):
            ledger.append("shared" if step % 2 else own, said(f"{number} {step}"))
    return True


@proof(
    "eight writers, one SQLite file",
    holds="no call fails, nothing is lost or duplicated, each writer's order is kept",
    tries=8_000,
    sample=400,
    defects=("transactions that read before they lock",),
)
def writers(tries: int, place: Place, defect: str | None) -> Outcome:
    url, each = place.file(), -(-tries // WRITERS)
    with hansard.open(url) as ledger:
        ledger.create_thread("shared")
    failures: list[str] = []
    try:
        together(write, WRITERS, url, each, defect)
    except Failed as error:
        failures.append(str(error)[-300:])
    with hansard.open(url) as ledger:
        for number in range(WRITERS) if not failures else ():
            shared = [text for text in words(ledger.transcript("shared")) if text.startswith(f"{number} ")]
            own = words(ledger.transcript(f"t{number}"))
            if shared != [f"{number} {step}" for step in range(1, each, 2)]:
                failures.append(f"writer {number}: {len(shared)} in the shared thread, or out of order")
            if own != [f"{number} {step}" for step in range(0, each, 2)]:
                failures.append(f"writer {number}: {len(own)} in its own thread, or out of order")
        failures += [f"verify: {problem}" for problem in ledger.verify()]
    return Outcome(tries=each * WRITERS, failures=failures)


def _migrate_unlocked(connection: Any, path: str) -> list[str]:
    """Looks what is missing, and applies it without looking again under a lock."""
    done = missing("sqlite", sqlite.applied(connection, path), path)
    connection.execute("create table if not exists schema_migration (number integer primary key, checksum text)")
    for migration in done:
        connection.execute(migration.text)
        connection.execute("insert into schema_migration values (?, ?)", (migration.number, migration.checksum))
    return [migration.name for migration in done]


def start_up(number: int, barrier: Barrier, url: str, defect: str | None) -> bool:
    with patch.object(sqlite, "migrate", sqlite.migrate if defect is None else _migrate_unlocked):
        wait(barrier)
        with hansard.open(url) as ledger:
            ledger.append(ledger.create_thread(f"t{number}").id, said("hi"))
    return True


@proof(
    "eight processes open a new or old SQLite file at once",
    holds="every process opens it, it is created or migrated once, and has the messages of all",
    tries=20,
    sample=3,
    defects=("migrated without a lock",),
)
def start_ups(tries: int, place: Place, defect: str | None) -> Outcome:
    failures: list[str] = []
    for number in range(tries):
        url = place.file()
        if number % 2:
            shutil.copy(OLD, url)
        try:
            together(start_up, WRITERS, url, defect)
            with hansard.open(url) as ledger:
                lost = [i for i in range(WRITERS) if words(ledger.transcript(f"t{i}")) != ["hi"]]
                failures += [f"start {number}: lost what {lost} said"] if lost else []
                failures += [f"start {number}: {problem}" for problem in ledger.verify()]
        except (Failed, HansardError) as error:
            failures.append(f"start {number}: {str(error)[-300:]}")
    return Outcome(tries=tries, failures=failures)


def write_on(number: int, barrier: Barrier, url: str, stop: str) -> int:
    """Write until a file says stop, and tell in another one how far everything is acknowledged."""
    count = 0
    with hansard.open(url) as ledger, open(f"{stop}.{number}", "w") as told:
        thread = ledger.create_thread(f"t{number}").id
        wait(barrier)
        while not os.path.exists(stop) and os.path.exists(url):  # the folder goes when nobody waits any more
            ledger.append(thread, [said(f"{number} {count} " + "x" * (count % 7) * 400), said("and", id=f"{count}b")])
            count += 1
            told.seek(0)
            told.write(f"{count:10}")
            told.flush()
    return count


def _acknowledged(stop: str, number: int) -> int:
    try:
        return int(Path(f"{stop}.{number}").read_text() or 0)
    except (FileNotFoundError, ValueError):
        return 0


@proof(
    "backups under four writers, SQLite",
    holds="each backup verifies and has everything acknowledged before it began, and nothing partial",
    tries=200,
    sample=6,
    defects=("the file is copied",),
)
def backups(tries: int, place: Place, defect: str | None) -> Outcome:
    failures: list[str] = []
    seen: Counter[str] = Counter()
    for done in range(0, tries, EACH):  # a new ledger now and then: every backup is read and verified as a whole
        failures += _backed_up(min(EACH, tries - done), place, defect, seen)
    return Outcome(tries=tries, failures=failures[:50], seen=dict(seen))


def _backed_up(count: int, place: Place, defect: str | None, seen: Counter[str]) -> list[str]:
    url, failures = place.file(), list[str]()
    stop, copy = f"{url}.stop", f"{url}.backup"
    hansard.open(url).close()
    going = started(write_on, 4, url, stop)
    while not all(_acknowledged(stop, number) for number in range(4)):
        time.sleep(0.01)
    try:
        with hansard.open(url) as ledger:
            for number in range(count):
                before = [_acknowledged(stop, i) for i in range(4)]
                ledger.backup(copy) if defect is None else shutil.copy(url, copy)
                failures += [f"backup {number}: {one}" for one in _restored(copy, before, seen)]
    finally:
        Path(stop).touch()
        seen["acknowledged"] += 2 * sum(child.answer() or 0 for child in going)
    return failures


def _restored(path: str, before: list[int], seen: Counter[str]) -> list[str]:
    found: list[str] = []
    try:
        with hansard.open(path) as ledger:
            for number, count in enumerate(before):
                have = len(ledger.transcript(f"t{number}"))
                seen["messages restored"] += have
                if have < 2 * count or have % 2:
                    found.append(f"{have} messages of writer {number}, {2 * count} were acknowledged")
            found += [f"verify: {problem}" for problem in ledger.verify()]
    except HansardError as error:
        found.append(str(error))
    return found


@proof(
    "forked handles and a second SQLite library",
    holds="both are rejected with a clear error, and the ledger keeps working",
    tries=100,
    sample=5,
    defects=("nobody looks",),
)
def forks(tries: int, place: Place, defect: str | None) -> Outcome:
    failures: list[str] = []
    check = sqlite.SqliteDriver._check if defect is None else lambda self: None
    for number in range(tries):
        path = place.file()
        ledger = hansard.open(path)
        thread = ledger.create_thread("t").id
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with patch.object(sqlite.SqliteDriver, "_check", check):
                    ledger.append(thread, said("child"))
            except ForkedHandle:
                code = 7
            finally:
                os._exit(code)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 7:
            failures.append(f"try {number}: a forked handle was not refused")
        ledger.append(thread, said("parent", id="parent"))
        ledger.close()
        other = sqlite3.connect(path)
        other.execute("select 1 from thread").fetchall()
        try:
            with patch.object(sqlite, "_is_open_here", (lambda key: False) if defect else sqlite._is_open_here):
                hansard.open(path).close()
            failures.append(f"try {number}: a second library was not refused")
        except StorageError:
            pass
        other.close()
        with hansard.open(path) as again:
            if "parent" not in [message.id for message in again.transcript(thread)]:
                failures.append(f"try {number}: lost what the parent said")
            failures += [f"try {number}: {problem}" for problem in again.verify()]
    return Outcome(tries=tries, failures=failures[:50])
