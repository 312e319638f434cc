"""No test of `make test` waits for a fixed time: it polls with `tests/waiting.py`, or hangs until it is stopped."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import wait_until

HERE = Path(__file__).parent
WAITS = {"sleep", "wait_for_timeout"}
# of `make prove`, `agents` and `mutants`, and what is installed
NOT_TESTS = (
    "faults",
    "lab",
    "mutants",
    "waiting.py",
    "viewer/pictures.py",
    "durable_streams/round_trips.py",
    ".harbor",
    "node",
)
FOR_EVER = 60.0  # nobody waits so long for it to end


def fixed_waits(tree: ast.AST) -> Iterator[int]:
    """The lines that wait for a fixed time, but for functions that `make prove` runs."""
    for node in ast.iter_child_nodes(tree):
        marks = [ast.unparse(one) for one in getattr(node, "decorator_list", ())]
        name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
        if "pytest.mark.prove" in marks or name == "wait_until":
            continue
        if isinstance(node, ast.Call) and name in WAITS:
            given = node.args[0] if node.args else None
            seconds = given.value if isinstance(given, ast.Constant) else None
            if not isinstance(seconds, int | float) or 0 < seconds < FOR_EVER:
                yield node.lineno
        yield from fixed_waits(node)


def test_no_test_waits_for_a_fixed_time() -> None:
    found = [
        f"{path.relative_to(HERE)}:{line}"
        for path in sorted(HERE.rglob("*.py"))
        if not str(path.relative_to(HERE)).startswith(NOT_TESTS)
        for line in fixed_waits(ast.parse(path.read_text("utf-8")))
    ]
    assert found == []


def test_what_never_comes_is_named() -> None:
    with pytest.raises(AssertionError, match="the moon is still False after 0 s"):
        wait_until(lambda: False, "the moon", seconds=0)
