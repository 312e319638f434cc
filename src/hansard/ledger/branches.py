"""The whole tree of a thread: its branches, and every message with its parent."""

from __future__ import annotations

from hansard.ledger import tree
from hansard.ledger.backends.driver import Tx, unsafe
from hansard.ledger.results import Branch, TreeNode
from hansard.ledger.rows import RunRow, ThreadRow, id_at


def runs_of(tx: Tx, thread: ThreadRow) -> dict[int, RunRow]:
    return {row[0]: RunRow(*row) for row in tx.all("runs", thread=thread.thread)}


def nodes(tx: Tx, thread: ThreadRow) -> list[TreeNode]:
    """Every message in the order it was written, with its parent."""
    path = tree.lineage(tx, thread.thread, thread.head_seg, thread.head_depth)
    active = {seg: (low, high) for seg, low, high in path}
    forks = {seg: (parent, depth) for seg, parent, depth in tx.all("segments", thread=thread.thread)}
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
    """Every end of the tree, and the head where it stands before one; the active one first."""
    forks = {seg: (parent, depth) for seg, parent, depth in tx.all("segments", thread=thread.thread)}
    tips: dict[int, int] = dict(tx.all("tips", thread=thread.thread))
    goes_on = set(forks.values())
    ends = {(seg, depth) for seg, depth in tips.items() if (seg, depth) not in goes_on}
    head = (thread.head_seg, thread.head_depth)
    runs = runs_of(tx, thread)
    found: list[Branch] = []
    for seg, depth in sorted({*ends, head}):
        parent, fork_depth = forks.get(seg, (0, 0))
        row = tx.one("at_place", thread=thread.thread, seg=seg, depth=depth)
        of = runs.get(row[3]) if row else None
        found.append(
            Branch(
                head=unsafe(row[0]) if row else None,
                forked_from=unsafe(id_at(tx, thread, (parent, fork_depth))) if seg else None,
                depth=depth,
                messages=depth - fork_depth,
                active=(seg, depth) == head,
                status=of.status if of else "said",
                run_id=unsafe(of.id) if of else None,
            )
        )
    return sorted(found, key=lambda branch: not branch.active)
