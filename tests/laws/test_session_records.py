"""Records of the wrong kind inside: whatever a field holds, a session file is read and given back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard import formats
from hansard.errors import Unreadable
from tests.conftest import GOLDEN
from tests.strategies import json_values

GOLDENS = [
    pytest.param(name, path, id=f"{name}/{path.name}")
    for name in formats.names()
    if formats.get(name).session is not None
    for path in sorted((GOLDEN / name).glob("*.json*"))
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside a value."""
    keys: list[Any] = list(value) if type(value) is dict else list(range(len(value))) if type(value) is list else []
    return [found for key in keys for found in [(*path, key), *places(value[key], (*path, key))]]


@pytest.mark.parametrize(("name", "path"), GOLDENS)
@settings(max_examples=25)
@given(data=st.data(), other=json_values)
def test_a_field_of_the_wrong_kind_does_not_stop_the_reading(
    name: str, path: Path, data: st.DataObject, other: Any
) -> None:
    raw = path.read_bytes()
    lines = [raw] if raw.startswith(b"{\n") else raw.split(b"\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    try:
        record = json.loads(lines[at])
    except ValueError:
        return
    where = data.draw(st.sampled_from(places(record) or [()]))
    if not where:
        return
    inner = record
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = other
    lines[at] = json.dumps(record).encode()
    raw = b"\n".join(lines)
    try:
        conversation = formats.read(raw, name)
    except Unreadable:
        return
    assert formats.write(conversation, name).json == raw
    assert formats.write(conversation, name).losses == []
