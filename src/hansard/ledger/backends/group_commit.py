"""Jobs that wait share one commit of SQLite's.

Whoever holds the lock runs the jobs of everybody who waits, in one transaction; one that fails undoes only itself.
A single caller pays for no other thread.
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


class Waiting:
    """A job in the queue, and what came of it."""

    __slots__ = ("done", "error", "job", "result")

    def __init__(self, job: Job[Any]) -> None:
        self.job = job
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False

    def answer(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


class GroupCommit:
    """`begin` gives the connection that writes and a transaction on it, `translated` an error as one of ours.

    `lock` is held while that connection is used, by us and by whoever else needs it.
    """

    def __init__(
        self, begin: Callable[[], tuple[apsw.Connection, Tx]], translated: Callable[[BaseException], BaseException]
    ) -> None:
        self._begin, self._translated = begin, translated
        self.lock = threading.Lock()
        self._queue: deque[Waiting] = deque()

    def run(self, job: Job[T]) -> T:
        """Run a job and wait until it is durable, together with everybody who waits."""
        waiting = Waiting(job)
        try:
            self._queue.append(waiting)
            while not waiting.done:  # more than once only when more waited than one transaction takes
                with self.lock:  # no acquire() and try: Ctrl-C between the two would leave it locked
                    if len(self._queue) == 1 and self._queue[0] is waiting:
                        self._queue.popleft()
                        return self._alone(job)
                    if not waiting.done:
                        self.drain()
        except BaseException:
            with suppress(ValueError):  # nobody is to do it later
                self._queue.remove(waiting)
            raise
        return waiting.answer()  # type: ignore[no-any-return]

    def _alone(self, job: Job[T]) -> T:
        """Nobody else waits: a transaction of its own, with the lock held."""
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

    def run_all(self, jobs: list[Job[Any]]) -> list[Waiting]:
        """Run several, and wait until all of them are durable."""
        batch = [Waiting(job) for job in jobs]
        self._queue.extend(batch)
        while not all(waiting.done for waiting in batch):
            with self.lock:
                self.drain()
        return batch

    def drain(self) -> None:
        """Run those who wait, with the lock held."""
        batch: list[Waiting] = []
        while self._queue and len(batch) < _BATCH:
            batch.append(self._queue.popleft())
        if not batch:
            return
        try:
            self._together(batch)
        except BaseException as error:
            told = self._translated(error)
            if not isinstance(error, Exception):  # Ctrl-C is for the thread that got it
                told = StorageError("whoever wrote this together with others was interrupted; see whether it is there")
            for waiting in batch:
                if not waiting.done:
                    waiting.error, waiting.done = told, True
            if not isinstance(error, Exception):
                raise

    def _together(self, batch: list[Waiting]) -> None:
        """One transaction for all of them. Jobs hardly ever fail: only when one did are all run again with care."""
        if not self._attempt(batch, careful=len(batch) == 1):
            self._attempt(batch, careful=True)

    def _attempt(self, batch: list[Waiting], *, careful: bool) -> bool:
        """With care a job that fails undoes only itself; without, everything is undone, and the answer is no."""
        connection, tx = self._begin()
        behind_savepoints = careful and len(batch) > 1
        try:
            connection.execute("begin immediate")
            for waiting in batch:
                if behind_savepoints:
                    connection.execute("savepoint job")
                try:
                    waiting.result = waiting.job(tx)
                except Exception as error:
                    if not careful:
                        if connection.in_transaction:
                            connection.execute("rollback")
                        return False
                    waiting.error = self._translated(error)
                    if not connection.in_transaction:  # SQLite gave the whole transaction up (disk full)
                        break
                    connection.execute("rollback to job" if behind_savepoints else "rollback")
                if behind_savepoints:
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

    def _one_by_one(self, batch: list[Waiting]) -> None:
        """The fault of one is not to be the others': each in a transaction of its own."""
        for waiting in batch:
            waiting.result = waiting.error = None
            try:
                self._together([waiting])
            except Exception as error:
                waiting.error = self._translated(error)
                waiting.done = True
