"""Prune: delete messages that are on no branch in force.

In force are the active branch, active runs, and messages of users and committed runs on other branches. Not in force
are the messages of a superseded run with everything after them, and those of aborted, failed and interrupted runs where
nothing in force follows. Only ends of branches are cut off, so the hash chains stay valid. A run that lost its messages
keeps its row: its status, times, agent and tokens.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET
from msgspec.structs import asdict, replace

from hansard.errors import HansardError, NotFound
from hansard.ledger import bodies
from hansard.ledger.backends.driver import Driver, Tx, unsafe
from hansard.ledger.results import Pruned
from hansard.ledger.rows import ROOT, Place, RunRow, ThreadRow, find_runs, find_thread
from hansard.model.times import milliseconds

_DEAD = ("aborted", "failed", "interrupted")
_ENDED = ("superseded", *_DEAD)
Position = tuple[int, int]


def prune(driver: Driver, thread_id: str | None, before: int | None) -> Pruned:
    """Prune one thread or all, each in one transaction; with all, also blobs that no thread uses."""
    total: dict[str, int] = asdict(Pruned())
    keys = [(thread_id,)] if thread_id is not None else driver.read(lambda tx: tx.all("prunable_threads"))
    for (key,) in keys:
        name = (key if thread_id is not None else unsafe(key)) or ""
        try:
            done = driver.write(lambda tx: prune_thread(tx, find_thread(tx, name, lock=True), before))  # noqa: B023
        except NotFound:
            if thread_id is not None:
                raise
            continue  # erased in the meantime
        total = {field: total[field] + count for field, count in asdict(done).items()}
    if thread_id is None:
        total["blobs"] += driver.write(drop_blobs)
    return Pruned(**total)


def moment_of(before: str | datetime | None) -> int | None:
    """The time before which runs must have ended, in milliseconds."""
    if before is None:
        return None
    text = before.isoformat() if isinstance(before, datetime) else before
    moment = milliseconds(text if "T" in text or " " in text else f"{text}T00:00:00")
    if moment is None:
        raise HansardError(f"invalid time {before!r}; use 2026-01-31 or 2026-01-31T12:00:00Z")
    return moment


class Outline:
    """The positions of a thread's messages, without their content: those deeper than `low`."""

    def __init__(self, tx: Tx, thread: ThreadRow, low: int = 0) -> None:
        self.forks: dict[int, Position] = {
            seg: (parent, depth) for seg, parent, depth in tx.all("segments", thread=thread.thread)
        }
        rows = tx.all("outline_below", thread=thread.thread, low=low)
        self.runs: dict[Position, int | None] = {(seg, depth): run for seg, depth, run in rows}
        self.by_depth: list[Position] = sorted(self.runs, key=lambda position: position[1])

    def owner(self, seg: int, depth: int) -> Position:
        """The position itself, or the one of an earlier segment that it is inherited from."""
        while seg in self.forks and depth <= self.forks[seg][1]:
            seg = self.forks[seg][0]
        return seg, depth

    def parent(self, position: Position) -> Position:
        return self.owner(position[0], position[1] - 1)

    def up(self, seg: int, depth: int) -> list[Position]:
        """The messages from a position to the root, or to the depth at which this outline begins."""
        found: list[Position] = []
        position = self.owner(seg, depth)
        while position in self.runs:
            found.append(position)
            position = self.parent(position)
        return found

    def segments_up(self, seg: int) -> list[int]:
        found = [seg]
        while seg in self.forks:
            seg = self.forks[seg][0]
            found.append(seg)
        return found


def prune_after(tx: Tx, thread: ThreadRow, place: Position) -> Pruned:
    """Delete everything after a place (seg, depth), except the active branch and active runs."""
    outline = Outline(tx, thread, place[1])
    fork = outline.owner(*place)
    keep = _in_use(tx, thread, outline)
    below: set[Position] = set()
    for position in outline.by_depth:
        above = outline.parent(position)
        if above == fork or above in below:
            below.add(position)
    return _delete(tx, thread, outline, below - keep)


def prune_thread(tx: Tx, thread: ThreadRow, before: int | None = None) -> Pruned:
    """Delete messages on no branch in force, and journals, of runs that ended before a time, if one is given."""
    runs = find_runs(tx, thread)
    ended = {number for number, run in runs.items() if run.status in _ENDED and _has_ended(run, runs, before)}
    chunks = 0
    for run in runs.values():
        if run.status not in ("active", "stream") and _has_ended(run, runs, before):
            chunks += tx.run("delete_chunks", thread=thread.thread, run=run.run)
    if not ended:
        return Pruned(chunks=chunks)
    outline = Outline(tx, thread)
    keep = _in_use(tx, thread, outline)
    killed: set[Position] = set()
    for position in outline.by_depth:
        number = outline.runs[position]
        superseded = number in ended and runs[number].status == "superseded"
        if position not in keep and (superseded or outline.parent(position) in killed):
            killed.add(position)
    needed = set(keep)
    for position in reversed(outline.by_depth):
        number = outline.runs[position]
        if position in needed or (position not in killed and number not in ended):
            needed |= {position, outline.parent(position)}
    done = _delete(tx, thread, outline, set(outline.runs) - needed)
    return replace(done, chunks=chunks)


def _has_ended(run: RunRow, runs: dict[int, RunRow], before: int | None) -> bool:
    """Whether a run ended before a time; a superseded run ended when its successor was committed."""
    if before is None:
        return True
    last = runs.get(run.superseded_by, run) if run.superseded_by is not None else run
    time = last.value.completed_at
    moment = milliseconds(time) if isinstance(time, str) else None
    return moment is not None and moment < before


def _in_use(tx: Tx, thread: ThreadRow, outline: Outline) -> set[Position]:
    """The messages of the active branch and of the branches of active runs."""
    places = [(thread.head_seg, thread.head_depth)]
    for run in find_runs(tx, thread).values():
        if run.status == "active":
            places += [(run.seg, run.depth), (run.fork_seg, run.fork_depth)]
    return {position for seg, depth in places for position in outline.up(seg, depth)}


def _delete(tx: Tx, thread: ThreadRow, outline: Outline, dead: set[Position]) -> Pruned:
    """Delete the messages at dead positions, and what belongs to them."""
    if not dead:
        return Pruned()
    first: dict[int, int] = {}
    for seg, depth in dead:
        first[seg] = min(first.get(seg, depth), depth)
    cut: set[bytes] = set()
    tx.one("lock_search")  # a concurrent index update must not add the terms again
    for seg, low in first.items():
        where = {"thread": thread.thread, "seg": seg, "low": low}
        for (body,) in tx.all("cut_bodies_from", mark=bodies.CUT, **where):
            cut |= set(bodies.cuts(body))
        for name in ("unindex_from", "unproject_from", "delete_feed_from", "delete_messages_from"):
            tx.run(name, **where)
    for name in ("forget_facts", "feed_thread"):  # facets are collected again from what is left
        tx.run(name, thread=thread.thread)
    emptied = _update_runs(tx, thread, outline, dead)
    _drop_segments(tx, thread, outline, dead)
    dropped = drop_uses(tx, thread, cut) + _drop_undone(tx, thread)
    thread._replace(messages=thread.messages - len(dead)).save(tx, 0)
    return Pruned(threads=1, messages=len(dead), runs=emptied, blobs=dropped)


def _update_runs(tx: Tx, thread: ThreadRow, outline: Outline, dead: set[Position]) -> int:
    """Update runs that lost all messages or whose positions are gone; the number of the former."""
    lost = {number for number in {outline.runs[position] for position in dead} if number is not None}
    lost = {number for number in lost if not tx.one("run_speaks", thread=thread.thread, run=number)}
    count = 0
    for run in find_runs(tx, thread).values():
        fork = _surviving(tx, thread, outline, dead, (run.fork_seg, run.fork_depth))
        gone = run.status != "active" and (run.run in lost or fork is not None)
        base = _surviving(tx, thread, outline, dead, (run.base_seg, run.base_depth))
        tip = _surviving(tx, thread, outline, dead, (run.seg, run.depth))
        moved = (fork, base, tip) != (None, None, None)
        if not gone and not moved:
            continue
        if tip is not None:
            run = run.at(tip)
        if gone:
            count += 1
            status = "superseded" if run.status == "committed" else run.status
            run = run._replace(staged=0).with_value(replace(run.value, status=status, pending=UNSET))
            tx.run("delete_chunks", thread=thread.thread, run=run.run)
        run.save(tx, thread.thread)  # first: only one committed run is allowed at a fork point
        tx.run(
            "place_run",
            thread=thread.thread,
            run=run.run,
            fork_seg=fork.seg if fork else run.fork_seg,
            fork_depth=fork.depth if fork else run.fork_depth,
            base_seg=base.seg if base else run.base_seg,
            base_depth=base.depth if base else run.base_depth,
        )
    return count


def _surviving(tx: Tx, thread: ThreadRow, outline: Outline, dead: set[Position], position: Position) -> Place | None:
    """The nearest surviving place before a dead position; None for a position that is not dead."""
    at = outline.owner(*position)
    if at not in dead:
        return None
    while at in dead:
        at = outline.parent(at)
    if at[1] == 0:
        return ROOT
    row = tx.one("at_place", thread=thread.thread, seg=at[0], depth=at[1])
    assert row is not None
    return Place(at[0], at[1], row[1], row[2])


def _drop_segments(tx: Tx, thread: ThreadRow, outline: Outline, dead: set[Position]) -> None:
    """Delete segments without messages, unless other segments fork from them."""
    used = {seg for seg, _ in set(outline.runs) - dead} | set(outline.segments_up(thread.head_seg))
    for run in find_runs(tx, thread).values():
        places = (run.seg, run.fork_seg, run.base_seg) if run.status == "active" else (run.seg, run.fork_seg)
        used |= {up for seg in places for up in outline.segments_up(seg)}
    emptied = {seg for seg, _ in dead}
    for seg in sorted(outline.forks, reverse=True):
        parent, depth = outline.forks[seg]
        if seg not in used and (seg in emptied or outline.owner(parent, depth) in dead):
            tx.run("delete_segment", thread=thread.thread, seg=seg)
        else:
            used.add(parent)


def _drop_undone(tx: Tx, thread: ThreadRow) -> int:
    """Delete undone file changes of deleted messages, with their blobs; the number of blobs deleted."""
    count = 0
    for (snap,) in tx.all("undone_and_gone", thread=thread.thread):
        names = [name for (name,) in tx.all("workspace_uses", snap=snap)]
        tx.run("delete_workspace_uses", snap=snap)
        tx.run("delete_workspace_snapshot", snap=snap)
        tx.one("own_blobs")
        count += sum(tx.run("delete_unused_blob", hash=name) for name in names)
    return count


def drop_uses(tx: Tx, thread: ThreadRow, names: set[bytes]) -> int:
    """Drop a thread's uses of these blobs, except by remaining messages; the number of blobs deleted."""
    if names:
        for (body,) in tx.all("cut_bodies", thread=thread.thread, mark=bodies.CUT):
            names -= set(bodies.cuts(body))
    if not names:
        return 0
    tx.one("own_blobs")
    count = 0
    for name in sorted(names):
        tx.run("drop_use", hash=name, thread=thread.thread)
        count += tx.run("delete_unused_blob", hash=name)
    return count


def drop_blobs(tx: Tx) -> int:
    """Delete the blobs that no thread uses; their number."""
    tx.one("own_blobs")
    return tx.run("delete_unused_blobs")
