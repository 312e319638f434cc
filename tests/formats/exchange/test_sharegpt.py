"""ShareGPT: what records mean, what other formats' messages become, and when a document is surely of this format."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import (
    CompactionPart,
    Conversation,
    FilePart,
    Message,
    RawPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    exact_json,
)

NAME = "sharegpt"
FORMAT = formats.get(NAME)


def one(*records: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"conversations": list(records), **more}]


def read(*records: Any) -> list[Message]:
    return formats.read(one(*records), NAME).messages


def turn(said: str, text: str) -> dict[str, str]:
    return {"from": said, "value": text}


def back(conversation: Conversation) -> Any:
    return exact_json.decode(formats.write(conversation, NAME).json)


def written(*messages: Message) -> Any:
    (document,) = back(Conversation(messages=list(messages)))
    return [(record["from"], record["value"]) for record in document["conversations"]]


def say(role: str, *parts: Any) -> Message:
    return Message(role=role, parts=[TextPart(text=part) if type(part) is str else part for part in parts])


ROLES = {
    "user": ("human", "user"),
    "assistant": ("gpt", "assistant", "chatgpt", "bot", "bing", "bard", "model"),
    "system": ("system",),
    "tool": ("observation", "tool", "function_response"),
}


@pytest.mark.parametrize(("role", "said"), [(role, said) for role, names in ROLES.items() for said in names])
@pytest.mark.parametrize("keys", [("from", "value"), ("role", "content")])
def test_every_spelling_of_a_role_means_it_and_is_written_back(role: str, said: str, keys: tuple[str, str]) -> None:
    document = one({keys[0]: said, keys[1]: "x", "weight": 0})
    conversation = formats.read(document, NAME)
    (message,) = conversation.messages
    assert message.role == role
    (part,) = message.parts
    assert (part.output if isinstance(part, ToolResultPart) else part.text) == "x"  # type: ignore[union-attr]
    assert back(conversation) == document


CALLS = [
    ('{"name":"f","arguments":{"a":1}}', [("f", {"a": 1})]),
    ('[{"name":"f","arguments":{}},{"name":"g","arguments":"x"}]', [("f", {}), ("g", "x")]),
    ('{ "arguments": {"a": 1.0}, "name": "f" }', [("f", {"a": 1.0})]),  # spelled otherwise
]
NO_CALLS = [
    "f(1)",
    "[]",
    '[{"name":"f","arguments":{}}]',  # a list of one is not how one call is written
    '{"name":"f"}',
    '{"name":"f","arguments":{},"id":1}',
    '{"name":1,"arguments":{}}',
    '["f"]',
    '{"name":"f","name":"g","arguments":{}}',
]


@pytest.mark.parametrize(("text", "calls"), CALLS)
def test_a_string_of_calls_is_calls_and_comes_back_as_it_was_spelled(text: str, calls: list[Any]) -> None:
    document = one(turn("human", "?"), turn("function_call", text))
    conversation = formats.read(document, NAME)
    assert [(part.tool_name, part.input) for part in conversation.messages[1].parts] == calls  # type: ignore[union-attr]
    assert back(conversation) == document


@pytest.mark.parametrize("text", NO_CALLS)
def test_a_string_that_is_no_calls_is_kept_as_it_is(text: str) -> None:
    record = turn("function_call", text)
    (message,) = read(record)
    assert (message.role, message.parts) == ("event", [RawPart(format=NAME, value=record)])
    assert back(formats.read(one(record), NAME)) == one(record)


def test_a_changed_call_is_not_written_as_the_old_one_was_spelled() -> None:
    conversation = formats.read(one(turn("function_call", '{ "name": "f", "arguments": {} }')), NAME)
    conversation.messages[0].parts[0] = ToolCallPart(tool_name="g", input={})
    assert written(*conversation.messages) == [("function_call", '{"name":"g","arguments":{}}')]


def test_an_observation_answers_the_first_call_that_waits() -> None:
    both = '[{"name":"f","arguments":{}},{"name":"g","arguments":{}}]'
    talk = read(
        turn("observation", "0"),
        turn("function_call", both),
        turn("observation", "1"),
        turn("observation", "2"),
        turn("observation", "3"),
        turn("function_call", both),
        turn("function_call", '{"name":"h","arguments":{}}'),
        turn("observation", "4"),
    )
    names = [part.tool_name for message in talk for part in message.parts if isinstance(part, ToolResultPart)]
    assert names == [UNSET, "f", "g", UNSET, "h"]


@pytest.mark.parametrize(
    "record", [turn("narrator", "x"), {"from": "human"}, {"from": "human", "value": 1}, {"value": "x"}, {"from": 1}]
)
def test_a_record_that_is_none_of_these_is_kept_word_for_word(record: Any) -> None:
    assert [(message.role, message.parts) for message in read(record)] == [
        ("event", [RawPart(format=NAME, value=record)])
    ]
    assert back(formats.read(one(record), NAME)) == one(record)


@pytest.mark.parametrize(
    ("message", "records"),
    [
        (say("user", "a", "b"), [("human", "a\n\nb")]),
        (say("developer", "a"), [("system", "a")]),
        (say("assistant", RefusalPart(text="no")), [("gpt", "no")]),
        (say("assistant", CompactionPart(text="before")), [("gpt", "before")]),
        (say("assistant", ReasoningPart(text="hm"), "a"), [("gpt", "a")]),
        (say("user", FilePart(media_type="image/png", data="aGk=")), []),
        (say("event", RawPart(format="gemini", value=1)), []),
        (
            say("assistant", "a", ToolCallPart(tool_name="f", input={"a": 1}), ToolCallPart(tool_name="g"), "b"),
            [
                ("gpt", "a"),
                ("function_call", '[{"name":"f","arguments":{"a":1}},{"name":"g","arguments":{}}]'),
                ("gpt", "b"),
            ],
        ),
        (say("assistant", ToolCallPart(input_text='{"a')), [("function_call", '{"name":"","arguments":"{\\"a"}')]),
        (
            say("tool", ToolResultPart(output="x"), ToolResultPart(output={"a": 1}), ToolResultPart(output=None)),
            [("observation", "x"), ("observation", '{"a":1}'), ("observation", "null")],
        ),
        (
            say("tool", ToolResultPart(content=[TextPart(text="x"), TextPart(text="y")])),
            [("observation", '[{"type":"text","text":"x"},{"type":"text","text":"y"}]')],
        ),
    ],
)
def test_a_message_of_another_format_becomes_records(message: Message, records: list[Any]) -> None:
    assert written(message) == records


def test_what_a_record_had_beside_its_text_does_not_go_to_several() -> None:
    conversation = formats.read(one({**turn("bot", "a"), "weight": 1}), NAME)
    conversation.messages[0].parts.append(ToolCallPart(tool_name="f", input={}))
    (document,) = back(conversation)
    assert document["conversations"] == [turn("gpt", "a"), turn("function_call", '{"name":"f","arguments":{}}')]


def test_the_field_system_is_the_first_message_and_only_if_it_still_is_one() -> None:
    document = one(turn("human", "a"), system="s", tools="[]")
    conversation = formats.read(document, NAME)
    assert [message.role for message in conversation.messages] == ["system", "user"]
    assert back(conversation) == document
    conversation.messages.reverse()
    (moved,) = back(conversation)
    assert moved == {"conversations": [turn("human", "a"), turn("system", "s")], "tools": "[]"}
    assert back(formats.read(one(turn("system", "s")), NAME)) == one(turn("system", "s"))
    assert back(formats.read(one(system=None), NAME)) == one(system=None)


@pytest.mark.parametrize("document", [{"items": [turn("human", "a")], "id": "i"}, {"id": 5, "conversations": []}])
def test_another_name_of_the_list_and_any_id_come_back(document: Any) -> None:
    conversation = formats.read([document], NAME)
    assert conversation.id == ("i" if document["id"] == "i" else UNSET)
    assert back(conversation) == [document]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ([{"id": "x"}], "$.conversations"),
        ([{"conversations": "x"}], "$.conversations"),
        (one(turn("human", "a"), "b"), "$.conversations[1]"),
        ([{"items": [1]}], "$.items[0]"),
    ],
)
def test_what_is_no_conversation_is_refused_with_its_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as refused:
        formats.read(document, NAME)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("document", "sure"),
    [
        (one(turn("human", "a")), 3),
        (one(turn("human", "a"))[0], 3),
        ([{"items": [{"x": 1}, turn("gpt", "a")]}], 3),
        (one({"role": "user", "content": "a"}), 1),
        (one(), 1),
        (one(turn("human", "a")) + one({"role": "user", "content": "a"}), 1),
        ([*one(turn("human", "a")), {"messages": []}], 0),
        (one(turn("human", "a"), "b"), 0),
        ([], 0),
        ([turn("human", "a")], 0),
        ("x", 0),
    ],
)
def test_it_is_as_sure_as_it_can_be(document: Any, sure: int) -> None:
    assert FORMAT.sniff(document) == sure


_texts = st.text(max_size=5)
_records = st.one_of(
    st.builds(turn, st.sampled_from([said for names in ROLES.values() for said in names]), _texts),
    st.builds(turn, st.just("function_call"), st.sampled_from([*(text for text, _ in CALLS), *NO_CALLS]) | _texts),
    st.fixed_dictionaries({"role": st.sampled_from(["user", "x"]), "content": _texts | st.none(), "k": st.integers()}),
)


@given(
    documents=st.lists(
        st.fixed_dictionaries(
            {"conversations": st.lists(_records, max_size=5)},
            optional={"system": _texts | st.none(), "id": _texts | st.integers(), "tools": _texts},
        ),
        min_size=1,
        max_size=3,
    )
)
def test_any_document_is_written_as_it_was_read(documents: list[Any]) -> None:
    raw = exact_json.encode(documents)
    written = formats.write_all(formats.read_all(raw, NAME), NAME)
    assert exact_json.same(exact_json.decode(written.json), documents)
    assert written.losses == []
