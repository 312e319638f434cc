"""A cut JSON text says what the AI SDK's clients show of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hansard.streams.partial_json import partial


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", UNSET),
        ("{", {}),
        ('{"a', {}),
        ('{"a": ', {}),
        ('{"a": tr', {"a": True}),
        ('{"a": n', {"a": None}),
        ('{"a": -', {}),
        ('{"a": 1.', {"a": 1}),
        ('{"a": 1e-', {"a": 1}),
        ('{"a": [1, {"b": "x\\', {"a": [1, {"b": "x"}]}),
        ('{"a": "x\\u00', {"a": "x"}),
        ('"half \\ud83d', "half \ud83d"),
        ('{"a": 1} and more', {"a": 1}),
        ('{"a" 1', {}),
        ("no JSON", UNSET),
        ("[[[", [[[]]]),
        ('[1, "', [1, ""]),
        ('{"a": 1,}', {"a": 1}),
    ],
)
def test_what_is_open_is_closed(text: str, value: Any) -> None:
    assert partial(text) == value


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=JSON, ascii_only=st.booleans(), data=st.data())
def test_every_beginning_of_a_text_says_something_and_the_whole_says_it_all(
    value: Any, ascii_only: bool, data: st.DataObject
) -> None:
    text = json.dumps({"value": value}, ensure_ascii=ascii_only)
    assert partial(text) == {"value": value}
    beginning = partial(text[: data.draw(st.integers(1, len(text)))])
    assert type(beginning) is dict
    assert beginning.keys() <= {"value"}


def test_the_recorded_prefixes_are_read_as_the_client_read_them(corpus: Path) -> None:
    rows = [json.loads(line) for line in (corpus / "ai-sdk" / "partial-json.jsonl").read_text().splitlines()]
    for row in rows:
        wanted = UNSET if row["value"] == {"$undefined": True} else row["value"]
        assert partial(row["text"]) == wanted, row["text"]
