"""Marks are residue like any other: a document may forge them, so no writer trusts what one says."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard import formats
from hansard.errors import HansardError
from hansard.formats.residue import HINTS
from hansard.model import Conversation, exact_json, native
from tests.conftest import GOLDEN
from tests.strategies import json_values

NAMES = [name for name in formats.names() if not formats.get(name).write_only]
WORDS = st.sampled_from(["list", "string", "file", "missing", "none", [["x"]], [[0, "x"]], [{"a": 1}], ["content"]])


def nodes_of(value: Any) -> list[dict[str, Any]]:
    """The conversation, its messages and parts, and all that carries residue."""
    inner = value.values() if type(value) is dict else value if type(value) is list else ()
    own = type(value) is dict and not {"extra", "messages", "parts", "type"}.isdisjoint(value)
    return [value] * own + [node for one in inner for node in nodes_of(one)]


def marks_of(node: dict[str, Any], name: str) -> dict[str, Any]:
    """The marks of a node, to change."""
    held = node
    for key in ("extra", name, HINTS):
        if type(held.get(key)) is not dict:
            held[key] = {}
        held = held[key]
    return held


@cache
def golden(name: str) -> tuple[list[Any], list[str]]:
    """The format's golden files as native JSON, and the names of the marks in them."""
    found = [path for path in sorted((GOLDEN / name).iterdir()) if path.stat().st_size < 20_000]
    read = [native.plain(one) for path in found for one in formats.read_all(path.read_bytes(), name)]
    marks = {key for one in read for node in nodes_of(one) if "extra" in node for key in marks_of(node, name)}
    return read, sorted(marks)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(data=st.data())
def test_marks_that_nobody_made_do_not_break_the_writer(name: str, data: st.DataObject) -> None:
    read, keys = golden(name)
    document = copy.deepcopy(data.draw(st.sampled_from(read)))
    for _ in range(data.draw(st.integers(1, 3))):
        marks = marks_of(data.draw(st.sampled_from(nodes_of(document))), name)
        marks[data.draw(st.sampled_from(sorted(marks) or keys or ["a"]))] = data.draw(st.one_of(WORDS, json_values))
    conversation = native.build(Conversation, document, "$")
    for profile in (None, *formats.get(name).profiles):
        written = formats.write(conversation, name, target=profile)
        assert written.json is not None
        try:
            exact_json.encode([str(loss) for loss in written.losses])
        except HansardError:
            pass  # a document of which the forger left nothing
