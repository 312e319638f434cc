"""Pydantic AI's agent events: folded they are the history that Pydantic AI itself wrote of the same run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import pydantic_ai.messages
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPartDelta, ThinkingPartDelta, ToolCallPartDelta

from hansard import formats, streams
from hansard.formats.pydantic_ai.stream import PydanticAIDecoder
from hansard.model import Message, exact_json, native
from hansard.model.parts import TextPart, ToolCallPart
from hansard.model.sdk_objects import _by_field
from hansard.streams.accumulator import fold
from hansard.streams.deltas import Delta, End, Failure, Other, PartDelta
from tests.conftest import CORPUS, GOLDEN
from tests.formats.ai_sdk.ui.test_stream import visible, without_end

NAME = "pydantic-ai"
Event = dict[str, Any]


def decode(events: list[Any]) -> list[Delta]:
    decoder = streams.decoder(NAME)
    return decoder.feed(b"".join(exact_json.encode(event) + b"\n" for event in events)) + decoder.finish()


def live(events: list[Any], dump: Any = None) -> list[Delta]:
    decoder = PydanticAIDecoder(dump)
    return [delta for event in events for delta in decoder.feed_event(event)] + decoder.finish()


def said(messages: list[Message]) -> Any:
    """Roles and parts, without what depends on the words before: to what a signature is bound."""
    found = native.plain([{"role": message.role, "parts": message.parts} for message in messages])
    for message in found:
        for part in message["parts"]:
            part.pop("binding", None)
    return found


def text(content: str, **more: Any) -> Event:
    fields = {"id": None, "provider_name": None, "provider_details": None, "citations": None, "part_kind": "text"}
    return {"content": content, **fields, **more}


def call(args: Any, call_id: str = "c", name: str = "w") -> Event:
    fields = {"tool_kind": None, "id": None, "provider_name": None, "provider_details": None, "part_kind": "tool-call"}
    return {"tool_name": name, "args": args, "tool_call_id": call_id, **fields}


def returned(content: Any, call_id: str = "c", name: str = "w") -> Event:
    fields = {"tool_kind": None, "metadata": None, "timestamp": "2026-01-01T00:00:00Z", "outcome": "success"}
    return {
        "tool_name": name,
        "content": content,
        "tool_call_id": call_id,
        **fields,
        "retry": None,
        "part_kind": "tool-return",
    }


def start(index: int, part: Event) -> Event:
    return {"index": index, "part": part, "previous_part_kind": None, "event_kind": "part_start"}


def end(index: int, part: Event) -> Event:
    return {"index": index, "part": part, "next_part_kind": None, "event_kind": "part_end"}


def grows(index: int, kind: str, **fields: Any) -> Event:
    return {"index": index, "delta": {**fields, "part_delta_kind": kind}, "event_kind": "part_delta"}


def result(part: Event, content: Any = None) -> Event:
    return {"part": part, "content": content, "event_kind": "function_tool_result"}


# -- real runs -----------------------------------------------------------------------------------------------------


def run_events() -> list[Any]:
    """A run of the real library: thinking, text, two calls of which one fails, and an answer."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel

    async def answer(messages: list[Any], info: Any) -> AsyncIterator[Any]:
        if len(messages) == 1:
            yield {0: DeltaThinkingPart(content="hm ")}
            yield {0: DeltaThinkingPart(content="so", signature="sig")}
            yield "Let me "
            yield "look."
            yield {1: DeltaToolCall(name="weather", json_args='{"ci', tool_call_id="c1")}
            yield {1: DeltaToolCall(json_args='ty": "Oslo"}')}
            yield {2: DeltaToolCall(name="broken", json_args="{}", tool_call_id="c2")}
        else:
            yield "It is "
            yield "20 degrees."

    agent = Agent(FunctionModel(stream_function=answer))
    refused = asyncio.Event()

    @agent.tool_plain
    async def weather(city: str) -> dict[str, int]:
        await refused.wait()  # ends after the other, which was called after it
        return {"degrees": 20}

    @agent.tool_plain
    async def broken() -> str:
        refused.set()
        raise ModelRetry("not now")

    async def collect() -> list[Any]:
        async with agent.run_stream_events("hi") as events:
            return [event async for event in events]

    return asyncio.run(collect())


def dumped(events: list[Any]) -> list[Any]:
    from pydantic import TypeAdapter

    return [json.loads(TypeAdapter(type(event)).dump_json(event)) for event in events]


def test_live_objects_are_made_plain_by_whoever_can() -> None:
    from_library = live(run_events()[:12])
    assert from_library == decode(dumped(run_events()[:12]))
    assert said(fold(live(run_events()[:12], _by_field))) == said(fold(from_library))
    assert said(fold(live(run_events()[:12], lambda event: dumped([event])[0]))) == said(fold(from_library))


PARTS = [
    pydantic_ai.messages.TextPart("a"),
    pydantic_ai.messages.ThinkingPart("a"),
    pydantic_ai.messages.ToolCallPart("f", "{", "c"),
]
DELTAS = [
    TextPartDelta(content_delta="b"),
    TextPartDelta(content_delta="b", provider_name="p", provider_details={"k": 1}),
    ThinkingPartDelta(content_delta="b"),
    ThinkingPartDelta(content_delta="b", signature_delta="signed", provider_name="p"),
    ThinkingPartDelta(signature_delta="signed"),
    ToolCallPartDelta(args_delta="}"),
    ToolCallPartDelta(tool_name_delta="g", args_delta="}", tool_call_id="other", provider_details={"k": 1}),
]


@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.part_kind)
def test_a_live_delta_says_what_the_same_delta_as_data_says(part: Any, delta: Any) -> None:
    """A signature or an id that comes with a piece of text is sent back with the next request; a delta that does not
    suit its part is no failure."""
    events = [PartStartEvent(index=0, part=part), *(PartDeltaEvent(index=0, delta=one) for one in (delta, delta))]
    assert live(events) == decode(dumped(events))


def test_an_id_that_comes_late_is_the_id_of_the_call() -> None:
    """Results name the call by it."""
    events = [start(0, call("{", "")), grows(0, "tool_call", args_delta="}", tool_call_id="late")]
    (part,) = fold(decode(events))[0].parts
    assert isinstance(part, ToolCallPart)
    assert part.tool_call_id == "late"


def test_a_live_object_that_cannot_be_made_plain_is_a_failure() -> None:
    def refuse(event: Any) -> Any:
        raise RuntimeError("no")

    deltas = live([object()], refuse)
    assert [delta.text for delta in deltas if type(delta) is Failure]


# -- whole histories as events -------------------------------------------------------------------------------------


@cache
def turns() -> list[list[Event]]:
    """Responses, and requests with nothing but results between them, as saved histories have them."""
    paths = sorted((GOLDEN / NAME).glob("*.json")) + (sorted((CORPUS / NAME).glob("*.json")) if CORPUS else [])
    found: list[list[Event]] = []
    for path in paths:
        turn: list[Event] = []
        for record in exact_json.decode(path.read_bytes()):
            if is_spoken(record) and (turn or record["kind"] == "response"):
                turn.append(record)
            else:
                found, turn = [*found, turn], []
        found.append(turn)
    return [turn for turn in found if turn and is_in_order(turn)]


def is_spoken(record: Any) -> bool:
    parts = record.get("parts") if type(record) is dict else None
    if type(parts) is not list or not parts or not all(type(part) is dict for part in parts):
        return False
    kinds = {part.get("part_kind") for part in parts}
    return record.get("kind") == "response" or kinds == {"tool-return"}


def is_in_order(turn: list[Event]) -> bool:
    """Do the results stand in the order of the calls, each of which has its own id?"""
    calls: list[Any] = []
    for record in turn:
        ids = [part.get("tool_call_id") for part in record["parts"] if part.get("part_kind") != "builtin-tool-call"]
        if record["kind"] == "response":
            calls = [part.get("tool_call_id") for part in record["parts"] if part.get("part_kind") == "tool-call"]
        elif ids != [call_id for call_id in calls if call_id in ids] or len(set(calls)) != len(calls):
            return False
    return True


def as_events(turn: list[Event], pieces: Any) -> list[Event]:
    out: list[Event] = []
    for record in turn:
        for index, part in enumerate(record["parts"]):
            if record["kind"] == "request":
                out.append(result(part))
                continue
            field, kind = {"text": ("content", "text"), "thinking": ("content", "thinking")}.get(
                part.get("part_kind"), ("args", "tool_call")
            )
            grown = part.get(field)
            if type(grown) is not str:
                out += [start(index, part), end(index, part)]
                continue
            first, *more = pieces(grown)
            named = "args_delta" if field == "args" else "content_delta"
            out.append(start(index, {**part, field: first}))
            out += [grows(index, kind, **{named: piece}) for piece in more]
            out.append(end(index, part))
    return out


def halves(words: str) -> list[str]:
    return [words[: len(words) // 2], words[len(words) // 2 :]]


@given(data=st.data())
def test_a_streamed_answer_is_read_as_the_whole_one(data: st.DataObject) -> None:
    turn = data.draw(st.sampled_from(turns()))

    def pieces(words: str) -> list[str]:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(words)), max_size=3)))
        return [words[i:j] for i, j in zip([0, *cuts], [*cuts, len(words)], strict=True)]

    deltas = decode(as_events(turn, pieces))
    assert bare(fold(deltas)) == bare(formats.read(exact_json.decode(exact_json.encode(turn)), NAME).messages)
    assert visible(fold(without_end(deltas))) == visible(fold(deltas))


def bare(messages: list[Message]) -> Any:
    """As `said`, without the residue: what a field is missing from depends on the release that wrote the whole."""
    found = said(messages)
    for message in found:
        for part in message["parts"]:
            part.pop("extra", None)
    return found


# -- single things -------------------------------------------------------------------------------------------------


def test_arguments_come_in_pieces_and_a_cut_keeps_their_text() -> None:
    events = [start(0, call('{"ci')), grows(0, "tool_call", args_delta='ty": "Os', tool_call_id="c")]
    deltas = decode(events)
    (message,) = fold(deltas)
    assert (message.state, deltas[-1]) == ("partial", End(how="cut"))
    (part,) = message.parts
    assert type(part) is ToolCallPart
    assert part.input_text == '{"city": "Os'
    assert fold(without_end(deltas))[0].parts[0].input_text == '{"city": "Os'  # type: ignore[union-attr]


def test_arguments_may_be_data_and_are_merged() -> None:
    (message,) = fold(decode([start(0, call({"a": 1})), grows(0, "tool_call", args_delta={"b": 2})]))
    assert message.parts[0].input == {"a": 1, "b": 2}  # type: ignore[union-attr]


def test_the_end_of_a_part_is_the_last_word_on_it() -> None:
    events = [start(0, text("a")), grows(0, "text", content_delta="b"), end(0, text("ab, and more", id="t1"))]
    deltas = decode(events)
    for found in (fold(deltas), fold(without_end(deltas))):
        (part,) = found[0].parts
        assert type(part) is TextPart
        assert (part.text, part.id) == ("ab, and more", "t1")


def test_citations_may_come_behind_the_end_of_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    cited = grows(0, "text", content_delta="", citations_delta=[{"sources": [], "anchor": None}])
    events = [start(0, text("a")), end(0, text("a")), cited, grows(0, "text", content_delta=" late")]
    deltas = decode(events)
    for found in (fold(deltas), fold(without_end(deltas))):
        (part,) = found[0].parts
        assert part.extra == {NAME: {"citations": [{"sources": [], "anchor": None}]}}
        assert visible(found)[0] == ["a late"]
    monkeypatch.setattr(PydanticAIDecoder, "grew", lambda *_: None)
    assert decode(events) == deltas


def test_a_part_that_starts_again_takes_the_place_of_the_first() -> None:
    deltas = decode([start(0, text("wrong")), start(0, text("ri")), grows(0, "text", content_delta="ght")])
    assert visible(fold(deltas))[0] == visible(fold(without_end(deltas)))[0] == ["right"]


def test_index_0_behind_a_part_that_ended_is_another_response() -> None:
    events = [start(0, text("a")), end(0, text("a")), start(0, text("b")), end(0, text("b"))]
    assert visible(fold(decode(events)))[0] == ["a", "b"]
    assert len(fold(decode(events))) == 2


def test_results_stand_in_the_order_of_their_calls() -> None:
    parts = [call("{}", "c1"), call("{}", "c2")]
    events = [event for index, part in enumerate(parts) for event in (start(index, part), end(index, part))]
    found = fold(decode([*events, result(returned(2, "c2")), result(returned(1, "c1"))]))
    assert [part.tool_call_id for part in found[1].parts] == ["c1", "c2"]  # type: ignore[union-attr]


def test_a_call_that_is_only_known_from_its_running_is_kept() -> None:
    found = fold(decode([{"part": call('{"a": 1}'), "event_kind": "function_tool_call"}, result(returned(1))]))
    assert [message.role for message in found] == ["assistant", "tool"]
    assert found[0].parts[0].input == {"a": 1}  # type: ignore[union-attr]


def test_calls_without_results_are_a_cut_unless_they_wait_for_somebody() -> None:
    events = [start(0, call("{}")), end(0, call("{}"))]
    assert decode(events)[-1] == End(how="cut")
    waits = {"requests": {"calls": [], "approvals": [call("{}")]}, "event_kind": "deferred_tool_requests"}
    assert decode([*events, waits])[-1] == End(how="done")


def test_what_a_tool_adds_for_the_user_and_what_others_enqueue_is_in_the_messages() -> None:
    events = [start(0, call("{}")), end(0, call("{}")), result(returned(1), content="look at this")]
    prompt = {"content": "hurry", "timestamp": "2026-01-01T00:00:00Z", "part_kind": "user-prompt"}
    request = {"parts": [prompt], "timestamp": None, "instructions": None, "kind": "request", "state": "complete"}
    queued = {"enqueue_id": "q", "messages": [request], "parts": [], "event_kind": "enqueued_messages"}
    found = fold(decode([*events, queued, start(0, text("ok")), end(0, text("ok"))]))
    assert [message.role for message in found] == ["assistant", "tool", "user", "user", "assistant"]


def test_events_that_are_no_part_of_a_message_are_told() -> None:
    final = {"tool_name": None, "tool_call_id": None, "event_kind": "final_result"}
    custom = {"name": "progress", "event_kind": "custom", "data": 1}
    deltas = decode([start(0, text("a")), final, custom, end(0, text("a")), {"event_kind": "never.heard.of"}])
    assert [delta.value["event_kind"] for delta in deltas if type(delta) is Other] == [
        "final_result",
        "custom",
        "never.heard.of",
    ]


def test_a_surrogate_pair_in_two_pieces_is_one_character() -> None:
    deltas = decode([start(0, text("\ud83d")), grows(0, "text", content_delta="\ude00")])
    assert visible(fold(deltas))[0] == ["\U0001f600"]


def test_the_quick_way_and_the_long_way_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event for turn in turns() for event in as_events(turn, halves)]
    quick = decode(events)
    assert len([delta for delta in quick if type(delta) is PartDelta]) > 10
    monkeypatch.setattr(PydanticAIDecoder, "grew", lambda *_: None)
    assert decode(events) == quick


def test_an_event_stream_cut_anywhere_never_raises() -> None:
    raw = b"".join(exact_json.encode(event) + b"\n" for turn in turns()[:4] for event in as_events(turn, halves))
    for cut in range(0, len(raw), 13):
        decoder = streams.decoder(NAME)
        deltas = decoder.feed(raw[:cut]) + decoder.finish()
        grown = "".join(delta.text for delta in deltas if type(delta) is PartDelta)
        assert len(exact_json.encode(native.plain(fold(deltas)))) >= len(grown) // 2
