"""The judge of histories is judged: good ones by hand pass, and each kind of wrong is called by its name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.concurrency.serial_order import Op, View, problems


def view(
    *path: str, committed: dict[str, str | None] | None = None, aside: dict[str, str | None] | None = None
) -> View:
    """A path, and messages beside it with their parents."""
    parents: list[tuple[str, str | None]] = list(zip(path, [None, *path], strict=False))
    return View(path=list(path), parents=parents + list((aside or {}).items()), committed=committed or {})


def op(kind: Any, invoked: int, returned: int, **more: Any) -> Op:
    return Op(who="w", kind=kind, invoked=invoked, returned=returned, **more)


def append(key: str, invoked: int, returned: int, **more: Any) -> Op:
    return op("append", invoked, returned, id=key, **more)


def run(key: str, fork: str, at: int, *, force: bool = False, outcome: str = "ok") -> list[Op]:
    """Begun, said one message called like the run in capitals, committed."""
    return [
        op("begin", at, at + 1, run=key, id=fork),
        op("stage", at + 2, at + 3, run=key, id=key.upper()),
        op("commit", at + 4, at + 5, run=key, force=force, outcome=outcome),
    ]


GOOD: dict[str, tuple[list[Op], View]] = {
    "nothing": ([], view()),
    "two at once, in either order": ([append("a", 0, 9), append("b", 0, 9)], view("b", "a")),
    "a read beside an append sees it or not": (
        [append("a", 0, 9), op("read", 1, 2, seen=view()), op("read", 3, 4, seen=view("a"))],
        view("a"),
    ),
    "unknown and there": ([append("a", 0, 1, outcome="unknown"), append("b", 5, 6)], view("a", "b")),
    "unknown and not there": ([append("a", 0, 1, outcome="unknown"), append("b", 5, 6)], view("b")),
    "unknown and late": ([append("a", 0, 1, outcome="unknown"), append("b", 5, 6)], view("b", "a")),
    "one of two who name the head is refused": (
        [append("a", 0, 1), append("b", 2, 9, expected="a"), append("c", 2, 9, expected="a", outcome="fail")],
        view("a", "b"),
    ),
    "a run that replaces another": (
        [append("a", 0, 1), append("b", 2, 3), *run("x", "a", 4), *run("y", "a", 10)],
        view("a", "Y", committed={"y": "a"}, aside={"b": "a", "X": "a"}),
    ),
    "a checkout, and a branch beside": (
        [append("a", 0, 1), append("b", 2, 3), op("checkout", 4, 5, id="a"), append("c", 6, 7)],
        view("a", "c", aside={"b": "a"}),
    ),
    "a commit nobody heard of": (
        [append("a", 0, 1), *run("x", "a", 2, outcome="unknown"), op("read", 10, 11, seen=view("a", aside={"X": "a"}))],
        view("a", "X", committed={"x": "a"}),
    ),
}

BAD: dict[str, tuple[list[Op], View, str]] = {
    "lost": ([append("a", 0, 1), append("b", 2, 3)], view("a"), "acknowledged and lost: b"),
    "a lost update": (
        [append("a", 0, 1), append("b", 2, 9, expected="a"), append("c", 2, 9, expected="a")],
        view("a", "c", aside={"b": "a"}),
        "no order explains this",
    ),
    "refused, but written": (
        [append("a", 0, 1), append("b", 2, 3, expected="z", outcome="fail")],
        view("a", "b"),
        "refused, but written: b",
    ),
    "doubled": ([append("a", 0, 1)], View(path=["a"], parents=[("a", None)] * 2, committed={}), "2 times: a"),
    "a stale read": ([append("a", 0, 1), op("read", 2, 3, seen=view())], view("a"), "a stale read"),
    "two reads against the order": (
        [append("a", 0, 9), op("read", 1, 2, seen=view("a")), op("read", 3, 4, seen=view())],
        view("a"),
        "no order explains this",
    ),
    "a gap": (
        [append("a", 0, 1), append("b", 2, 3)],
        View(path=["b"], parents=[("a", None), ("b", "a")], committed={}),
        "a path with a gap",
    ),
    "two committed": (
        [append("a", 0, 1), *run("x", "a", 2), *run("y", "a", 8, force=True)],
        view("a", "Y", committed={"x": "a", "y": "a"}, aside={"X": "a"}),
        "no order explains this",
    ),
    "two committed, seen by a reader": (
        [op("read", 0, 1, seen=view(committed={"x": "a", "y": "a"}))],
        view(),
        "2 committed runs at a, seen by w",
    ),
    "a commit over a head that moved": (
        [
            append("a", 0, 1),
            op("begin", 2, 3, run="x"),
            append("b", 4, 5),
            op("stage", 6, 7, run="x", id="X"),
            op("commit", 8, 9, run="x"),
        ],
        view("a", "X", committed={"x": "a"}, aside={"b": "a"}),
        "no order explains this",
    ),
    "refused for no reason": (
        [append("a", 0, 1), *run("x", "a", 2, outcome="fail")],
        view("a", aside={"X": "a"}),
        "no order explains this",
    ),
    "before it was asked": ([append("a", 5, 6), append("b", 0, 1)], view("a", "b"), "no order explains this"),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_history_that_some_order_explains_is_good(name: str) -> None:
    assert problems(*GOOD[name]) == []


@pytest.mark.parametrize("name", BAD)
def test_a_history_that_no_order_explains_is_called_by_its_name(name: str) -> None:
    ops, end, what = BAD[name]
    assert any(what in line for line in problems(ops, end)), problems(ops, end)
