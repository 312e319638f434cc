"""The ledger's methods, awaited.

On SQLite no thread waits for a write: the job goes into the writer's queue, and all that come meanwhile share one
commit. Cancelling an awaited call does not stop it: it is done or not done, and asking again tells which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from hansard.ledger.backends.driver import Job
from hansard.ledger.backends.group_commit import Waiting
from hansard.ledger.backends.sqlite import SqliteDriver
from hansard.ledger.live.run_handle import LiveRun

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger

T = TypeVar("T")
_OWN = ("begin_run", "record", "follow", "iter_transcript", "close")  # they, or what they give back, use the ledger
_LONG = (
    "search",
    "threads_where",
    "facts",
    "verify",
    "prune",
    "forget",
    "backup",
    "stats",
    "rebuild_search",
    "recover",
)


class _Plan(NamedTuple):
    """A job that a method wants to be run."""

    writes: bool
    job: Job[Any]


class _Queue:
    """The jobs of one event loop: all that come while a commit is under way, or before the loop is next at rest, are
    sent together. So the writer works while the loop waits, and neither waits for Python's lock."""

    def __init__(self, driver: SqliteDriver) -> None:
        self._driver = driver
        self._waiting: list[tuple[Job[Any], asyncio.Future[Any]]] = []
        self._busy = False

    def add(self, loop: asyncio.AbstractEventLoop, job: Job[Any]) -> asyncio.Future[Any]:
        """A future of what comes of a job. Cancelling it does not take the job back."""
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

        def done(sent: Future[list[Waiting]]) -> None:
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(self._settle, loop, futures, sent.exception() or sent.result())

        sent.add_done_callback(done)

    def _settle(
        self, loop: asyncio.AbstractEventLoop, futures: list[asyncio.Future[Any]], came: list[Waiting] | BaseException
    ) -> None:
        for i, future in enumerate(futures):
            if future.done():
                continue
            error = came if isinstance(came, BaseException) else came[i].error
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(came[i].result)  # type: ignore[index]
        loop.call_soon(self._send, loop)  # behind those who were waiting, and have more to say


class AsyncLedger:
    """`await ledger.aio.append(...)`: every method of `Ledger`."""

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
        self.__dict__[name] = method  # the next call finds it without coming here
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
            future.add_done_callback(_nobody_waits)
            raise


def _nobody_waits(future: asyncio.Future[Any]) -> None:
    """A run that was begun for somebody who is gone: it gets no signs of life, and ends like any other dead one."""
    if not future.cancelled() and future.exception() is None and isinstance(future.result(), LiveRun):
        future.result().let_go()


def _planner(ledger: Ledger) -> Ledger:
    """The ledger with its jobs handed out instead of run."""
    planner = type(ledger)(ledger._driver)
    planner._read = lambda job: _Plan(False, job)  # type: ignore[method-assign,assignment,return-value]
    planner._write = lambda job: _Plan(True, job)  # type: ignore[method-assign,assignment,return-value]
    return planner
