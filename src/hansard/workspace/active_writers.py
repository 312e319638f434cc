"""Active writers of a workspace: windows (shells) and tools that named their paths.

Both are recorded before the first file changes. So a scan by another process leaves out the paths of running tools, and
changes of a process that died are found and attributed to its thread.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from hansard.errors import HansardError
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.ids import clock
from hansard.ledger.rows import find_thread
from hansard.workspace import snapshots
from hansard.workspace.entries import Entry
from hansard.workspace.snapshots import OUTSIDE, Author, Snapshot

_STALE = 86_400_000  # ms; after a day the process id may belong to another process


class Attribution(NamedTuple):
    """The author and source of the changes a scan finds, and the windows of dead processes that end with it."""

    author: Author
    source: str
    ended: list[int]


def open_window(driver: Driver, workspace: int, author: Author) -> int:
    """Record that a shell of a thread may change files from now on."""
    if author.thread_id is None:
        raise HansardError("a window needs a thread; give Author(thread_id=...)")
    thread_id, at = author.thread_id, clock()

    def job(tx: Tx) -> int:
        made = tx.one(
            "add_workspace_window",
            workspace=workspace,
            thread=find_thread(tx, thread_id).thread,
            message=safe(author.message_id),
            run=safe(author.run_id),
            agent=safe(author.agent_id),
            pid=os.getpid(),
            at=at,
        )
        assert made is not None
        return int(made[0])

    return driver.write(job)


def close_windows(tx: Tx, numbers: list[int]) -> None:
    """Record that windows have ended."""
    for number in numbers:
        tx.run("delete_workspace_window", number=number)


def attribution(driver: Driver, workspace: int) -> Attribution:
    """Who made the changes since the last scan: the only thread with an open window, else no thread.

    Every window begins and ends with a scan, so the same windows are open between two scans. A window whose process
    died counts as open until now; a window that is a day old is ignored.
    """
    now = clock()
    rows = driver.read(lambda tx: tx.all("workspace_windows", workspace=workspace))
    stale = [row[0] for row in rows if now - row[2] > _STALE]
    dead = [row[0] for row in rows if row[0] not in stale and not _alive(row[1])]
    opened = [row for row in rows if row[0] not in stale]
    if not opened:
        return Attribution(OUTSIDE, "scan", stale)
    if len({row[3] for row in opened}) > 1:
        return Attribution(OUTSIDE, "shared", stale + dead)
    thread, message, run, agent = map(unsafe, opened[-1][3:])
    author = Author(thread_id=thread, message_id=message, run_id=run, agent_id=agent)
    return Attribution(author, "scan", stale + dead)


def running_tools(driver: Driver, workspace: int) -> tuple[list[Snapshot], list[Snapshot]]:
    """Running tools, and tools whose process died."""
    now = clock()
    begun = driver.read(lambda tx: snapshots.unfinished_snapshots(tx, workspace))
    running: list[Snapshot] = []
    dead: list[Snapshot] = []
    for one in begun:
        if one.process is not None:
            (running if now - one.at <= _STALE and _alive(one.process) else dead).append(one)
    return running, dead


def paths_in_use(driver: Driver, workspace: int) -> dict[bytes, Entry | None]:
    """The paths of running tools, with their entries before."""
    running, _ = running_tools(driver, workspace)
    return {one.path: one.before for snapshot in running for one in snapshot.changes}


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
