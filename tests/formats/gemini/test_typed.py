"""Gemini's quick way: wherever it reads or writes a call or a result, the general way does exactly the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.contract import Target
from hansard.formats.gemini import FORMAT
from hansard.formats.gemini.content import _read_unsigned, read_part, read_parts, write_parts
from hansard.formats.gemini.reasoning import DUMMY
from hansard.formats.gemini.tools import is_client_call, read_common
from hansard.model import exact_json, native
from tests.strategies import json_values, objects, parts, plain_conversations

names = st.sampled_from(["get_weather", "no name", "", "a.b", None, 1])
ids = st.sampled_from(["c1", "", None])
responses = st.one_of(
    st.fixed_dictionaries({"output": json_values}), st.fixed_dictionaries({"error": json_values}), objects, json_values
)
calls = st.fixed_dictionaries(
    {}, optional={"id": ids, "name": names, "args": st.one_of(objects, json_values), "x": ids}
)
results = st.fixed_dictionaries({}, optional={"id": ids, "name": names, "response": responses, "parts": json_values})
signatures = st.sampled_from([DUMMY, "context_engineering_is_the_way_to_go", "c2ln", "no base64!", "", None])
blocks = st.one_of(
    st.fixed_dictionaries({"functionCall": calls}, optional={"thoughtSignature": signatures, "thought": json_values}),
    st.fixed_dictionaries({"functionResponse": results}, optional={"thoughtSignature": signatures}),
    st.fixed_dictionaries({"functionCall": calls, "functionResponse": results}),
    st.fixed_dictionaries({"text": json_values}, optional={"thought_signature": signatures}),
)


def read_in_general(block: Any, first: bool) -> Any:
    part = read_part(block, False)
    return _read_unsigned(part) if first and is_client_call(part) and part.signature is UNSET else part


@given(blocks, st.booleans())
def test_a_part_read_quickly_is_read_the_same_in_general(block: Any, first: bool) -> None:
    quick = read_common(block, first)
    if quick is not None:
        assert quick == read_in_general(block, first)
        assert native.encode(quick) == native.encode(read_in_general(block, first))


@given(st.lists(blocks, max_size=3))
def test_only_the_first_call_of_a_turn_is_marked_as_unsigned(turn: list[Any]) -> None:
    calls = [part for part in read_parts(turn, False, True) if is_client_call(part)]
    assert not any("unsigned" in str(part.extra) for part in calls[1:])


@given(st.lists(parts, max_size=3), st.booleans())
def test_parts_written_quickly_are_written_the_same_in_general(said: list[Any], model: bool) -> None:
    general = [replace(part, extra={}) if part.extra is UNSET else part for part in said]
    assert exact_json.encode(write_parts(said, False, model)) == exact_json.encode(write_parts(general, False, model))


@given(plain_conversations)
def test_messages_written_quickly_are_written_the_same_in_general(conversation: Any) -> None:
    general = [replace(message, extra={}) for message in conversation.messages]
    quick = FORMAT.write(conversation, Target())
    assert exact_json.encode(quick) == exact_json.encode(
        FORMAT.write(replace(conversation, messages=general), Target())
    )
