"""Gemini streams: whole answers cut into chunks and folded again, partial arguments, framings, cuts and errors."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hansard import formats
from hansard.formats.gemini.reasoning import DUMMY
from hansard.formats.gemini.stream.decoder import GeminiDecoder
from hansard.formats.gemini.stream.partial_args import Arguments
from hansard.formats.residue import unpack
from hansard.model import Message, ModelRef, exact_json, native
from hansard.model.parts import DataPart, FilePart, RawPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from hansard.streams.accumulator import fold
from hansard.streams.deltas import End, Failure, MessageDelta, MessageStart, Other, PartDelta, PartEnd, PartStart
from hansard.streams.json_array import ArrayReader
from tests.conftest import CORPUS, GOLDEN
from tests.streams.live import FRAMES, cut, decode, decode_with, framed, shown, shown_live

NAME = "gemini"


class SlowDecoder(GeminiDecoder):
    """Learns no pattern: the handlers take every chunk."""

    def grew(self, *_: Any, **__: Any) -> None:
        """Learn nothing."""


def chunk(*parts: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [{**candidate, **more}], "modelVersion": "g", "responseId": "r"}


def said(*events: Any) -> Message:
    """The one message of a stream; patterns and handlers agree, live and at the end, in every framing."""
    deltas = decode(NAME, framed(list(events)))
    (message,) = fold(deltas)
    assert shown_live(deltas) == shown([message])
    assert deltas == decode_with(SlowDecoder(), framed(list(events)))
    for how in FRAMES:
        assert decode(NAME, framed(list(events), how)) == deltas
    return message


def words(message: Message, kind: type = TextPart) -> list[str]:
    parts: list[Any] = [part for part in message.parts if type(part) is kind]
    return [part.text for part in parts]


def calls(message: Message) -> list[tuple[Any, Any]]:
    return [(part.tool_name, part.input) for part in message.parts if type(part) is ToolCallPart]


def partial(path: str | None = None, value: str | None = None, going: bool = True, **fields: Any) -> dict[str, Any]:
    """A part with a piece of a call."""
    held: dict[str, Any] = dict(fields)
    if path is not None:
        held["partialArgs"] = [{"jsonPath": path, "stringValue": value, "willContinue": True}]
    if going:
        held["willContinue"] = True
    return {"functionCall": held}


# -- a whole answer, streamed ----------------------------------------------------------------------------------------


def wholes() -> list[dict[str, Any]]:
    """Every answer in the goldens and the corpus: responses, and what models say in requests."""
    folders = [GOLDEN / NAME]
    if CORPUS:
        folders += [CORPUS / "provider-streams" / "google", CORPUS / "provider-conversations"]
    found: list[dict[str, Any]] = []
    for path in sorted(path for folder in folders for path in folder.glob("*.json")):
        document = json.loads(path.read_text())
        document = document.get("request", document) if type(document) is dict else document
        if formats.get(NAME).sniff(document) < 3:
            continue
        if type(document) is dict and "contents" not in document:
            found.append(document)
            continue
        for record in document if type(document) is list else document["contents"]:
            if type(record) is dict and record.get("role") == "model" and record.get("parts"):
                candidate = {"content": record, "finishReason": "STOP", "index": 0}
                found.append({"candidates": [candidate], "modelVersion": "g", "usageMetadata": {"promptTokenCount": 3}})
    return [whole for whole in found if all(map(is_plain, whole.get("candidates", [])))]


def is_plain(candidate: dict[str, Any]) -> bool:
    """Can a stream say it? Two texts in a row would be one, and an empty one none."""
    blocks = candidate.get("content", {}).get("parts", [])
    kinds = [unsigned_text(block) for block in blocks]
    return all(a is None or a != b for a, b in pairwise(kinds)) and {"text": ""} not in blocks


def unsigned_text(block: Any) -> Any:
    if type(block) is not dict or type(block.get("text")) is not str:
        return None
    about = {key: value for key, value in block.items() if key != "text"}
    return about if all(value is None or key == "thought" for key, value in about.items()) else None


def streamed(data: st.DataObject, whole: dict[str, Any]) -> list[Any]:
    """The answer as chunks."""
    head = {key: value for key, value in whole.items() if key not in ("candidates", "usageMetadata")}
    usage = {"usageMetadata": whole["usageMetadata"]} if "usageMetadata" in whole else {}
    lines: list[list[Any]] = []
    for candidate in whole.get("candidates", []):
        index = {"index": candidate["index"]} if "index" in candidate else {}
        pieces: list[Any] = []
        if "content" in candidate:
            content = {key: value for key, value in candidate["content"].items() if key != "parts"}
            blocks = candidate["content"].get("parts")
            pieces = [[block] for block in blocks_of(data, blocks or [])] or [blocks]
            pieces = [
                {**index, "content": {**content, **({"parts": parts} if parts is not None else {})}} for parts in pieces
            ]
        about = {key: value for key, value in candidate.items() if key != "content"}
        lines.append([*pieces, about])
    events: list[Any] = []
    while any(lines):
        line = data.draw(st.sampled_from([line for line in lines if line]))
        counting: bool = data.draw(st.booleans())
        counted = {"usageMetadata": {"totalTokenCount": len(events)}} if usage and counting else {}
        events.append({"candidates": [line.pop(0)], **counted, **head})
    return [*events, {**head, **usage}] if usage or not events else events


def blocks_of(data: st.DataObject, blocks: list[Any]) -> list[Any]:
    out: list[Any] = []
    for block in blocks:
        args = block.get("functionCall", {}).get("args") if type(block) is dict else None
        if unsigned_text(block) is not None:
            out += [{**block, "text": piece} for piece in cut(data, block["text"])]
        elif type(args) is dict and is_sayable(args) and data.draw(st.booleans()):
            held = {key: value for key, value in block["functionCall"].items() if key != "args"}
            out.append({**block, "functionCall": {**held, "willContinue": True}})
            for piece in leaves(data, "$", args):
                out.append({"functionCall": {"partialArgs": [piece], "willContinue": True}})
            out.append({"functionCall": {}})
        else:
            out.append(block)
    return out


def is_sayable(value: Any) -> bool:
    """Has it nothing but names and plain values, and no empty object or list?"""
    if type(value) is dict:
        return bool(value) and all(key and is_sayable(item) for key, item in value.items())
    return bool(value) and all(map(is_sayable, value)) if type(value) is list else True


def leaves(data: st.DataObject, path: str, value: Any) -> list[dict[str, Any]]:
    if type(value) is dict:
        steps = [(f".{key}" if key.isidentifier() else f"[{json.dumps(key)}]", item) for key, item in value.items()]
        return [leaf for step, item in steps for leaf in leaves(data, path + step, item)]
    if type(value) is list:
        return [leaf for i, item in enumerate(value) for leaf in leaves(data, f"{path}[{i}]", item)]
    if type(value) is str:
        pieces = [{"jsonPath": path, "stringValue": piece, "willContinue": True} for piece in cut(data, value)]
        return [*pieces, {"jsonPath": path, "stringValue": ""}]
    if value is None:
        return [{"jsonPath": path, "nullValue": "NULL_VALUE"}]
    return [{"jsonPath": path, "boolValue" if type(value) is bool else "numberValue": value}]


WHOLES = wholes()


@given(data=st.data())
def test_a_whole_answer_streamed_in_any_pieces_is_read_as_the_whole_answer_is(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from(WHOLES))
    raw = framed(streamed(data, whole), data.draw(st.sampled_from(FRAMES)))
    decoder = GeminiDecoder()
    deltas = decode_with(decoder, *cut(data, raw))
    assert decoder.body() == whole
    assert native.plain(fold(deltas)) == native.plain(formats.read(whole, NAME).messages)
    assert shown_live(deltas) == shown(fold(deltas))
    assert deltas == decode_with(SlowDecoder(), raw)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=4), inner, min_size=1)
    ),
    max_leaves=8,
)


@given(data=st.data(), args=st.dictionaries(st.text(min_size=1, max_size=4), json_values, min_size=1, max_size=3))
def test_arguments_in_pieces_are_the_arguments(data: st.DataObject, args: dict[str, Any]) -> None:
    arguments = Arguments()
    written = "".join(arguments.take(piece) for piece in leaves(data, "$", args)) + arguments.end()
    assert arguments.unknown == []
    assert exact_json.same(arguments.value(), args)
    assert exact_json.same(json.loads(written), args)
    assert written == arguments.json()


def test_there_are_enough_whole_answers() -> None:
    assert len(WHOLES) >= 10


def test_a_whole_answer_that_was_not_streamed_is_read_too() -> None:
    for whole in WHOLES:
        for raw in (json.dumps(whole).encode(), json.dumps(whole, indent=2).encode(), framed([whole])):
            assert native.plain(fold(decode(NAME, raw))) == native.plain(formats.read(whole, NAME).messages)


def test_patterns_and_handlers_agree_on_every_recorded_stream(corpus: Path) -> None:
    for path in sorted((corpus / "provider-streams" / "google").glob("*.txt")):
        events = [json.loads(line) for line in path.read_bytes().splitlines()]
        for how in FRAMES:
            assert decode(NAME, framed(events, how)) == decode_with(SlowDecoder(), path.read_bytes())


def test_the_ai_sdk_sees_the_same_text_reasoning_and_calls(corpus: Path) -> None:
    seen = 0
    for path in sorted((corpus / "ai-sdk" / "provider").glob("google.*.json")):
        theirs = json.loads(path.read_text())["uiMessage"]["parts"]
        recorded = corpus / "provider-streams" / "google" / f"{path.name.split('.')[1]}.chunks.txt"
        (message,) = fold(decode(NAME, recorded.read_bytes()))
        for kind, name in ((TextPart, "text"), (ReasoningPart, "reasoning")):
            assert "".join(words(message, kind)) == "".join(part["text"] for part in theirs if part["type"] == name)
        tools = [part for part in theirs if part["type"].startswith("tool-")]
        assert calls(message) == [(part["type"].removeprefix("tool-"), part["input"]) for part in tools]
        seen += 1
    assert seen


# -- parts -----------------------------------------------------------------------------------------------------------


def test_text_is_emitted_as_it_arrives() -> None:
    decoder = GeminiDecoder()
    kinds = [type(delta) for delta in decoder.feed(framed([chunk({"text": "Hel"}), chunk({"text": "lo"})]))]
    assert kinds == [MessageStart, PartStart, PartDelta, PartDelta]
    assert [type(delta) for delta in decoder.feed(framed([chunk({"text": ""}, finish="STOP")]))] == [MessageDelta]
    assert type(decoder.finish()[0]) is PartEnd


def test_who_answers_is_known_with_the_first_event() -> None:
    """An answer that is cut off, or that somebody follows, still says which model gave it, and its response id."""
    start, *_ = GeminiDecoder().feed(framed([chunk({"text": "Hel"})]))
    assert isinstance(start, MessageStart)
    assert start.model == ModelRef(provider="google", name="g", response_id="r")
    (message,) = fold([start])
    assert message.model == start.model


def test_texts_of_one_kind_that_follow_one_another_are_one() -> None:
    message = said(
        chunk({"text": "Hm", "thought": True}),
        chunk({"text": ", well", "thought": True}, {"text": "Yes"}),
        chunk({"text": "."}, {"text": " So"}),
        chunk({"text": "", "thought": True}),
        chunk({"text": "Hm again", "thought": True}),
        chunk({"text": ""}, finish="STOP"),
    )
    assert [part.text for part in message.parts if isinstance(part, TextPart | ReasoningPart)] == [
        "Hm, well",
        "Yes. So",
        "Hm again",
    ]


def test_a_signature_stays_with_its_own_part() -> None:
    message = said(
        chunk({"text": "One"}),
        chunk({"text": " two", "thoughtSignature": "c2ln"}),
        chunk({"text": "Three"}),
        chunk({"text": "", "thoughtSignature": "bGFzdA=="}, finish="STOP"),
    )
    parts = [(part.text, part.signature) for part in message.parts if isinstance(part, TextPart)]
    assert parts == [("One", UNSET), (" two", "c2ln"), ("Three", UNSET), ("", "bGFzdA==")]


def test_calls_that_come_each_in_their_own_chunk_are_calls_of_their_own() -> None:
    one = {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": DUMMY}
    message = said(
        chunk(one), chunk({"functionCall": {"name": "f", "args": {"a": 2}}}), chunk({"text": ""}, finish="STOP")
    )
    assert calls(message) == [("f", {"a": 1}), ("f", {"a": 2})]


def test_a_streamed_call_continues_until_an_event_ends_it() -> None:
    message = said(
        chunk(partial(name="f", id="c1")),
        chunk(partial("$.where.city", "Bos")),
        chunk(partial("$.where.city", 't"on')),
        chunk(partial("$.where.city", "")),
        chunk({"functionCall": {"partialArgs": [{"jsonPath": "$.days[0]", "numberValue": 1}], "willContinue": True}}),
        chunk({"functionCall": {"partialArgs": [{"jsonPath": "$.days[1]", "numberValue": 2.5}]}}),
        chunk(partial(name="g")),
        chunk({"functionCall": {}}, finish="STOP"),
    )
    assert calls(message) == [("f", {"where": {"city": 'Bost"on'}, "days": [1, 2.5]}), ("g", {})]


def test_the_arguments_are_json_text_while_they_come() -> None:
    deltas = decode(
        NAME,
        framed(
            [
                chunk(partial(name="f")),
                chunk(partial("$.a.b", "x")),
                chunk(partial("$.a.b", "y")),
                chunk(partial("$.a.c", "z")),
            ]
        ),
    )
    assert [delta.text for delta in deltas if isinstance(delta, PartDelta)] == ['{"a":{"b":"x', "y", '","c":"z']
    (part,) = fold(deltas)[0].parts
    assert isinstance(part, ToolCallPart)
    assert (part.input, part.input_text) == (UNSET, '{"a":{"b":"xy","c":"z')
    assert shown_live(deltas) == shown(fold(deltas))


def test_calls_side_by_side_are_told_apart_by_id() -> None:
    message = said(
        chunk(partial(name="f", id="a"), partial(name="g", id="b")),
        chunk(partial("$.x", "1", id="a"), partial("$.x", "2", id="b")),
        chunk(partial(id="a", going=False), partial(id="b", going=False), finish="STOP"),
    )
    assert calls(message) == [("f", {"x": "1"}), ("g", {"x": "2"})]


def test_values_out_of_order_are_right_in_the_data() -> None:
    message = said(
        chunk(partial(name="f")),
        chunk(partial("$.a.x", "1")),
        chunk(partial("$.b", "2")),
        chunk(partial("$.a.y", "3")),
        chunk(partial("$.b", "4")),
        chunk({"functionCall": {}}, finish="STOP"),
    )
    assert calls(message) == [("f", {"a": {"x": "1", "y": "3"}, "b": "24"})]
    arguments = Arguments()
    pieces = [{"jsonPath": path, "stringValue": "1"} for path in ("$.a.x", "$.b", "$.a.y", "$.c")]
    assert [arguments.take(piece) for piece in pieces] == ['{"a":{"x":"1', '"},"b":"1', "", ""]


NOWHERE = ["", "$", "a", "$[0]", "$.a[7]", "$.a.b.c", "$..a", "$.a[999999999]", "$.a[", 7, None]


@pytest.mark.parametrize("path", [*NOWHERE, pytest.param(f"$.a[{'9' * 5000}]", id="digits")])
def test_a_path_that_leads_nowhere_is_kept_as_it_came(path: Any) -> None:
    odd = {"jsonPath": path, "stringValue": "x"}
    message = said(
        chunk(partial(name="f")),
        chunk(partial("$.a.b", "1")),
        chunk({"functionCall": {"partialArgs": [odd], "willContinue": True}}),
        chunk({"functionCall": {}}, finish="STOP"),
    )
    (part,) = message.parts
    assert isinstance(part, ToolCallPart)
    assert (part.input, unpack(NAME, part.extra)[0]["functionCall"]["partialArgs"]) == ({"a": {"b": "1"}}, [odd])


def test_code_files_and_unknown_parts_are_whole() -> None:
    message = said(
        chunk({"executableCode": {"language": "PYTHON", "code": "1"}}),
        chunk({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
        chunk({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
        chunk({"hologram": {"x": 1}}),
        chunk({"text": "x", "partMetadata": {"a": 1}}, {"text": "y"}, finish="STOP"),
    )
    kinds = [type(part) for part in message.parts]
    assert kinds == [ToolCallPart, ToolResultPart, FilePart, RawPart, TextPart, TextPart]


def test_the_spelling_of_the_sdk_is_read() -> None:
    parts: list[Any] = [
        {"text": "a", "thought": None, "function_call": None},
        {"text": "b", "thought": None, "function_call": None},
        {"function_call": {"name": "f", "will_continue": True}},
        {"function_call": {"partial_args": [{"json_path": "$.a", "string_value": "x"}]}},
    ]
    events: list[Any] = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
    events[0]["model_version"] = "g"
    events[3]["candidates"][0]["finish_reason"] = "STOP"
    events[3]["usage_metadata"] = {"prompt_token_count": 3}
    decoder = GeminiDecoder()
    deltas = [delta for event in events for delta in decoder.feed_event(event)] + decoder.finish()
    (message,) = fold(deltas)
    assert (words(message), calls(message), message.finish_reason) == (["ab"], [("f", {"a": "x"})], "stop")
    assert message.usage is not UNSET
    assert message.usage.input_tokens == 3


# -- around the parts ------------------------------------------------------------------------------------------------


def test_the_last_usage_holds_and_outlives_a_trailing_chunk() -> None:
    counted = [{**chunk({"text": "x"}), "usageMetadata": {"totalTokenCount": i}} for i in range(1, 6)]
    message = said(*counted, chunk({"text": ""}, finish="STOP"))
    assert message.usage is not UNSET
    assert (message.usage.total_tokens, words(message)) == (5, ["xxxxx"])


def test_grounding_is_put_together() -> None:
    decoder = GeminiDecoder()
    first, second = {"web": {"uri": "a"}}, {"web": {"uri": "b"}}
    events = [
        chunk({"text": "x"}, groundingMetadata={"webSearchQueries": ["q"], "groundingChunks": [first]}),
        chunk({"text": "y"}, groundingMetadata={"groundingChunks": [second]}),
        chunk({"text": "z"}, groundingMetadata={"groundingChunks": [first, second]}, finish="STOP"),
    ]
    decode_with(decoder, framed(events))
    assert decoder.body()["candidates"][0]["groundingMetadata"] == {
        "webSearchQueries": ["q"],
        "groundingChunks": [first, second],
    }


def test_other_candidates_are_kept_apart() -> None:
    decoder = GeminiDecoder()
    other = {"content": {"parts": [{"text": "B"}], "role": "model"}, "index": 1}
    deltas = decode_with(
        decoder, framed([chunk({"text": "A"}), {"candidates": [other]}, chunk({"text": "!"}, finish="STOP")])
    )
    assert words(fold(deltas)[0]) == ["A!"]
    assert Other(format=NAME, value=other) in deltas
    assert decoder.body()["candidates"][1]["content"]["parts"] == [{"text": "B"}]


def test_another_id_after_an_end_is_another_answer() -> None:
    two = [
        {**chunk({"text": text}, finish=reason), "responseId": "r2"} for text, reason in (("y", None), ("z", "STOP"))
    ]
    deltas = decode(NAME, framed([chunk({"text": "x"}, finish="STOP"), *two]))
    assert [words(message) for message in fold(deltas)] == [["x"], ["yz"]]
    assert shown_live(deltas) == shown(fold(deltas))
    assert deltas[-1] == End(how="done")


def test_answers_whose_events_are_mixed_are_told_apart_and_named() -> None:
    said = ["a1", "a2", "b1", "a3", "b2"]
    deltas = decode(NAME, framed([{**chunk({"text": word}), "responseId": word[0]} for word in said]))
    assert [words(message) for message in fold(deltas)] == [["a1a2a3"], ["b1b2"]]
    assert [delta.text for delta in deltas if type(delta) is Failure] == [
        "another answer started before the last one ended"
    ]
    assert [message.state for message in fold(deltas)] == ["partial", "partial"]


def test_a_blocked_prompt_is_an_end() -> None:
    deltas = decode(
        NAME, framed([{"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 1}}])
    )
    (message,) = fold(deltas)
    assert (deltas[-1], message.parts) == (End(how="done"), [])


@pytest.mark.parametrize("how", FRAMES)
def test_an_error_is_a_failure_and_the_text_is_kept(how: str) -> None:
    error = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    deltas = decode(NAME, framed([chunk({"text": "Hel"}), error], how))
    (message,) = fold(deltas)
    assert [delta.text for delta in deltas if isinstance(delta, Failure)] == ["overloaded"]
    assert (message.state, words(message), message.parts[-1]) == (
        "partial",
        ["Hel"],
        DataPart(name="error", data="overloaded"),
    )


def test_an_error_on_many_lines_is_one_failure() -> None:
    raw = json.dumps({"error": {"code": 400, "message": "bad key"}}, indent=2).encode()
    for body in (raw, b"[" + raw + b"]"):
        deltas = decode(NAME, *[body[i : i + 1] for i in range(len(body))])
        assert [delta.text for delta in deltas if isinstance(delta, Failure)] == ["bad key"]


def test_a_usage_that_names_a_key_twice_costs_only_the_first_of_the_two() -> None:
    often = exact_json.encode({**chunk({"text": "a"}), "usageMetadata": {"promptTokenCount": 1}})
    twice = often.replace(b'{"promptTokenCount":1}', b'{"promptTokenCount":1,"promptTokenCount":2}')
    assert twice != often
    last = exact_json.encode(chunk({"text": "z"}, finish="STOP"))
    decoder = GeminiDecoder()
    deltas = [delta for line in (*[often] * 4, twice, last) for delta in decoder.feed(line + b"\n")]
    (message,) = fold([*deltas, *decoder.finish()])
    assert (words(message), message.finish_reason) == (["aaaaaz"], "stop")
    assert message.usage is not UNSET
    assert message.usage.input_tokens == 2
    assert message.parts[-1] == DataPart(name="error", data="the last usage has a duplicate key")


def test_chunks_of_strange_shapes_never_raise() -> None:
    shapes: list[Any] = []
    for odd in (None, 1, "x", [], {}, [1], {"a": 1}):
        shapes += [
            odd,
            [odd],
            {"candidates": odd},
            {"candidates": [odd]},
            {"candidates": [{"content": odd}]},
            {"usageMetadata": odd},
        ]
        shapes += [
            {"error": odd, "candidates": []},
            {"promptFeedback": odd},
            {"candidates": [{"content": {"parts": odd}}]},
        ]
        for key in ("text", "thought", "functionCall", "thoughtSignature", "inlineData", "executableCode"):
            shapes += [chunk({key: odd}), chunk({"text": "t", key: odd}), chunk(odd)]
        for key in ("name", "id", "args", "partialArgs", "willContinue"):
            shapes += [
                chunk({"functionCall": {key: odd}}),
                chunk({"functionCall": {"name": "f", "willContinue": True, key: odd}}),
            ]
            shapes.append(chunk({"functionCall": {"partialArgs": [odd, {"jsonPath": "$.a", "stringValue": odd}]}}))
        shapes += [chunk(finishReason=odd), chunk(groundingMetadata=odd), chunk(index=odd)]
    for shape in shapes:
        decode(NAME, framed([shape]))
    rng = random.Random(7)
    for _ in range(300):
        picked = [rng.choice(shapes) for _ in range(6)]
        raw = framed([chunk({"text": "good"}), *picked, chunk({"text": " words"}, finish="STOP")], rng.choice(FRAMES))
        assert "good" in json.dumps(native.plain(fold(decode(NAME, raw))))


# -- the array -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["array", "pretty array", "one line"])
def test_an_array_is_read_in_any_cut(how: str) -> None:
    events = [
        chunk({"text": 'a"]}\\'}),
        chunk({"text": "é\n"}),
        chunk({"functionCall": {"name": "f", "args": {"a": [{}]}}}, finish="STOP"),
    ]
    raw = b"[" + b",".join(map(exact_json.encode, events)) + b"]" if how == "one line" else framed(events, how)
    once = decode(NAME, raw)
    assert words(fold(once)[0]) == ['a"]}\\é\n']
    assert once == decode(NAME, *[raw[i : i + 1] for i in range(len(raw))])
    for place in range(len(raw)):
        assert decode(NAME, raw[:place], raw[place:]) == once
        fold(decode(NAME, raw[:place]))


def test_items_come_as_soon_as_they_are_whole() -> None:
    reader = ArrayReader()
    assert [event.data for event in reader.feed(b'[{"a": 1},\n{"b"')] == [b'{"a": 1}']
    assert [event.data for event in reader.feed(b': "}"}, [2], {')] == [b'{"b": "}"}', b"[2]"]
    assert [event.data for event in reader.finish()] == [b"{"]


def test_a_stream_cut_at_any_byte_keeps_what_came() -> None:
    events = [
        chunk({"text": "Héllo"}),
        chunk({"text": " you"}),
        chunk(partial(name="f")),
        chunk(partial("$.a", "x")),
        chunk({"functionCall": {}}, finish="STOP"),
    ]
    for how in ("sse", "array"):
        raw, longest = framed(events, how), 0
        for end in range(len(raw)):
            deltas = decode(NAME, raw[:end])
            grown = "".join(delta.text for delta in deltas if isinstance(delta, PartDelta))
            assert len(grown) >= longest
            longest = len(grown)
            for message in fold(deltas):
                assert message.state == "partial" or deltas[-1] == End(how="done")
            assert shown_live(deltas) == shown(fold(deltas))
        assert longest == len('Héllo you{"a":"x"}')
