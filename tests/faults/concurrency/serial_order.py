"""Was it as if one had acted after the other? A history of what several asked of a thread at once, and what they heard.

Every operation has the moments it was asked and answered at, on one clock, and went `ok`, `fail` (refused: it did
nothing) or `unknown` (nobody heard: it did it or not). `problems` says what no serial order explains: first in plain
words what is lost, doubled, stale or half, then by looking for the order itself, operation after operation, with a
model of a thread of thirty lines. Ids are never used twice, so the last read tells where every message stands.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, NamedTuple

import msgspec

_MOST = 200_000
_NEVER = 1 << 62


class Op(msgspec.Struct, frozen=True, kw_only=True):
    who: str
    kind: Literal["append", "begin", "stage", "commit", "checkout", "read"]
    invoked: int
    returned: int = _NEVER
    outcome: Literal["ok", "fail", "unknown"] = "ok"
    id: str | None = None
    """The message that is appended, staged or gone to."""
    run: str = ""
    expected: str | None = None
    """The head an append asks for."""
    force: bool = False
    seen: View | None = None
    """What a read was answered."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A thread in one moment."""

    path: list[str]
    parents: list[tuple[str, str | None]]
    """Every message, in the order they were written, with its parent."""
    committed: dict[str, str | None]
    """The runs that stand, with their fork points."""


class Run(NamedTuple):
    fork: str | None
    base: str | None
    tip: str | None
    status: str


class State(NamedTuple):
    """Where a thread is in the model: the messages themselves are known from the end."""

    head: str | None
    runs: tuple[tuple[str, Run], ...]

    def with_run(self, key: str, run: Run, head: str | None) -> State:
        return State(head, tuple(sorted({**dict(self.runs), key: run}.items())))


def problems(ops: list[Op], end: View) -> list[str]:
    """What is wrong with the history of one thread that ended like this; nothing, if some order explains it."""
    last = Op(who="the end", kind="read", invoked=_NEVER, seen=end)
    ops = [msgspec.structs.replace(op, returned=_NEVER) if op.outcome == "unknown" else op for op in ops]
    order = _order([*sorted(ops, key=lambda op: op.returned), last], end)
    return [*_in_plain_words([*ops, last], end), *([] if order is None else [order])]


def _in_plain_words(ops: list[Op], end: View) -> list[str]:
    found: list[str] = []
    kept = Counter(key for key, _ in end.parents)
    said = [op for op in ops if op.kind in ("append", "stage")]
    for op in said:
        times = kept[str(op.id)]
        if op.outcome == "ok" and times == 0:
            found.append(f"acknowledged and lost: {op.id}")
        if op.outcome == "fail" and times:
            found.append(f"refused, but written: {op.id}")
        if times > 1:
            found.append(f"{times} times: {op.id}")
    for read in [op for op in ops if op.seen is not None]:
        assert read.seen is not None
        parents = dict(read.seen.parents)
        for before, key in zip([None, *read.seen.path], read.seen.path, strict=False):
            if key not in parents or parents[key] != before:
                found.append(f"a path with a gap: {key} comes after {before}")
        for op in said:
            if op.outcome == "ok" and op.returned < read.invoked and op.id not in parents:
                found.append(f"a stale read by {read.who}: {op.id} was acknowledged before it")
        for fork, count in Counter(read.seen.committed.values()).items():
            if count > 1:
                found.append(f"{count} committed runs at {fork}, seen by {read.who}")
    return found


def _order(ops: list[Op], end: View) -> str | None:
    """Look for a serial order; None when there is one, else how far the longest came."""
    parents = dict(end.parents)
    todo = [op for op in ops if not _did_nothing(op, parents)]
    must = [op.outcome != "unknown" or op.kind in ("append", "stage") for op in todo]
    stack = [(0, State(None, ()))]
    seen = set(stack)
    best = 0
    while stack:
        done, state = stack.pop()
        left = [n for n in range(len(todo)) if not done >> n & 1]
        if not any(must[n] for n in left):
            return None
        best = max(best, done, key=int.bit_count)
        deadline = min(todo[n].returned for n in left if must[n])
        for n in reversed(left):  # the one that was answered first is tried first
            after = _step(state, todo[n], parents) if todo[n].invoked <= deadline else None
            if after is not None and (there := (done | 1 << n, after)) not in seen:
                seen.add(there)
                stack.append(there)
        if len(seen) > _MOST:
            return f"no order was found among {_MOST}"
    stuck = [todo[n] for n in range(len(todo)) if not best >> n & 1 and must[n]][:4]
    return f"no order explains this: after {best.bit_count()} of {len(todo)} operations none of {stuck} can come next"


def _did_nothing(op: Op, parents: dict[str, str | None]) -> bool:
    """A call nobody heard the answer of, and that left no trace."""
    return op.outcome == "unknown" and op.kind in ("append", "stage") and op.id not in parents


def _step(state: State, op: Op, parents: dict[str, str | None]) -> State | None:
    """The thread after an operation with this answer; None where the answer would be wrong."""
    head, runs = state.head, dict(state.runs)
    run = runs.get(op.run)
    if op.kind == "read":
        assert op.seen is not None
        standing = {key: one.fork for key, one in runs.items() if one.status == "committed"}
        return state if (_path(head, parents), standing) == (op.seen.path, op.seen.committed) else None
    if op.kind == "append":
        if op.outcome == "fail":
            return state if head != op.expected else None
        fits = parents.get(str(op.id)) == head and op.expected in (None, head)
        return state._replace(head=op.id) if fits else None
    if op.kind == "checkout":
        return state._replace(head=op.id)
    if op.kind == "begin":
        fork = head if op.id is None else op.id
        return state.with_run(op.run, Run(fork, head, fork, "active"), head)
    if run is None:
        return None
    if op.kind == "stage":
        return state.with_run(op.run, run._replace(tip=op.id), head) if parents.get(str(op.id)) == run.tip else None
    moved = head != run.base and not op.force
    if op.outcome == "fail" or moved:
        return state if op.outcome == "fail" and moved else None
    for key, other in runs.items():
        if other.status == "committed" and other.fork == run.fork:
            runs[key] = other._replace(status="superseded")
    return State(head, tuple(runs.items())).with_run(op.run, run._replace(status="committed"), run.tip)


def _path(head: str | None, parents: dict[str, Any]) -> list[str]:
    found: list[str] = []
    while head is not None and len(found) <= len(parents):
        found.append(head)
        head = parents.get(head)
    return found[::-1]
