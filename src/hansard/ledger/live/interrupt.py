"""End runs that their own process does not end: stop an active run, mark dead runs as interrupted.

The messages so far are kept: of a stopped run in the transcript, of a dead run outside it. The fence is raised first,
so the next write of the run's own process fails. Unanswered calls of a stopped run get a result that says the run was
interrupted: whether the tool ran is unknown, and the call must not be repeated because of that.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Conflict, Damaged, HansardError, ReadOnlyServer, StorageError, TooLarge
from hansard.ledger import runs
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.ids import NewIds
from hansard.ledger.live.tail import DAMAGE, journaled
from hansard.ledger.messages import Prepared, with_id
from hansard.ledger.rows import RunRow, ThreadRow, find_run, find_thread
from hansard.model.calls import Links
from hansard.model.conversation import Message, Run
from hansard.model.parts import ToolResultPart, is_partial
from hansard.streams.accumulator import Accumulator

UNKNOWN = "The run was stopped before this call was answered; whether its tool ran is not known."


def stop(tx: Tx, thread_id: str, run_id: str, now: int, new_ids: NewIds) -> Run:
    """End an active run and keep its messages in the transcript; a run that has ended is returned as it is."""
    thread = find_thread(tx, thread_id, lock=True)
    row: RunRow = find_run(tx, thread, run_id, lock=True)
    if row.status != runs.ACTIVE:
        return row.value
    partial, damage = partial_messages(tx, thread.thread, row)
    row = row._replace(fence=row.fence + 1)
    row = row if damage is UNSET else row.with_value(replace(row.value, error=damage))
    row.save(tx, thread.thread)
    partial += unknown_results([*runs.messages(tx, thread_id, run_id), *partial])
    if items := _final_messages(tx, thread, row, partial, now, new_ids):
        runs.stage(tx, thread_id, run_id, None, items, now, row.chunks)
    if items or row.staged:
        try:
            return runs.commit(tx, thread_id, run_id, None, now)
        except Conflict:  # the head has moved: the messages stay outside the transcript
            pass
    return runs.end(tx, thread_id, run_id, None, "aborted", damage, now)


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
    """Mark the runs whose lease has expired as interrupted; (thread, run) of each.

    Damaged runs do not keep the others from being marked: they are named together in one error, at the end.
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
        raise Damaged(f"{len(done)} dead runs were marked as interrupted, {len(bad)} could not be: {named}")
    return done


def recover_thread(driver: Driver, thread_id: str, now: int) -> list[tuple[str, str]]:
    """The same for the runs of one thread; costs one read if none has died."""

    def dead(tx: Tx) -> list[str]:
        rows = [RunRow(*row) for row in tx.all("runs_active", thread=find_thread(tx, thread_id).thread)]
        return [unsafe(row.id) or "" for row in rows if row.lease_until is not None and row.lease_until < now]

    return [(thread_id, run_id) for run_id in driver.read(dead) if interrupt_dead(driver, thread_id, run_id, now)]


def interrupt_dead(driver: Driver, thread_id: str, run_id: str, now: int) -> bool:
    """Mark a run as interrupted if its lease has expired; on a standby nothing is written."""
    ids = NewIds()
    try:
        return driver.write(lambda tx: interrupt(tx, thread_id, run_id, now, ids))
    except ReadOnlyServer:
        return False


def interrupt(tx: Tx, thread_id: str, run_id: str, now: int, new_ids: NewIds) -> bool:
    """Mark a dead run as interrupted; deltas that were not staged become messages of the run.

    False, and nothing is written, if it is not dead: it renewed its lease, or another process was faster.
    """
    thread = find_thread(tx, thread_id, lock=True)
    row: RunRow = find_run(tx, thread, run_id, lock=True)
    if row.status != runs.ACTIVE or row.lease_until is None or row.lease_until >= now:
        return False
    row._replace(fence=row.fence + 1).save(tx, thread.thread)
    partial, damage = partial_messages(tx, thread.thread, row)
    if items := _final_messages(tx, thread, row, partial, now, new_ids):
        runs.stage(tx, thread_id, run_id, None, items, now, row.chunks)
    runs.end(tx, thread_id, run_id, None, "interrupted", damage, now)
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
