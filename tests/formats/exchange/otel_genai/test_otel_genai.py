"""Spans: the one that saw most gives the messages, the others the facts; every document comes back as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import Unreadable
from hansard.model import (
    Conversation,
    FilePart,
    Message,
    ModelRef,
    RawPart,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    Usage,
)
from tests.conftest import GOLDEN


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / "otel-genai" / f"{name}.json").read_bytes())


def attributes(document: Any) -> dict[str, Any]:
    (span,) = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return {item["key"]: next(iter(item["value"].values())) for item in span["attributes"]}


def test_an_agents_spans_are_one_conversation() -> None:
    conversation = golden("an_agent_with_tools")
    assert [message.role for message in conversation.messages] == ["system", "user", "assistant", "tool", "assistant"]
    called, answer = conversation.messages[2], conversation.messages[4]
    assert called.finish_reason == "tool_call"
    assert called.usage == Usage(input_tokens=97, output_tokens=20)
    assert answer.usage == Usage(input_tokens=130, output_tokens=18)
    assert answer.model == ModelRef(provider="openai", name="model-x-2026", response_id="resp_130")
    assert answer.created_at == "2026-07-16T01:15:48.000000001Z"
    assert conversation.id == "conv-7"


def test_a_changed_word_changes_every_span_that_repeats_it() -> None:
    conversation = golden("an_agent_with_tools")
    asked = replace(conversation.messages[1], parts=[TextPart(text="Weather in Rome?")])
    messages = [conversation.messages[0], asked, *conversation.messages[2:]]
    text = formats.write(replace(conversation, messages=messages), "otel-genai").json.decode()
    assert "Weather in Paris?" not in text
    assert text.count("Weather in Rome?") == 3


def test_a_new_turn_is_not_left_out() -> None:
    conversation = golden("one_span")
    more = replace(
        conversation, messages=[*conversation.messages, Message(role="user", parts=[TextPart(text="Thanks")])]
    )
    said = attributes(formats.write(more, "otel-genai").data)
    assert json.loads(said["gen_ai.input.messages"])[-1]["parts"] == [{"type": "text", "content": "Thanks"}]


def test_a_span_of_ours_has_what_the_conventions_ask_for() -> None:
    messages = [
        Message(role="system", parts=[TextPart(text="Be brief.")]),
        Message(role="user", parts=[TextPart(text="hi")]),
        Message(role="assistant", parts=[TextPart(text="ho")], model=ModelRef(name="m"), usage=Usage(output_tokens=1)),
    ]
    document = formats.write(Conversation(messages=messages, id="c"), "otel-genai").data
    (span,) = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert len(bytes.fromhex(span["traceId"])) == 16
    assert len(bytes.fromhex(span["spanId"])) == 8
    said = attributes(document)
    assert said["gen_ai.operation.name"] == "chat"
    assert said["gen_ai.usage.output_tokens"] == "1"
    assert json.loads(said["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    assert json.loads(said["gen_ai.output.messages"])[0]["finish_reason"] == "stop"
    again = formats.write(Conversation(messages=messages, id="c"), "otel-genai").data
    assert again == document, "the same words, the same ids"


def test_spans_without_messages_are_refused_by_name() -> None:
    with pytest.raises(Unreadable, match=r"gen_ai\.input\.messages"):
        formats.read({"attributes": {"gen_ai.operation.name": "chat"}}, "otel-genai")


def test_messages_alone_stay_a_list_when_one_more_is_said() -> None:
    said = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    assert formats.detect(said) == "otel-genai"
    before = formats.read(said, "otel-genai")
    after = replace(before, messages=[*before.messages, Message(role="assistant", parts=[TextPart(text="hello")])])
    written = formats.write(after, "otel-genai")
    assert written.data == [*said, {"role": "assistant", "parts": [{"type": "text", "content": "hello"}]}]
    assert formats.read(written.json, "otel-genai").messages == after.messages


def test_other_words_for_the_same_parts_are_understood() -> None:
    raw = (GOLDEN / "otel-genai" / "other_words_for_the_same_parts.json").read_bytes()
    conversation = formats.read(raw)
    parts: list[Any] = [part for message in conversation.messages for part in message.parts]
    assert not [part for part in parts if type(part) is RawPart]
    assert [part.text for part in parts if type(part) is ReasoningPart] == ["Hm.", "So."]
    assert [part.output for part in parts if type(part) is ToolResultPart] == [{"seen": 2.0}]
    files = [(part.media_type, part.url, part.data) for part in parts if type(part) is FilePart]
    assert files == [
        ("image/*", "https://example.org/a.png", UNSET),
        ("image/png", UNSET, "aGk="),
        (UNSET, "https://example.org/b", UNSET),
    ]


@pytest.mark.parametrize("name", ["an_agent_with_tools", "one_span"])
def test_messages_that_were_taken_away_are_in_no_span(name: str) -> None:
    """The document that was read has places for them; what has nothing to put there is written anew."""
    conversation = golden(name)
    for count in range(1, len(conversation.messages)):
        kept = replace(conversation, messages=conversation.messages[:count], head=UNSET)
        written = formats.write(kept, "otel-genai")
        again = formats.read(written.json, "otel-genai")
        assert [message.parts for message in again.messages] == [message.parts for message in kept.messages], count
