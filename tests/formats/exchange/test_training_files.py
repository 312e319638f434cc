"""Files to train on: ShareGPT and OpenAI fine-tuning, told apart from requests, with calls as calls."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from hansard import formats
from hansard.model import RawPart, ToolCallPart, ToolResultPart
from tests.conftest import GOLDEN

LINE = (
    b'{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"a"}]}\n'
)


@pytest.mark.parametrize("path", sorted((GOLDEN / "openai-finetune").glob("*.json*")), ids=lambda path: path.name)
def test_lines_of_messages_are_told(path: object) -> None:
    raw = path.read_bytes()  # type: ignore[attr-defined]
    assert formats.detect(raw) == "openai-finetune"


def test_one_object_is_a_request_and_two_lines_are_a_training_file() -> None:
    assert formats.detect(LINE) == "openai-chat"
    assert formats.detect(LINE.replace(b'{"messages"', b'{"model":"gpt-5","messages"')) == "openai-chat"
    assert formats.detect(LINE + LINE) == "openai-finetune"


def test_a_weight_survives_a_request_and_comes_back() -> None:
    conversation = formats.read_all((GOLDEN / "openai-finetune" / "chats.jsonl").read_bytes())[1]
    request = formats.write(conversation, "openai-chat").data
    assert [message.get("weight") for message in request["messages"]] == [None, None, 0, None, 1]


def test_the_preferred_answer_is_the_conversation() -> None:
    conversation = formats.read((GOLDEN / "openai-finetune" / "preference.jsonl").read_bytes())
    assert [message.parts[0].text for message in conversation.messages] == [  # type: ignore[union-attr]
        "Hello, how cold is it?",
        "It is 5 degrees.",
    ]


def test_a_tool_of_another_provider_becomes_a_line_that_openai_takes() -> None:
    document = {
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "get", "input": {"c": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "rain"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "s"}]},
        ]
    }
    line = formats.convert(document, "openai-finetune", "anthropic").json
    assert line.startswith(b'{"messages":[{"role":"user","content":"Weather?"},{"role":"assistant",')
    assert b"thinking" not in line
    assert line.count(b"\n") == 1


def test_calls_and_observations_of_sharegpt_are_calls_and_results() -> None:
    conversation = formats.read((GOLDEN / "sharegpt" / "tools.json").read_bytes())
    call, result, both = (message.parts for message in conversation.messages[2:5])
    assert call == [ToolCallPart(tool_name="get_weather", input={"city": "Paris"})]
    assert result == [ToolResultPart(tool_name="get_weather", output='{"rain": true}')]
    assert [part.tool_name for part in both] == ["a", "b"]  # type: ignore[union-attr]
    odd = conversation.messages[6]
    assert (odd.role, type(odd.parts[0])) == ("event", RawPart)


def test_observations_reach_other_formats_as_results_of_their_calls() -> None:
    conversation = formats.read((GOLDEN / "sharegpt" / "tools.json").read_bytes())
    messages = formats.write(conversation, "openai-chat").data["messages"]
    assert [(m["tool_call_id"], m["content"][:4]) for m in messages if m["role"] == "tool"] == [
        ("call_2_0", '{"ra'),
        ("call_4_0", "ok"),
        ("call_4_1", "No r"),
    ]


def test_the_field_system_stays_the_field() -> None:
    conversation = formats.read((GOLDEN / "sharegpt" / "tools.json").read_bytes())
    assert conversation.messages[0].role == "system"
    assert conversation.messages[0].id is UNSET
    assert b'"system":"You have tools."' in formats.write(conversation, "sharegpt").json
    assert formats.write(conversation, "openai-chat").data["messages"][0]["role"] == "system"
