"""The AI SDK's fullStream: the same messages as from the stream its client gets, and what only the server knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hansard import formats
from hansard.formats.ai_sdk.full.stream import AiSdkFullDecoder, error_text, read_usage
from hansard.model import Conversation, Usage
from hansard.model.parts import FilePart, ToolCallPart, ToolResultPart
from hansard.streams.accumulator import fold
from hansard.streams.deltas import End, Failure, Other
from tests.formats.ai_sdk.ui.test_stream import decode, shown, visible, without_end

START: list[Any] = [{"type": "start"}, {"type": "start-step", "request": {}, "warnings": []}]
FINISH: list[Any] = [
    {"type": "finish-step", "finishReason": "stop", "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}},
    {"type": "finish", "finishReason": "stop", "totalUsage": {"inputTokens": 1}},
]


def lines(parts: list[Any]) -> bytes:
    return b"".join(json.dumps(part).encode() + b"\n" for part in parts)


def read(parts: list[Any]) -> Any:
    return fold(decode(lines(parts), "ai-sdk-full"))


def likened(record: dict[str, Any], path: Path) -> dict[str, Any]:
    """Without what the recording server added itself, or only its list of tools could tell."""
    parts = [dict(part) for part in record["parts"]]
    for part in parts:
        if "errorText" in part:
            part["errorText"] = part["errorText"].removeprefix("ERR: ")
        if "plain" in path.name:
            part.pop("errorText", None)
        if ".v5." in path.name:
            part.pop("resultProviderMetadata", None)
        if "invalidTool" in path.name and "toolCallId" in part:
            name = part.pop("toolName", None) or part["type"].removeprefix("tool-")
            raw = part.pop("rawInput", None)
            part.update(type=f"tool-{name}", input=part.get("input", raw))
            part.pop("errorText", None)
    return {"role": record["role"], "parts": parts}


def test_recorded_runs_give_the_message_that_the_server_stored(corpus: Path) -> None:
    found = 0
    for path in sorted((corpus / "ai-sdk" / "stream").glob("*.result.json")):
        wanted = json.loads(path.read_text())["onFinish"]["responseMessage"]
        for suffix in (".fullstream.jsonl", ".fullstream-plain.jsonl"):
            raw = path.with_name(path.name.replace(".result.json", suffix))
            if raw.exists():
                (ours,) = shown(decode(raw.read_bytes(), "ai-sdk-full"))
                assert likened(ours, raw) == likened(wanted, raw), raw.name
                found += 1
    assert found > 40


def test_recorded_answers_of_providers_give_the_message_that_the_client_made(corpus: Path) -> None:
    for path in sorted((corpus / "ai-sdk" / "provider").iterdir()):
        case = json.loads(path.read_text())
        if case.get("uiMessage") and case["uiMessage"]["parts"]:
            (ours,) = shown(decode(lines(case["fullStream"]), "ai-sdk-full"))
            assert ours["parts"] == case["uiMessage"]["parts"], path.name


def test_the_run_is_written_as_the_model_messages_that_the_server_made(corpus: Path) -> None:
    raw = (corpus / "ai-sdk" / "stream" / "tools.v6.fullstream.jsonl").read_bytes()
    wanted = json.loads((corpus / "ai-sdk" / "stream" / "tools.v6.result.json").read_text())["responseMessages"]
    messages = fold(decode(raw, "ai-sdk-full"))
    written = formats.write(Conversation(messages=messages), "ai-sdk-model").data
    assert [record["role"] for record in written] == [record["role"] for record in wanted]
    kinds = [[part["type"] for part in record["content"]] for record in wanted]
    ours = [[part["type"] for part in record["content"]] for record in written if type(record["content"]) is list]
    assert [kind for record in ours for kind in record] == [
        kind for record in kinds for kind in record if kind != "source"
    ]


def test_each_step_knows_its_model_usage_time_and_reason(corpus: Path) -> None:
    raw = (corpus / "ai-sdk" / "stream" / "tools.v7.fullstream.jsonl").read_bytes()
    first, result, last = read([json.loads(line) for line in raw.splitlines()])
    assert (first.role, result.role, last.role) == ("assistant", "tool", "assistant")
    assert (first.finish_reason, last.finish_reason) == ("tool_call", "stop")
    assert (first.model.name, first.model.response_id, last.model.response_id) == ("mock-model", "resp-1", "resp-2")
    assert first.created_at == "2025-01-15T10:00:00.000Z"
    assert (first.usage.input_tokens, first.usage.reasoning_tokens, first.usage.cache_read_tokens) == (10, 4, 3)
    assert first.extra["ai-sdk-full"]["rawFinishReason"] == "tool_use"


@pytest.mark.parametrize(
    "usage",
    [
        {"inputTokens": 9, "outputTokens": 5, "totalTokens": 14, "reasoningTokens": 2, "cachedInputTokens": 3},
        {
            "inputTokens": 9,
            "outputTokens": 5,
            "totalTokens": 14,
            "inputTokenDetails": {"cacheReadTokens": 3},
            "outputTokenDetails": {"reasoningTokens": 2},
        },
    ],
)
def test_usage_is_read_flat_and_with_details(usage: dict[str, Any]) -> None:
    assert read_usage(usage) == Usage(
        input_tokens=9, output_tokens=5, total_tokens=14, reasoning_tokens=2, cache_read_tokens=3
    )


def test_usage_that_has_no_name_here_is_kept() -> None:
    usage = read_usage({"inputTokens": None, "raw": {"x": 1}})
    assert usage.extra == {"ai-sdk-full": {"inputTokens": None, "raw": {"x": 1}}}


@pytest.mark.parametrize(
    "file",
    [
        {"$file": {"mediaType": "text/plain", "base64": "SGk="}},
        {"base64Data": "SGk=", "mediaType": "text/plain", "type": "file"},
        {"uint8ArrayData": {"0": 72, "1": 105}, "mediaType": "text/plain"},
        {"uint8Array": [72, 105], "mediaType": "text/plain"},
    ],
)
def test_a_file_is_read_in_every_spelling(file: dict[str, Any]) -> None:
    (message,) = read([*START, {"type": "file", "file": file}, *FINISH])
    assert message.parts == [FilePart(media_type="text/plain", data="SGk=")]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ({"$error": {"name": "Error", "message": "full"}}, "full"),
        ({"message": "full"}, "full"),
        ("full", "full"),
        ({"errorCode": "x"}, '{"errorCode":"x"}'),
        ({}, "error without recorded text"),
    ],
)
def test_the_words_of_an_error_are_found(error: Any, text: str) -> None:
    assert error_text(error) == text
    messages = read([*START, {"type": "tool-error", "toolCallId": "c", "toolName": "w", "input": {}, "error": error}])
    assert [message.role for message in messages] == ["assistant", "tool"]
    assert messages[1].parts[0].output == text


def test_a_result_whose_call_never_came_brings_its_call() -> None:
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "w", "input": {"a": 1}, "output": 2}
    call, answer = read([*START, result, *FINISH])
    assert (type(call.parts[0]), type(answer.parts[0])) == (ToolCallPart, ToolResultPart)
    assert call.parts[0].input == {"a": 1}


def test_an_invalid_call_keeps_its_input_and_says_its_error_once() -> None:
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "w", "input": '{"a', "dynamic": True, "invalid": True}
    error = {"type": "tool-error", "toolCallId": "c", "toolName": "w", "input": '{"a', "error": "Error: bad"}
    messages = read([*START, {**call, "error": {"$error": {"message": "bad"}}}, error, *FINISH])
    assert (messages[0].parts[0].input, messages[1].parts[0].output) == ('{"a', "bad")


def test_what_the_user_says_in_the_middle_is_a_message_of_the_user() -> None:
    steering = {"type": "steering-message", "id": "u", "stepNumber": 1, "message": {"role": "user", "content": "stop"}}
    messages = read([*START, *FINISH[:1], steering, {"type": "start-step"}, *FINISH])
    assert [message.role for message in messages] == ["assistant", "user", "assistant"]
    assert messages[2].usage.total_tokens == 3


def test_warnings_raw_values_and_totals_are_told() -> None:
    start = {"type": "start-step", "request": {}, "warnings": [{"type": "other", "message": "old"}]}
    deltas = decode(lines([{"type": "start"}, start, {"type": "raw", "rawValue": 1}, *FINISH]), "ai-sdk-full")
    told = [delta.value["type"] for delta in deltas if type(delta) is Other]
    assert told == ["start-step", "raw", "finish"]
    assert deltas[-1] == End(how="done")


def test_an_error_is_a_failure_and_what_came_stays() -> None:
    words = [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "text": "half"}]
    deltas = decode(lines([*START, *words, {"type": "error", "error": {"$error": {"message": "late"}}}]), "ai-sdk-full")
    assert [delta.text for delta in deltas if type(delta) is Failure] == ["late"]
    assert fold(deltas)[-1].state == "partial"
    assert visible(fold(deltas)) == visible(fold(without_end(deltas)))


def test_the_quick_way_and_the_long_way_are_one(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raws = [path.read_bytes() for path in sorted((corpus / "ai-sdk" / "stream").glob("*.fullstream.jsonl"))]
    quick = [decode(raw, "ai-sdk-full") for raw in raws]
    monkeypatch.setattr(AiSdkFullDecoder, "grew", lambda *_: None)
    assert [decode(raw, "ai-sdk-full") for raw in raws] == quick
