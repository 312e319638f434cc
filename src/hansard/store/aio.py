"""The ledger's methods, awaited.

On SQLite no thread waits for a write: the job goes into the writer's queue, and all that come meanwhile share one
commit. Cancelling an awaited call does not stop it: it is done or not done, and asking again tells which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hansard.store.driver import Job

if TYPE_CHECKING:
    from hansard.store.ledger import Ledger

T = TypeVar("T")
_OWN = ("begin_run",)  # what they give back uses the ledger itself
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


class AsyncLedger:
    """`await ledger.aio.append(...)`: every method of `Ledger`."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._driver = ledger._driver
        self._planner = _planner(ledger)
        self._readers = ThreadPoolExecutor(8, thread_name_prefix="hansard-reader")

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_") or not callable(getattr(type(self._ledger), name, None)):
            raise AttributeError(f"the ledger has no method {name!r}")
        if self._driver.single or name in _LONG or name in _OWN:
            return self._in_thread(getattr(self._ledger, name))
        return self._planned(getattr(self._planner, name))

    def _planned(self, method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def call(*args: Any, **named: Any) -> Any:
            plan = method(*args, **named)
            if not isinstance(plan, _Plan):
                return plan
            if plan.writes:
                return await asyncio.shield(asyncio.wrap_future(self._driver.submit(plan.job)))
            return await self._run(lambda: self._driver.read(plan.job))

        return call

    def _in_thread(self, method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def call(*args: Any, **named: Any) -> Any:
            return await self._run(lambda: method(*args, **named))

        return call

    async def _run(self, action: Callable[[], T]) -> T:
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._readers, action))


def _planner(ledger: Ledger) -> Ledger:
    """The ledger with its jobs handed out instead of run."""
    planner = type(ledger)(ledger._driver)
    planner._read = lambda job: _Plan(False, job)  # type: ignore[method-assign,assignment,return-value]
    planner._write = lambda job: _Plan(True, job)  # type: ignore[method-assign,assignment,return-value]
    return planner
