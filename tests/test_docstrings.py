"""Every example in a docstring is run: what it shows is what happens."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import hansard

SOURCE = Path(hansard.__file__).parent
MODULES = [
    ".".join(("hansard", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


def test_there_are_examples() -> None:
    assert len(MODULES) > 20


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert (done.failed, done.attempted > 0) == (0, True)
