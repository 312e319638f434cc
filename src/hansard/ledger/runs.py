"""Runs: messages of one agent run, staged outside the transcript and committed to it atomically.

Committing a run moves the head to its last message. If the run forks, its messages replace what followed the fork point
in the transcript, and the run that was committed there is marked superseded; nothing is deleted. If the head has moved
since the run began, the commit is rejected with both heads.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Busy, Conflict, NotFound
from hansard.ledger import bodies, limits, summary, tree
from hansard.ledger.backends.driver import Tx, safe, unsafe
from hansard.ledger.live.journal import RunBuffer
from hansard.ledger.messages import Prepared, write_after
from hansard.ledger.results import Pending
from hansard.ledger.rows import ROOT, RunRow, ThreadRow, find_place, find_run, find_runs, find_thread, id_at
from hansard.model.conversation import Message, PendingCall, Run, Usage
from hansard.model.request import Settings, Tool
from hansard.model.stored import StoredMessage, stored_message
from hansard.model.times import iso_time

ACTIVE = "active"


def begin(
    tx: Tx, thread_id: str, value: Run, fork_from: str | UnsetType | None, lease_until: int, now: int
) -> tuple[Run, RunBuffer]:
    """Begin a run after the head, or after the message it forks from (None: before all messages)."""
    thread = find_thread(tx, thread_id, lock=True)
    if (found := tx.one("run", thread=thread.thread, id=safe(value.id))) is not None:
        row = RunRow(*found)  # the same call, repeated
        return row.value, RunBuffer(thread_id, value.id, thread.thread, row.run, row.fence, row.chunks)
    head = thread.head
    fork = head if fork_from is UNSET else ROOT if fork_from is None else find_place(tx, thread, fork_from)
    value = replace(
        value,
        thread_id=thread_id,
        fork_from_message_id=unsafe(id_at(tx, thread, fork)),
        status=ACTIVE,
        started_at=iso_time(now),
    )
    tx.run(
        "add_run",
        thread=thread.thread,
        run=thread.next_run,
        id=safe(limits.check_id(value.id, "a run")),
        status=ACTIVE,
        agent=safe(value.agent_id) if isinstance(value.agent_id, str) else None,
        fork_seg=fork.seg,
        fork_depth=fork.depth,
        base_seg=head.seg,
        base_depth=head.depth,
        seg=fork.seg,
        depth=fork.depth,
        tip_hash=fork.hash,
        tip_said=fork.said,
        lease_until=lease_until,
        body=bodies.seal(limits.encode(value, "the description of a run")),
    )
    tx.run("drop_chunks", thread=thread.thread, run=thread.next_run)
    thread._replace(next_run=thread.next_run + 1).save(tx, now)
    return value, RunBuffer(thread_id, value.id, thread.thread, thread.next_run, 0, 0)


def check_idle(tx: Tx, thread_id: str, run_id: str, now: int) -> None:
    """Raise `Busy` if another run is active in a thread; a run whose process died is not."""
    for found in tx.all("runs_active", thread=find_thread(tx, thread_id, lock=True).thread):
        row = RunRow(*found)
        if unsafe(row.id) != run_id and (row.lease_until is None or row.lease_until >= now):
            raise Busy(f"a run is active in thread {thread_id!r}; wait until it has ended, or stop it")


def stage(
    tx: Tx,
    thread_id: str,
    run_id: str,
    fence: int | None,
    items: list[Prepared],
    now: int,
    through: int | None = None,
    asked: tuple[list[Tool] | UnsetType, Settings | UnsetType] = (UNSET, UNSET),
) -> list[StoredMessage]:
    """Write messages of an active run; they are outside the transcript until it commits. Gives them as stored.

    `through` is the number of deltas they cover: after a crash only later ones are folded into messages. `asked`:
    the tools and settings of its last request, where they changed.
    """
    thread = find_thread(tx, thread_id, lock=True)
    row = active(tx, thread, run_id, fence)
    done = write_after(tx, thread, row.tip, items, row.run)
    done.thread.save(tx, now)
    value = _with_usage(row.value, [item.message for item in items] if done.added else [])
    tools, settings = (
        new if new is not UNSET else old for new, old in zip(asked, (value.tools, value.settings), strict=True)
    )
    if tools is not value.tools or settings is not value.settings:
        value = replace(value, tools=tools, settings=settings)
    folded = row.folded if through is None else through
    before = unsafe(id_at(tx, thread, row.tip)) if done.added == len(items) else None
    row = row.at(done.place)._replace(staged=row.staged + done.added, folded=folded)
    row.with_value(value).save(tx, thread.thread)
    if done.added != len(items):
        return [tree.message_at(tx, thread, unsafe(item.id) or "") for item in items]
    return tree.on_path([stored_message(item.message) for item in items], before)


def active(tx: Tx, thread: ThreadRow, run_id: str, fence: int | None) -> RunRow:
    """The row of an active run, if the caller's fence is still valid."""
    row = find_run(tx, thread, run_id, lock=True)
    if row.status != ACTIVE:
        raise Conflict(f"run {run_id!r} is {row.status}; begin a new one")
    if fence is not None and row.fence != fence:
        raise Conflict(f"run {run_id!r} was taken over by another process; begin a new one")
    return row


def _with_usage(value: Run, messages: list[Message]) -> Run:
    counted = [message.usage for message in messages if message.usage is not UNSET]
    if not counted:
        return value
    return replace(value, usage=summary.total([value.usage if isinstance(value.usage, Usage) else Usage(), *counted]))


def commit(
    tx: Tx,
    thread_id: str,
    run_id: str,
    fence: int | None,
    now: int,
    *,
    pending: list[PendingCall] | UnsetType = UNSET,
    usage: Usage | UnsetType = UNSET,
    force: bool = False,
) -> Run:
    """Put the messages of a run into the transcript. Committing a committed run changes nothing."""
    thread = find_thread(tx, thread_id, lock=True)
    row = find_run(tx, thread, run_id, lock=True)
    if row.status == "committed":
        return row.value
    row = active(tx, thread, run_id, fence)
    if (thread.head_seg, thread.head_depth) != (row.base_seg, row.base_depth) and not force:
        expected = unsafe(id_at(tx, thread, (row.base_seg, row.base_depth)))
        found = unsafe(id_at(tx, thread, thread.head))
        raise Conflict(
            f"run {run_id!r} began at head {expected!r}, but the head of thread {thread_id!r} is now {found!r}; "
            "abort it, or commit with force=True to move the head anyway",
            expected=expected,
            found=found,
        )
    for other in tx.all("committed_at", thread=thread.thread, fork_seg=row.fork_seg, fork_depth=row.fork_depth):
        old = RunRow(*other)
        old._replace(superseded_by=row.run).with_value(replace(old.value, status="superseded")).save(tx, thread.thread)
    changes: dict[str, Any] = {"status": "committed", "completed_at": iso_time(now)}
    if pending is not UNSET:
        changes["pending"] = pending
    if usage is not UNSET:
        changes["usage"] = usage
    value = replace(row.value, **changes)
    row._replace(lease_until=None).with_value(value).save(tx, thread.thread)
    thread.at(row.tip).save(tx, now)
    return value


def end(tx: Tx, thread_id: str, run_id: str, status: str, error: Any, now: int, *, keep: bool) -> Run:
    """End an active run without committing it: aborted or failed; see `live.interrupt`.

    `keep` puts its messages into the transcript, unless the head has moved since it began.
    """
    thread = find_thread(tx, thread_id, lock=True)
    row = active(tx, thread, run_id, None)
    value = replace(row.value, status=status, completed_at=iso_time(now), error=error)
    row._replace(lease_until=None).with_value(value).save(tx, thread.thread)
    if keep and row.staged and (thread.head_seg, thread.head_depth) == (row.base_seg, row.base_depth):
        thread = thread.at(row.tip)
    thread.save(tx, now)
    return value


def with_run_id(message: Message, run_id: str) -> Message:
    """The message with the id of its run, unless it has one."""
    return replace(message, run_id=run_id) if message.run_id is UNSET else message


def all_runs(tx: Tx, thread_id: str) -> list[Run]:
    """All runs of a thread, in the order they began."""
    return [row.value for row in find_runs(tx, find_thread(tx, thread_id)).values()]


def active_runs(tx: Tx, thread_id: str) -> list[Run]:
    """The active runs of a thread, in the order they began."""
    rows = tx.all("runs_active", thread=find_thread(tx, thread_id).thread)
    return [RunRow(*row).value for row in rows]


def newest_run(tx: Tx, thread_id: str) -> Run | None:
    """The run of a thread that began last."""
    row = tx.one("run_newest", thread=find_thread(tx, thread_id).thread)
    return None if row is None else RunRow(*row).value


def run_by_id(tx: Tx, run_id: str) -> Run:
    """The run with this id, in whatever thread it is."""
    found = tx.all("threads_of_run", id=safe(run_id))
    if not found:
        raise NotFound(f"no run {run_id!r}")
    if len(found) > 1:
        raise Conflict(f"several threads have a run {run_id!r}; name the thread")
    return find_run(tx, find_thread(tx, unsafe(found[0][0]) or ""), run_id).value


def messages(tx: Tx, thread_id: str, run_id: str) -> list[StoredMessage]:
    """The messages of a run, staged or committed."""
    thread = find_thread(tx, thread_id)
    row = find_run(tx, thread, run_id)
    rows = tx.all("run_messages", thread=thread.thread, run=row.run)
    if not rows:
        return []
    first = find_place(tx, thread, unsafe(rows[0][0]) or "")
    return tree.on_path(tree.stored_messages(tx, thread, rows), tree.parent_id(tx, thread, first))


def pending(tx: Tx, thread_id: str) -> list[Pending]:
    """The pending calls of active and committed runs."""
    thread = find_thread(tx, thread_id)
    found: list[Pending] = []
    for other in tx.all("runs_pending", thread=thread.thread):
        row = RunRow(*other)
        if row.status not in ("committed", ACTIVE):
            continue
        for call in row.value.pending or []:
            found.append(
                Pending(
                    thread_id=thread_id,
                    run_id=unsafe(row.id) or "",
                    tool_call_id=call.tool_call_id,
                    kind=call.kind if isinstance(call.kind, str) else "external",
                    metadata=call.metadata if isinstance(call.metadata, dict) else {},
                )
            )
    return found


def resolve(tx: Tx, thread_id: str, call_ids: list[str], items: list[Prepared], now: int) -> list[str]:
    """Answer pending calls: the results are appended after the head, and the calls are no longer pending."""
    thread = find_thread(tx, thread_id, lock=True)
    wanted = set(call_ids)
    for other in tx.all("runs_pending", thread=thread.thread):
        row = RunRow(*other)
        waiting = row.value.pending or []
        left = [call for call in waiting if call.tool_call_id not in wanted]
        if len(left) != len(waiting):
            wanted -= {call.tool_call_id for call in waiting}
            row.with_value(replace(row.value, pending=left)).save(tx, thread.thread)
    if wanted:
        if items and all(tx.one("place", thread=thread.thread, id=item.id) for item in items):
            return [item.id for item in items]  # answered before
        raise NotFound(f"no pending call {sorted(wanted)[0]!r} in thread {thread_id!r}")
    done = write_after(tx, thread, thread.head, items)
    done.thread.at(done.place).save(tx, now)
    return [item.id for item in items]
