"""A disk that fails at the n-th call: the call says so, what was acknowledged stays, writing goes on without a restart.

Ledgers are closed when the disk is well again: SQLite passes over errors of its last checkpoint, apsw over none that
came out of Python.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hansard
from hansard import Ledger
from hansard.errors import Conflict, HansardError
from hansard.sessions import importer
from hansard.sessions.importer import import_session
from hansard.workspace import Workspace
from hansard.workspace.apply import Apply
from tests.faults.disk_layer import Layer
from tests.faults.harness import Outcome, Place, proof
from tests.faults.operations import Line, Writer, broken
from tests.faults.sqlite.failing_disk import FailingDisk, Fault
from tests.faults.sqlite.killed_writer import session
from tests.ledger.said import said
from tests.workspace import test_faults as trees

OLD = Path(__file__).parent.parent.parent / "golden/ledgers/0001.db"
RECORDS = 30


class Forgetful:
    """A connection on which nobody rolls back."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, text: str, *values: Any) -> Any:
        return None if text == "rollback" else self._connection.execute(text, *values)


class Trial:
    """One operation with one fault, in a folder of its own."""

    def __init__(self, folder: Path, defect: str | None) -> None:
        self.folder, self.disk, self.defect = folder, FailingDisk(), defect
        self.path = str(folder / "ledger.db")
        self.lines: list[Line] = []
        self.found: list[str] = []

    def layer(self) -> Layer:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        return Layer(self.folder, before=self.disk)

    def failing(self, fault: Fault, action: Callable[[], object]) -> None:
        """Do something on a failing disk; only an error of ours may come out of it."""
        self.disk.arm(fault)
        try:
            action()
        except HansardError:
            if not self.disk.failed:
                self.found.append("failed without a fault")
        except Exception as error:
            self.found.append(f"raises {error!r}")
        finally:
            self.disk.disarm()

    def opening(self, fault: Fault) -> None:
        opened: list[Ledger] = []
        self.failing(fault, lambda: opened.append(hansard.open(self.path)))
        for ledger in opened:
            ledger.close()

    def afterwards(self, ledger: Ledger, writer: Writer | None = None) -> None:
        """The same handle goes on."""
        try:
            ledger.append(ledger.create_thread("refused").id, said("one", id="one"))
            try:
                ledger.append("refused", [said("two", id="two"), said("another", id="one")])
            except Conflict:
                if len(ledger.transcript("refused")) != 1:
                    self.found.append("half: an append that was refused")
            if writer is not None:
                writer.append()
            else:
                ledger.append(ledger.create_thread("after").id, said("after", id="after"))
            self.found += broken(ledger, self.lines)
        except HansardError as error:
            self.found.append(f"does not go on: {error}")

    def again(self) -> None:
        """And so does a new one."""
        with hansard.open(self.path) as ledger:
            self.found += broken(ledger, self.lines)


def deed(name: str) -> Callable[[Trial, Fault], None]:
    """One of the writer's deeds on a ledger that has something in it."""

    def run(trial: Trial, fault: Fault) -> None:
        with trial.layer(), hansard.open(trial.path) as ledger:
            ledger._driver._writer.execute("pragma wal_autocheckpoint = 6")  # type: ignore[attr-defined]
            if trial.defect == "rollback forgotten":
                ledger._driver._writer = Forgetful(ledger._driver._writer)  # type: ignore[attr-defined]
            writer = Writer(ledger, trial.lines.append, "w", 3)
            writer.create()
            for _ in range(3):
                writer.append()
            trial.failing(fault, getattr(writer, name))
            trial.afterwards(ledger, writer)
        trial.again()

    return run


def importing(trial: Trial, fault: Fault) -> None:
    """A session file, in many transactions; after the fault it is imported again and is whole."""
    with trial.layer(), patch.object(importer, "_BATCH_MESSAGES", 10), hansard.open(trial.path) as ledger:
        sent = session(str(trial.folder), "s", RECORDS)
        trial.failing(fault, lambda: import_session(ledger, sent))
        trial.afterwards(ledger)
        import_session(ledger, sent)
        if (count := len(ledger.transcript("s"))) != RECORDS:
            trial.found.append(f"the import is not whole: {count} of {RECORDS}")
    trial.again()


def migrating(trial: Trial, fault: Fault) -> None:
    with trial.layer():
        shutil.copy(OLD, trial.path)
        trial.opening(fault)
        with hansard.open(trial.path) as ledger:
            trial.found += [] if ledger.threads().items else ["lost: the old threads"]
            trial.afterwards(ledger)
    trial.again()


def creating(trial: Trial, fault: Fault) -> None:
    with trial.layer():
        trial.opening(fault)
        with hansard.open(trial.path) as ledger:
            trial.afterwards(ledger)
    trial.again()


def backing_up(trial: Trial, fault: Fault) -> None:
    target = trial.folder / "backup.db"
    with trial.layer(), hansard.open(trial.path) as ledger:
        writer = Writer(ledger, trial.lines.append, "w", 3)
        writer.create()
        writer.append()
        ledger.backup(str(target))
        told = list(trial.lines)
        writer.append()
        trial.failing(fault, lambda: ledger.backup(str(target)))
        trial.afterwards(ledger, writer)
    with hansard.open(str(target)) as copy:
        whole = broken(copy, trial.lines[: len(told) + 2])
        if whole and broken(copy, told):
            trial.found.append(f"the backup is neither the old nor the new: {whole}")


def undoing(trial: Trial, fault: Fault) -> None:
    with trial.layer():
        thread, before, after = trees.prepared(trial.folder)
        take_back = Apply._roll_back if trial.defect != "not taken back" else lambda self, done: []
        with patch.object(Apply, "_roll_back", take_back):
            with hansard.open(trial.path) as ledger, Workspace(ledger, trial.folder / "project") as files:
                trial.failing(fault, lambda: files.undo(thread))
            try:
                trees.whole(trial.folder, thread, before, after)
            except AssertionError as error:
                trial.found.append(f"the tree is not whole: {str(error)[:300]}")


LEDGER: dict[str, Callable[[Trial, Fault], None]] = {
    "append": deed("append"),
    "commit": deed("stream"),
    "fork": deed("fork"),
    "sync": deed("sync"),
    "import": deed("take_in"),
    "import of a session": importing,
    "migrate": migrating,
    "create": creating,
    "backup": backing_up,
}


def points(folder: Path, run: Callable[[Trial, Fault], None]) -> Iterator[Fault]:
    """Every place an operation can fail at; how many there are is told by a disk that does not fail."""
    for number in (errno.EIO, errno.ENOSPC):
        trial = Trial(folder, None)
        run(trial, Fault(1 << 30, number, False))
        for lasting, at in product((False, True), range(trial.disk.calls)):
            yield Fault(at, number, lasting)


def every_point(
    operations: dict[str, Callable[[Trial, Fault], None]], tries: int, full: int, place: Place, defect: str | None
) -> Outcome:
    """All points when `full` are asked for, else so many, spread over them."""
    failures: list[str] = []
    seen: Counter[str] = Counter()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = Path(name) / "trial"
        every = [(name, fault) for name, run in operations.items() for fault in points(folder, run)]
        chosen = every if tries >= full else every[:: max(1, len(every) // tries)]
        for name, fault in chosen:
            trial = Trial(folder, defect)
            try:
                operations[name](trial, fault)
            except HansardError as error:
                trial.found.append(f"does not recover: {error}")
            seen["calls that failed"] += trial.disk.failed
            failures += [f"{name}, {fault}: {one}" for one in trial.found]
    seen["points"] = len(every)
    return Outcome(tries=len(chosen), failures=failures[:50], seen={**seen, "failures": len(failures)})


@proof(
    "EIO and ENOSPC at every call, SQLite",
    holds="only StorageError is raised, acknowledged data stays, the same handle works again",
    tries=2000,
    sample=60,
    defects=("rollback forgotten",),
    control_tries=40,
)
def failing_ledger(tries: int, place: Place, defect: str | None) -> Outcome:
    chosen = {"append": LEDGER["append"], "commit": LEDGER["commit"]} if defect else LEDGER
    return every_point(chosen, tries, 2000, place, defect)


@proof(
    "EIO and ENOSPC at every call, undo",
    holds="files and head are entirely before or entirely after, at the latest at the next start",
    tries=300,
    sample=40,
    defects=("not taken back",),
)
def failing_undo(tries: int, place: Place, defect: str | None) -> Outcome:
    return every_point({"undo": undoing}, tries, 300, place, defect)
