"""ChatGPT's export: a real tree, times to the digit, and calls, thoughts and results as what they are."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import formats
from hansard.model import (
    Conversation,
    FilePart,
    Message,
    RawPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hansard.model.times import epoch_seconds, epoch_time
from hansard.model.tree import active_path
from tests.conftest import GOLDEN


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / "chatgpt-export" / f"{name}.json").read_bytes())


def said(conversation: Conversation) -> list[str]:
    return [conversation.messages[i].parts[0].text for i in active_path(conversation)]  # type: ignore[union-attr]


def test_the_active_path_is_the_one_to_the_current_node() -> None:
    assert said(golden("branches")) == ["", "First question", "One answer", "Go on", "Further"]
    assert said(golden("branches_last_one_current")) == ["", "First question", "Another answer"]


def test_branches_reach_other_formats_with_trees() -> None:
    again = formats.convert(formats.write(golden("branches"), "hansard").json, "chatgpt-export", "hansard")
    assert again.losses == []
    assert sorted(again.data[0]["mapping"]["u1"]["children"]) == ["a1", "a2"]


def test_words_are_read_whatever_the_content_calls_them() -> None:
    parts = [part for message in golden("kinds_of_content").messages for part in message.parts]
    assert [part.text for part in parts if isinstance(part, TextPart)] == [
        "",
        "I am Ada.",
        "Be brief.",
        "What is two and two?",
        "print(2 + 2)",
        "Ada counts.",
        "Four.",
    ]
    assert [part.output for part in parts if isinstance(part, ToolResultPart)] == ["# Four\nSome say so.", "4"]
    assert not [part for part in parts if isinstance(part, RawPart)]


def test_calls_thoughts_and_results_are_what_they_are() -> None:
    messages = golden("tools_and_thoughts").messages
    picture = messages[0].parts[0]
    assert isinstance(picture, FilePart)
    assert picture.url == "file-service://file-1"
    thought, call, result = (message.parts[0] for message in messages[1:4])
    assert isinstance(thought, ReasoningPart)
    assert thought.text == "Use python."
    assert isinstance(call, ToolCallPart)
    assert (call.tool_name, call.input_text) == ("python", "2**0.5")
    assert isinstance(result, ToolResultPart)
    assert (result.tool_name, result.output) == ("python", "1.4142")
    searched = messages[4].parts[0]
    assert isinstance(searched, ToolCallPart)
    assert searched.input == {"q": "roots"}


def test_a_message_of_several_kinds_becomes_a_chain() -> None:
    parts = [ReasoningPart(text="Hm."), TextPart(text="Looking."), ToolCallPart(tool_name="ls", input={"a": 1})]
    asked = Message(role="user", id="u", parts=[TextPart(text="Which?")])
    answer = Message(role="assistant", id="a", parts=parts)  # type: ignore[arg-type]
    result = Message(role="tool", id="t", parts=[ToolResultPart(tool_name="ls", output="x")])
    (document,) = formats.write(Conversation(messages=[asked, answer, result]), "chatgpt-export").data
    kinds = {key: node["message"]["content"]["content_type"] for key, node in document["mapping"].items()}
    assert kinds == {"u": "text", "a": "thoughts", "a.1": "text", "a.2": "code", "t": "execution_output"}
    assert document["mapping"]["t"]["parent"] == "a.2"
    assert document["current_node"] == "t"


def test_a_new_turn_joins_the_tree() -> None:
    before = golden("branches")
    after = Conversation(
        messages=[
            *before.messages[:-1],
            Message(role="user", id="n", parent_message_id="a2", parts=[TextPart(text="New")]),
        ],
        head="n",
        extra=before.extra,
    )
    (document,) = formats.write(after, "chatgpt-export").data
    assert document["current_node"] == "n"
    assert "root" in document["mapping"]


@pytest.mark.parametrize(
    "number", [1784164544.946, 1784164500.0, 1784164500, 0, 0.5, 1784164544.94612, Decimal("1.10")]
)
def test_a_time_says_the_number_it_came_from(number: int | float | Decimal) -> None:
    time = epoch_time(number)
    if type(number) is Decimal:
        assert time is None, "a float says the same, so the decimal stays where it is"
    else:
        assert epoch_seconds(time) == number
        assert type(epoch_seconds(time)) is type(number)


@given(number=st.one_of(st.integers(), st.floats(allow_nan=True)))
def test_any_number_is_a_time_that_says_it_or_none(number: float) -> None:
    time = epoch_time(number)
    assert time is None or repr(epoch_seconds(time)) == repr(number)


@pytest.mark.parametrize("value", ["", {"named": ["text", "text"]}, {"node": {"id": None}}])
def test_a_message_with_a_key_as_our_marks_have_it_keeps_it(value: object) -> None:
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi."]}, "$": value}
    nodes = {"a": {"id": "a", "message": message, "parent": None, "children": [], "more": 1}}
    document = [{"title": "T", "mapping": nodes, "current_node": "a"}]
    written = formats.write(formats.read(document, "chatgpt-export"), "chatgpt-export")
    assert (written.data, written.losses) == (document, [])


def test_children_stay_in_their_order_when_one_says_nothing() -> None:
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi."]}}
    nodes = {
        "a": {"id": "a", "message": said, "parent": None, "children": ["b", "c"]},
        "b": {"id": "b", "message": said, "parent": "a", "children": []},
        "c": {"id": "c", "message": None, "parent": "a", "children": []},
    }
    document = [{"title": "T", "mapping": nodes, "current_node": "b"}]
    written = formats.write(formats.read(document, "chatgpt-export"), "chatgpt-export")
    assert (written.data, written.losses) == (document, [])
