"""Read the journal of a run, from any process: the deltas so far, then new ones until the run ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from hansard.errors import Damaged, HansardError, NotFound
from hansard.ledger import bodies, runs
from hansard.ledger.backends.driver import Driver, Tx
from hansard.ledger.ids import clock
from hansard.ledger.live.delta_codec import read_lines
from hansard.ledger.results import Journaled, NumberedDelta
from hansard.ledger.rows import RunRow, find_run, find_thread

_SHORTEST, _LONGEST = 0.02, 0.25  # seconds between two looks at the journal
_PAGE = 256
DAMAGE = (TypeError, ValueError, LookupError, AttributeError)  # what decoding a damaged row can raise


class _Look(NamedTuple):
    """The deltas that were found, whether there may be more, and whether the run's process is dead."""

    found: list[NumberedDelta]
    more: bool
    dead: bool


def deltas_after(tx: Tx, thread_id: str, run_id: str, after: int) -> _Look:
    """The next deltas of a run after the first `after`."""
    thread = find_thread(tx, thread_id)
    row = find_run(tx, thread, run_id)
    found: list[NumberedDelta] = []
    rows = tx.all("chunks_after", thread=thread.thread, run=row.run, after=after, limit=_PAGE)
    for seq, count, data in rows:
        found += [numbered for numbered in decode_chunk(seq, count, data) if numbered.seq > after]
    active, full = row.status == runs.ACTIVE, len(rows) == _PAGE
    dead = active and not found and row.lease_until is not None and row.lease_until < clock()
    return _Look(found, (active and not dead) or full, dead)


def journal_so_far(tx: Tx, thread_id: str, run_id: str, after: int) -> Journaled:
    """All deltas of a run after the first `after`, without waiting for more."""
    thread = find_thread(tx, thread_id)
    row = find_run(tx, thread, run_id)
    ended = row.status != runs.ACTIVE
    if ended and row.chunks and tx.one("chunks_after", thread=thread.thread, run=row.run, after=0, limit=1) is None:
        raise NotFound(f"the stream of run {run_id!r} is no longer kept; read its messages")
    found = [numbered for numbered in journaled(tx, thread.thread, row, after) if numbered.seq > after]
    return Journaled(found, ended)


def decode_chunk(seq: int, count: int, data: bytes) -> list[NumberedDelta]:
    """The deltas of one chunk of the journal."""
    try:
        deltas = read_lines(bodies.decompress(bytes(data)))
    except (HansardError, *DAMAGE) as error:
        raise Damaged(f"the journal is damaged after delta {seq}: {error}") from None
    if len(deltas) != count:
        raise Damaged(f"the journal is damaged after delta {seq}: {len(deltas)} deltas where {count} were written")
    return [NumberedDelta(number, delta) for number, delta in enumerate(deltas, start=seq + 1)]


def follow(driver: Driver, thread_id: str, run_id: str, after: int) -> Iterator[NumberedDelta]:
    """Replay the journal, then poll it; ends when the run has ended, or its process died (its lease expired)."""
    wait = _SHORTEST
    while True:
        look = driver.read(lambda tx, seq=after: deltas_after(tx, thread_id, run_id, seq))  # type: ignore[misc]
        found = look.found
        for numbered in found:
            after = numbered.seq
            yield numbered
        if look.dead:
            _interrupt(driver, thread_id, run_id)
        if not look.more:
            return
        if not found:
            time.sleep(wait)
            wait = min(wait * 1.5, _LONGEST)
        else:
            wait = _SHORTEST


async def follow_async(driver: Driver, thread_id: str, run_id: str, after: int) -> AsyncIterator[NumberedDelta]:
    """The same for `async for`."""
    wait = _SHORTEST
    while True:
        look = await asyncio.to_thread(driver.read, lambda tx, seq=after: deltas_after(tx, thread_id, run_id, seq))
        found = look.found
        for numbered in found:
            after = numbered.seq
            yield numbered
        if look.dead:
            await asyncio.to_thread(_interrupt, driver, thread_id, run_id)
        if not look.more:
            return
        wait = _SHORTEST if found else min(wait * 1.5, _LONGEST)
        await asyncio.sleep(wait if not found else 0)


def _interrupt(driver: Driver, thread_id: str, run_id: str) -> None:
    from hansard.ledger.live.interrupt import interrupt_dead  # it reads journals with this module

    interrupt_dead(driver, thread_id, run_id, clock())


def journaled(tx: Tx, thread: int, row: RunRow, after: int) -> Iterator[NumberedDelta]:
    """The deltas of a run from the chunk that contains delta `after + 1`; raises `Damaged` where one is missing."""
    while rows := tx.all("chunks_after", thread=thread, run=row.run, after=after, limit=_PAGE):
        for seq, count, data in rows:
            if seq > after:
                raise Damaged(f"the journal is damaged after delta {after}: the next is {seq + 1}")
            yield from decode_chunk(seq, count, data)
            after = seq + count
    if after < row.chunks:
        raise Damaged(f"the journal is damaged after delta {after}: {row.chunks} were written")
