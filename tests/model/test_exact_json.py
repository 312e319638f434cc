"""JSON in and out without changing a value."""

from __future__ import annotations

import json
from collections import OrderedDict
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import exact_json

LITERALS = [
    "123456789012345678901234567890",
    "1",
    "1.0",
    "1e22",
    "0.12345678901234567890",
    "1e400",
    "-0.0",
    "-1E-7",
    "0.1",
    "99999999999999999999.5",
]


@pytest.mark.parametrize("literal", LITERALS)
def test_a_number_keeps_its_value_and_kind(literal: str) -> None:
    value = exact_json.decode(f"[{literal}]")[0]
    again = exact_json.encode([value]).decode()[1:-1]
    assert Decimal(again) == Decimal(literal)
    assert isinstance(value, int) == literal.lstrip("-").isdigit()


def test_a_decimal_is_used_only_where_a_float_would_be_another_number() -> None:
    assert [type(value) for value in exact_json.decode(f"[{','.join(LITERALS)}]")] == [
        int,
        int,
        float,
        float,
        Decimal,
        Decimal,
        float,
        float,
        float,
        Decimal,
    ]


def test_half_a_pair_is_written_as_its_escape() -> None:
    raw = b'{"a":["\\ud83d x",0.12345678901234567890,{"\\udc00":"\xc3\xa9"}]}'
    assert exact_json.encode(exact_json.decode(raw)) == raw


keys = st.sampled_from(["a", "b", 'q"', "\\", "é", "type"])
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
)


@given(values, st.booleans(), st.booleans())
def test_any_json_survives(value: Any, ascii_only: bool, spaced: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=1 if spaced else None)
    if "\\ud" not in text:
        assert exact_json.same(exact_json.decode(exact_json.encode(exact_json.decode(text))), json.loads(text))


def twice(pairs: list[tuple[str, Any]], spaced: bool) -> str:
    colon, comma = (": ", ", ") if spaced else (":", ",")
    return "{" + comma.join(json.dumps(key) + colon + json.dumps(value) for key, value in pairs) + "}"


@given(st.lists(st.tuples(keys, values), min_size=1, max_size=4), st.booleans())
def test_a_key_given_twice_is_always_found(pairs: list[tuple[str, Any]], spaced: bool) -> None:
    text = f"[1e2,1E5,{twice([*pairs, pairs[0]], spaced)}]"
    with pytest.raises(Unreadable, match="given twice"):
        exact_json.decode(text)


def test_same_tells_numbers_apart() -> None:
    assert not exact_json.same([1], [1.0])
    assert not exact_json.same([1], [True])
    assert not exact_json.same({"a": None}, {})
    assert exact_json.same({"a": 1, "b": 2}, {"b": 2, "a": 1})


def test_half_a_pair_is_escaped_wherever_it_stands() -> None:
    assert exact_json.encode(({"\ud83d": ("\ud83d",)}, ["\ude00"])) == b'[{"\\ud83d":["\\ud83d"]},["\\ude00"]]'


def test_values_that_json_cannot_say_are_refused_by_name() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    loop: Any = {}
    loop["messages"] = [loop]
    for value, word in ((float("nan"), "NaN"), (-float("inf"), "Infinity"), (deep, "deeply"), (loop, "deeply")):
        with pytest.raises(Unreadable, match=word):
            formats.read({"max_tokens": value, "messages": [{"role": "user", "content": "hi"}]}, "anthropic")


class Reason(StrEnum):
    STOP = "stop"


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("given_", "plain"),
    [
        (Reason.STOP, "stop"),
        (Level.HIGH, 3),
        (OrderedDict(a=(Reason.STOP,)), {"a": ["stop"]}),
        (b"hi", "aGk="),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
    ],
)
def test_live_values_are_read_as_what_they_are_in_json(given_: Any, plain: Any) -> None:
    copy = exact_json.copied([given_])[0]
    assert exact_json.same(copy, plain)
    said = {"messages": [{"role": "user", "content": "hi", "more": given_}]}
    conversation = formats.read(said, "anthropic")
    assert formats.write(conversation, "anthropic").data["messages"][0]["more"] == plain


def test_what_is_no_json_at_all_is_refused_by_name() -> None:
    with pytest.raises(Unreadable, match="object is not JSON"):
        formats.read({"messages": [{"role": "user", "content": object()}]}, "anthropic")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_a_line_with_a_number_that_json_does_not_have_is_no_record(word: str) -> None:
    """Read as null, the line would be written back as another one."""
    for line in (word, f'{{"cost": {word}}}', f'{{"text": "\ud83d", "costs": [{word}]}}'):
        with pytest.raises(Unreadable, match=word):
            exact_json.decode_record(line.encode("utf-8", "surrogatepass"))
