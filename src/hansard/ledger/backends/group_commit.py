"""Group commit for SQLite: jobs that wait share one transaction.

The thread that holds the lock runs all queued jobs in one transaction; a failing job is rolled back alone. A single
caller needs no other thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import apsw

from hansard.errors import StorageError
from hansard.ledger.backends.driver import Job, Tx

T = TypeVar("T")
_BATCH = 512


class QueuedJob:
    """A job in the queue, then its result or error."""

    __slots__ = ("done", "error", "job", "result")

    def __init__(self, job: Job[Any]) -> None:
        self.job = job
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


class GroupCommit:
    """The queue of one writing connection.

    `begin` returns the connection and a transaction on it; `translated` turns a database error into a `StorageError`.
    `lock` is held while the connection is in use.
    """

    def __init__(
        self, begin: Callable[[], tuple[apsw.Connection, Tx]], translated: Callable[[BaseException], BaseException]
    ) -> None:
        self._begin, self._translated = begin, translated
        self.lock = threading.Lock()
        self._queue: deque[QueuedJob] = deque()

    def run(self, job: Job[T]) -> T:
        """Run a job and wait until it is durable; waiting jobs share one commit."""
        waiting = QueuedJob(job)
        try:
            self._queue.append(waiting)
            while not waiting.done:  # repeats only if more jobs were queued than one transaction takes
                with self.lock:  # no acquire() and try: Ctrl-C between the two would leave it locked
                    if len(self._queue) == 1 and self._queue[0] is waiting:
                        self._queue.popleft()
                        return self._alone(job)
                    if not waiting.done:
                        self.drain()
        except BaseException:
            with suppress(ValueError):  # no other thread may run it later
                self._queue.remove(waiting)
            raise
        return waiting.outcome()  # type: ignore[no-any-return]

    def _alone(self, job: Job[T]) -> T:
        """Run a job in its own transaction, with the lock held: no other job waits."""
        connection, tx = self._begin()
        try:
            connection.execute("begin immediate")
            result = job(tx)
            connection.execute("commit")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("rollback")
            raise self._translated(error) from None
        return result

    def run_all(self, jobs: list[Job[Any]]) -> list[QueuedJob]:
        """Run several jobs and wait until all are durable."""
        batch = [QueuedJob(job) for job in jobs]
        self._queue.extend(batch)
        while not all(waiting.done for waiting in batch):
            with self.lock:
                self.drain()
        return batch

    def drain(self) -> None:
        """Run the queued jobs, with the lock held."""
        batch: list[QueuedJob] = []
        while self._queue and len(batch) < _BATCH:
            batch.append(self._queue.popleft())
        if not batch:
            return
        try:
            self._together(batch)
        except BaseException as error:
            failure = self._translated(error)
            if not isinstance(error, Exception):  # Ctrl-C is for the thread that got it
                failure = StorageError(
                    "the thread that wrote this batch was interrupted; read the data to see whether it is stored"
                )
            for waiting in batch:
                if not waiting.done:
                    waiting.error, waiting.done = failure, True
            if not isinstance(error, Exception):
                raise

    def _together(self, batch: list[QueuedJob]) -> None:
        """Run all jobs in one transaction. Jobs rarely fail: only if one does, all are run again with savepoints."""
        if not self._attempt(batch, careful=len(batch) == 1):
            self._attempt(batch, careful=True)

    def _attempt(self, batch: list[QueuedJob], *, careful: bool) -> bool:
        """With `careful` only a failing job is rolled back; without, the whole batch, and the result is False."""
        connection, tx = self._begin()
        savepoints = careful and len(batch) > 1
        try:
            connection.execute("begin immediate")
            for waiting in batch:
                if savepoints:
                    connection.execute("savepoint job")
                try:
                    waiting.result = waiting.job(tx)
                except Exception as error:
                    if not careful:
                        if connection.in_transaction:
                            connection.execute("rollback")
                        return False
                    waiting.error = self._translated(error)
                    if not connection.in_transaction:  # SQLite rolled back the whole transaction (disk full)
                        break
                    connection.execute("rollback to job" if savepoints else "rollback")
                if savepoints:
                    connection.execute("release job")
            if connection.in_transaction:
                connection.execute("commit")
            elif len(batch) > 1:
                self._one_by_one(batch)
                return True
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise
        for waiting in batch:
            waiting.done = True
        return True

    def _one_by_one(self, batch: list[QueuedJob]) -> None:
        """Run each job in its own transaction, so that one failure does not fail the others."""
        for waiting in batch:
            waiting.result = waiting.error = None
            try:
                self._together([waiting])
            except Exception as error:
                waiting.error = self._translated(error)
                waiting.done = True
