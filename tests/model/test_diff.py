"""Differences are found, and named so that a person understands them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard.model import (
    Agent,
    Conversation,
    FilePart,
    Message,
    ModelRef,
    ReasoningPart,
    RefusalPart,
    Settings,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    exact_json,
    native,
)
from hansard.model.diff import differences
from tests.strategies import conversations


def said(*texts: str, role: str = "user") -> Message:
    return Message(role=role, parts=[TextPart(text=text) for text in texts])


@given(conversations, conversations)
def test_there_are_differences_unless_they_are_the_same(one: Conversation, other: Conversation) -> None:
    same = exact_json.same(native.plain(one), native.plain(other))
    assert (differences(one, other) == []) == same
    assert differences(one, one) == []


@given(*[st.sampled_from([UNSET, {}, {"x": {}}, {"x": {"a": 1}}, {"y": {}}])] * 2)
def test_residue_that_says_nothing_is_a_difference_too(one: Any, other: Any) -> None:
    before, after = (Conversation(messages=[replace(said("a"), extra=extra)]) for extra in (one, other))
    assert (differences(before, after) == []) == (one == other)


def test_joined_messages_are_called_that() -> None:
    before = Conversation(messages=[said("a"), said("b"), said("c")])
    after = Conversation(messages=[said("a", "b"), said("c")])
    assert [(found.path, found.what) for found in differences(before, after)] == [
        ("$.messages[1]", "joined with messages[0]")
    ]


def test_a_missing_message_does_not_change_those_behind_it() -> None:
    before = Conversation(messages=[said("a"), said("b"), said("c", "d")])
    after = Conversation(messages=[said("a"), said("c", "d")])
    assert [found.path for found in differences(before, after)] == ["$.messages[1]"]


def test_the_kind_of_a_number_is_a_difference() -> None:
    def call(n: float) -> Conversation:
        return Conversation(
            messages=[Message(role="assistant", parts=[ToolCallPart(tool_call_id="c", input={"n": n})])]
        )

    assert differences(call(1), call(1)) == []
    assert [found.path for found in differences(call(1), call(1.0))] == ["$.messages[0].parts[0].input.n"]


def test_a_lost_field_is_named_with_its_value() -> None:
    before = Conversation(messages=[replace(said("a"), id="m1")], title="T")
    found = differences(before, Conversation(messages=[said("a")]))
    assert [(one.path, one.what) for one in found] == [("$.title", '"T"'), ("$.messages[0].id", '"m1"')]


def test_a_part_that_was_found_is_not_taken_for_another() -> None:
    before = Conversation(messages=[said("a"), said("b")])
    after = Conversation(messages=[said("a", "z")])
    assert [(found.path, found.what) for found in differences(before, after)] == [
        ("$.messages[1]", "joined with messages[0]"),
        ("$.messages[1].parts[0].text", '"b" becomes "z"'),
    ]


def test_what_was_split_moved_added_or_put_in_another_order_is_called_that() -> None:
    def told(before: list[Message], after: list[Message]) -> list[tuple[str, str, str]]:
        found = differences(Conversation(messages=before), Conversation(messages=after))
        return [(one.path, one.what, one.field) for one in found]

    assert told([said("a", "b")], [said("a"), said("b")]) == [("$.messages[0]", "one user message becomes 2", "split")]
    assert told([said("a"), said("b", "c"), said("d")], [said("b", "c"), said("a"), said("d")]) == [
        ("$.messages[1]", "moved to another place", "order")
    ]
    assert told([said("a", "b", "c"), said("d")], [said("b", "a", "c"), said("d"), said("e")]) == [
        ("$.messages[0].parts", "parts in another order", "order"),
        ("$.messages[2]", 'a user message was added text "e"', "added"),
    ]
    assert told([said("a"), said("b")], [said("a", "n"), said("b")]) == [
        ("$.messages[0].parts[1]", 'a part was added: text "n"', "added")
    ]
    assert told([said("a"), said()], [said("a"), said(role="tool")]) == [
        ("$.messages[1]", "the user message", "messages"),
        ("$.messages[1]", "a tool message was added", "added"),
    ]


def told(before: Any, after: Any) -> list[tuple[str, str, str]]:
    return [(one.path, one.what, one.field) for one in differences(before, after)]


RESIDUES: list[tuple[Any, Any, list[tuple[str, str]]]] = [
    ({"x": {"a": 1}}, {"x": {"a": 2, "b": 3}}, [(".x.a", "1 becomes 2"), (".x.b", "nothing becomes 3")]),
    ({"x": {"a": 1, "b": 2}}, {"x": {"b": 2}}, [(".x.a", "1")]),
    ({"x": {"a": 1}}, UNSET, [(".x.a", "1")]),
    (UNSET, {"x": {"a": 1}}, [(".x.a", "nothing becomes 1")]),
    ({"x": {}}, UNSET, [(".x", "{}")]),
    (UNSET, {"x": {}}, [(".x", "nothing becomes {}")]),
    ({"x": {"a": 1}, "y": {"b": 1}}, {"y": {"b": 1.0}}, [(".x.a", "1"), (".y.b", "1 becomes 1.0")]),
    ({"x": [1]}, {"x": [2]}, [(".x[0]", "1 becomes 2")]),
    ({"x": [1]}, {"x": [2, 3]}, [(".x", "[1] becomes [2,3]")]),
    ({"x": {"a": {"b": 1, "c": {}}}}, UNSET, [(".x.a.b", "1"), (".x.a.c", "{}")]),
    ({"x": [1]}, {"x": {"a": 1}}, [(".x", '[1] becomes {"a":1}')]),
    ({"x": {"a": 1}}, {"x": None}, [(".x", '{"a":1} becomes null')]),
    ({"x": {"a": "y" * 99}}, UNSET, [(".x.a", '"' + "y" * 58 + "…")]),
]


@pytest.mark.parametrize(("before", "after", "wanted"), RESIDUES)
def test_what_differs_in_the_residue_is_named_by_its_field(before: Any, after: Any, wanted: list[Any]) -> None:
    one, other = (Conversation(messages=[replace(said("a"), extra=extra)]) for extra in (before, after))
    assert told(one, other) == [(f"$.messages[0].extra{path}", what, "extra") for path, what in wanted]


def test_a_part_of_another_kind_and_the_fields_of_agents_are_named() -> None:
    one, other = Conversation(messages=[said("a")]), Conversation(messages=[said("a")])
    one.messages[0].parts[:] = [ReasoningPart(text="b")]
    assert told(one, other) == [
        ("$.messages[0]", 'the user message reasoning "b"', "messages"),
        ("$.messages[0]", 'a user message was added text "a"', "added"),
    ]
    refused = Conversation(messages=[Message.assistant(RefusalPart(text="No."))])
    assert told(refused, Conversation(messages=[Message.assistant("No.")])) == [
        ("$.messages[0].parts[0]", "a refusal part becomes text", "parts")
    ]
    before = Conversation(messages=[], agents={"x": Agent(id="x", name="X"), "y": Agent(id="y")})
    after = Conversation(messages=[], agents={"x": Agent(id="x", name="Z")})
    assert told(before, after) == [
        ("$.agents.x.name", '"X" becomes "Z"', "name"),
        ("$.agents.y", '{"id":"y"}', "agents"),
    ]


def test_each_setting_that_is_gone_is_named() -> None:
    asked = Conversation(messages=[], settings=Settings(temperature=0, model=ModelRef(name="m")))
    assert told(asked, Conversation(messages=[])) == [
        ("$.settings.model", '{"name":"m"}', "settings"),
        ("$.settings.temperature", "0", "settings"),
    ]
    assert told(Conversation(messages=[], settings=Settings()), Conversation(messages=[])) == [
        ("$.settings", "{}", "settings")
    ]


def test_the_parts_of_a_result_that_are_gone_are_named() -> None:
    def result(*content: Any) -> Conversation:
        return Conversation(messages=[Message.tool(ToolResultPart(tool_call_id="c", content=[*content]))])

    text, file = TextPart(text="x"), FilePart(data="aGk=")
    at = "$.messages[0].parts[0].content"
    assert told(result(file, text), result(text)) == [(f"{at}[0]", "file", "parts")]
    assert told(result(text), result(file, text)) == [(f"{at}[0]", "a part was added: file", "added")]


def test_a_message_that_was_not_written_is_not_taken_for_another() -> None:
    before = Conversation(messages=[said("a"), replace(said("b"), id="1"), replace(said("b"), id="2")])
    after = Conversation(messages=[before.messages[0], before.messages[2]])
    assert [one.path for one in differences(before, after, {1})] == ["$.messages[1]"]
