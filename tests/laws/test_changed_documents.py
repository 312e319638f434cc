"""Documents that differ in one place from the golden ones: what a format does not know there is kept, or refused.

A field that no release of a provider has yet, a field left out, a null: where a reader drops one of them, what is
written is not what was read. Places of the same path and look count once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import exact_json
from tests.laws.test_formats import GOLDEN, NAMES, values

KEPT_WORD_FOR_WORD = [name for name in NAMES if formats.get(name).verbatim]
CHANGED = [name for name in NAMES if name not in KEPT_WORD_FOR_WORD]
# The order of messages that nothing links is that of the keys of an object, which has none: said to be lost, though
# the document is the same.
ORDERED_BY_KEYS = {"chatgpt-export"}


def changed(value: Any, path: str, seen: set[Any]) -> Iterator[Any]:
    """The value with one field more, one field less or one null, at every place that was not seen yet."""
    if isinstance(value, dict):
        look = (path, *sorted(value), *(str(value.get(key)) for key in ("type", "role", "kind", "part_kind")))
        if look not in seen:
            seen.add(look)
            yield {**value, "unheardOf": {"a": 1}}
            yield from ({other: kept for other, kept in value.items() if other != key} for key in value)
        for key, item in value.items():
            step = "*" if path.endswith(".mapping") else key  # ids
            yield from ({**value, key: other} for other in changed(item, f"{path}.{step}", seen))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from ([*value[:i], other, *value[i + 1 :]] for other in changed(item, f"{path}[]", seen))
    if value is not None and (path, type(value)) not in seen:
        seen.add((path, type(value)))
        yield None


def documents(path: Path, seen: set[Any]) -> Iterator[bytes]:
    """The changed documents of a golden file; of lines only the first four are changed."""
    raw = path.read_bytes()
    try:
        yield from map(exact_json.encode, changed(exact_json.decode(raw), "$", seen))
    except Unreadable:
        lines = values(raw)
        for i, line in enumerate(lines[:4]):
            for other in changed(line, "$", seen):
                yield b"".join(exact_json.encode(one) + b"\n" for one in [*lines[:i], other, *lines[i + 1 :]])


@pytest.mark.parametrize("name", CHANGED)
def test_a_document_that_differs_in_one_place_is_kept_whole_or_refused(name: str) -> None:
    seen: set[Any] = set()
    kept = 0
    for path in sorted(path for path in (GOLDEN / name).iterdir() if path.is_file()):
        for raw in documents(path, seen):
            try:
                conversations = formats.read_all(raw, name)
            except Unreadable:
                continue
            written = formats.write_all(conversations, name)
            assert exact_json.same(values(written.json), values(raw)), path.name
            assert written.losses == [] or name in ORDERED_BY_KEYS, path.name
            kept += 1
    assert kept > 50
