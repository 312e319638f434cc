"""What a client knows while an answer streams, asserted over every decoder: model, response id, usage, finish reason,
and every kind of part that grows. The last word (`MessageEnd`) repairs what was not told live, so it hides such losses.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET, Struct

from hansard import streams
from hansard.model import ModelRef, TextPart, ToolCallPart, Usage
from hansard.streams.accumulator import fold
from hansard.streams.deltas import Delta, MessageDelta, MessageStart, PartDelta, PartEnd, PartStart
from tests.streams.live import decode, framed

Event = dict[str, Any]
USAGE = Usage(input_tokens=3, output_tokens=5, total_tokens=8)
CALL = "tool-call"


# -- model, response id, usage, finish reason ----------------------------------------------------------------------


class Said(Struct):
    """An answer of one text that reaches its limit of tokens, and what its events tell of the message."""

    events: list[Any]
    start: MessageStart
    deltas: list[MessageDelta]
    model: Any = UNSET
    usage: Any = USAGE
    created_at: Any = UNSET


def model(provider: Any = UNSET) -> ModelRef:
    return ModelRef(provider=provider, name="m1", response_id="r1")


def chat(choices: list[Any], **more: Any) -> Event:
    about = {"id": "r1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m1"}
    return {**about, "choices": choices, **more}


def response(kind: str, **more: Any) -> Event:
    body = {"id": "r1", "model": "m1", "object": "response", "status": kind, "output": [], **more}
    return {"type": f"response.{kind}", "response": body}


SHORT = Usage(input_tokens=3, output_tokens=5)
LENGTH = MessageDelta(finish_reason="length")
WHOLE = MessageDelta(usage=USAGE, finish_reason="length")
TEXT: list[Event] = [
    {"type": "text-start", "id": "0"},
    {"type": "text-delta", "id": "0", "delta": "a", "text": "a"},
    {"type": "text-end", "id": "0"},
]
AI_USAGE = {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8}
SAID = {
    "anthropic": Said(
        [
            {
                "type": "message_start",
                "message": {
                    "id": "r1",
                    "model": "m1",
                    "role": "assistant",
                    "content": [],
                    "usage": {"input_tokens": 3},
                },
            },
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ],
        MessageStart(model=model("anthropic")),
        [MessageDelta(usage=SHORT, finish_reason="length")],
        model=model("anthropic"),
        usage=SHORT,
    ),
    "openai-chat": Said(
        [
            chat([{"index": 0, "delta": {"role": "assistant", "content": "a"}, "finish_reason": None}]),
            chat([{"index": 0, "delta": {}, "finish_reason": "length"}]),
            chat([], usage={"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}),
            b"[DONE]",
        ],
        MessageStart(model=model()),
        [LENGTH, WHOLE],
        model=model(),
    ),
    "openai-responses": Said(
        [
            response("created"),
            {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "i", "delta": "a"},
            response(
                "incomplete",
                incomplete_details={"reason": "max_output_tokens"},
                usage={"input_tokens": 3, "output_tokens": 5, "total_tokens": 8},
            ),
        ],
        MessageStart(model=model("openai")),
        [WHOLE],
        model=model("openai"),
    ),
    "gemini": Said(
        [
            {
                "candidates": [{"content": {"parts": [{"text": "a"}], "role": "model"}}],
                "modelVersion": "m1",
                "responseId": "r1",
            },
            {
                "candidates": [{"finishReason": "MAX_TOKENS"}],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 8},
            },
        ],
        MessageStart(model=model("google")),
        [WHOLE],
        model=model("google"),
    ),
    "ai-sdk-full": Said(
        [
            {"type": "start"},
            {"type": "start-step"},
            *TEXT,
            {
                "type": "finish-step",
                "response": {"id": "r1", "modelId": "m1", "timestamp": "2026-01-01T00:00:00.000Z"},
                "usage": AI_USAGE,
                "finishReason": "length",
            },
            {"type": "finish", "finishReason": "length", "totalUsage": AI_USAGE},
        ],
        MessageStart(),
        [WHOLE, LENGTH],
        model=model(),
        created_at="2026-01-01T00:00:00.000Z",
    ),
    "ai-sdk-ui": Said(
        [
            {"type": "start", "messageId": "r1", "messageMetadata": {"k": 1}},
            *TEXT,
            {"type": "finish", "finishReason": "length", "messageMetadata": {"j": 2}},
            b"[DONE]",
        ],
        MessageStart(id="r1", metadata={"k": 1}),
        [MessageDelta(finish_reason="length", metadata={"k": 1, "j": 2})],
        usage=UNSET,
    ),
    "pydantic-ai": Said(
        [
            {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "a"}},
            {"event_kind": "part_end", "index": 0, "part": {"part_kind": "text", "content": "a"}},
            {
                "event_kind": "agent_run_result",
                "result": {
                    "messages": [
                        {
                            "kind": "response",
                            "parts": [{"part_kind": "text", "content": "a"}],
                            "model_name": "m1",
                            "provider_name": "p",
                            "provider_response_id": "r1",
                            "finish_reason": "length",
                            "usage": {"input_tokens": 3, "output_tokens": 5},
                        }
                    ],
                },
            },
        ],
        MessageStart(),
        [],
        model=model("p"),
        usage=SHORT,
    ),
}


def bare(value: Any) -> Any:
    """The canonical fields without residue."""
    return (
        type(value)(**{name: getattr(value, name) for name in value.__struct_fields__ if name != "extra"})
        if (isinstance(value, Usage | ModelRef))
        else value
    )


def test_every_decoder_is_listed() -> None:
    assert set(SAID) == set(streams.decoders())
    assert {name for name, _ in GROWS} == set(streams.decoders())


@pytest.mark.parametrize("name", SAID)
def test_a_client_is_told_the_model_and_the_response_id_when_the_answer_begins(name: str) -> None:
    said = SAID[name]
    deltas = decode(name, framed(said.events))
    assert [delta for delta in deltas if type(delta) is MessageStart] == [said.start]
    assert deltas[0] == said.start


@pytest.mark.parametrize("name", SAID)
def test_a_client_is_told_usage_and_finish_reason_as_they_come(name: str) -> None:
    said, decoder = SAID[name], streams.decoder(name)
    deltas = decoder.feed(framed(said.events))
    assert [delta for delta in deltas if type(delta) is MessageDelta] == said.deltas
    assert not [delta for delta in decoder.finish() if type(delta) is MessageDelta]


@pytest.mark.parametrize("name", SAID)
def test_the_message_names_its_model_response_usage_and_finish_reason(name: str) -> None:
    said = SAID[name]
    (message,) = fold(decode(name, framed(said.events)))
    assert (bare(message.model), bare(message.usage)) == (said.model, said.usage)
    assert (message.finish_reason, message.state) == ("length", UNSET)
    assert message.created_at == said.created_at


# -- parts that grow -----------------------------------------------------------------------------------------------

PIECES = ['{"a"', ":", "[1", "]}"]


def anthropic(block: Event, delta: str, field: str) -> list[Event]:
    events = [{"type": "content_block_delta", "index": 0, "delta": {"type": delta, field: piece}} for piece in PIECES]
    begun = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}
    return [begun, {"type": "content_block_start", "index": 0, "content_block": block}, *events]


def chat_deltas(*deltas: Event) -> list[Event]:
    return [chat([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in ({"role": "assistant"}, *deltas)]


def responses(kind: str, item: Event, **place: int) -> list[Event]:
    at = {"output_index": 0, "item_id": "i", **place}
    added = {"type": "response.output_item.added", "output_index": 0, "item": {"id": "i", **item}}
    deltas = [{"type": f"response.{kind}.delta", **at, "delta": piece} for piece in PIECES]
    return [response("created"), added, *deltas]


def gemini(*parts: Event) -> list[Event]:
    return [{"candidates": [{"content": {"parts": [part], "role": "model"}}]} for part in parts]


def ai_sdk(start: Event, *deltas: Event) -> list[Event]:
    return [{"type": "start"}, start, *deltas]


def pydantic(part: Event, kind: str, field: str) -> list[Event]:
    named = {"tool_call_id": "c"} if kind == "tool_call" else {}
    deltas = [{"part_delta_kind": kind, field: piece, **named} for piece in PIECES]
    begun = {"event_kind": "part_start", "index": 0, "part": part}
    return [begun, *[{"event_kind": "part_delta", "index": 0, "delta": delta} for delta in deltas]]


def call_chunk(piece: str, kind: str, field: str) -> Event:
    begun = {"id": "c", "type": kind} if piece == PIECES[0] else {}
    named = {"name": "f"} if begun else {}
    return {"tool_calls": [{"index": 0, **begun, kind: {**named, field: piece}}]}


GROWS: dict[tuple[str, str], list[Event]] = {
    ("anthropic", "text"): anthropic({"type": "text", "text": ""}, "text_delta", "text"),
    ("anthropic", "reasoning"): anthropic({"type": "thinking", "thinking": ""}, "thinking_delta", "thinking"),
    ("anthropic", CALL): anthropic(
        {"type": "tool_use", "id": "c", "name": "f", "input": {}}, "input_json_delta", "partial_json"
    ),
    ("openai-chat", "text"): chat_deltas(*[{"content": piece} for piece in PIECES]),
    ("openai-chat", "refusal"): chat_deltas(*[{"refusal": piece} for piece in PIECES]),
    ("openai-chat", "reasoning"): chat_deltas(*[{"reasoning_content": piece} for piece in PIECES]),
    ("openai-chat", CALL): chat_deltas(*[call_chunk(piece, "function", "arguments") for piece in PIECES]),
    ("openai-chat", "tool-call, custom"): chat_deltas(*[call_chunk(piece, "custom", "input") for piece in PIECES]),
    ("openai-chat", "tool-call, legacy"): chat_deltas(
        {"function_call": {"name": "f", "arguments": ""}},
        *[{"function_call": {"arguments": piece}} for piece in PIECES],
    ),
    ("openai-chat", "text, spoken"): chat_deltas(
        {"audio": {"id": "a", "transcript": ""}}, *[{"audio": {"transcript": piece}} for piece in PIECES]
    ),
    ("openai-responses", "text"): responses(
        "output_text", {"type": "message", "role": "assistant", "content": []}, content_index=0
    ),
    ("openai-responses", "refusal"): responses(
        "refusal", {"type": "message", "role": "assistant", "content": []}, content_index=0
    ),
    ("openai-responses", "reasoning"): responses(
        "reasoning_summary_text", {"type": "reasoning", "summary": []}, summary_index=0
    ),
    ("openai-responses", CALL): responses(
        "function_call_arguments", {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
    ),
    ("openai-responses", "tool-call, custom"): responses(
        "custom_tool_call_input", {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": ""}
    ),
    ("gemini", "text"): gemini(*[{"text": piece} for piece in PIECES]),
    ("gemini", "reasoning"): gemini(*[{"text": piece, "thought": True} for piece in PIECES]),
    **{
        ("ai-sdk-ui", kind): ai_sdk(
            {"type": f"{kind}-start", "id": "0"},
            *[{"type": f"{kind}-delta", "id": "0", "delta": piece} for piece in PIECES],
        )
        for kind in ("text", "reasoning")
    },
    ("ai-sdk-ui", CALL): ai_sdk(
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "f"},
        *[{"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": piece} for piece in PIECES],
    ),
    **{
        ("ai-sdk-full", kind): ai_sdk(
            {"type": f"{kind}-start", "id": "0"},
            *[{"type": f"{kind}-delta", "id": "0", "text": piece} for piece in PIECES],
        )
        for kind in ("text", "reasoning")
    },
    ("ai-sdk-full", CALL): ai_sdk(
        {"type": "tool-input-start", "id": "c", "toolName": "f"},
        *[{"type": "tool-input-delta", "id": "c", "delta": piece} for piece in PIECES],
    ),
    ("pydantic-ai", "text"): pydantic({"part_kind": "text", "content": ""}, "text", "content_delta"),
    ("pydantic-ai", "reasoning"): pydantic({"part_kind": "thinking", "content": ""}, "thinking", "content_delta"),
    ("pydantic-ai", CALL): pydantic(
        {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "c", "args": ""}, "tool_call", "args_delta"
    ),
}


# A text where others have JSON is given out as the JSON of that text.
WRAPPED = {("openai-responses", "tool-call, custom")}
QUOTED = ['"', *[json.dumps(piece)[1:-1] for piece in PIECES]]


def grown(deltas: list[Delta]) -> tuple[list[str], list[Any], list[str]]:
    """The kinds of parts that opened, the names of calls among them, and the pieces by which they grew."""
    parts: list[Any] = [delta.part for delta in deltas if type(delta) is PartStart]
    names = [part.tool_name for part in parts if hasattr(part, "tool_name")]
    kinds = [str(type(part).__struct_config__.tag) for part in parts]
    return kinds, names, [delta.text for delta in deltas if type(delta) is PartDelta and delta.text]


@pytest.mark.parametrize(("name", "what"), GROWS, ids=[f"{name}: {what}" for name, what in GROWS])
def test_a_client_sees_every_piece_when_it_comes(name: str, what: str) -> None:
    events, kind = GROWS[name, what], what.partition(",")[0]
    wanted = ([kind], ["f"] if kind == CALL else [], QUOTED if (name, what) in WRAPPED else PIECES)
    decoder = streams.decoder(name)
    assert grown(decoder.feed(framed(events))) == wanted, "from bytes"
    decoder = streams.decoder(name)
    assert grown([delta for event in events for delta in decoder.feed_event(event)]) == wanted, "from events"


def test_what_an_answer_begins_with_is_shown_whole_at_once() -> None:
    """Calls that the code of a provider made stand in the content of Anthropic's first event."""
    call = {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}
    message = {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "x"}, call]}
    start, *told = streams.decoder("anthropic").feed(framed([{"type": "message_start", "message": message}]))
    parts = [TextPart(text="x"), ToolCallPart(tool_call_id="c", tool_name="f", input={"a": 1})]
    assert type(start) is MessageStart
    assert told == [
        kind(key=f"1.first.{i}", part=part) for i, part in enumerate(parts) for kind in (PartStart, PartEnd)
    ]


def test_a_second_choice_is_not_shown_as_the_first() -> None:
    deltas = ({"content": "x"}, call_chunk(PIECES[0], "function", "arguments"), {"function_call": {"name": "f"}})
    for delta in deltas:
        decoder = streams.decoder("openai-chat")
        first = chat([{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}])
        second = chat([{"index": 1, "delta": delta, "finish_reason": None}])
        assert grown(decoder.feed(framed([first, second]))) == ([], [], []), delta
