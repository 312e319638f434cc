"""What the ledger does with runs that are going on: their journal, following them, finding the dead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET, UnsetType

from hansard.errors import HansardError
from hansard.ledger.backends.driver import Driver, Job, Tx
from hansard.ledger.hash_chain import clock
from hansard.ledger.live.journal import Journal

if TYPE_CHECKING:
    from hansard.ledger.live.run_handle import LiveRun
    from hansard.ledger.live.stream_tee import Recording
    from hansard.ledger.live.tail import Said
    from hansard.model.conversation import Run

T = TypeVar("T")


class Live:
    """Part of `Ledger`."""

    _driver: Driver

    if TYPE_CHECKING:

        def _read(self, job: Job[T]) -> T: ...
        def _write(self, job: Job[T]) -> T: ...

    @cached_property
    def _journal(self) -> Journal:
        return Journal(self._driver)

    def _stop_journal(self) -> None:
        if "_journal" in self.__dict__:
            self._journal.stop()

    def follow(self, run: Run | LiveRun, *, after: int = 0) -> Iterator[Said]:
        """What a run says, from its beginning or behind the first `after` deltas, until it ends; from any process."""
        from hansard.ledger.live.tail import follow

        return follow(self._driver, _thread_of(run), run.id, after)

    async def follow_async(self, run: Run | LiveRun, *, after: int = 0) -> AsyncIterator[Said]:
        """The same for a server: `async for`."""
        import asyncio

        from hansard.ledger.live.tail import FEW, LONG, said_after

        thread_id, run_id, wait = _thread_of(run), run.id, FEW
        while True:
            seq = after
            found, more = await asyncio.to_thread(
                self._driver.read, lambda tx, seq=seq: said_after(tx, thread_id, run_id, seq)
            )
            for said in found:
                after = said.seq
                yield said
            if not more:
                return
            wait = FEW if found else min(wait * 1.5, LONG)
            await asyncio.sleep(wait if not found else 0)

    def record(
        self,
        stream: Any,
        *,
        format: str,
        thread: str,
        agent_id: str | UnsetType = UNSET,
        fork_from: str | UnsetType | None = UNSET,
        durable: bool = False,
    ) -> Recording:
        """A provider's stream (bytes, lines or an SDK's objects, sync or async) that records itself as it is read.

        The answer is committed to the thread when the stream has ended. Pieces are durable within 250 ms of passing;
        with `durable` before they pass, which costs a write to the disk each.
        """
        from hansard.ledger.live.stream_tee import Recording

        ledger: Any = self
        return Recording(ledger, stream, format, thread, agent_id=agent_id, fork_from=fork_from, durable=durable)

    def active_runs(self, thread_id: str) -> list[Run]:
        """The runs of a thread that go on, in the order they began."""
        from hansard.ledger.rows import RunRow, find_thread

        def job(tx: Tx) -> list[Run]:
            rows = tx.all("runs_active", thread=find_thread(tx, thread_id).thread)
            return [RunRow(*row).value for row in rows]

        return self._read(job)

    def stop(self, thread_id: str, run_id: str) -> Run:
        """Stop a run, from any process: what it has said is kept in the transcript as interrupted."""
        from hansard.ledger.ids import NewIds
        from hansard.ledger.live.interrupt import stop

        now, ids = clock(), NewIds()
        return self._write(lambda tx: stop(tx, thread_id, run_id, now, ids))

    def settle(self, thread_id: str, tool_call_ids: list[str]) -> list[str]:
        """These calls wait no longer: somebody is about to answer them in a run of its own."""
        from hansard.ledger import runs

        now = clock()
        return self._write(lambda tx: runs.resolve(tx, thread_id, tool_call_ids, [], now))

    def recover(self) -> list[tuple[str, str]]:
        """Mark the runs whose process died as interrupted, with what they had said; (thread, run) of each."""
        from hansard.ledger.live.tail import recover

        return recover(self._driver, clock())


def _thread_of(run: Run | LiveRun) -> str:
    if isinstance(run.thread_id, str):
        return run.thread_id
    raise HansardError(f"the run {run.id!r} does not say its thread; get it with `ledger.run(thread, run)`")
