"""What a ledger's keeper does: find threads by what people call them, prune, forget, verify, back up, count."""

from __future__ import annotations

from typing import TypeVar

from hansard.store import threads
from hansard.store.driver import Driver, Job, Tx, safe
from hansard.store.rows import ThreadRow
from hansard.store.values import Thread

T = TypeVar("T")


class Upkeep:
    """The part of `Ledger` that is for its keeper."""

    _driver: Driver

    def _read(self, job: Job[T]) -> T:
        return self._driver.read(job)

    def _write(self, job: Job[T]) -> T:
        return self._driver.write(job)

    def find_threads(self, text: str, *, limit: int = 10) -> list[Thread]:
        """The threads whose id begins with this, or that have it as their title, newest first."""

        def job(tx: Tx) -> list[Thread]:
            return [threads.shown(tx, ThreadRow(*row)) for row in tx.all("threads_named", text=safe(text), limit=limit)]

        return self._read(job)
