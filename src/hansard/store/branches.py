"""The whole tree of a thread: its branches, and every message with its parent."""

from __future__ import annotations

from hansard.store import tree
from hansard.store.driver import Tx, unsafe
from hansard.store.rows import RunRow, ThreadRow
from hansard.store.values import Branch, TreeNode


def runs_of(tx: Tx, thread: ThreadRow) -> dict[int, RunRow]:
    return {row[0]: RunRow(*row) for row in tx.all("runs", thread=thread.thread)}


def nodes(tx: Tx, thread: ThreadRow) -> list[TreeNode]:
    """Every message in the order it was written, with its parent."""
    path = tree.lineage(tx, thread.thread, thread.head_seg, thread.head_depth)
    active = {seg: (low, high) for seg, low, high in path}
    forks = {seg: (parent, depth) for seg, parent, depth, _ in tx.all("segments", thread=thread.thread)}
    runs = runs_of(tx, thread)
    rows = tx.all("outline", thread=thread.thread)
    ids = {(row[2], row[3]): row[1] for row in rows}
    found: list[TreeNode] = []
    for _, key, seg, depth, run, role, agent, _ in rows:
        low, high = active.get(seg, (0, 0))
        of = runs.get(run) if run is not None else None
        found.append(
            TreeNode(
                id=unsafe(key) or "",
                parent_id=unsafe(_parent(ids, forks, seg, depth)),
                depth=depth,
                role=unsafe(role) or "",
                active=low < depth <= high,
                run_id=unsafe(of.id) if of else None,
                status=of.status if of else None,
                agent_id=unsafe(agent),
            )
        )
    return found


def _parent(ids: dict[tuple[int, int], str], forks: dict[int, tuple[int, int]], seg: int, depth: int) -> str | None:
    """The id one step up: in the same segment, or where that hangs."""
    depth -= 1
    while depth > 0:
        if (found := ids.get((seg, depth))) is not None:
            return found
        if seg not in forks:
            return None
        seg = forks[seg][0]
    return None


def branches(tx: Tx, thread: ThreadRow) -> list[Branch]:
    """Every end of the tree, the active one first, then the newest."""
    forks: dict[int, tuple[int, int, str | None]] = {
        seg: (parent, depth, name) for seg, parent, depth, name in tx.all("segments", thread=thread.thread)
    }
    tips: dict[int, int] = dict(tx.all("tips", thread=thread.thread))
    hanging: dict[tuple[int, int], int] = {}
    for parent, behind, _ in forks.values():
        hanging[parent, behind] = hanging.get((parent, behind), 0) + 1
    runs = runs_of(tx, thread)
    of_message = {(row[2], row[3]): (row[1], row[4]) for row in tx.all("outline", thread=thread.thread)}
    found: list[Branch] = []
    for seg in [0, *forks]:
        parent, fork_depth, name = forks.get(seg, (0, 0, None))
        depth: int = tips.get(seg, fork_depth)
        head = (seg, depth) == (thread.head_seg, thread.head_depth)
        if (seg not in tips and not (head or name)) or (hanging.get((seg, depth)) and not head):
            continue  # it goes on in another segment
        key, run = of_message.get((seg, depth), (None, None))
        of = runs.get(run) if run is not None else None
        place = tree.place_of(tx, thread, seg, depth)
        found.append(
            Branch(
                head=unsafe(key or _id(tx, thread, place.seg, place.depth)),
                forked_from=unsafe(_id(tx, thread, parent, fork_depth)) if seg else None,
                depth=depth,
                messages=depth - (fork_depth if seg else 0),
                active=_on_path(tx, thread, seg, depth),
                status=of.status if of else "said",
                run_id=unsafe(of.id) if of else None,
                name=unsafe(name),
            )
        )
    return sorted(found, key=lambda branch: not branch.active)


def _on_path(tx: Tx, thread: ThreadRow, seg: int, depth: int) -> bool:
    """Does the active path end here, or is the head on the way to this end?"""
    return (
        any(
            part[0] == thread.head_seg and part[1] < thread.head_depth <= part[2]
            for part in tree.lineage(tx, thread.thread, seg, depth)
        )
        and seg == thread.head_seg
    )


def _id(tx: Tx, thread: ThreadRow, seg: int, depth: int) -> str | None:
    from hansard.store.rows import id_at

    return id_at(tx, thread, (seg, depth))
