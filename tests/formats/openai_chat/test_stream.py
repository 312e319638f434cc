"""Chat streams: whole answers cut into chunks and folded again, the dialects, the odd ones, cuts and errors."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hansard import formats, streams
from hansard.formats.openai_chat.stream.decoder import OpenAIChatDecoder
from hansard.formats.openai_chat.stream.growth import grow
from hansard.formats.residue import unpack
from hansard.model import Message, native
from hansard.model.parts import DataPart, FilePart, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from hansard.streams.accumulator import Accumulator, fold
from hansard.streams.deltas import (
    End,
    Failure,
    MessageDelta,
    MessageEnd,
    MessageStart,
    Other,
    PartDelta,
    PartEnd,
    PartStart,
)
from tests.conftest import CORPUS, GOLDEN
from tests.streams.live import cut, decode, decode_with, framed, shown, shown_live

NAME = "openai-chat"
DONE = b"[DONE]"
GROWING = ("content", "refusal", "reasoning_content", "reasoning")


class SlowDecoder(OpenAIChatDecoder):
    """Learns no pattern: the handlers take every chunk."""

    def grew(self, *_: Any, **__: Any) -> None:
        """Learn nothing."""


def chunk(delta: Any = None, /, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {} if delta is None else delta, "logprobs": None, "finish_reason": finish}
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 7, "model": "m"}
    return {**head, "choices": [choice], **fields}


def said(*events: Any) -> Message:
    """The one message of a stream that ends as it should; patterns and handlers agree, live and at the end."""
    raw = framed([*events, DONE])
    deltas = decode(NAME, raw)
    assert deltas == decode_with(SlowDecoder(), raw)
    (message,) = fold(deltas)
    assert shown_live(deltas) == shown([message])
    return message


def words(message: Message, kind: type = TextPart) -> list[str]:
    parts: list[Any] = [part for part in message.parts if type(part) is kind]
    return [part.text for part in parts]


def calls(message: Message) -> list[tuple[Any, Any, Any]]:
    return [(p.tool_call_id, p.tool_name, p.input) for p in message.parts if type(p) is ToolCallPart]


def call(index: int | None = None, /, id: str | None = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    """A delta with one piece of a call."""
    function = {
        key: value for key, value in (("name", name), ("arguments", more.pop("args", None))) if value is not None
    }
    item = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return {"tool_calls": [{**item, "function": function, **more}]}


# -- a whole answer, streamed ----------------------------------------------------------------------------------------


def wholes() -> list[dict[str, Any]]:
    """Every answer in the goldens and the corpus: responses, and what assistants say in requests."""
    folders = [
        GOLDEN / NAME,
        *([CORPUS / "provider-streams" / NAME, CORPUS / "provider-conversations"] if CORPUS else []),
    ]
    found: list[dict[str, Any]] = []
    for path in sorted(path for folder in folders for path in folder.glob("*.json")):
        document = json.loads(path.read_text())
        document = document.get("request", document) if type(document) is dict else document
        if type(document) is dict and type(document.get("choices")) is list:
            if all("message" in choice for choice in document["choices"]):  # a stream says at least an empty one
                found.append(document)
            continue
        records = document if type(document) is list else document.get("messages", [])
        for record in records if formats.get(NAME).sniff(document) else []:
            if record.get("role") == "assistant":
                choice = {"index": 0, "message": record, "logprobs": None, "finish_reason": "stop"}
                usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
                found.append(
                    {"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
                )
    for whole in found:
        for choice in whole["choices"]:
            choice["message"].setdefault("role", "assistant")
            for item in choice["message"].get("tool_calls") or []:
                item.pop("index", None)  # a stream gives every call one: whether the answer has it cannot be told
    return [whole for whole in found if whole["choices"]]


def streamed(data: st.DataObject, whole: dict[str, Any]) -> list[Any]:
    """The answer as chunks."""
    head = {key: value for key, value in whole.items() if key not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    lines: list[list[Any]] = []
    for choice in whole["choices"]:
        about = {key: value for key, value in choice.items() if key not in ("message", "finish_reason")}
        pieces = [{"index": choice["index"], "delta": delta} for delta in deltas_of(data, choice["message"])]
        lines.append([*pieces, {**about, "delta": {}, "finish_reason": choice["finish_reason"]}])
    events = []
    while any(lines):
        line = data.draw(st.sampled_from([line for line in lines if line]))
        events.append({**head, "choices": [line.pop(0)]})
    if "usage" in whole:
        events.append({**head, "choices": [], "usage": whole["usage"]})
    return [*events, DONE]


def deltas_of(data: st.DataObject, message: dict[str, Any]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = [{"role": message["role"]}]
    for key, value in message.items():
        if key in GROWING and type(value) is str:
            out += [{key: piece} for piece in cut(data, value)]
        elif key == "tool_calls" and type(value) is list and value:
            for i, item in enumerate(value):
                out += [{key: [piece]} for piece in call_pieces(data, i, item)]
        elif key == "reasoning_details" and all("index" in item and "text" in item for item in value):
            for item in value:
                out += [{key: [{**item, "text": piece}]} for piece in cut(data, item["text"])]
        elif key == "function_call" and type(value) is dict and type(value.get("arguments")) is str:
            out += [{key: {**value, "arguments": piece}} for piece in cut(data, value["arguments"])]
        elif key == "audio" and type(value) is dict and "transcript" in value:
            out += [{key: {**value, "transcript": piece, "data": ""}} for piece in cut(data, value["transcript"])]
            out.append({key: {"data": value["data"]}})
        elif key != "role":
            out.append({key: value})
    return out


def call_pieces(data: st.DataObject, index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    for kind, growing in (("function", "arguments"), ("custom", "input")):
        if type(item.get(kind)) is dict and type(item[kind].get(growing)) is str:
            first, *rest = cut(data, item[kind][growing])
            begin = {"index": index, **item, kind: {**item[kind], growing: first}}
            return [begin, *[{"index": index, kind: {growing: piece}} for piece in rest]]
    return [{"index": index, **item}]


WHOLES = wholes()


@given(data=st.data())
def test_a_whole_answer_streamed_in_any_pieces_is_read_as_the_whole_answer_is(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from(WHOLES))
    raw = framed(streamed(data, whole), data.draw(st.sampled_from(["sse", "crlf", "lines"])))
    decoder = streams.decoder(NAME)
    deltas = decode_with(decoder, *cut(data, raw))
    assert native.plain(fold(deltas)) == native.plain(formats.read(whole, NAME).messages)
    assert isinstance(decoder, OpenAIChatDecoder)
    assert decoder.body() == whole
    assert shown_live(deltas) == shown(fold(deltas))
    assert deltas == decode_with(SlowDecoder(), raw)


def test_there_are_enough_whole_answers() -> None:
    assert len(WHOLES) >= 10


def test_a_whole_answer_that_was_not_streamed_is_read_too() -> None:
    for whole in WHOLES:
        for raw in (json.dumps(whole).encode(), json.dumps(whole, indent=2).encode(), framed([whole])):
            assert native.plain(fold(decode(NAME, raw))) == native.plain(formats.read(whole, NAME).messages)


def test_patterns_and_handlers_agree_on_every_recorded_stream(corpus: Path) -> None:
    for path in sorted((corpus / "provider-streams" / NAME).glob("*")):
        if path.suffix != ".json":
            assert decode(NAME, path.read_bytes()) == decode_with(SlowDecoder(), path.read_bytes())


def test_the_ai_sdk_sees_the_same_text_and_calls(corpus: Path) -> None:
    seen = 0
    for path in sorted((corpus / "ai-sdk" / "provider").glob(f"{NAME}.*.json")):
        theirs = json.loads(path.read_text())["uiMessage"]["parts"]
        stem = path.name.split(".")[1]
        (recorded,) = [p for p in (corpus / "provider-streams" / NAME).glob(f"{stem}.*") if p.suffix != ".json"]
        (message,) = fold(decode(NAME, recorded.read_bytes()))
        assert words(message) == [part["text"] for part in theirs if part["type"] == "text" and part["text"]]
        inputs = [part["input"] for part in theirs if part["type"].startswith(("tool-", "dynamic-tool"))]
        assert [given for _, _, given in calls(message)] == inputs
        seen += 1
    assert seen


# -- what grows ------------------------------------------------------------------------------------------------------


def test_text_is_emitted_as_it_arrives() -> None:
    decoder = streams.decoder(NAME)
    assert decoder.feed(framed([chunk({"role": "assistant", "content": ""})])) == [
        MessageStart(
            model=formats.read({"id": "c1", "model": "m", "choices": [{"message": {"role": "assistant"}}]}, NAME)
            .messages[0]
            .model
        )
    ]
    first, second = decoder.feed(framed([chunk({"content": "Hel"}), chunk({"content": "lo"})]))[0:3:2]
    assert (type(first), second) == (PartStart, PartDelta(key="text.0", text="lo"))
    assert [type(delta) for delta in decoder.feed(framed([chunk(finish="stop")]))] == [MessageDelta]
    assert decoder.feed(framed([DONE])) == []
    assert type(decoder.finish()[0]) is PartEnd


def test_a_repeated_name_is_replaced() -> None:
    message = said(
        chunk({"role": "assistant", "content": "a"}),
        chunk({"role": "assistant", "content": "b"}),
        chunk({"role": "assistant", **call(0, "call_1", "f", args='{"a"', type="function")}),
        chunk({"role": "assistant", **call(0, "call_1", "f", args=":1}", type="function")}),
        chunk(finish="tool_calls"),
    )
    assert (message.role, words(message), calls(message)) == ("assistant", ["ab"], [("call_1", "f", {"a": 1})])


def test_nothing_does_not_replace_a_name() -> None:
    message = said(
        chunk(call(0, "call_1", "f", args="{", type="function")),
        chunk(call(0, "", "", args="}", type="function")),
        chunk(finish="tool_calls"),
    )
    assert calls(message) == [("call_1", "f", {})]


def test_the_learned_pattern_sees_what_is_new_in_a_chunk() -> None:
    said(chunk({"content": "a"}), chunk({"content": "b"}), chunk({"content": "c", "reasoning": None}))
    decoder = OpenAIChatDecoder()
    models = "A", "A", "A", "B", "A", "A"
    decode_with(decoder, framed([{**chunk({"content": "x"}), "model": model} for model in models]))
    assert (decoder.body()["model"], decoder.body()["choices"][0]["message"]["content"]) == ("A", "xxxxxx")


def test_the_same_index_with_another_id_is_another_call() -> None:
    message = said(
        chunk(call(0, "call_1", "f", args="{}")), chunk(call(0, "call_2", "f", args='{"b":2}')), chunk(call(0, args=""))
    )
    assert calls(message) == [("call_1", "f", {}), ("call_2", "f", {"b": 2})]


def test_the_same_index_without_ids_is_another_call_when_the_first_was_whole() -> None:
    message = said(chunk(call(0, name="f", args='{"a":1}')), chunk(call(0, name="f", args='{"a":2}')))
    assert [given for _, _, given in calls(message)] == [{"a": 1}, {"a": 2}]
    again = said(
        chunk(call(0, name="f", args='{"a":')), chunk(call(0, name="f", args='{"b":2}')), chunk(call(0, args="}"))
    )
    assert calls(again) == [(UNSET, "f", {"a": {"b": 2}})]


def test_calls_without_an_index_are_told_apart_by_id_or_name() -> None:
    message = said(
        chunk(call(None, "a", "f", args='{"x"')),
        chunk(call(None, args=":1}")),
        chunk(call(None, "b", "g", args="{")),
        chunk(call(None, "a", args=" ")),
        chunk(call(None, "b", args="}")),
        chunk(call(None, name="h", args="{}")),
    )
    assert calls(message) == [("a", "f", {"x": 1}), ("b", "g", {}), (UNSET, "h", {})]
    both = {"tool_calls": [*call(None, name="f", args="")["tool_calls"], *call(None, name="f", args="")["tool_calls"]]}
    assert len(calls(said(chunk(both)))) == 2


def test_a_first_index_may_be_any_and_calls_may_grow_side_by_side() -> None:
    message = said(
        chunk(call(3, "a", "f", args="")),
        chunk(call(7, "b", "g", args="")),
        chunk(call(3, args='{"a":')),
        chunk(call(7, args="[1")),
        chunk(call(3, args="1}")),
        chunk(call(7, args="]")),
    )
    assert calls(message) == [("a", "f", {"a": 1}), ("b", "g", [1])]


def test_a_call_is_given_out_when_its_name_is_known() -> None:
    deltas = decode(NAME, framed([chunk(call(0, "a", args="{")), chunk(call(0, name="f")), chunk(call(0, args="}"))]))
    starts = [delta.part for delta in deltas if isinstance(delta, PartStart)]
    assert [(part.tool_call_id, part.tool_name) for part in starts if type(part) is ToolCallPart] == [("a", "f")]
    assert [delta.text for delta in deltas if isinstance(delta, PartDelta)] == ["{", "}"]


def test_custom_calls_older_calls_and_calls_with_data_are_read() -> None:
    message = said(
        chunk(
            {"tool_calls": [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": "select"}}]}
        ),
        chunk({"tool_calls": [{"index": 0, "custom": {"input": " 1"}}]}),
        chunk(
            {
                "tool_calls": [
                    {"index": 1, "id": "b", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
                ]
            }
        ),
        chunk({"function_call": {"name": "old", "arguments": '{"a"'}}),
        chunk({"function_call": {"arguments": ":1}"}}),
    )
    assert calls(message) == [("a", "sql", "select 1"), ("b", "f", {"a": 1}), (UNSET, "old", {"a": 1})]


def test_an_older_call_is_shown_as_it_arrives_and_only_that_of_the_first_choice() -> None:
    """Listeners see which function is called and its arguments grow; other choices are alternatives."""

    def older(index: int, **call: str) -> dict[str, Any]:
        return {"index": index, "delta": {"function_call": call}, "finish_reason": None}

    events = [
        {**chunk(), "choices": [older(0, name="old", arguments=""), older(1, name="other", arguments="")]},
        {**chunk(), "choices": [older(1, arguments='{"b":2}'), older(0, arguments='{"a"')]},
        {**chunk(), "choices": [older(0, arguments=":1}")]},
    ]
    deltas = OpenAIChatDecoder().feed(framed(events))
    starts = [delta.part for delta in deltas if isinstance(delta, PartStart)]
    assert [part.tool_name for part in starts if isinstance(part, ToolCallPart)] == ["old"]
    assert [delta.text for delta in deltas if isinstance(delta, PartDelta)] == ['{"a"', ":1}"]


def test_arguments_that_are_no_json_keep_their_text() -> None:
    message = said(chunk(call(0, "a", "f", args='{"a": [1, "te')), chunk(call(0, args="x")), chunk(finish="length"))
    (part,) = message.parts
    assert isinstance(part, ToolCallPart)
    assert (part.input, part.input_text, message.finish_reason) == (UNSET, '{"a": [1, "tex', "length")


def test_a_signature_of_a_call_is_kept() -> None:
    signed = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    message = said(chunk(call(0, "a", "f", args="{}", type="function", **signed)), chunk(finish="stop"))
    (part,) = message.parts
    assert isinstance(part, ToolCallPart)
    assert part.signature == "c2ln"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_comes_before_text(key: str) -> None:
    message = said(
        chunk({"role": "assistant", "content": None, key: ""}),
        chunk({"content": None, key: "Let me"}),
        chunk({"content": None, key: " see."}),
        chunk({"content": "Yes", key: None}),
        chunk({"content": ".", key: None}),
    )
    assert [type(part) for part in message.parts] == [ReasoningPart, TextPart]
    assert (words(message, ReasoningPart), words(message)) == (["Let me see."], ["Yes."])


def detail(text: str, **more: Any) -> dict[str, Any]:
    item = {"type": "reasoning.text", "text": text, "format": "anthropic-claude-v1", "index": 0, **more}
    return chunk({"content": "", "reasoning": text, "reasoning_details": [item]})


def test_details_of_reasoning_are_joined_by_index_and_type() -> None:
    message = said(
        detail("One"), detail(" two"), detail("", signature="c2ln"), detail("Three", index=1), chunk({"content": "x"})
    )
    first, second = (part for part in message.parts if isinstance(part, ReasoningPart))
    assert (first.text, first.signature, second.text, words(message)) == ("One two", "c2ln", "Three", ["x"])
    assert unpack(NAME, first.extra)[0]["format"] == "anthropic-claude-v1"
    sealed = {"type": "reasoning.encrypted", "data": "QUJD", "id": "rs_1", "index": 0}
    summary = {"type": "reasoning.summary", "summary": "Hm", "index": 0}
    message = said(chunk({"reasoning_details": [summary]}), chunk({"reasoning_details": [sealed]}))
    assert [(part.text, part.encrypted) for part in message.parts if isinstance(part, ReasoningPart)] == [
        ("Hm", UNSET),
        ("", "QUJD"),
    ]


def test_thoughts_without_an_index_go_on_until_they_are_signed() -> None:
    def block(text: str, **more: Any) -> dict[str, Any]:
        return chunk({"reasoning_content": text, "thinking_blocks": [{"type": "thinking", "thinking": text, **more}]})

    message = said(block("One"), block(" two"), block("", signature="s"), block("Three"), chunk({"content": "x"}))
    assert words(message, ReasoningPart) == ["One two", "Three"]


def test_reasoning_under_a_second_key_is_not_repeated() -> None:
    late = {"type": "reasoning.text", "text": "Hm", "index": 0}
    message = said(chunk({"reasoning": "Hm"}), chunk({"reasoning_details": [late]}), chunk({"content": "x"}))
    assert words(message, ReasoningPart) == ["Hm"]


def test_refusals_and_sound_are_read() -> None:
    message = said(
        chunk({"role": "assistant", "content": None, "refusal": "I c"}),
        chunk({"refusal": "annot."}),
        chunk({"audio": {"id": "audio_1", "transcript": "Hel"}}),
        chunk({"audio": {"data": "YQ==", "expires_at": 100}}),
        chunk({"audio": {"transcript": "lo", "data": "Yg==", "expires_at": 100}}),
    )
    assert (words(message, RefusalPart), words(message)) == (["I cannot."], ["Hello"])
    (sound,) = (part for part in message.parts if isinstance(part, FilePart))
    assert (sound.data, sound.file_id, unpack(NAME, sound.extra)[0]["expires_at"]) == ("YWI=", "audio_1", 100)


def test_content_may_be_a_list() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    message = said(
        chunk({"role": "assistant", "content": [thought]}),
        chunk({"content": [{"type": "text", "text": "He"}]}),
        chunk({"content": "llo"}),
    )
    assert [type(part) for part in message.parts] == [ReasoningPart, TextPart]
    assert words(message) == ["Hello"]


def test_lists_without_an_index_are_appended_and_unknown_things_kept() -> None:
    decoder = OpenAIChatDecoder()
    events = [
        chunk({"content": "x", "annotations": [{"a": 1}], "mood": "calm", "thoughts": "a"}, x_groq={"id": "r"}),
        chunk({"annotations": [{"b": 2}], "mood": "calm", "thoughts": "b"}, x_groq={"usage": 1}, citations=["u"]),
        chunk({}, finish="stop", citations=["u"]),
    ]
    decode_with(decoder, framed(events))
    body = decoder.body()
    assert body["choices"][0]["message"] == {
        "role": "assistant", "content": "x", "annotations": [{"a": 1}, {"b": 2}], "mood": "calm", "thoughts": "ab",
    }  # fmt: skip
    assert (body["x_groq"], body["citations"], body["object"]) == ({"id": "r", "usage": 1}, ["u"], "chat.completion")


def test_log_probabilities_are_appended() -> None:
    events = [chunk({"content": text}) for text in "ab"]
    for event, token in zip(events, "ab", strict=True):
        event["choices"][0]["logprobs"] = {"content": [{"token": token}], "refusal": None}
    decoder = OpenAIChatDecoder()
    decode_with(decoder, framed(events))
    assert decoder.body()["choices"][0]["logprobs"] == {"content": [{"token": "a"}, {"token": "b"}], "refusal": None}


def test_halves_of_a_surrogate_pair_meet_again() -> None:
    raw = framed(
        [
            chunk({"content": "x"}),
            b'{"choices":[{"delta":{"content":"\\ud83d"}}]}',
            b'{"choices":[{"delta":{"content":"\\ude00"}}]}',
        ]
    )
    (message,) = fold(decode(NAME, raw))
    assert words(message) == ["x\U0001f600"]


# -- around the words ------------------------------------------------------------------------------------------------


def test_usage_outlives_a_trailing_chunk() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    message = said(
        chunk({"content": "x"}, usage=None),
        chunk(finish="stop", usage=None),
        {"id": "c1", "choices": [], "usage": usage},
        {"id": "c1", "choices": [], "usage": None},
    )
    assert message.usage is not UNSET
    assert (message.usage.input_tokens, message.usage.output_tokens, message.finish_reason) == (3, 5, "stop")


def test_a_first_chunk_without_choices_names_no_model() -> None:
    filtered = {"id": "", "model": "", "object": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    deltas = decode(NAME, framed([filtered, chunk({"content": "x"}), chunk(finish="stop"), DONE]))
    (start,) = (delta for delta in deltas if isinstance(delta, MessageStart))
    assert start.model is not UNSET
    assert (start.model.name, start.model.response_id) == ("m", "c1")


def test_other_choices_are_kept_apart() -> None:
    other = {"index": 1, "delta": {"content": "B"}, "finish_reason": None}
    decoder = OpenAIChatDecoder()
    deltas = decode_with(decoder, framed([chunk({"content": "A"}), {"choices": [other]}, chunk(finish="stop"), DONE]))
    assert words(fold(deltas)[0]) == ["A"]
    assert Other(format=NAME, value=other) in deltas
    assert decoder.body()["choices"][1]["message"]["content"] == "B"


def test_a_finish_reason_is_an_end_and_so_is_done() -> None:
    ends: list[list[Any]] = [[chunk(finish="stop")], [DONE], []]
    hows = [decode(NAME, framed([chunk({"content": "x"}), *end]))[-1] for end in ends]
    assert hows == [End(how="done"), End(how="done"), End(how="cut")]


def test_events_after_done_still_count() -> None:
    deltas = decode(NAME, framed([chunk({"content": "x"}), DONE, chunk({"content": "y"}), DONE]))
    assert words(fold(deltas)[0]) == ["xy"]


def test_another_id_after_an_end_is_another_answer() -> None:
    one = [chunk({"role": "assistant", "content": "x"}), chunk(finish="stop"), DONE]
    two = [chunk({"content": "y"}, id="c2"), chunk({"content": "z"}, id="c2"), chunk(finish="length", id="c2"), DONE]
    deltas = decode(NAME, framed([*one, *two]))
    assert deltas == decode_with(SlowDecoder(), framed([*one, *two]))
    assert [(words(message), message.finish_reason) for message in fold(deltas)] == [
        (["x"], "stop"),
        (["yz"], "length"),
    ]
    assert shown_live(deltas) == shown(fold(deltas))


def test_answers_whose_chunks_are_mixed_are_told_apart_and_named() -> None:
    def piece(answer: str, text: str) -> Any:
        return chunk({"content": text}, id=answer)

    mixed = [piece("a", "A1"), piece("a", "A2"), piece("b", "B1"), piece("a", "A3"), piece("b", "B2"), piece("a", "A4")]
    deltas = decode(NAME, framed([*mixed, chunk(finish="stop", id="a"), piece("b", "B3"), DONE]))
    first, second = fold(deltas)
    assert (words(first), words(second)) == (["A1A2A3A4"], ["B1B2B3"])
    assert [delta.text for delta in deltas if type(delta) is Failure] == [
        "another answer started before the last one ended"
    ]
    assert shown_live(deltas) == shown([first, second])


def test_ids_that_change_with_every_chunk_are_one_answer() -> None:
    deltas = decode(NAME, framed([chunk({"content": f"{i}"}, id=f"c{i}") for i in range(5)] + [chunk(finish="stop")]))
    assert [words(message) for message in fold(deltas)] == [["01234"]]


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "overloaded", "code": 529}},
        {"object": "error", "message": "overloaded"},
        {"error": "overloaded"},
        {"detail": "overloaded"},
        {
            "id": "c1",
            "error": {"message": "overloaded"},
            "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
        },
    ],
)
def test_an_error_is_a_failure_and_the_text_is_kept(error: Any) -> None:
    deltas = decode(NAME, framed([chunk({"content": "Hel"}), error]))
    (message,) = fold(deltas)
    assert [delta.text for delta in deltas if isinstance(delta, Failure)] == ["overloaded"]
    assert (message.state, words(message), message.parts[-1]) == (
        "partial",
        ["Hel"],
        DataPart(name="error", data="overloaded"),
    )


def test_an_error_on_many_lines_is_one_failure() -> None:
    raw = json.dumps({"error": {"message": "bad key", "param": None}}, indent=4).encode()
    for pieces in ([raw], [raw[i : i + 1] for i in range(len(raw))]):
        deltas = decode(NAME, *pieces)
        assert [delta.text for delta in deltas if isinstance(delta, Failure)] == ["bad key"]


def test_a_broken_line_does_not_hide_the_next() -> None:
    for how in ("sse", "lines"):
        deltas = decode(NAME, framed([chunk({"content": "a"}), b'{"choices": [{', chunk({"content": "b"}), DONE], how))
        assert words(fold(deltas)[0]) == ["ab"]
        assert len([delta for delta in deltas if isinstance(delta, Failure)]) == 1


def test_chunks_of_strange_shapes_never_raise() -> None:
    strange: list[Any] = [None, 1, "x", [], {}, [1], {"a": 1}, {"index": "0"}]
    shapes: list[Any] = []
    for odd in strange:
        shapes += [
            odd,
            {"choices": odd},
            {"choices": [odd]},
            {"choices": [{"delta": odd}]},
            {"error": odd, "choices": []},
        ]
        for key in (
            "content",
            "refusal",
            "reasoning",
            "reasoning_details",
            "thinking_blocks",
            "audio",
            "role",
            "function_call",
        ):
            shapes += [chunk({key: odd}), chunk({key: [odd]})]
        shapes += [
            chunk({"tool_calls": odd}),
            chunk({"tool_calls": [odd]}),
            chunk({"tool_calls": [{"index": 0, "function": odd}]}),
        ]
        shapes += [
            chunk(call(0, "a", "f", args=odd)),
            chunk(logprobs=odd),
            {"choices": [{"delta": {}, "logprobs": odd}]},
        ]
    for shape in shapes:
        decode(NAME, framed([shape]))
    rng = random.Random(7)
    for _ in range(200):
        picked = [rng.choice(shapes) for _ in range(6)]
        raw = framed([chunk({"content": "good"}), *picked, chunk({"content": " words"}), DONE])
        text = native.plain(fold(decode(NAME, raw)))
        assert "good" in json.dumps(text)


def test_a_stream_cut_at_any_byte_keeps_what_came() -> None:
    events = [
        chunk({"content": "Héllo"}),
        chunk({"content": " you"}),
        chunk(call(0, "a", "f", args='{"a":1}')),
        chunk(finish="stop"),
    ]
    raw = framed(events)
    longest = 0
    for end in range(len(raw)):
        deltas = decode(NAME, raw[:end])
        grown = "".join(delta.text for delta in deltas if isinstance(delta, PartDelta))
        assert len(grown) >= longest
        longest = len(grown)
        for message in fold(deltas):
            assert message.state == "partial" or deltas[-1] == End(how="done")
    assert longest == len('Héllo you{"a":1}')


def chunks(*deltas: dict[str, Any]) -> bytes:
    made = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    made.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(b"data: " + json.dumps({"id": "c", "model": "m", **one}).encode() + b"\n\n" for one in made)


def test_reasoning_inside_the_content_grows_into_one_part() -> None:
    def thought(text: str) -> dict[str, Any]:
        return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}

    raw = chunks({"role": "assistant", "content": ""}, thought("A "), thought("street."), {"content": "Look "})
    decoder = streams.decoder(NAME)
    deltas = decoder.feed(raw + chunks({"content": "both ways."})) + decoder.finish()
    live = Accumulator()
    for delta in deltas:
        if type(delta) is not MessageEnd:
            live.fold(delta)
    for (message,) in (fold(deltas), live.messages()):
        assert [(type(part), part.text) for part in message.parts] == [
            (ReasoningPart, "A street."),
            (TextPart, "Look both ways."),
        ]


def test_a_tool_that_the_provider_ran_is_repeated_whole() -> None:
    ran = {"index": 0, "type": "search", "arguments": '{"query": "x"}'}
    raw = chunks({"role": "assistant", "executed_tools": [ran]}, {"executed_tools": [{**ran, "output": "found"}]})
    decoder = streams.decoder(NAME)
    (message,) = fold(decoder.feed(raw) + decoder.finish())
    assert message.extra[NAME]["executed_tools"] == [{**ran, "output": "found"}]


def test_a_type_that_a_call_gets_late_is_not_lost() -> None:
    late = call(0, args="}", type="function")
    for decoder in (OpenAIChatDecoder(), SlowDecoder()):
        decode_with(decoder, framed([chunk(call(0, "a", "f", args="{")), chunk(call(0, args=" ")), chunk(late), DONE]))
        (made,) = decoder.body()["choices"][0]["message"]["tool_calls"]
        assert made == {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{ }"}}


@pytest.mark.parametrize(
    "name", ["role", "id", "name", "type", "format", "signature", "object", "model", "tool_call_id"]
)
def test_a_name_is_replaced_by_a_later_one_and_by_nothing_else(name: str) -> None:
    """A text is joined: an identifier that is sent twice must not become another one."""
    value: dict[str, Any] = {}
    for given_name, text in (("one", "a"), ("", "b"), ("two", "c"), (None, None)):
        grow(value, {name: given_name, "text": text})
    assert (value[name], "".join(value["text"])) == ("two", "abc")
