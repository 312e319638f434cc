"""End runs that do not complete: failed, given up, stopped from elsewhere, or left by a process that died.

One rule for all of them (docs/guarantees.md). If a client saw text or a call (a delta of one was journaled), the
messages so far stay in the transcript, those from deltas marked as interrupted. A call without a result gets one that
says the run was interrupted: whether the tool ran is unknown, and the call must not be repeated because of that.
Otherwise nothing of the run is in the transcript. The fence is raised first, so that the next write of the run's own
process fails.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Damaged, HansardError, ReadOnlyServer, StorageError, TooLarge
from hansard.ledger import runs
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.ids import NewIds
from hansard.ledger.live.tail import DAMAGE, journaled
from hansard.ledger.messages import Prepared, with_id
from hansard.ledger.rows import RunRow, ThreadRow, find_run, find_thread
from hansard.model.calls import Links
from hansard.model.conversation import Message, Run
from hansard.model.parts import RefusalPart, TextPart, ToolCallPart, ToolResultPart, is_partial
from hansard.streams.accumulator import Accumulator
from hansard.streams.deltas import Delta, MessageEnd, PartDelta, PartEnd, PartStart

UNKNOWN = "The run was stopped before this call was answered; whether its tool ran is not known."
DIED = {"type": "Interrupted", "message": "the process of this run died"}


def end(
    tx: Tx, thread_id: str, run_id: str, fence: int | None, status: str, error: Any, now: int, new_ids: NewIds
) -> Run:
    """End an active run without completing it: failed or aborted. What clients saw of it stays in the transcript.

    If the head has moved since the run began, its messages stay outside the transcript.
    """
    thread = find_thread(tx, thread_id, lock=True)
    row: RunRow = find_run(tx, thread, run_id, lock=True)
    if row.status == status:
        return row.value
    row = runs.active(tx, thread, run_id, fence)
    row._replace(fence=row.fence + 1).save(tx, thread.thread)
    partial, damage = partial_messages(tx, thread.thread, row)
    seen = _was_seen(tx, thread.thread, row)
    if seen:
        partial += unknown_results([*runs.messages(tx, thread_id, run_id), *partial])
    if items := _final_messages(tx, thread, row, partial, now, new_ids):
        runs.stage(tx, thread_id, run_id, None, items, now, row.chunks)
    return runs.end(tx, thread_id, run_id, status, error if damage is UNSET else damage, now, keep=seen)


def stop(tx: Tx, thread_id: str, run_id: str, now: int, new_ids: NewIds) -> Run:
    """End an active run from outside; a run that has ended is returned as it is."""
    row: RunRow = find_run(tx, find_thread(tx, thread_id, lock=True), run_id, lock=True)
    return row.value if row.status != runs.ACTIVE else end(tx, thread_id, run_id, None, "aborted", UNSET, now, new_ids)


def _was_seen(tx: Tx, thread: int, row: RunRow) -> bool:
    """Whether the journal has a delta of text or a call."""
    texts: set[str] = set()
    with suppress(Damaged):
        return any(_shows(numbered.delta, texts) for numbered in journaled(tx, thread, row, 0))
    return False


def _shows(delta: Delta, texts: set[str]) -> bool:
    """Whether a delta shows text or a call; `texts` are the keys of open texts."""
    if isinstance(delta, PartDelta):
        return bool(delta.text) and delta.key in texts
    if isinstance(delta, MessageEnd):
        return any(isinstance(part, (TextPart, RefusalPart, ToolCallPart)) for m in delta.messages for part in m.parts)
    if not isinstance(delta, (PartStart, PartEnd)):
        return False
    part = delta.part
    if isinstance(part, TextPart):
        texts.add(delta.key)
        return bool(part.text)
    if isinstance(part, RefusalPart):
        texts.add(delta.key)
    return isinstance(part, (ToolCallPart, RefusalPart))


def unknown_results(messages: list[Message]) -> list[Message]:
    """A tool message that marks each unanswered call as interrupted; a partial call was never made."""
    links = Links(messages)
    parts: list[ToolResultPart] = []
    for place in links.unanswered():
        call = links.calls[place]
        if call.provider_executed is not True and not is_partial(call) and isinstance(call.tool_call_id, str):
            parts.append(
                ToolResultPart(
                    tool_call_id=call.tool_call_id,
                    tool_name=call.tool_name,
                    output=UNKNOWN,
                    is_error=True,
                    status="interrupted",
                )
            )
    return [Message(role="tool", parts=list(parts))] if parts else []


def recover(driver: Driver, now: int) -> list[tuple[str, str]]:
    """End the runs whose lease has expired; (thread, run) of each.

    Damaged runs do not keep the others from being ended: they are named together in one error, at the end.
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
            except (HansardError, *DAMAGE) as error:
                if isinstance(error, StorageError) and not isinstance(error, Damaged):
                    raise  # the disk or the server failed, not this run
                bad[key] = error
    if bad:
        named = "; ".join(
            f"thread {thread_id!r}, run {run_id!r}: {error}" for (thread_id, run_id), error in bad.items()
        )
        raise Damaged(f"{len(done)} dead runs were ended, {len(bad)} could not be: {named}")
    return done


def recover_thread(driver: Driver, thread_id: str, now: int) -> list[tuple[str, str]]:
    """The same for the runs of one thread; costs one read if none has died."""

    def dead(tx: Tx) -> list[str]:
        rows = [RunRow(*row) for row in tx.all("runs_active", thread=find_thread(tx, thread_id).thread)]
        return [unsafe(row.id) or "" for row in rows if row.lease_until is not None and row.lease_until < now]

    return [(thread_id, run_id) for run_id in driver.read(dead) if interrupt_dead(driver, thread_id, run_id, now)]


def interrupt_dead(driver: Driver, thread_id: str, run_id: str, now: int) -> bool:
    """End a run if its lease has expired; on a standby nothing is written."""
    ids = NewIds()
    try:
        return driver.write(lambda tx: interrupt(tx, thread_id, run_id, now, ids))
    except ReadOnlyServer:
        return False


def interrupt(tx: Tx, thread_id: str, run_id: str, now: int, new_ids: NewIds) -> bool:
    """End a dead run as failed.

    False, and nothing is written, if it is not dead: it renewed its lease, or another process was faster.
    """
    thread = find_thread(tx, thread_id, lock=True)
    row: RunRow = find_run(tx, thread, run_id, lock=True)
    if row.status != runs.ACTIVE or row.lease_until is None or row.lease_until >= now:
        return False
    end(tx, thread_id, run_id, None, "failed", DIED, now, new_ids)
    return True


def partial_messages(tx: Tx, thread: int, row: RunRow) -> tuple[list[Message], str | UnsetType]:
    """The incomplete messages made from the deltas after the last staged message.

    A damaged journal is read up to the damage, which is returned for the run's `error`.
    """
    accumulator = Accumulator()
    damage: str | UnsetType = UNSET
    try:
        for numbered in journaled(tx, thread, row, row.folded):
            if numbered.seq > row.folded:
                accumulator.fold(numbered.delta)
    except Damaged as error:
        damage = str(error)
    return [replace(message, state="interrupted") for message in accumulator.messages() if message.parts], damage


def _final_messages(
    tx: Tx, thread: ThreadRow, row: RunRow, messages: list[Message], now: int, new_ids: NewIds
) -> list[Prepared]:
    """The messages to stage for a run that died or was stopped, under its run and agent id.

    A message whose id is taken gets a new one: no caller is left to choose it.
    """
    items = []
    for i, message in enumerate(messages):
        agent = unsafe(row.agent) or UNSET if message.agent_id is UNSET else message.agent_id
        message = replace(message, run_id=unsafe(row.id) or "", agent_id=agent)
        key = message.id if isinstance(message.id, str) and message.id else new_ids[i]
        if tx.one("place", thread=thread.thread, id=safe(key)) is not None:
            key = new_ids[i]
            message = replace(message, id=key)
        with suppress(TooLarge):  # it stays in the journal; a message that is too large must not keep a run active
            items.append(with_id(message, key, now))
    return items
