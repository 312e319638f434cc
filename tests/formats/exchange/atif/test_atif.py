"""ATIF: nothing is lost on the way there and back. `tests/judges/test_harbor.py` asks Harbor's validator."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from hansard import formats
from hansard.formats.exchange.atif.difference import apply, diff
from hansard.model import (
    Conversation,
    DataPart,
    FilePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    exact_json,
    native,
)
from tests.strategies import conversations, json_values

FORKED = Conversation(
    title="Two ways",
    head="t2",
    messages=[
        Message(role="user", id="u", parts=[TextPart(text="Which?")]),
        Message(role="assistant", id="a1", parent_message_id="u", parts=[TextPart(text="The first.")]),
        Message(
            role="assistant",
            id="a2",
            parent_message_id="u",
            parts=[
                ReasoningPart(text="Hm.", signature="sig=="),
                ToolCallPart(tool_call_id="c1", tool_name="ls", input={}),
                ToolCallPart(tool_call_id="c2", tool_name="cat", input=["a.txt"]),
            ],
        ),
        Message(role="tool", id="t1", parts=[ToolResultPart(tool_call_id="c1", output="a.txt", is_error=False)]),
        Message(role="tool", id="t2", parts=[ToolResultPart(tool_call_id="c2", output={"text": "hi"})]),
    ],
)


@given(conversation=conversations)
def test_nothing_is_ever_lost(conversation: Conversation) -> None:
    assert formats.write(conversation, "atif").losses == []


def test_a_step_holds_a_message_and_the_results_of_its_calls() -> None:
    steps = formats.write(FORKED, "atif").data["steps"]
    assert [step["source"] for step in steps] == ["user", "agent"]
    assert steps[1]["reasoning_content"] == "Hm."
    assert [result["content"] for result in steps[1]["observation"]["results"]] == ["a.txt", '{"text":"hi"}']


def test_a_step_that_somebody_changed_is_believed() -> None:
    document = formats.write(FORKED, "atif").data
    document["steps"][0]["message"] = "What else?"
    again = formats.read(document, "atif")
    assert again.messages[0].parts == [TextPart(text="What else?")]
    path = {message.id: message for message in again.messages}
    assert path["a2"].parts[0] == FORKED.messages[2].parts[0], "the other steps keep their records"
    assert exact_json.same(formats.write(again, "atif").data, document)


def test_a_record_of_words_that_were_changed_is_not_believed() -> None:
    parts = [TextPart(text="as it was"), DataPart(name="mood", data="good")]
    document = formats.write(Conversation(messages=[Message(role="user", parts=[*parts])]), "atif").data
    document["steps"][0]["message"] = "edited"
    again = formats.read(document, "atif")
    assert again.messages[0].parts == [TextPart(text="edited")]
    assert exact_json.same(formats.write(again, "atif").data, document)


def test_bytes_stay_out_of_fields_that_are_file_names() -> None:
    picture = FilePart(media_type="image/png", data="aGk=")
    document = formats.write(Conversation(messages=[Message(role="user", parts=[picture])]), "atif").data
    assert document["steps"][0]["message"] == ""
    assert formats.read(document, "atif").messages[0].parts == [picture]


@given(before=json_values, after=json_values)
def test_a_difference_makes_one_value_of_another(before: Any, after: Any) -> None:
    record = diff(before, after)
    assert (record is None) == exact_json.same(before, after)
    if record is not None:
        assert exact_json.same(apply(before, exact_json.decode(exact_json.encode(record))), after)


def test_a_small_change_is_a_small_record() -> None:
    said = Message(role="assistant", id="m1", parts=[ReasoningPart(text="x" * 9999, signature="sig==")])
    extra = formats.write(Conversation(messages=[said]), "atif").data["steps"][0]["extra"]
    assert len(exact_json.encode(extra)) < 200
    assert native.plain(said)["id"] == "m1"


def test_several_tool_messages_of_one_step_cost_their_counts_only() -> None:
    """A step holds all results of its calls; which message held which is a short note, not the messages again."""
    calls: list[Any] = [ToolCallPart(tool_call_id=key, tool_name="f", input={}) for key in "abc"]
    results: list[Any] = [ToolResultPart(tool_call_id=key, tool_name="f", output=key) for key in "abc"]
    messages = [
        Message(role="user", parts=[TextPart(text="go")]),
        Message(role="assistant", parts=calls),
        Message(role="tool", parts=results[:1]),
        Message(role="tool", parts=results[1:]),
    ]
    written = formats.write(Conversation(messages=messages), "atif")
    steps: Any = exact_json.decode(written.json)["steps"]
    assert steps[1]["extra"] == {"hansard": {"results": [1, 2]}}
    assert formats.read(written.json, "atif").messages == messages
