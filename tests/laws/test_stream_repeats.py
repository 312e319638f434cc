"""Events that repeat are read by their bytes, and are read as they would be one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import streams
from hansard.model import exact_json
from hansard.streams.accumulator import fold
from hansard.streams.deltas import Delta, PartDelta
from tests.laws.test_streams import plain
from tests.streams.live import decode, framed
from tests.streams.test_live_deltas import GROWS

ODD = ["", '"', "\\", '\\"}', '"}}\n\ndata: {', "\n", "\r\n\r\n", "\u2028", "é", "\U0001f600", "\ud83d", "\ude00", "\0"]
words = st.one_of(st.sampled_from(ODD), st.text(max_size=5), st.just(" seven"))


def anthropic(pieces: list[str]) -> list[Any]:
    kinds = (("text", "text_delta", "text"), ("tool_use", "input_json_delta", "partial_json"))
    events: list[Any] = [{"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}]
    for index, (kind, delta, field) in enumerate(kinds):
        block = {"type": "text", "text": ""} if kind == "text" else {"type": kind, "id": "t", "name": "f", "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": {"type": delta, field: piece}} for piece in pieces
        ]
        events.append({"type": "content_block_stop", "index": index})
    return [*events, {"type": "message_stop"}]


def openai_chat(pieces: list[str]) -> list[Any]:
    def chunk(**delta: Any) -> Any:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        return {"id": "c", "created": 1, "choices": [choice], "obfuscation": "x" * (len(events) % 7)}

    events: list[Any] = []
    events.append(chunk(role="assistant", content=""))
    for piece in pieces:
        events.append(chunk(content=piece))
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}
    events.append(chunk(tool_calls=[call]))
    for piece in pieces:
        events.append(chunk(tool_calls=[{"index": 0, "function": {"arguments": piece}}]))
    return [*events, {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


def a_dialect_of_chat(pieces: list[str]) -> list[Any]:
    """More around each piece: a usage and a time that go on, filters, fields that others have not."""

    def chunk(**delta: Any) -> Any:
        filters = {"content_filter_results": {"hate": {"filtered": False}}}
        choice = {"index": 0, "delta": delta, "finish_reason": None, "stop_reason": None, **filters}
        number = len(events)
        usage = {"completion_tokens": number, "completion_tokens_details": {"reasoning_tokens": number // 9}}
        return {"id": "c", "created": number // 20, "choices": [choice], "usage": usage, "provider": "p"}

    events: list[Any] = []
    events.append(chunk(role="assistant", content=""))
    for piece in pieces:
        events.append(chunk(content="", reasoning=piece))
    for piece in pieces:
        events.append(chunk(role="assistant", content=piece, refusal=None))
    call: dict[str, Any] = {"index": 0, "id": "c1", "type": "function"}
    for piece in pieces:
        events.append(chunk(tool_calls=[{**call, "function": {"name": "f", "arguments": piece}}]))
    return events


def openai_responses(pieces: list[str]) -> list[Any]:
    place = {"output_index": 0, "item_id": "i", "content_index": 0}
    item = {"type": "message", "id": "i", "role": "assistant", "content": []}
    part = {"type": "output_text", "text": "", "annotations": []}
    events: list[Any] = [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **place, "part": part},
    ]
    for piece in pieces:
        number = {"sequence_number": len(events)}
        events.append({"type": "response.output_text.delta", **number, **place, "delta": piece, "obfuscation": piece})
    return events


def gemini(pieces: list[str]) -> list[Any]:
    return [
        {
            "candidates": [{"content": {"parts": [{"text": piece}], "role": "model"}}],
            "usageMetadata": {"totalTokenCount": i, "details": [{"modality": "TEXT"}]},
        }
        for i, piece in enumerate(pieces)
    ]


def gemini_with_ratings(pieces: list[str]) -> list[Any]:
    rated = {"safetyRatings": [{"category": "c", "probability": "LOW"}], "avgLogprobs": -0.5}
    return [
        {
            "candidates": [{"content": {"parts": [{"text": piece, "thought": True}], "role": "model"}, **rated}],
            "usageMetadata": {"totalTokenCount": i},
        }
        for i, piece in enumerate(pieces)
    ]


def ai_sdk_ui(pieces: list[str]) -> list[Any]:
    call: dict[str, Any] = {"toolCallId": "c"}
    return [
        {"type": "start", "messageId": "m"},
        {"type": "text-start", "id": "0"},
        *[{"type": "text-delta", "id": "0", "delta": piece} for piece in pieces],
        {"type": "text-end", "id": "0"},
        {"type": "tool-input-start", **call, "toolName": "f"},
        *[{"type": "tool-input-delta", **call, "inputTextDelta": piece} for piece in pieces],
        {"type": "finish"},
    ]


def ai_sdk_full(pieces: list[str]) -> list[Any]:
    return [
        {"type": "start"},
        {"type": "text-start", "id": "0"},
        *[{"type": "text-delta", "id": "0", "text": piece} for piece in pieces],
        {"type": "text-end", "id": "0"},
    ]


def pydantic_ai(pieces: list[str]) -> list[Any]:
    begun = {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": ""}}
    deltas = [{"part_delta_kind": "text", "content_delta": piece} for piece in pieces]
    return [begun, *[{"event_kind": "part_delta", "index": 0, "delta": delta} for delta in deltas]]


STREAMS: dict[str, Callable[[list[str]], list[Any]]] = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "gemini": gemini,
    "ai-sdk-ui": ai_sdk_ui,
    "ai-sdk-full": ai_sdk_full,
    "pydantic-ai": pydantic_ai,
}


CASES = {name: (name, make) for name, make in STREAMS.items()}
CASES |= {"dialect": ("openai-chat", a_dialect_of_chat), "ratings": ("gemini", gemini_with_ratings)}


def one_by_one(name: str, events: list[Any]) -> list[Delta]:
    decoder = streams.decoder(name)
    return [delta for event in events for delta in decoder.feed_event(event)] + decoder.finish()


def spoken(deltas: list[Delta]) -> list[Any]:
    """What was said; an event without words may or may not be told."""
    return [delta for delta in deltas if not isinstance(delta, PartDelta) or delta.text]


def test_every_decoder_is_tried() -> None:
    assert set(STREAMS) == set(streams.decoders())


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
def test_events_that_repeat_are_read_as_they_would_be_one_by_one(case: str, data: st.DataObject) -> None:
    name, make = CASES[case]
    pieces = data.draw(st.lists(words, min_size=1, max_size=8)) + [" seven"] * 20
    pieces += data.draw(st.lists(words, max_size=30))
    events = make(pieces)
    spaced = data.draw(st.booleans())
    end, room = data.draw(st.sampled_from(["\n", "\r\n"])), data.draw(st.sampled_from(["", "  "]))
    lines = data.draw(st.booleans())
    raw = b""
    for event in events:
        text = json.dumps(event, ensure_ascii=True, separators=None if spaced else (",", ":"))
        text = text[:-1] + room + text[-1:]
        raw += (text + end if lines else f"data: {text}{end}{end}").encode()
    size = data.draw(st.sampled_from([1, 7, 60, 500, 1 << 20]))
    decoder = streams.decoder(name)
    deltas = [delta for i in range(0, len(raw), size) for delta in decoder.feed(raw[i : i + size])] + decoder.finish()
    expected = one_by_one(name, json.loads(exact_json.encode(events)))
    assert spoken(deltas) == spoken(expected)
    assert plain(fold(deltas)) == plain(fold(expected))


# -- one event that differs ----------------------------------------------------------------------------------------

GROWING = {f"{name}: {what}": (name, events) for (name, what), events in GROWS.items()}
GROWING |= {case: (name, make(["a", "b", "c"])) for case, (name, make) in CASES.items()}


def variations(value: Any) -> Iterator[Any]:
    """The value with one thing in it changed, left out or added, at every place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield {other: kept for other, kept in value.items() if other != key}
            yield from ({**value, key: changed} for changed in variations(item))
        yield {**value, "unheardOf": "x"}
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from ([*value[:i], changed, *value[i + 1 :]] for changed in variations(item))
        yield [*value, *value[-1:]]
    else:
        yield from (other for other in ("other", "", 1, None, True, {"a": 1}) if not exact_json.same(other, value))


@pytest.mark.parametrize("again", [0, 20], ids=["after a few", "after many"])
@pytest.mark.parametrize("case", GROWING)
def test_an_event_that_differs_anywhere_is_read_as_it_would_be_alone(case: str, again: int) -> None:
    """What the quick ways do not look at would be lost: a late id of a call, a signature, another model."""
    name, events = GROWING[case]
    last = events[-1]
    before = [*events, *[last] * again]
    for odd in variations(last):
        told = [*before, odd, last, last]
        deltas, expected = decode(name, framed(told)), one_by_one(name, json.loads(exact_json.encode(told)))
        assert spoken(deltas) == spoken(expected), odd


@pytest.mark.parametrize("case", GROWING)
def test_events_that_somebody_else_parsed_may_follow_bytes(case: str) -> None:
    name, events = GROWING[case]
    told = [*events, *[events[-1]] * 20]
    decoder = streams.decoder(name)
    deltas = decoder.feed(framed(events)) + [
        delta for event in told[len(events) :] for delta in decoder.feed_event(event)
    ]
    assert spoken(deltas + decoder.finish()) == spoken(one_by_one(name, told))
