"""A stream that is cut inside the input of a call: what each side is told of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import formats
from hansard.agent.model_messages import model_messages
from hansard.ledger.live.interrupt import unknown_results
from hansard.model import Conversation, Message, TextPart, ToolCallPart
from hansard.model.parts import is_partial
from hansard.streams.accumulator import fold
from hansard.streams.deltas import End, MessageEnd
from tests.laws.test_streams import as_sse, recorded
from tests.streams.live import decode, framed

ARGUMENTS = ['{"ci', 'ty": ', '"Os', 'lo"}']
ASKED = Message(role="user", parts=[TextPart(text="Weather?")])
PROVIDERS = ["anthropic", "openai-chat", "openai-responses", "gemini", "ai-sdk-model"]


def chat_event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x", "choices": [choice]}


def chat_call(arguments: str, **more: Any) -> dict[str, Any]:
    return chat_event({"tool_calls": [{"index": 0, **more, "function": {"arguments": arguments}}]})


def item(status: str, arguments: str) -> dict[str, Any]:
    fields = {"id": "fc_1", "call_id": "c1", "name": "weather", "arguments": arguments, "status": status}
    return {"output_index": 0, "item": {"type": "function_call", **fields}}


def response(status: str, output: list[Any]) -> dict[str, Any]:
    return {"response": {"id": "r", "object": "response", "status": status, "model": "gpt-x", "output": output}}


BLOCK = {"type": "tool_use", "id": "c1", "name": "weather", "input": {}}
ANSWER = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": [], "usage": {}}
OF_ITEM = {"item_id": "fc_1", "output_index": 0}
STREAMS: dict[str, tuple[list[Any], list[Any], list[Any]]] = {  # before the input, the input, its end
    "anthropic": (
        [
            {"type": "message_start", "message": ANSWER},
            {"type": "content_block_start", "index": 0, "content_block": BLOCK},
        ],
        [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}
            for text in ARGUMENTS
        ],
        [
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
            {"type": "message_stop"},
        ],
    ),
    "openai-chat": (
        [chat_event({"role": "assistant", "tool_calls": [{"index": 0, "id": "c1", "type": "function",
                     "function": {"name": "weather", "arguments": ""}}]})],
        [chat_call(text) for text in ARGUMENTS],
        [chat_event({}, "tool_calls"), b"[DONE]"],
    ),
    "openai-responses": (
        [
            {"type": "response.created", **response("in_progress", [])},
            {"type": "response.output_item.added", **item("in_progress", "")},
        ],
        [{"type": "response.function_call_arguments.delta", **OF_ITEM, "delta": text} for text in ARGUMENTS],
        [
            {"type": "response.function_call_arguments.done", **OF_ITEM, "arguments": "".join(ARGUMENTS)},
            {"type": "response.output_item.done", **item("completed", "".join(ARGUMENTS))},
            {"type": "response.completed", **response("completed", [item("completed", "".join(ARGUMENTS))["item"]])},
        ],
    ),
    "ai-sdk-ui": (
        [{"type": "start"}, {"type": "tool-input-start", "toolCallId": "c1", "toolName": "weather"}],
        [{"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": text} for text in ARGUMENTS],
        [
            {"type": "tool-input-available", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Oslo"}},
            {"type": "finish-step"},
            {"type": "finish"},
            b"[DONE]",
        ],
    ),
    "ai-sdk-full": (
        [{"type": "start"}, {"type": "start-step"}, {"type": "tool-input-start", "id": "c1", "toolName": "weather"}],
        [{"type": "tool-input-delta", "id": "c1", "delta": text} for text in ARGUMENTS],
        [
            {"type": "tool-input-end", "id": "c1"},
            {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Oslo"}},
            {"type": "finish-step", "finishReason": "tool-calls", "usage": {}},
            {"type": "finish", "finishReason": "tool-calls", "totalUsage": {}},
        ],
    ),
}  # fmt: skip


def calls(messages: list[Message]) -> list[ToolCallPart]:
    return [part for message in messages for part in message.parts if type(part) is ToolCallPart]


@pytest.mark.parametrize("name", STREAMS)
@given(count=st.integers(0, len(ARGUMENTS)), journaled=st.booleans())
def test_a_call_that_was_cut_is_partial_and_a_whole_one_is_not(name: str, count: int, journaled: bool) -> None:
    before, pieces, after = STREAMS[name]
    deltas = decode(name, framed([*before, *pieces[:count]]))
    if journaled:  # a process that died: its deltas are all there is
        deltas = [delta for delta in deltas if not isinstance(delta, MessageEnd | End)]
    (call,) = calls(fold(deltas))
    assert (call.tool_call_id, call.tool_name, call.state) == ("c1", "weather", "partial")
    (call,) = calls(fold(decode(name, framed([*before, *pieces, *after]))))
    assert (call.input, call.state) == ({"city": "Oslo"}, ToolCallPart().state)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("count", range(1, len(ARGUMENTS)))
def test_each_side_is_told_of_it_in_its_own_words(name: str, count: int) -> None:
    before, pieces, _ = STREAMS[name]
    cut = Conversation(messages=[ASKED, *fold(decode(name, framed([*before, *pieces[:count]])))])
    store = formats.write(cut, "agent-store").data[1]["content"]["parts"][0]
    assert (store["type"], store["toolCallId"], store["state"]) == ("tool-invocation", "c1", "partial-call")
    for profile in (None, "v5", "v6", "v7"):
        ui = formats.write(cut, "ai-sdk-ui", target=profile).data[1]["parts"]
        assert [part["state"] for part in ui if part["type"] == "tool-weather"] == ["input-streaming"]
    for provider in PROVIDERS:
        written = formats.write(cut, provider)
        assert "weather" not in written.json.decode()
        assert "a call whose input was cut off" in [loss.what for loss in written.losses if loss.kind == "calls"]
    assert not unknown_results(cut.messages)  # it was never made, so that no tool ran
    assert len(model_messages(cut)) == 1
    assert formats.convert(formats.write(cut, "agent-store").data, "ai-sdk-ui").data[1]["parts"][-1]["state"] == (
        "input-streaming"
    )


def test_recorded_streams_say_which_calls_were_cut(corpus: Any) -> None:
    found = 0
    for name, path in recorded(corpus):
        events = as_sse(path).split(b"\n\n")
        whole = calls(fold(decode(name, b"\n\n".join(events))))
        for at in range(0, len(events), max(1, len(events) // 5)):
            cut = fold(decode(name, b"\n\n".join(events[:at])))
            found += sum(map(is_partial, calls(cut)))
            if any(map(is_partial, calls(cut))):
                assert cut[-1].state in ("partial", "interrupted"), path.name
        if whole and not any(map(is_partial, whole)):
            assert all(call.state is ToolCallPart().state for call in whole)
    assert found > 10
