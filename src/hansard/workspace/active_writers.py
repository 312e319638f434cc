"""Who is at work in a workspace right now: windows of shells, and tools that named their paths.

Both are in the ledger from before the first file is touched. So a look by somebody else leaves alone what a tool will
tell of itself, and what the dead left behind is found: it is the thread's that was at work, as far as anybody knows.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from hansard.errors import HansardError
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.ids import clock
from hansard.ledger.rows import find_thread
from hansard.workspace import snapshots as records
from hansard.workspace.entries import Entry
from hansard.workspace.snapshots import OUTSIDE, By, Snapshot

_STALE = 86_400_000  # after a day a process of the same number is another one


class Whose(NamedTuple):
    """Whose changes a look finds, how that is known, and the windows that end with it because nobody is in them."""

    by: By
    source: str
    left: list[int]


def open_window(driver: Driver, workspace: int, by: By) -> int:
    """Say that a thread's shell is at work from now on."""
    if by.thread_id is None:
        raise HansardError("a window is opened for a thread; give By(thread_id=...)")
    thread_id, at = by.thread_id, clock()

    def job(tx: Tx) -> int:
        made = tx.one(
            "add_workspace_window",
            workspace=workspace,
            thread=find_thread(tx, thread_id).thread,
            message=safe(by.message_id),
            run=safe(by.run_id),
            agent=safe(by.agent_id),
            pid=os.getpid(),
            at=at,
        )
        assert made is not None
        return int(made[0])

    return driver.write(job)


def close_windows(tx: Tx, numbers: list[int]) -> None:
    for number in numbers:
        tx.run("delete_workspace_window", number=number)


def whose(driver: Driver, workspace: int) -> Whose:
    """Who has changed what a look finds now: the one thread with a window open, or nobody in particular.

    Every window begins and ends with a look, so between two looks the same windows are open. One whose process died
    was open until now; one that is a day old is nobody's.
    """
    now = clock()
    rows = driver.read(lambda tx: tx.all("workspace_windows", workspace=workspace))
    stale = [row[0] for row in rows if now - row[2] > _STALE]
    dead = [row[0] for row in rows if row[0] not in stale and not _lives(row[1])]
    told = [row for row in rows if row[0] not in stale]
    if not told:
        return Whose(OUTSIDE, "scan", stale)
    if len({row[3] for row in told}) > 1:
        return Whose(OUTSIDE, "shared", stale + dead)
    thread, message, run, agent = map(unsafe, told[-1][3:])
    by = By(thread_id=thread, message_id=message, run_id=run, agent_id=agent)
    return Whose(by, "scan", stale + dead)


def tools(driver: Driver, workspace: int) -> tuple[list[Snapshot], list[Snapshot]]:
    """Tools that are at work, and those whose process died at it."""
    now = clock()
    begun = driver.read(lambda tx: records.being_written(tx, workspace))
    living: list[Snapshot] = []
    dead: list[Snapshot] = []
    for one in begun:
        if one.process is not None:
            (living if now - one.at <= _STALE and _lives(one.process) else dead).append(one)
    return living, dead


def busy(driver: Driver, workspace: int) -> dict[bytes, Entry | None]:
    """The paths that tools at work will tell of themselves, as they were before."""
    living, _ = tools(driver, workspace)
    return {one.path: one.before for snapshot in living for one in snapshot.changes}


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
