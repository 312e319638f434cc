"""How the calls of `AsyncLedger` run: queued jobs that share commits, or threads.

On SQLite no thread blocks on a write: jobs go into a queue, and those that arrive during a commit share the next one.
Cancelling an awaited call does not stop it: it is done or not done, and repeating it tells which.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from hansard.ledger.backends.driver import Job
from hansard.ledger.backends.group_commit import QueuedJob
from hansard.ledger.backends.sqlite import SqliteDriver
from hansard.ledger.live.run_handle import RunHandle

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger

T = TypeVar("T")
_BATCH = 256


class _Plan(NamedTuple):
    """A job of a method, to be run by the caller."""

    writes: bool
    job: Job[Any]


class _Queue:
    """The jobs of one event loop: those that arrive during a commit, or before the loop is next idle, are sent
    together. So the writer works while the loop is idle, and neither waits for the GIL."""

    def __init__(self, driver: SqliteDriver) -> None:
        self._driver = driver
        self._waiting: list[tuple[Job[Any], asyncio.Future[Any]]] = []
        self._busy = False

    def add(self, loop: asyncio.AbstractEventLoop, job: Job[Any]) -> asyncio.Future[Any]:
        """Queue a job; a future of its result. Cancelling the future does not cancel the job."""
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((job, future))
        if not self._busy:
            self._busy = True
            loop.call_soon(self._send, loop)
        return future

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._waiting = self._waiting, []
        self._busy = bool(batch)
        if not batch:
            return
        futures = [future for _, future in batch]
        try:
            sent = self._driver.submit([job for job, _ in batch])
        except Exception as error:
            self._settle(loop, futures, error)
            return

        def done(sent: Future[list[QueuedJob]]) -> None:
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(self._settle, loop, futures, sent.exception() or sent.result())

        sent.add_done_callback(done)

    def _settle(
        self,
        loop: asyncio.AbstractEventLoop,
        futures: list[asyncio.Future[Any]],
        outcome: list[QueuedJob] | BaseException,
    ) -> None:
        for i, future in enumerate(futures):
            if future.done():
                continue
            error = outcome if isinstance(outcome, BaseException) else outcome[i].error
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(outcome[i].result)  # type: ignore[index]
        loop.call_soon(self._send, loop)  # after the tasks that were waiting, which may add jobs


class AsyncJobs:
    """Runs calls of a ledger for the tasks of any event loop: as queued jobs on SQLite, else in threads."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._sqlite = ledger._driver if isinstance(ledger._driver, SqliteDriver) else None
        self._planner = _planner(ledger)
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="hansard-reader")
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()

    async def queued(self, call: Callable[[Ledger], T]) -> T:
        """The result of a call that is one job."""
        driver = self._sqlite
        if driver is None:
            return await self.in_thread(call)
        plan: Any = call(self._planner)
        if not isinstance(plan, _Plan):
            result: T = plan
            return result
        job: Job[T] = plan.job
        if not plan.writes:
            return await self._run(lambda: driver.read(job))
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = _Queue(driver)
        done: T = await queue.add(loop, job)
        return done

    async def in_thread(self, call: Callable[[Ledger], T]) -> T:
        """The result of a call that may be more than one job."""
        return await self._run(lambda: call(self._ledger))

    async def iterate(self, call: Callable[[Ledger], Iterator[T]]) -> AsyncIterator[T]:
        """The items of an iterator of the ledger, fetched in a thread, a batch at a time."""
        items = await self.in_thread(call)
        while batch := await self._run(lambda: list(islice(items, _BATCH))):
            for item in batch:
                yield item

    async def close(self) -> None:
        """Close the ledger."""
        await self._run(self._ledger.close)

    async def _run(self, action: Callable[[], T]) -> T:
        future = asyncio.get_running_loop().run_in_executor(self._threads, action)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            future.add_done_callback(_release_run)
            raise


def _release_run(future: asyncio.Future[Any]) -> None:
    """Stop renewing the lease of a run whose caller was cancelled: it is recovered like any dead run."""
    if not future.cancelled() and future.exception() is None and isinstance(future.result(), RunHandle):
        future.result().release()


def _planner(ledger: Ledger) -> Ledger:
    """The ledger, but its methods return their job instead of running it."""
    planner = type(ledger)(ledger._driver)
    planner._read = lambda job: _Plan(False, job)  # type: ignore[method-assign,assignment,return-value]
    planner._read_replica = planner._read  # type: ignore[method-assign]
    planner._write = lambda job: _Plan(True, job)  # type: ignore[method-assign,assignment,return-value]
    return planner
