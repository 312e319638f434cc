"""`AsyncLedger`: the methods of `Ledger` for asyncio.

On SQLite no thread blocks on a write: jobs go into a queue, and those that arrive during a commit share the next one.
Cancelling an awaited call does not stop it: it is done or not done, and repeating it tells which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from hansard.ledger.backends.driver import Job
from hansard.ledger.backends.group_commit import QueuedJob
from hansard.ledger.backends.sqlite import SqliteDriver
from hansard.ledger.live.run_handle import RunHandle

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger

T = TypeVar("T")
_OWN = (
    "begin_run",
    "record",
    "follow",
    "iter_transcript",
    "close",
)  # they or their results use the ledger
_LONG = (
    "search",
    "threads_where",
    "facts",
    "verify",
    "project",
    "prune",
    "forget",
    "backup",
    "stats",
    "rebuild_search",
    "recover",
)


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


class AsyncLedger:
    """`await ledger.aio.append(...)`: every method of `Ledger`, from `Ledger.aio`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._driver = ledger._driver
        self._planner = _planner(ledger)
        self._readers = ThreadPoolExecutor(8, thread_name_prefix="hansard-reader")
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_") or not callable(getattr(type(self._ledger), name, None)):
            raise AttributeError(f"the ledger has no method {name!r}")
        if not isinstance(self._driver, SqliteDriver) or name in _LONG or name in _OWN:
            method = self._in_thread(getattr(self._ledger, name))
        else:
            method = self._planned(self._driver, getattr(self._planner, name))
        self.__dict__[name] = method  # cached for the next call
        return method

    def _planned(self, driver: SqliteDriver, method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def call(*args: Any, **named: Any) -> Any:
            plan = method(*args, **named)
            if not isinstance(plan, _Plan):
                return plan
            if not plan.writes:
                return await self._run(lambda: driver.read(plan.job))
            loop = asyncio.get_running_loop()
            queue = self._queues.get(loop)
            if queue is None:
                queue = self._queues[loop] = _Queue(driver)
            return await queue.add(loop, plan.job)

        return call

    def _in_thread(self, method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def call(*args: Any, **named: Any) -> Any:
            return await self._run(lambda: method(*args, **named))

        return call

    async def _run(self, action: Callable[[], T]) -> T:
        future = asyncio.get_running_loop().run_in_executor(self._readers, action)
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
