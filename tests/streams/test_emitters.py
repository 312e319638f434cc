"""Emitters: what a delta is on each client's wire."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hansard import streams
from hansard.errors import UnknownFormat
from hansard.model import (
    CompactionPart,
    DataPart,
    FilePart,
    ModelRef,
    RawPart,
    ReasoningPart,
    SourcePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from hansard.streams.deltas import (
    Delta,
    End,
    Failure,
    MessageDelta,
    MessageStart,
    Other,
    PartDelta,
    PartEnd,
    PartStart,
    StepReset,
    StepStart,
)

SAMPLE = Path(__file__).parent.parent.parent / "src" / "hansard" / "samples" / "anthropic_stream.sse"
DONE = End(how="done")


def emit(name: str, *deltas: Delta, **options: Any) -> list[Any]:
    emitter = streams.emitter(name, **options)
    raw = b"".join([emitter.emit(delta) for delta in deltas]) + emitter.finish()
    events = [event.removeprefix(b"data: ") for event in raw.split(b"\n\n") if event]
    return [json.loads(event) if event != b"[DONE]" else "[DONE]" for event in events]


def chunks(*deltas: Delta, **options: Any) -> list[Any]:
    """The chunks of the AI SDK inside the frame of the first step."""
    found = emit("ai-sdk-ui", MessageStart(), *deltas, DONE, **options)
    assert [one["type"] for one in found[:2]] == ["start", "start-step"]
    assert found[-3:-1] == [{"type": "finish-step"}, {"type": "finish"}]
    return found[2:-3]


def at_once(part: Any, key: str = "p") -> list[Delta]:
    return [PartStart(key=key, part=part), PartEnd(key=key, part=part)]


def kinds(found: list[Any]) -> list[str]:
    return [one["type"] for one in found if one != "[DONE]"]


CALL = ToolCallPart(tool_call_id="c1", tool_name="tide", input={"port": "Leith"})


# -- the AI SDK's UI message stream ----------------------------------------------------------------------------------


def test_text_starts_grows_and_ends() -> None:
    start = PartStart(key="0", part=TextPart(text=""))
    assert chunks(start, PartDelta(key="0", text="Hi "), PartDelta(key="0", text="you"), PartEnd(key="0")) == [
        {"type": "text-start", "id": "1"},
        {"type": "text-delta", "id": "1", "delta": "Hi "},
        {"type": "text-delta", "id": "1", "delta": "you"},
        {"type": "text-end", "id": "1"},
    ]


def test_words_that_only_the_end_says_are_sent_too() -> None:
    found = chunks(
        PartStart(key="0", part=TextPart(text="")),
        PartDelta(key="0", text="Hi"),
        PartEnd(key="0", part=TextPart(text="Hi you")),
    )
    assert [one["delta"] for one in found if one["type"] == "text-delta"] == ["Hi", " you"]


def test_the_message_id_stands_on_start_and_is_absent_when_nobody_gave_one() -> None:
    assert emit("ai-sdk-ui", MessageStart(id="own"), DONE)[0] == {"type": "start", "messageId": "own"}
    assert emit("ai-sdk-ui", MessageStart(id="own"), DONE, message_id="m1")[0] == {"type": "start", "messageId": "m1"}
    assert emit("ai-sdk-ui", MessageStart(), DONE)[0] == {"type": "start"}


def test_a_second_answer_is_another_step_of_the_same_message() -> None:
    text = at_once(TextPart(text="a"), "a")
    again = at_once(TextPart(text="b"), "b")
    found = kinds(emit("ai-sdk-ui", MessageStart(), *text, DONE, MessageStart(), *again, DONE))
    assert found.count("start") == 1
    assert found.count("start-step") == found.count("finish-step") == 2
    assert found[-1] == "finish"


def test_a_step_without_parts_is_not_told_twice() -> None:
    found = kinds(emit("ai-sdk-ui", MessageStart(), StepStart(), StepStart(), *at_once(TextPart(text="a")), DONE))
    assert found.count("start-step") == 1


def test_a_block_that_goes_on_over_a_step_is_two_blocks() -> None:
    found = emit(
        "ai-sdk-ui",
        MessageStart(),
        PartStart(key="0", part=TextPart(text="")),
        PartDelta(key="0", text="a"),
        StepStart(),
        PartDelta(key="0", text="b"),
        PartEnd(key="0", part=TextPart(text="ab")),
        DONE,
    )
    inside = ["start-step", "text-start", "text-delta", "text-end", "finish-step"]
    assert kinds(found) == ["start", *inside, *inside, "finish"]


def test_reasoning_without_words_is_not_shown() -> None:
    hidden = ReasoningPart(text="", encrypted="gAAA")
    assert chunks(*at_once(hidden)) == []
    shown = chunks(PartStart(key="0", part=ReasoningPart(text="")), PartDelta(key="0", text="Hm"), PartEnd(key="0"))
    assert kinds(shown) == ["reasoning-start", "reasoning-delta", "reasoning-end"]


def test_signatures_usage_and_providers_ids_stay_with_the_server() -> None:
    raw = json.dumps(
        emit(
            "ai-sdk-ui",
            MessageStart(model=ModelRef(provider="anthropic", name="claude", response_id="msg_secret")),
            *at_once(ReasoningPart(text="Hm", signature="secret", id="rs_secret"), "msg_secret"),
            *at_once(RawPart(format="anthropic", value={"type": "secret"}), "raw"),
            *at_once(CompactionPart(text="secret"), "compaction"),
            MessageDelta(usage=Usage(input_tokens=123456), metadata={"cost": "secret"}),
            DONE,
        )
    )
    assert "secret" not in raw
    assert "123456" not in raw


def test_metadata_goes_out_when_the_stream_was_the_clients_already() -> None:
    deltas = [MessageStart(metadata={"a": 1}), MessageDelta(metadata={"b": 2}), DONE]
    found = emit("ai-sdk-ui", *deltas, own=True)
    assert found[0] == {"type": "start", "messageMetadata": {"a": 1}}
    assert {"type": "message-metadata", "messageMetadata": {"b": 2}} in found
    assert "messageMetadata" not in json.dumps(emit("ai-sdk-ui", *deltas))


def test_a_call_streams_its_input_and_is_answered() -> None:
    result = ToolResultPart(tool_call_id="c1", output=None)
    found = emit(
        "ai-sdk-ui",
        PartStart(key="0", part=ToolCallPart(tool_call_id="c1", tool_name="tide")),
        PartDelta(key="0", text='{"port":'),
        PartDelta(key="0", text='"Leith"}'),
        PartEnd(key="0"),
        *at_once(result, "r"),
        DONE,
    )
    assert found[2:7] == [
        {"type": "tool-input-start", "toolCallId": "c1", "toolName": "tide"},
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"port":'},
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '"Leith"}'},
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "tide", "input": {"port": "Leith"}},
        {"type": "tool-output-available", "toolCallId": "c1", "output": None},
    ]


def test_a_call_whose_id_is_known_only_at_its_end_comes_whole() -> None:
    found = chunks(PartStart(key="0", part=ToolCallPart()), PartDelta(key="0", text="{}"), PartEnd(key="0", part=CALL))
    assert kinds(found) == ["tool-input-available"]
    assert found[0]["toolCallId"] == "c1"


def test_calls_without_ids_get_the_ids_that_the_format_gives_them() -> None:
    call = ToolCallPart(tool_name="tide", input={})
    found = chunks(*at_once(call, "a"), *at_once(call, "b"), *at_once(ToolResultPart(tool_name="tide", output=1), "r"))
    assert [one["toolCallId"] for one in found] == ["call-1", "call-2", "call-1"]


def test_an_input_that_is_no_json_is_an_error_and_never_run() -> None:
    broken = ToolCallPart(tool_call_id="c1", tool_name="tide", input_text='{"port"')
    assert kinds(chunks(*at_once(broken))) == ["tool-input-error"]
    assert kinds(chunks(*at_once(broken), target="oldest")) == ["tool-input-start", "tool-output-error"]


def test_a_part_that_changes_is_told_again() -> None:
    asked = ToolCallPart(tool_call_id="c1", tool_name="pay", input={}, approval={"id": "a1"})
    approved = ToolCallPart(tool_call_id="c1", tool_name="pay", input={}, approval={"id": "a1", "approved": True})
    early = ToolResultPart(tool_call_id="c1", output=1, preliminary=True)
    found = chunks(
        *at_once(asked, "c"),
        PartEnd(key="c", part=approved),
        *at_once(early, "r"),
        PartEnd(key="r", part=ToolResultPart(tool_call_id="c1", output=2)),
        target="v7",
    )
    assert kinds(found) == [
        "tool-input-available",
        "tool-approval-request",
        "tool-approval-response",
        "tool-output-available",
        "tool-output-available",
    ]
    assert [one.get("preliminary") for one in found[-2:]] == [True, None]


def test_a_step_that_is_said_again_is_reset_where_the_version_can() -> None:
    start = PartStart(key="0", part=TextPart(text="half"))
    again = at_once(TextPart(text="whole"), "1")
    assert kinds(chunks(start, StepReset(), *again, target="v7"))[2:5] == ["text-end", "reset-step", "text-start"]
    assert "reset-step" not in kinds(chunks(start, StepReset(), *again, target="v6"))


def test_errors_and_denials_are_told_as_each_version_knows_them() -> None:
    failed = at_once(ToolResultPart(tool_call_id="c1", output="no tide", is_error=True), "r")
    assert chunks(*at_once(CALL), *failed)[-1] == {
        "type": "tool-output-error",
        "toolCallId": "c1",
        "errorText": "no tide",
    }
    denied = at_once(ToolResultPart(tool_call_id="c1", status="denied", is_error=True), "r")
    assert kinds(chunks(*at_once(CALL), *denied, target="v6"))[-2:] == ["tool-approval-request", "tool-output-denied"]
    assert kinds(chunks(*at_once(CALL), *denied, target="v7"))[-2:] == ["tool-approval-response", "tool-output-denied"]
    assert kinds(chunks(*at_once(CALL), *denied, target="v5"))[-1] == "tool-output-error"


def test_approvals_are_asked_for_where_the_version_knows_them() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="pay", input={}, approval={"id": "a1"})
    asked = {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"}
    assert chunks(*at_once(call), target="v6")[-1] == asked
    assert kinds(chunks(*at_once(call), target="v5"))[-1] == "tool-input-available"


def test_ciphers_in_results_of_the_providers_tools_are_not_shown() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="web_search", input={}, provider_executed=True)
    result = ToolResultPart(
        tool_call_id="c1", output=[{"url": "https://a", "encrypted_content": "x"}], provider_executed=True
    )
    found = chunks(*at_once(call), *at_once(result, "r"))[-1]
    assert found["output"] == [{"url": "https://a"}]
    assert found["providerExecuted"] is True


def test_sources_files_and_data_come_whole() -> None:
    found = chunks(
        *at_once(SourcePart(source_id="s1", url="https://a", title="A"), "a"),
        *at_once(FilePart(media_type="image/png", data="aGk=", name="a.png"), "b"),
        *at_once(DataPart(name="weather", data=None), "c"),
    )
    assert found == [
        {"type": "source-url", "sourceId": "s1", "url": "https://a", "title": "A"},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="},
        {"type": "data-weather", "data": None},
    ]


def test_custom_parts_go_only_to_version_7() -> None:
    part = RawPart(format="ai-sdk-ui", value={"type": "custom", "kind": "a.b"})
    assert chunks(*at_once(part), target="v7") == [{"type": "custom", "kind": "a.b"}]
    assert chunks(*at_once(part), target="v6") == []


def test_keys_that_javascript_refuses_are_left_out() -> None:
    data = {"__proto__": 1, "constructor": {"prototype": 1}, "a": [{"__proto__": 2, "b": "__proto__"}]}
    assert chunks(*at_once(DataPart(name="x", data=data)))[0]["data"] == {"a": [{"b": "__proto__"}]}


def test_numbers_that_json_has_not_are_null() -> None:
    assert chunks(*at_once(DataPart(name="x", data=[float("nan"), float("inf")])))[0]["data"] == [None, None]


def test_halves_of_a_surrogate_pair_travel_as_escapes() -> None:
    emitter = streams.emitter("ai-sdk-ui")
    emitter.emit(PartStart(key="0", part=TextPart(text="")))
    assert emitter.emit(PartDelta(key="0", text="\ud83d")) == (
        b'data: {"type":"text-delta","id":"1","delta":"\\ud83d"}\n\n'
    )


def test_a_failure_is_said_behind_everything_that_was_received() -> None:
    found = emit(
        "ai-sdk-ui", MessageStart(), Failure(text="overloaded"), *at_once(TextPart(text="all of it")), End(how="cut")
    )
    assert found[-6:] == [
        {"type": "text-end", "id": "1"},
        {"type": "data-error", "data": "overloaded"},
        {"type": "error", "errorText": "overloaded"},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "error"},
        "[DONE]",
    ]


def test_a_cut_stream_ends_its_words_and_leaves_its_call_open() -> None:
    found = emit(
        "ai-sdk-ui",
        PartStart(key="0", part=TextPart(text="a")),
        PartStart(key="1", part=ToolCallPart(tool_call_id="c1", tool_name="tide")),
        PartDelta(key="1", text='{"po'),
    )
    assert kinds(found)[-5:] == ["tool-input-delta", "text-end", "error", "finish-step", "finish"]


@pytest.mark.parametrize(
    ("word", "target", "said"),
    [
        ("stop", "v6", "stop"),
        ("length", "v5", "length"),
        ("tool_call", "v7", "tool-calls"),
        ("content_filter", "v6", "content-filter"),
        ("stop_sequence", "v6", "stop"),
        ("compaction", "v6", "other"),
        ("unknown", "v5", "unknown"),
        ("unknown", "v6", "other"),
        ("stop", "oldest", None),
    ],
)
def test_reasons_are_the_sdks_own_words(word: str, target: str, said: str | None) -> None:
    found = emit("ai-sdk-ui", MessageStart(), MessageDelta(finish_reason=word), DONE, target=target)
    assert found[-2].get("finishReason") == said


def test_calls_that_wait_for_the_client_are_why_the_answer_ended() -> None:
    stop = MessageDelta(finish_reason="stop")
    result = ToolResultPart(tool_call_id="c1", output=1)
    assert emit("ai-sdk-ui", *at_once(CALL), stop, DONE)[-2]["finishReason"] == "tool-calls"
    assert emit("ai-sdk-ui", *at_once(CALL), *at_once(result, "r"), stop, DONE)[-2]["finishReason"] == "stop"


def test_transient_data_of_the_same_stream_is_passed_on_and_nothing_else() -> None:
    data = {"type": "data-tick", "data": 1, "transient": True}
    assert data in emit("ai-sdk-ui", MessageStart(), Other(format="ai-sdk-ui", value=data), DONE)
    for value in ({"type": "never-heard-of"}, {"type": "text-delta", "id": "x", "delta": "y"}, "ping", None):
        found = emit("ai-sdk-ui", MessageStart(), Other(format="ai-sdk-ui", value=value), DONE)
        assert kinds(found) == ["start", "start-step", "finish-step", "finish"]


def test_finishing_twice_gives_nothing_more() -> None:
    for name in streams.emitters():
        emitter = streams.emitter(name)
        assert emitter.finish()
        assert emitter.finish() == b""


# -- chat completion chunks ------------------------------------------------------------------------------------------


def test_a_completion_has_its_role_first_and_its_usage_last() -> None:
    found = emit(
        "openai-chat",
        MessageStart(model=ModelRef(name="claude", response_id="msg_1")),
        *at_once(ReasoningPart(text="Hm"), "r"),
        *at_once(TextPart(text="Hi"), "t"),
        MessageDelta(finish_reason="stop", usage=Usage(input_tokens=2, output_tokens=3, cache_read_tokens=1)),
        DONE,
        created=7,
    )
    *chunked, counted, done = found
    assert [one["choices"][0]["delta"] for one in chunked] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "Hm"},
        {"content": "Hi"},
        {},
    ]
    assert {(one["id"], one["model"], one["created"]) for one in chunked} == {("msg_1", "claude", 7)}
    assert [one["choices"][0]["finish_reason"] for one in chunked] == [None, None, None, "stop"]
    assert counted["choices"] == []
    assert counted["usage"] == {
        "prompt_tokens": 2,
        "completion_tokens": 3,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 1},
    }
    assert done == "[DONE]"


def test_calls_have_an_index_and_name_themselves_once() -> None:
    own = ToolCallPart(tool_call_id="s1", tool_name="web_search", input={}, provider_executed=True)
    found = emit("openai-chat", *at_once(CALL, "a"), *at_once(own, "b"), *at_once(CALL, "c"), DONE)
    calls = [one["choices"][0]["delta"]["tool_calls"][0] for one in found[1:-2]]
    assert [call["index"] for call in calls] == [0, 0, 1, 1]
    assert calls[0] == {"index": 0, "id": "c1", "type": "function", "function": {"name": "tide", "arguments": ""}}
    assert calls[1] == {"index": 0, "function": {"arguments": '{"port":"Leith"}'}}


def test_a_failed_completion_says_so_and_never_finishes() -> None:
    found = emit("openai-chat", MessageStart(), Failure(text="overloaded"), End(how="cut"))
    assert found[-2]["error"]["message"] == "overloaded"
    assert all("choices" not in one or one["choices"][0]["finish_reason"] is None for one in found[:-2])


# -- AG-UI -----------------------------------------------------------------------------------------------------------


def test_a_run_of_ag_ui() -> None:
    found = emit(
        "ag-ui",
        MessageStart(),
        *at_once(ReasoningPart(text="Hm"), "r"),
        *at_once(TextPart(text="Hi"), "t"),
        *at_once(CALL, "c"),
        *at_once(ToolResultPart(tool_call_id="c1", output={"high": "6:40"}), "o"),
        *at_once(DataPart(name="weather", data=1), "d"),
        StepStart(),
        *at_once(TextPart(text="Bye"), "b"),
        DONE,
        message_id="m1",
        thread_id="t1",
        run_id="r1",
    )
    assert kinds(found) == [
        "RUN_STARTED",
        "STEP_STARTED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "CUSTOM",
        "STEP_FINISHED",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "RUN_FINISHED",
    ]
    assert found[13]["content"] == '{"high":"6:40"}'
    assert [one["messageId"] for one in found if one["type"] == "TEXT_MESSAGE_START"] == ["m1", "m1-2"]
    assert found[-1] == {"type": "RUN_FINISHED", "threadId": "t1", "runId": "r1"}


def test_the_words_for_reasoning_before_1_0() -> None:
    found = emit("ag-ui", MessageStart(), *at_once(ReasoningPart(text="Hm")), DONE, target="thinking")
    assert kinds(found)[2:-2] == [
        "THINKING_START",
        "THINKING_TEXT_MESSAGE_START",
        "THINKING_TEXT_MESSAGE_CONTENT",
        "THINKING_TEXT_MESSAGE_END",
        "THINKING_END",
    ]


def test_a_call_that_waits_for_approval_interrupts_the_run() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="pay", input={}, approval={"id": "a1"})
    found = emit("ag-ui", *at_once(call), DONE)
    assert found[-1]["outcome"]["interrupts"] == [{"id": "a1", "reason": "tool_approval", "toolCallId": "c1"}]


def test_a_cut_run_is_an_error_and_its_call_is_never_ended() -> None:
    found = emit(
        "ag-ui",
        PartStart(key="0", part=ToolCallPart(tool_call_id="c1", tool_name="tide")),
        PartDelta(key="0", text='{"po'),
        End(how="cut"),
    )
    assert "TOOL_CALL_END" not in kinds(found)
    assert found[-1]["type"] == "RUN_ERROR"


# -- the registry and the command ------------------------------------------------------------------------------------


def test_unknown_names_and_targets_are_named() -> None:
    with pytest.raises(UnknownFormat, match=r"unknown output stream 'x' \(choose from ai-sdk-ui"):
        streams.emitter("x")
    with pytest.raises(UnknownFormat, match="unknown target 'v6' of the stream openai-chat; it has none"):
        streams.emitter("openai-chat", target="v6")


def test_the_command_writes_before_its_input_ends() -> None:
    command = [sys.executable, "-m", "hansard", "stream", "--from", "anthropic", "--to", "ai-sdk-ui"]
    raw = SAMPLE.read_bytes()
    cut = raw.index(b"event: ping")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(raw[:cut])
        early = b""
        while b"reasoning-end" not in early:
            piece = process.stdout.read(4096)
            assert piece
            early += piece
        process.stdin.write(raw[cut:])
        process.stdin.close()
        assert process.stdout.read().endswith(b"data: [DONE]\n\n")
    assert process.returncode == 0
