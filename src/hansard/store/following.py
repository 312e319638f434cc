"""Following a run from any process: what it has said, then what it says, until it ends. And finding dead ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import TooLarge
from hansard.model.conversation import Message
from hansard.store import bodies, runs
from hansard.store.chain import Prepared, authored
from hansard.store.delta_lines import read_lines
from hansard.store.driver import Driver, Tx, safe, unsafe
from hansard.store.ids import NewIds
from hansard.store.rows import RunRow, ThreadRow, find_run, find_thread
from hansard.streams.accumulator import Accumulator
from hansard.streams.deltas import Delta

FEW, LONG = 0.02, 0.25
_PAGE = 256


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
    for seq, _, data in rows:
        for number, delta in enumerate(read_lines(bodies.opened(data)), start=seq + 1):
            if number > after:
                found.append(Said(number, delta))
    return found, row.status == runs.ACTIVE or len(rows) == _PAGE


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


def interrupt(tx: Tx, thread_id: str, run_id: str, now: int, new_ids: NewIds) -> None:
    """Mark a dead run as interrupted; what it had said that was not staged is kept as a message of its own."""
    thread = find_thread(tx, thread_id, lock=True)
    row: RunRow = find_run(tx, thread, run_id, lock=True)
    if row.status != runs.ACTIVE or row.lease_until is None or row.lease_until >= now:
        return
    row._replace(fence=row.fence + 1).save(tx, thread.thread)
    if items := last_words(tx, thread, row, partial_of(tx, thread.thread, row), now, new_ids):
        runs.stage(tx, thread_id, run_id, None, items, now, row.chunks)
    runs.end(tx, thread_id, run_id, None, "interrupted", UNSET, now)


def partial_of(tx: Tx, thread: int, row: RunRow) -> list[Message]:
    """The messages that the deltas behind the last staged one make: they are not whole."""
    accumulator = Accumulator()
    after = row.folded
    while rows := tx.all("chunks_after", thread=thread, run=row.run, after=after, limit=_PAGE):
        for seq, count, data in rows:
            for number, delta in enumerate(read_lines(bodies.opened(data)), start=seq + 1):
                if number > row.folded:
                    accumulator.fold(delta)
            after = seq + count
    return [replace(message, state="interrupted") for message in accumulator.messages() if message.parts]


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
    """Find the runs whose lease has run out; (thread, run) of each, now marked as interrupted."""
    done: list[tuple[str, str]] = []
    while True:
        dead = driver.read(lambda tx: tx.all("dead_runs", now=now, limit=100))
        if not dead:
            return done
        for thread, run in dead:
            thread_id, run_id = unsafe(thread) or "", unsafe(run) or ""
            ids = NewIds()
            driver.write(
                lambda tx, t=thread_id, r=run_id, i=ids: interrupt(tx, t, r, now, i)  # type: ignore[misc]
            )
            done.append((thread_id, run_id))
