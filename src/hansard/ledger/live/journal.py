"""The journal of runs: deltas become durable while they stream, and heartbeats renew the leases of active runs.

One thread per ledger writes the new deltas of all its runs in one transaction: a few milliseconds after the first
delta, at once when a run has many, and never later than a quarter of a second.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from hansard.errors import Conflict, ForkedHandle, HansardError, StorageError
from hansard.ledger import bodies
from hansard.ledger.backends.driver import Driver, Tx
from hansard.ledger.ids import clock
from hansard.ledger.live.delta_codec import write_lines

if TYPE_CHECKING:
    from hansard.streams.deltas import Delta

LEASE = 15_000  # milliseconds without a heartbeat after which a run counts as dead
_LINGER = 0.03  # seconds the first delta waits for more
_MANY = 32
_HEARTBEAT = 4.0


class _Uncancellable(Future[None]):
    """A future whose cancellation does not stop the write."""

    def cancel(self) -> bool:
        return False


class JournalBatch(_Uncancellable):
    """One transaction of the journal: done when it is over, and with it every `DurableFuture` of it.

    `loop_futures` holds one asyncio future for each event loop, which all tasks of the loop share: a loop is woken once
    for all the runs that were written together.
    """

    def __init__(self) -> None:
        super().__init__()
        self.loop_futures: dict[Any, Any] = {}


class DurableFuture(_Uncancellable):
    """Done when some deltas of a run are durable; raises if they cannot become so."""

    batch: JournalBatch | None = None


def nothing_to_write() -> DurableFuture:
    """The future of no deltas."""
    done = DurableFuture()
    done.set_result(None)
    return done


class RunBuffer:
    """A run that this process writes, with its deltas that are not durable yet.

    `given` deltas were taken over for writing, `durable` of them are written; `waiting` holds the later ones.
    """

    def __init__(self, thread_id: str, run_id: str, thread: int, run: int, fence: int, given: int) -> None:
        self.thread_id, self.run_id = thread_id, run_id
        self.thread, self.run, self.fence = thread, run, fence
        self.given = self.durable = given
        self.waiting: list[Delta] = []
        self.future = DurableFuture()  # of `waiting`
        self.underway = self.future  # of the deltas being written
        self.lost: HansardError | None = None
        self.when_lost: Callable[[], None] | None = None  # called by the journal's thread
        self.ended = False


class Journal:
    """The journal of one ledger; `RunHandle.write` adds deltas to it."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._changed = threading.Condition()
        self._buffers: dict[RunBuffer, None] = {}
        self._pid = os.getpid()
        self._urgent = self._stopping = False
        self._next = JournalBatch()
        self._some = False  # whether anything is waiting; checked for every delta, so it is cached
        self._thread: threading.Thread | None = None

    def open(self, buffer: RunBuffer) -> None:
        """Begin to renew the lease of a run, until `close`."""
        with self._changed:
            self._buffers[buffer] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="hansard-journal", daemon=True)
                self._thread.start()

    def add(self, buffer: RunBuffer, deltas: Iterable[Delta]) -> DurableFuture:
        """Add deltas; the future is done when they are durable, and raises if the run is stopped before."""
        self._check()
        with self._changed:
            if buffer.lost is not None:
                raise buffer.lost
            if buffer.ended:
                raise Conflict(f"run {buffer.run_id!r} has ended; begin a new one")
            before = len(buffer.waiting)
            buffer.waiting += deltas
            if not buffer.waiting:
                return buffer.underway if buffer.durable != buffer.given else nothing_to_write()
            if len(buffer.waiting) == before:
                return buffer.future
            idle, self._some = not self._some, True
            buffer.future.batch = self._next
            if len(buffer.waiting) >= _MANY:
                self._urgent = True
            if idle or self._urgent:
                self._changed.notify_all()
            return buffer.future

    def hurry(self) -> None:
        """Write what is waiting at once: a caller is blocked until it is durable."""
        self._check()
        with self._changed:
            if self._any():
                self._urgent = True
                self._changed.notify_all()

    def flush(self, buffer: RunBuffer) -> None:
        """Wait until all deltas of the run are durable."""
        self._check()
        with self._changed:
            if not buffer.waiting and buffer.durable == buffer.given:
                if buffer.lost is not None:
                    raise buffer.lost
                return
            self._urgent = True
            self._changed.notify_all()
            future = buffer.future if buffer.waiting else buffer.underway
        future.result()
        if buffer.lost is not None:
            raise buffer.lost

    def close(self, buffer: RunBuffer) -> None:
        """The run has ended: write or reject what is still waiting, then forget the run."""
        if os.getpid() != self._pid:
            return
        with self._changed:
            buffer.ended = True
            if not buffer.waiting:
                self._buffers.pop(buffer, None)

    def stop(self) -> None:
        """Write what is left and end the thread."""
        if os.getpid() != self._pid:
            return
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _check(self) -> None:
        if os.getpid() != self._pid:  # the writing thread does not exist in the child, and a lock may never be released
            raise ForkedHandle("this run was begun before a fork; open the ledger again in the child")

    # -- the thread ------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._rounds()
        finally:
            self._fail_all()

    def _fail_all(self) -> None:
        """Fail all futures: the thread that would complete them has ended."""
        with self._changed:
            self._thread = None
            for buffer in self._buffers:
                buffer.lost = buffer.lost or StorageError("this ledger is closed; open it again")
                for future in (buffer.underway, buffer.future):
                    if not future.done():
                        future.set_exception(buffer.lost)
            self._buffers.clear()
            self._next.set_result(None)
            self._next = JournalBatch()

    def _rounds(self) -> None:
        beat = time.monotonic() + _HEARTBEAT
        while True:
            with self._changed:
                while not self._stopping and not self._any() and time.monotonic() < beat:
                    self._changed.wait(max(0.01, beat - time.monotonic()))
                if self._any() and not self._urgent and not self._stopping:
                    self._changed.wait_for(lambda: self._urgent or self._stopping, _LINGER)
                self._some = False
                batch = [(buffer, buffer.waiting) for buffer in self._buffers if buffer.waiting]
                for buffer, deltas in batch:
                    buffer.waiting = []
                    buffer.given += len(deltas)
                    buffer.underway, buffer.future = buffer.future, DurableFuture()
                    if buffer.ended:
                        del self._buffers[buffer]
                self._urgent = False
                if batch:
                    current, self._next = self._next, JournalBatch()
                active = list(self._buffers)
                stopping = self._stopping
            if batch:
                try:
                    self._write(batch)
                finally:
                    current.set_result(None)
            if time.monotonic() >= beat and not stopping:
                beat = time.monotonic() + _HEARTBEAT
                self._renew(active)
            if stopping and not self._any():
                return

    def _any(self) -> bool:
        return any(buffer.waiting for buffer in self._buffers)

    def _write(self, batch: list[tuple[RunBuffer, list[Delta]]]) -> None:
        rows: list[tuple[RunBuffer, int, bytes]] = []
        for buffer, deltas in batch:
            if buffer.lost is None:
                try:
                    rows.append((buffer, len(deltas), bodies.compress(write_lines(deltas))))
                    continue
                except Exception as error:  # one run must not keep the others' deltas from the disk
                    buffer.lost = HansardError(
                        f"run {buffer.run_id!r}: a delta is not valid JSON: {error}; begin a new one"
                    )
            buffer.underway.set_exception(buffer.lost)  # after a lost delta nothing is written: no gaps
        if not rows:
            return

        counts = [
            {"thread": buffer.thread, "run": buffer.run, "fence": buffer.fence, "chunks": buffer.given}
            for buffer, _, _ in rows
        ]
        chunks = [
            {"thread": buffer.thread, "run": buffer.run, "seq": buffer.given - count, "count": count, "data": data}
            for buffer, count, data in rows
        ]

        def job(tx: Tx) -> list[RunBuffer]:
            if tx.many("count_chunks", counts) == len(rows):
                tx.many("add_chunk", chunks)
                return []
            holds = [tx.run("count_chunks", **values) == 1 for values in counts]  # which runs were taken over?
            tx.many("add_chunk", [chunk for chunk, held in zip(chunks, holds, strict=True) if held])
            return [buffer for (buffer, _, _), held in zip(rows, holds, strict=True) if not held]

        try:
            taken_over = self._driver.write(job)
        except BaseException as error:  # of any kind: callers are waiting
            failed = error if isinstance(error, HansardError) else HansardError(f"the journal failed: {error!r}")
            for buffer, _, _ in rows:
                buffer.lost = failed
                buffer.underway.set_exception(failed)
            return
        for buffer in taken_over:
            self._lose(buffer)
        for buffer, _, _ in rows:
            buffer.durable = buffer.given
            if buffer.lost is None:
                buffer.underway.set_result(None)
            else:
                buffer.underway.set_exception(buffer.lost)

    def _renew(self, buffers: list[RunBuffer]) -> None:
        lease = clock() + LEASE

        def job(tx: Tx) -> list[RunBuffer]:
            def renew(buffer: RunBuffer) -> int:
                where = {"thread": buffer.thread, "run": buffer.run, "fence": buffer.fence}
                return tx.run("renew_lease", lease_until=lease, **where)

            return [buffer for buffer in buffers if not renew(buffer)]

        try:
            taken_over = self._driver.write(job)
        except Exception:
            return  # the next beat tries again; if none comes through, the lease runs out as it should
        for buffer in taken_over:
            if not buffer.ended:
                self._lose(buffer)

    def _lose(self, buffer: RunBuffer) -> None:
        """The run was ended by another process, or is taken over by it."""
        buffer.lost = Conflict(f"run {buffer.run_id!r} is no longer active, or another process took it over")
        if buffer.when_lost is not None:
            buffer.when_lost()
