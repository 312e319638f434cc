"""The text of a usual document is decoded to typed records: what is read is the same as from plain values."""

from __future__ import annotations

import copy
import re
import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import HansardError
from hansard.formats.contract import Target
from hansard.formats.field_table.blocks import Block
from hansard.formats.field_table.rows import Row
from hansard.formats.residue import SchemaMismatch
from hansard.formats.rules.conform import conform
from hansard.model import Conversation, Message, RawPart, TextPart, ToolCallPart, ToolResultPart, exact_json, native
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.strategies import conversations, plain_conversations

NAMES = [name for name in formats.names() if formats.get(name).decode_typed is not None]
DOCUMENTS = {name: [path.read_bytes() for path in sorted((GOLDEN / name).glob("*.json"))] for name in NAMES}


def said_of(data: Any, name: str) -> Any:
    try:
        read = formats.read(data, name)
        parts = [part for message in read.messages for part in message.parts]
        raw = [exact_json.encode(part.value).decode() for part in parts if isinstance(part, RawPart)]
        return [native.plain(read), raw]  # raw parts with their keys in order
    except HansardError as error:
        return str(error)


def assert_same_either_way(raw: bytes, name: str) -> None:
    assert exact_json.same(said_of(raw, name), said_of(exact_json.decode(raw), name))


@pytest.mark.parametrize("name", NAMES)
def test_golden_documents_are_read_the_same_either_way(name: str) -> None:
    for raw in DOCUMENTS[name]:
        assert_same_either_way(raw, name)


@pytest.mark.parametrize("name", NAMES)
def test_recorded_documents_are_read_the_same_either_way(name: str, corpus: Path) -> None:
    for raw in corpus_documents(corpus, name):
        assert_same_either_way(raw, name)


@pytest.mark.parametrize("name", NAMES)
@given(conversation=st.one_of(plain_conversations, conversations))
def test_written_documents_are_read_the_same_either_way(name: str, conversation: Conversation) -> None:
    assert_same_either_way(formats.write(conversation, name).json, name)


def objects_in(value: Any) -> list[dict[str, Any]]:
    inner = value.values() if type(value) is dict else value if type(value) is list else ()
    return [value] * (type(value) is dict) + [found for one in inner for found in objects_in(one)]


odd: Any = st.sampled_from([None, 0, 1.5, False, True, 2**70, "", "text", "user", "assistant", [], {}, ["a"], {"a": 1}])


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_broken_documents_are_read_the_same_either_way(name: str, data: st.DataObject) -> None:
    document = copy.deepcopy(exact_json.decode(data.draw(st.sampled_from(DOCUMENTS[name]))))
    for _ in range(data.draw(st.integers(1, 2))):
        one = data.draw(st.sampled_from(objects_in(document) or [{}]))
        key = data.draw(st.sampled_from([*one, "unknown", "name", "content", "cache_control"]))
        if data.draw(st.booleans()):
            one[key] = copy.deepcopy(data.draw(odd))
        else:
            one.pop(key, None)
    assert_same_either_way(exact_json.encode(document), name)


def usual_document(name: str) -> bytes:
    """A question, a call, its result and an answer, as the format writes them."""
    asked = Message(role="user", parts=[TextPart(text="hi")])
    call = ToolCallPart(tool_call_id="c1", tool_name="t", input={"a": 1.5, "b": 10**30})
    called = Message(role="assistant", parts=[TextPart(text="wait"), call])
    result = ToolResultPart(tool_call_id="c1", tool_name="t", output="x", is_error=False)
    answered = Message(role="assistant", parts=[TextPart(text="done")])
    messages = [asked, called, Message(role="tool", parts=[result]), answered]
    return formats.write(Conversation(messages=messages), name).json


@pytest.mark.parametrize("name", NAMES)
def test_a_usual_conversation_is_decoded_to_typed_records(name: str) -> None:
    decode = formats.get(name).decode_typed
    assert decode is not None
    assert decode(usual_document(name)) is not None
    assert_same_either_way(usual_document(name), name)


@pytest.mark.parametrize("name", NAMES)
def test_any_one_field_that_is_gone_odd_or_new_is_read_the_same_either_way(name: str) -> None:
    seen = {key for raw in DOCUMENTS[name] for one in objects_in(exact_json.decode(raw)) for key in one}
    document = exact_json.decode(usual_document(name))
    for one in objects_in(document):
        before = dict(one)
        for key in sorted(seen):
            for value in (UNSET, None, "x", "2026-03-01T09:00:00Z", False, ["x"], {"x": 1}):
                one.update({key: value})
                if value is UNSET:
                    del one[key]
                assert_same_either_way(exact_json.encode(document), name)
                one.clear()
                one.update(before)


@pytest.mark.parametrize("name", NAMES)
def test_a_key_that_is_given_twice_is_refused_in_typed_records_too(name: str) -> None:
    raw = formats.write(Conversation(messages=[Message(role="user", parts=[TextPart(text="hi")])]), name).json
    twice = re.sub(rb'("\w+":"hi")', rb"\1,\1", raw)
    assert len(twice) > len(raw)
    with pytest.raises(HansardError):
        formats.read(twice, name)


@given(conversation=conversations)
def test_what_anthropic_writes_with_records_is_what_the_general_way_writes(conversation: Conversation) -> None:
    """An empty `extra` leads the general way; the rules leave no part that the format cannot say."""
    chosen = formats.get("anthropic")
    assert chosen.rules is not None
    messages = conform(
        conversation.messages, chosen.rules, Target(), "anthropic", [], [*range(len(conversation.messages))]
    )
    general = [replace(message, extra={}) if message.extra is UNSET else message for message in messages]
    written = [exact_json.encode(chosen.write(Conversation(messages=each), Target())) for each in (messages, general)]
    assert written[0] == written[1]


# -- the generator -------------------------------------------------------------------------------------------------


def call_table(**row: Any) -> Block:
    """A block as a format would declare it: an id, a name that may be missing, an input with or without logic."""
    rows = [Row("id", "tool_call_id", str, True), Row("title", "tool_name", str), Row("args", "input", **row)]
    return Block("toy", "call", ToolCallPart, rows)


def test_values_that_no_row_takes_are_residue_and_come_back() -> None:
    table = call_table()
    for block in (
        {"type": "call", "id": "c1", "title": "f", "args": None},
        {"type": "call", "id": "c1", "title": None, "zz": [1]},
        {"type": "call", "id": "c1", "args": 1.0, "$": {"a": 1}},
    ):
        part = table.read(block, {})
        assert exact_json.same(table.write(part), block)
    assert table.read({"type": "call", "id": "c1", "title": 5}, {}).extra == {"toy": {"title": 5}}


def test_a_part_without_residue_is_written_as_a_struct_that_says_the_same() -> None:
    table, part = call_table(), ToolCallPart(tool_call_id="c1", input={"a": 1})
    assert exact_json.encode(table.write_record(part)) == exact_json.encode(table.write(part))
    assert exact_json.encode(table.write(part)) == b'{"type":"call","id":"c1","args":{"a":1}}'


def test_a_block_that_does_not_fit_names_the_row() -> None:
    table = call_table()
    with pytest.raises(SchemaMismatch, match=r"^toy call: id must be str$"):
        table.read({"type": "call", "id": 5}, {})
    with pytest.raises(SchemaMismatch, match=r"^toy call: id is missing$"):
        table.read({"type": "call"}, {})


def test_a_wrong_row_is_refused_where_the_table_is_made() -> None:
    with pytest.raises(TypeError, match=r"^toy call: nick: ToolCallPart has no field 'nickname'$"):
        Block("toy", "call", ToolCallPart, [Row("nick", "nickname")])
    with pytest.raises(TypeError, match=r"^toy call: args: a row with logic needs both read and write$"):
        call_table(read=lambda value, context, hints: value)


def test_a_traceback_shows_the_row_whose_logic_fails() -> None:
    def fail(value: Any, context: Any, hints: dict[str, Any]) -> Any:
        raise ZeroDivisionError

    table = call_table(read=fail, write=lambda part, hints: part.input)
    try:
        table.read({"type": "call", "id": "c1", "args": {}}, {})
    except ZeroDivisionError as error:
        frame = traceback.extract_tb(error.__traceback__)[-2]
    assert frame.filename == "<field table toy: call> read"
    assert str(frame.line).endswith("# args")


def test_the_generated_code_can_be_printed() -> None:
    source = call_table().source()
    for name in ("read", "write", "read_record", "write_record"):
        assert f"def {name}(" in source
