"""What a ledger's keeper does: find threads by what people call them, prune, forget, verify, back up, count."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias, TypeVar

from msgspec.structs import asdict, replace

from hansard.errors import HansardError, NotFound
from hansard.ledger import threads
from hansard.ledger.backends.driver import Driver, Job, Tx, safe, unsafe
from hansard.ledger.hash_chain import clock
from hansard.ledger.results import Problem, Pruned, Stats, Thread, Tombstone
from hansard.ledger.rows import ThreadRow, find_thread
from hansard.model.times import milliseconds

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int], None]


class Upkeep:
    """The part of `Ledger` that is for its keeper. `progress` is called with how much is done, and of how much."""

    _driver: Driver

    def _read(self, job: Job[T]) -> T:
        return self._driver.read(job)

    def _write(self, job: Job[T]) -> T:
        return self._driver.write(job)

    @property
    def migrated(self) -> list[str]:
        """The migrations that were applied when this ledger was opened."""
        return list(self._driver.migrated)

    @property
    def dialect(self) -> str:
        """What it is kept in: sqlite or postgres."""
        return self._driver.dialect

    def find_threads(self, text: str, *, limit: int = 10) -> list[Thread]:
        """The threads whose id begins with this, or that have it as their title, newest first."""

        def job(tx: Tx) -> list[Thread]:
            return [threads.shown(tx, ThreadRow(*row)) for row in tx.all("threads_named", text=safe(text), limit=limit)]

        return self._read(job)

    def prune(self, thread_id: str | None = None, *, before: str | datetime | None = None) -> Pruned:
        """Delete what stands on no branch in force, of one thread or of all, and what nobody uses any more.

        `before`: only what was over before that time. A thread is pruned whole or not at all.
        """
        from hansard.ledger.maintenance import prune as pruning

        moment = _moment(before)
        total: dict[str, int] = asdict(Pruned())
        keys = [thread_id] if thread_id is not None else self._read(lambda tx: tx.all("prunable_threads"))
        for key in keys:
            name = key if isinstance(key, str) else unsafe(key[0]) or ""
            try:
                done = self._write(lambda tx: pruning.prune_thread(tx, find_thread(tx, name, lock=True), moment))  # noqa: B023
            except NotFound:
                if thread_id is not None:
                    raise
                continue  # forgotten meanwhile
            total = {field: total[field] + count for field, count in asdict(done).items()}
        if thread_id is None:
            total["blobs"] += self._write(pruning.drop_blobs)
        return Pruned(**total)

    def forget(self, thread_id: str) -> Tombstone:
        """Delete a thread's words for good, in every table and in the file itself; only a tombstone is left."""
        from hansard.ledger.maintenance import erasure as forgetting

        now = clock()
        stone = self._write(lambda tx: forgetting.forget(tx, thread_id, now))
        forgetting.tidy(self._driver)
        return replace(stone, wiped=self._driver.wipe())

    def tombstone(self, thread_id: str) -> Tombstone:
        """What is left of a thread that was forgotten."""
        from hansard.ledger.maintenance import erasure as forgetting

        return self._read(lambda tx: forgetting.find(tx, thread_id))

    def verify(self, progress: Progress | None = None) -> list[Problem]:
        """Everything in the ledger that is not as it was written, in the order it was found; empty if all is well."""
        from hansard.ledger.maintenance import verify as verifying

        return verifying.verify(self._driver, progress)

    def backup(self, path: str, progress: Progress | None = None) -> None:
        """A consistent copy of the ledger as it is now, in a SQLite file of its own; writers need not stop."""
        from hansard.ledger.maintenance import backup as copying

        copying.backup(self._driver, str(path), progress)

    def stats(self) -> Stats:
        """How much there is."""
        from hansard.ledger.maintenance import stats as counting

        return counting.stats(self._driver)


def _moment(before: str | datetime | None) -> int | None:
    if before is None:
        return None
    text = before.isoformat() if isinstance(before, datetime) else before
    moment = milliseconds(text if "T" in text or " " in text else f"{text}T00:00:00")
    if moment is None:
        raise HansardError(f"no time {before!r}; give one as 2026-01-31 or 2026-01-31T12:00:00Z")
    return moment
