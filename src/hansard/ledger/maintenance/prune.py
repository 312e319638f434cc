"""Deleting on purpose: what stands on no branch in force.

In force are the path to the head, runs that go on, and what people and committed runs have said on other branches.
Not in force is what a superseded run said, with everything behind it, and what aborted, failed and interrupted runs
said, where nothing in force stands behind it. Only ends of branches are cut off, so the chains of hashes still hold.
A run whose words are gone keeps its row: that it was, when, for whom and for how many tokens.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from hansard.ledger import bodies
from hansard.ledger.backends.driver import Tx
from hansard.ledger.branches import runs_of
from hansard.ledger.results import Pruned
from hansard.ledger.rows import ROOT, Place, RunRow, ThreadRow, find_run
from hansard.model.times import milliseconds

_DEAD = ("aborted", "failed", "interrupted")
_OVER = ("superseded", *_DEAD)
Spot = tuple[int, int]


class Outline:
    """Where the messages of a thread stand, without their words: only those deeper than `low`."""

    def __init__(self, tx: Tx, thread: ThreadRow, low: int = 0) -> None:
        self.forks: dict[int, Spot] = {
            seg: (parent, depth) for seg, parent, depth in tx.all("segments", thread=thread.thread)
        }
        rows = tx.all("outline_below", thread=thread.thread, low=low)
        self.runs: dict[Spot, int | None] = {(seg, depth): run for seg, depth, run in rows}
        self.by_depth: list[Spot] = sorted(self.runs, key=lambda spot: spot[1])

    def owner(self, seg: int, depth: int) -> Spot:
        """The place itself, or where it is inherited from."""
        while seg in self.forks and depth <= self.forks[seg][1]:
            seg = self.forks[seg][0]
        return seg, depth

    def parent(self, spot: Spot) -> Spot:
        return self.owner(spot[0], spot[1] - 1)

    def up(self, seg: int, depth: int) -> list[Spot]:
        """The messages from a place to the root, or to the depth this outline begins at."""
        found: list[Spot] = []
        spot = self.owner(seg, depth)
        while spot in self.runs:
            found.append(spot)
            spot = self.parent(spot)
        return found

    def segments_up(self, seg: int) -> list[int]:
        found = [seg]
        while seg in self.forks:
            seg = self.forks[seg][0]
            found.append(seg)
        return found


def prune_behind(tx: Tx, thread: ThreadRow, run_id: str) -> Pruned:
    """Delete all that stands behind the fork point of a run that was just committed, but for its own path."""
    run = find_run(tx, thread, run_id)
    outline = Outline(tx, thread, run.fork_depth)
    fork = outline.owner(run.fork_seg, run.fork_depth)
    keep = _in_use(tx, thread, outline)
    dead: set[Spot] = set()
    for spot in outline.by_depth:
        above = outline.parent(spot)
        if spot not in keep and (above == fork or above in dead):
            dead.add(spot)
    return _delete(tx, thread, outline, dead)


def prune_thread(tx: Tx, thread: ThreadRow, before: int | None = None) -> Pruned:
    """Delete what stands on no branch in force, and journals; of runs that were over before a time, if one is given."""
    runs = runs_of(tx, thread)
    over = {number for number, run in runs.items() if run.status in _OVER and _was_over(run, runs, before)}
    chunks = 0
    for run in runs.values():
        if run.status != "active" and _was_over(run, runs, before):
            chunks += tx.run("delete_chunks", thread=thread.thread, run=run.run)
    if not over:
        return Pruned(chunks=chunks)
    outline = Outline(tx, thread)
    keep = _in_use(tx, thread, outline)
    killed: set[Spot] = set()
    for spot in outline.by_depth:
        number = outline.runs[spot]
        superseded = number in over and runs[number].status == "superseded"
        if spot not in keep and (superseded or outline.parent(spot) in killed):
            killed.add(spot)
    needed = set(keep)
    for spot in reversed(outline.by_depth):
        number = outline.runs[spot]
        if spot in needed or (spot not in killed and number not in over):
            needed |= {spot, outline.parent(spot)}
    done = _delete(tx, thread, outline, set(outline.runs) - needed)
    return replace(done, chunks=chunks)


def _was_over(run: RunRow, runs: dict[int, RunRow], before: int | None) -> bool:
    """A superseded run was over when the one that took its place was committed."""
    if before is None:
        return True
    last = runs.get(run.superseded_by, run) if run.superseded_by is not None else run
    ended = last.value.completed_at
    moment = milliseconds(ended) if isinstance(ended, str) else None
    return moment is not None and moment < before


def _in_use(tx: Tx, thread: ThreadRow, outline: Outline) -> set[Spot]:
    """What the head and runs that go on stand on."""
    places = [(thread.head_seg, thread.head_depth)]
    for run in runs_of(tx, thread).values():
        if run.status == "active":
            places += [(run.seg, run.depth), (run.fork_seg, run.fork_depth)]
    return {spot for seg, depth in places for spot in outline.up(seg, depth)}


def _delete(tx: Tx, thread: ThreadRow, outline: Outline, dead: set[Spot]) -> Pruned:
    """Cut the dead ends off."""
    if not dead:
        return Pruned()
    first: dict[int, int] = {}
    for seg, depth in dead:
        first[seg] = min(first.get(seg, depth), depth)
    cut: set[bytes] = set()
    tx.one("lock_search")  # whoever indexes just now is not to put the words back
    for seg, low in first.items():
        where = {"thread": thread.thread, "seg": seg, "low": low}
        for (body,) in tx.all("cut_bodies_from", mark=bodies.CUT, **where):
            cut |= set(bodies.cuts(body))
        for name in ("unindex_from", "delete_feed_from", "delete_messages_from"):
            tx.run(name, **where)
    for name in ("forget_facts", "feed_thread"):  # what is left says what is so of the thread
        tx.run(name, thread=thread.thread)
    buried = _bury(tx, thread, outline, dead)
    _drop_segments(tx, thread, outline, dead)
    dropped = drop_uses(tx, thread, cut) + _drop_undone(tx, thread)
    thread._replace(messages=thread.messages - len(dead)).save(tx, 0)
    return Pruned(threads=1, messages=len(dead), runs=buried, blobs=dropped)


def _bury(tx: Tx, thread: ThreadRow, outline: Outline, dead: set[Spot]) -> int:
    """Runs that lost all they said, and places that runs remember and that are gone."""
    lost = {number for number in {outline.runs[spot] for spot in dead} if number is not None}
    lost = {number for number in lost if not tx.one("run_speaks", thread=thread.thread, run=number)}
    count = 0
    for run in runs_of(tx, thread).values():
        fork = _standing(tx, thread, outline, dead, (run.fork_seg, run.fork_depth))
        gone = run.status != "active" and (run.run in lost or fork is not None)
        base = _standing(tx, thread, outline, dead, (run.base_seg, run.base_depth))
        tip = _standing(tx, thread, outline, dead, (run.seg, run.depth))
        moved = (fork, base, tip) != (None, None, None)
        if not gone and not moved:
            continue
        if tip is not None:
            run = run.at(tip)
        if gone:
            count += 1
            status = "superseded" if run.status == "committed" else run.status
            run = run._replace(staged=0).saying(replace(run.value, status=status, pending=UNSET))
            tx.run("delete_chunks", thread=thread.thread, run=run.run)
        run.save(tx, thread.thread)  # first: of runs in force only one may stand at a fork point
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


def _standing(tx: Tx, thread: ThreadRow, outline: Outline, dead: set[Spot], spot: Spot) -> Place | None:
    """The nearest place above a dead one that still stands; None for one that is not dead."""
    at = outline.owner(*spot)
    if at not in dead:
        return None
    while at in dead:
        at = outline.parent(at)
    if at[1] == 0:
        return ROOT
    row = tx.one("at_place", thread=thread.thread, seg=at[0], depth=at[1])
    assert row is not None
    return Place(at[0], at[1], row[1], row[2])


def _drop_segments(tx: Tx, thread: ThreadRow, outline: Outline, dead: set[Spot]) -> None:
    """Segments that hold nothing any more, unless something still hangs on them."""
    used = {seg for seg, _ in set(outline.runs) - dead} | set(outline.segments_up(thread.head_seg))
    for run in runs_of(tx, thread).values():
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
    """Changes to files that were undone, of messages that are gone, with what only they held; how many blobs went."""
    count = 0
    for (snap,) in tx.all("undone_and_gone", thread=thread.thread):
        names = [name for (name,) in tx.all("workspace_uses", snap=snap)]
        tx.run("delete_workspace_uses", snap=snap)
        tx.run("delete_workspace_snapshot", snap=snap)
        tx.one("own_blobs")
        count += sum(tx.run("delete_unused_blob", hash=name) for name in names)
    return count


def drop_uses(tx: Tx, thread: ThreadRow, names: set[bytes]) -> int:
    """A thread uses these blobs no more, unless a message left in it does; blobs nobody uses go. How many went."""
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
    """Delete the blobs that no thread uses; how many there were."""
    tx.one("own_blobs")
    return tx.run("delete_unused_blobs")
