"""The journal of runs: their deltas made durable as they stream, and the sign of life that keeps a run alive.

One thread for a ledger writes what all its runs have said since the last time, in one transaction: a few
milliseconds after the first delta, at once when a run has said much, and never later than a quarter of a second.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from hansard.errors import Conflict, ForkedHandle, HansardError, StorageError
from hansard.ledger import bodies
from hansard.ledger.backends.driver import Driver, Tx
from hansard.ledger.hash_chain import clock
from hansard.ledger.live.delta_codec import write_lines

if TYPE_CHECKING:
    from hansard.streams.deltas import Delta

LEASE = 15_000  # milliseconds without a sign of life after which a run counts as dead
LINGER = 0.03  # seconds the first delta waits for company
MANY = 32
_HEARTBEAT = 4.0


class _Sure(Future[None]):
    """A future that nobody calls off: whoever no longer waits for it does not stop what is written."""

    def cancel(self) -> bool:
        return False


class Round(_Sure):
    """One transaction of the journal: done when it is over, and with it every `Written` of it.

    `here` is for event loops: each keeps the one future of its own in it that all of its tasks wait for. A loop is then
    woken once for all the runs that were written together.
    """

    def __init__(self) -> None:
        super().__init__()
        self.here: dict[Any, Any] = {}


class Written(_Sure):
    """Done when some deltas of a run are durable; raises if they never will be."""

    round: Round | None = None


def _nothing() -> Written:
    done = Written()
    done.set_result(None)
    return done


class Entry:
    """A run this process does: what it has said that is not durable yet."""

    def __init__(self, thread_id: str, run_id: str, thread: int, run: int, fence: int, said: int) -> None:
        self.thread_id, self.run_id = thread_id, run_id
        self.thread, self.run, self.fence = thread, run, fence
        self.said = self.durable = said
        self.waiting: list[Delta] = []
        self.future = Written()  # of what is waiting
        self.underway = self.future  # of what is being written
        self.lost: HansardError | None = None
        self.ended = False


class Journal:
    """What `LiveRun.write` writes to."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._changed = threading.Condition()
        self._entries: dict[Entry, None] = {}
        self._pid = os.getpid()
        self._urgent = self._stopping = False
        self._round = Round()  # the next one
        self._some = False  # is anything waiting? Asked with every delta, so it is not looked for
        self._thread: threading.Thread | None = None

    def open(self, entry: Entry) -> None:
        """A run begins: it is kept alive until `close`."""
        with self._changed:
            self._entries[entry] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="hansard-journal", daemon=True)
                self._thread.start()

    def add(self, entry: Entry, deltas: Iterable[Delta]) -> Written:
        """Take deltas in; the future is done when they are durable, and raises if the run was shut out before."""
        self._check()
        with self._changed:
            if entry.lost is not None:
                raise entry.lost
            if entry.ended:
                raise Conflict(f"run {entry.run_id!r} has ended; begin a new one")
            before = len(entry.waiting)
            entry.waiting += deltas
            if not entry.waiting:
                return entry.underway if entry.durable != entry.said else _nothing()
            if len(entry.waiting) == before:
                return entry.future
            idle, self._some = not self._some, True
            entry.future.round = self._round
            if len(entry.waiting) >= MANY:
                self._urgent = True
            if idle or self._urgent:
                self._changed.notify_all()
            return entry.future

    def hurry(self) -> None:
        """Write what is waiting now, without company: somebody stands still until it is durable."""
        self._check()
        with self._changed:
            if self._any():
                self._urgent = True
                self._changed.notify_all()

    def flush(self, entry: Entry) -> None:
        """Wait until everything the run has said is durable."""
        self._check()
        with self._changed:
            if not entry.waiting and entry.durable == entry.said:
                if entry.lost is not None:
                    raise entry.lost
                return
            self._urgent = True
            self._changed.notify_all()
            future = entry.future if entry.waiting else entry.underway
        future.result()
        if entry.lost is not None:
            raise entry.lost

    def close(self, entry: Entry) -> None:
        """The run has ended; what still waits is written, or refused, and then it is let go."""
        if os.getpid() != self._pid:
            return
        with self._changed:
            entry.ended = True
            if not entry.waiting:
                self._entries.pop(entry, None)

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
        if os.getpid() != self._pid:  # the thread that writes did not come along, and a lock may be held for ever
            raise ForkedHandle("this run was begun before a fork; open the ledger again in the child")

    # -- the thread ------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._rounds()
        finally:
            self._gone()

    def _gone(self) -> None:
        """Nobody is to wait for a thread that is gone."""
        with self._changed:
            self._thread = None
            for entry in self._entries:
                entry.lost = entry.lost or StorageError("this ledger is closed; open it again")
                for future in (entry.underway, entry.future):
                    if not future.done():
                        future.set_exception(entry.lost)
            self._entries.clear()
            self._round.set_result(None)
            self._round = Round()

    def _rounds(self) -> None:
        beat = time.monotonic() + _HEARTBEAT
        while True:
            with self._changed:
                while not self._stopping and not self._any() and time.monotonic() < beat:
                    self._changed.wait(max(0.01, beat - time.monotonic()))
                if self._any() and not self._urgent and not self._stopping:
                    self._changed.wait_for(lambda: self._urgent or self._stopping, LINGER)
                self._some = False
                batch = [(entry, entry.waiting) for entry in self._entries if entry.waiting]
                for entry, deltas in batch:
                    entry.waiting = []
                    entry.said += len(deltas)
                    entry.underway, entry.future = entry.future, Written()
                    if entry.ended:
                        del self._entries[entry]
                self._urgent = False
                if batch:
                    round, self._round = self._round, Round()
                everybody = list(self._entries)
                stopping = self._stopping
            if batch:
                try:
                    self._write(batch)
                finally:
                    round.set_result(None)
            if time.monotonic() >= beat and not stopping:
                beat = time.monotonic() + _HEARTBEAT
                self._renew(everybody)
            if stopping and not self._any():
                return

    def _any(self) -> bool:
        return any(entry.waiting for entry in self._entries)

    def _write(self, batch: list[tuple[Entry, list[Delta]]]) -> None:
        rows: list[tuple[Entry, int, bytes]] = []
        for entry, deltas in batch:
            if entry.lost is None:
                try:
                    rows.append((entry, len(deltas), bodies.squeezed(write_lines(deltas))))
                    continue
                except Exception as error:  # what one run says is not to keep the others' words from the disk
                    entry.lost = HansardError(f"run {entry.run_id!r} said what is not JSON: {error}; begin a new one")
            entry.underway.set_exception(entry.lost)  # behind what was lost nothing is written: no gaps
        if not rows:
            return

        counts = [
            {"thread": entry.thread, "run": entry.run, "fence": entry.fence, "chunks": entry.said}
            for entry, _, _ in rows
        ]
        chunks = [
            {"thread": entry.thread, "run": entry.run, "seq": entry.said - count, "count": count, "data": data}
            for entry, count, data in rows
        ]

        def job(tx: Tx) -> list[Entry]:
            if tx.many("count_chunks", counts) == len(rows):
                tx.many("add_chunk", chunks)
                return []
            holds = [tx.run("count_chunks", **values) == 1 for values in counts]  # who does not any more?
            tx.many("add_chunk", [chunk for chunk, held in zip(chunks, holds, strict=True) if held])
            return [entry for (entry, _, _), held in zip(rows, holds, strict=True) if not held]

        try:
            shut_out = self._driver.write(job)
        except BaseException as error:  # whatever it is, somebody waits
            failed = error if isinstance(error, HansardError) else HansardError(f"the journal failed: {error!r}")
            for entry, _, _ in rows:
                entry.lost = failed
                entry.underway.set_exception(failed)
            return
        for entry in shut_out:
            entry.lost = Conflict(f"run {entry.run_id!r} is not active any more, or somebody else took it over")
        for entry, _, _ in rows:
            entry.durable = entry.said
            if entry.lost is None:
                entry.underway.set_result(None)
            else:
                entry.underway.set_exception(entry.lost)

    def _renew(self, entries: list[Entry]) -> None:
        lease = clock() + LEASE

        def job(tx: Tx) -> None:
            for entry in entries:
                tx.run("renew_lease", thread=entry.thread, run=entry.run, fence=entry.fence, lease_until=lease)

        try:
            self._driver.write(job)
        except Exception:
            return  # the next beat tries again; if none comes through, the lease runs out as it should
