"""Following a run from any process: what it has said, then what it says, until it ends. And finding dead ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Damaged, HansardError, StorageError, TooLarge
from hansard.ledger import bodies, runs
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.hash_chain import Prepared, authored
from hansard.ledger.ids import NewIds
from hansard.ledger.live.delta_codec import read_lines
from hansard.ledger.rows import RunRow, ThreadRow, find_run, find_thread
from hansard.model.conversation import Message
from hansard.streams.accumulator import Accumulator
from hansard.streams.deltas import Delta

FEW, LONG = 0.02, 0.25
_PAGE = 256
_ODD = (TypeError, ValueError, LookupError, AttributeError)  # what comes of a row that is not as it was written


class Said(NamedTuple):
    """One delta and its number: give `seq` as `after` to go on behind it."""

    seq: int
    delta: Delta


def said_after(tx: Tx, thread_id: str, run_id: str, after: int) -> tuple[list[Said], bool]:
    """The next deltas of a run behind the first `after`, and whether there may be more."""
    thread = find_thread(tx, thread_id)
    row = find_run(tx, thread, run_id)
    found: list[Said] = []
    rows = tx.all("chunks_after", thread=thread.thread, run=row.run, after=after, limit=_PAGE)
    for seq, count, data in rows:
        found += [said for said in _opened(seq, count, data) if said.seq > after]
    return found, row.status == runs.ACTIVE or len(rows) == _PAGE


def _opened(seq: int, count: int, data: bytes) -> list[Said]:
    """The deltas of one chunk of the journal."""
    try:
        deltas = read_lines(bodies.opened(bytes(data)))
    except (HansardError, *_ODD) as error:
        raise Damaged(f"the journal is damaged behind delta {seq}: {error}") from None
    if len(deltas) != count:
        raise Damaged(f"the journal is damaged behind delta {seq}: {len(deltas)} deltas where {count} were written")
    return [Said(number, delta) for number, delta in enumerate(deltas, start=seq + 1)]


def follow(driver: Driver, thread_id: str, run_id: str, after: int) -> Iterator[Said]:
    """Replay, then tail; ends when the run has ended."""
    wait = FEW
    while True:
        found, more = driver.read(lambda tx, seq=after: said_after(tx, thread_id, run_id, seq))  # type: ignore[misc]
        for said in found:
            after = said.seq
            yield said
        if not more:
            return
        if not found:
            time.sleep(wait)
            wait = min(wait * 1.5, LONG)
        else:
            wait = FEW


def interrupt(tx: Tx, thread_id: str, run_id: str, now: int, new_ids: NewIds) -> bool:
    """Mark a dead run as interrupted; what it had said that was not staged is kept as a message of its own.

    False, and nothing is done, if it is not dead any more: it has renewed its lease, or another process was quicker.
    """
    thread = find_thread(tx, thread_id, lock=True)
    row: RunRow = find_run(tx, thread, run_id, lock=True)
    if row.status != runs.ACTIVE or row.lease_until is None or row.lease_until >= now:
        return False
    row._replace(fence=row.fence + 1).save(tx, thread.thread)
    said, damage = partial_of(tx, thread.thread, row)
    if items := last_words(tx, thread, row, said, now, new_ids):
        runs.stage(tx, thread_id, run_id, None, items, now, row.chunks)
    runs.end(tx, thread_id, run_id, None, "interrupted", damage, now)
    return True


def partial_of(tx: Tx, thread: int, row: RunRow) -> tuple[list[Message], str | UnsetType]:
    """The messages that the deltas behind the last staged one make: they are not whole.

    Where the journal is damaged it is read up to there, and the damage is told: for the run's `error`.
    """
    accumulator = Accumulator()
    damage: str | UnsetType = UNSET
    try:
        for said in journaled(tx, thread, row, row.folded):
            if said.seq > row.folded:
                accumulator.fold(said.delta)
    except Damaged as error:
        damage = str(error)
    return [replace(message, state="interrupted") for message in accumulator.messages() if message.parts], damage


def journaled(tx: Tx, thread: int, row: RunRow, after: int) -> Iterator[Said]:
    """What the journal has of a run from the chunk with the delta behind `after` on; all of it is there, or Damaged."""
    while rows := tx.all("chunks_after", thread=thread, run=row.run, after=after, limit=_PAGE):
        for seq, count, data in rows:
            if seq > after:
                raise Damaged(f"the journal is damaged behind delta {after}: the next is {seq + 1}")
            yield from _opened(seq, count, data)
            after = seq + count
    if after < row.chunks:
        raise Damaged(f"the journal is damaged behind delta {after}: {row.chunks} were written")


def last_words(
    tx: Tx, thread: ThreadRow, row: RunRow, messages: list[Message], now: int, new_ids: NewIds
) -> list[Prepared]:
    """What is to be staged of a run that died or was stopped: as its own words, said now.

    A message whose id another has gets a new one: nobody is left who could choose it.
    """
    items = []
    for i, message in enumerate(messages):
        agent = unsafe(row.agent) or UNSET if message.agent_id is UNSET else message.agent_id
        message = replace(message, run_id=unsafe(row.id) or "", agent_id=agent)
        key = message.id if isinstance(message.id, str) and message.id else new_ids[i]
        if tx.one("place", thread=thread.thread, id=safe(key)) is not None:
            key = new_ids[i]
            message = replace(message, id=key)
        with suppress(TooLarge):  # it stays in the journal; one answer that is too large is not to keep a run alive
            items.append(authored(message, key, now))
    return items


def recover(driver: Driver, now: int) -> list[tuple[str, str]]:
    """Find the runs whose lease has run out; (thread, run) of each, now marked as interrupted.

    One whose rows are damaged keeps no other from it: they are named together, when all others are done.
    """
    done: list[tuple[str, str]] = []
    bad: dict[tuple[str, str], Exception] = {}
    while True:
        dead = driver.read(lambda tx: tx.all("dead_runs", now=now, limit=100 + len(bad)))
        found = [(unsafe(thread) or "", unsafe(run) or "") for thread, run in dead]
        if not (left := [key for key in found if key not in bad]):
            break
        for key in left:
            ids = NewIds()
            try:
                if driver.write(lambda tx, key=key, i=ids: interrupt(tx, key[0], key[1], now, i)):  # type: ignore[misc]
                    done.append(key)
            except (HansardError, *_ODD) as error:
                if isinstance(error, StorageError) and not isinstance(error, Damaged):
                    raise  # the disk or the server: it is not about this run
                bad[key] = error
    if bad:
        named = "; ".join(
            f"thread {thread_id!r}, run {run_id!r}: {error}" for (thread_id, run_id), error in bad.items()
        )
        raise Damaged(f"{len(done)} dead runs were marked as interrupted, {len(bad)} could not be: {named}")
    return done
