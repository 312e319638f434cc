"""Sage's quick way: wherever it reads or writes a record, the general way does exactly the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hansard.formats.coding_agents.sage.fields import Record, parse, read_typed, write_typed
from hansard.formats.coding_agents.sage.records import ROLES, Place, placeholder_uuid, read_message, write_message
from hansard.formats.coding_agents.sage.session import decoded
from hansard.model import Message, exact_json, native
from tests.strategies import conversations, json_values, objects, texts

words = st.sampled_from(["", "a", "s1"])
odd: st.SearchStrategy[Any] = st.sampled_from([None, 1, 1.0, True, "", [], {}])
places = st.builds(Place, st.integers(0, 2), st.sampled_from([None, "u0", "u1"]), st.sampled_from([UNSET, "s1"]))


def fields(optional: dict[str, Any], **required: Any) -> st.SearchStrategy[dict[str, Any]]:
    """An object with these fields, now and then with one that is odd or unknown, or in another order."""
    usual = st.fixed_dictionaries(required, optional=optional)
    names = st.sampled_from([*required, *optional, "extra", "unknown", "$"])
    broken = st.builds(lambda one, name, value: {**one, name: value}, usual, names, odd)
    turned = usual.map(lambda one: dict(reversed(one.items())))
    return st.integers(0, 19).flatmap(lambda n: {0: broken, 1: turned}.get(n, usual))


calls = fields({}, id=words, name=words, arguments=objects)
results = st.one_of(
    fields({}, toolCallId=words, toolName=words, content=texts, success=st.just(True), error=st.none()),
    fields({}, toolCallId=words, toolName=words, content=st.just(""), success=st.just(False), error=texts),
    fields({"more": odd}, toolCallId=words, toolName=words, content=json_values, success=st.booleans(), error=odd),
)
counts = st.integers(0, 9)
order = list(Record.__struct_encode_fields__)


def in_order(one: dict[str, Any]) -> dict[str, Any]:
    return {key: one[key] for key in [*order, *one] if key in one}


def records_of(kind: str, role: str) -> st.SearchStrategy[dict[str, Any]]:
    calls_of = {"toolCalls": st.lists(calls, max_size=2)}
    body = fields(calls_of, role=st.sampled_from([role] * 9 + ["user"]), content=st.one_of(texts, words))
    details = {
        "timestamp": words,
        "sessionId": st.sampled_from(["s1", "s1", "s2"]),
        "version": words,
        "context": fields({"cwd": words, "gitBranch": words, "platform": words, "userType": words}),
        "usage": fields({"inputTokens": counts, "outputTokens": counts, "totalTokens": counts}),
        "thinkingMetadata": fields({"level": words, "disabled": st.booleans(), "triggers": st.lists(words)}),
        "todos": st.lists(fields({"content": words, "status": words, "activeForm": words}), max_size=2),
        "isSidechain": st.booleans(),
        "metadata": objects,
    }
    said: dict[str, Any] = {"message": body, "toolResults": st.lists(results, max_size=2)}
    uuid = st.sampled_from(["u1", placeholder_uuid(0), placeholder_uuid(1)])
    always = {"type": st.just(kind), "uuid": uuid, "parentUuid": st.sampled_from([None, "u0", "u1"])}
    if kind == "tool_result":
        return fields({**details, **said}, **always)
    return fields({**details, "toolResults": said.pop("toolResults")}, **always, **said)


records = st.sampled_from([*ROLES.items(), ("other", "user")]).flatmap(lambda pair: records_of(*pair))
spellings = st.sampled_from([exact_json.encode, exact_json.encode, lambda one: json.dumps(one, default=str).encode()])


@given(st.one_of(records.map(in_order), records.map(in_order), records), spellings, places)
def test_the_typed_path_reads_the_same_as_the_general_one(one: Any, spelling: Any, place: Place) -> None:
    check_reading(spelling(one), place)


def said(content: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": content}, **more}


result = {"toolCallId": "c", "toolName": "t", "content": "b", "success": True, "error": None}
NEAR = {
    "usual": said(),
    "result": said(toolResults=[result]),
    "no results": said(toolResults=[]),
    "no calls": said(message={"role": "user", "content": "a", "toolCalls": []}),
    "empty beside results": said("", toolResults=[result]),
    "empty": said(""),
    "failure": said(toolResults=[{**result, "content": "", "success": False, "error": "b"}]),
    "failure with content": said(toolResults=[{**result, "success": False, "error": "b"}]),
    "success with error": said(toolResults=[{**result, "error": "b"}]),
    "another session": said(sessionId="s2"),
    "another role": said(message={"role": "assistant", "content": "a"}),
    "total tokens": said(usage={"inputTokens": 1, "totalTokens": 2}),
    "extra": said(context={"extra": {"sage": {}}}),
    "extra of a todo": said(todos=[{"extra": {"sage": {}}}]),
    "made uuid": said(uuid=placeholder_uuid(1)),
    "made uuid, another parent": said(uuid=placeholder_uuid(1), parentUuid="u5"),
    "nothing": {"type": "tool_result", "uuid": "u1", "parentUuid": None},
    "nothing for a user": {"type": "user", "uuid": "u1", "parentUuid": None, "toolResults": [result]},
}


@pytest.mark.parametrize("before", [None, "u0"])
@pytest.mark.parametrize("one", NEAR.values(), ids=NEAR)
def test_records_near_the_default_spelling_are_read_the_same(one: dict[str, Any], before: str | None) -> None:
    place = Place(1, before, UNSET)
    check_reading(exact_json.encode(in_order(one)), place)
    check_writing(read_message(one, place), place)


def test_default_records_take_the_typed_path() -> None:
    place = Place(1, None, UNSET)
    for name in ("usual", "result", "empty", "failure", "made uuid", "made uuid, another parent"):
        record = parse(exact_json.encode(in_order(NEAR[name])))
        assert record is not None
        message = read_typed(record, place)
        assert message is not None
        assert write_typed(message, place) == record


def check_reading(line: bytes, place: Place) -> None:
    record = parse(line)
    if record is None or (quick := read_typed(record, place)) is None:
        return
    general = read_message(decoded(line), place)
    assert quick == general
    assert native.encode(quick) == native.encode(general)
    assert (type(record) is Record) == (exact_json.encode(write_message(quick, place)) == line)


@given(conversations, places)
def test_the_typed_path_writes_the_same_as_the_general_one(conversation: Any, place: Place) -> None:
    for message in conversation.messages:
        check_writing(message, place)


@given(records.map(in_order), places, places)
def test_a_record_of_a_session_is_written_the_same_on_both_paths(
    one: dict[str, Any], place: Place, other: Place
) -> None:
    check_writing(read_message(one, place), other)


def check_writing(message: Message, place: Place) -> None:
    quick = write_typed(message, place)
    if quick is not None:
        record = write_message(message, place)
        assert exact_json.encode(quick) == exact_json.encode(record)
        assert quick.uuid == record["uuid"]


def test_duplicate_keys_leave_the_typed_path() -> None:
    line = b'{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user","content":"a","content":"b"}}'
    assert parse(line) is None
    assert parse(line.replace(b'"content":"a",', b"")) is not None
