"""Anthropic's stream: whole answers taken apart and put together again, every kind of delta, odd streams, cuts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hansard import formats, streams
from hansard.formats.anthropic.stream import AnthropicDecoder
from hansard.model import Message, exact_json, native
from hansard.model.parts import DataPart, RawPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from hansard.streams.accumulator import fold
from hansard.streams.deltas import Delta, Failure, MessageEnd, MessageStart, Other, PartDelta, PartEnd, StepStart

NAME = "anthropic"
GOLDEN = Path(__file__).parent.parent.parent / "golden" / NAME
CITED = {"type": "char_location", "cited_text": "x", "document_index": 0, "start_char_index": 0, "end_char_index": 1}

EVERY_KIND: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-b",
    "content": [
        {"type": "fallback", "from": {"model": "claude-a"}, "to": {"model": "claude-b"}},
        {"type": "compaction", "content": "All of it.", "encrypted_content": "sealed"},
        {"type": "thinking", "thinking": "Hm 😀.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "Hello, wörld 😀", "citations": [CITED, {**CITED, "cited_text": "y"}]},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": [1, 2.5, {"b": "😀"}]}},
        {"type": "tool_use", "id": "t2", "name": "none", "input": {}, "caller": {"type": "direct"}},
        {"type": "server_tool_use", "id": "t3", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "t3", "content": [{"type": "web_search_result", "url": "u"}]},
        {"type": "mcp_tool_use", "id": "t4", "name": "m", "server_name": "s", "input": {"x": None}},
        {"type": "mcp_tool_result", "tool_use_id": "t4", "is_error": False, "content": [{"type": "text", "text": "r"}]},
        {"type": "container_upload", "file_id": "file_1"},
        {"type": "never_heard_of", "value": [1, {"a": None}]},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "stop_details": None,
    "container": {"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"},
    "context_management": {"applied_edits": [{"type": "clear_thinking_20251015", "cleared_input_tokens": 3}]},
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 2,
        "output_tokens": 5,
        "server_tool_use": {"web_search_requests": 1},
        "iterations": [{"type": "message", "input_tokens": 10}],
    },
}


def whole_answers() -> list[dict[str, Any]]:
    return [EVERY_KIND, exact_json.decode((GOLDEN / "response.json").read_bytes())]


_AT_THE_END = ("stop_reason", "stop_sequence", "stop_details", "container")
_GROWING = {"text": "text", "thinking": "thinking"}


def taken(body: dict[str, Any], cut: Any) -> list[dict[str, Any]]:
    """A whole answer as the events that the provider would send; `cut` cuts a text into pieces."""
    begun = {
        key: value for key, value in body.items() if key not in ("container", "stop_details", "context_management")
    }
    begun |= {"content": [], "stop_reason": None, "stop_sequence": None}
    if "usage" in body:
        begun["usage"] = {**body["usage"], "output_tokens": 1, "input_tokens": 8}
    if body["content"] and body["content"][0]["type"] == "fallback":
        begun["model"] = body["content"][0]["from"]["model"]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for i, block in enumerate(body["content"]):
        begin, deltas = opened(block, cut)
        events.append({"type": "content_block_start", "index": i, "content_block": begin})
        events += [{"type": "content_block_delta", "index": i, "delta": delta} for delta in deltas]
        events += [{"type": "content_block_stop", "index": i}, {"type": "ping"}]
    delta = {key: body[key] for key in _AT_THE_END if key in body}
    end = {"type": "message_delta", "delta": delta, "usage": body.get("usage")}
    if "context_management" in body:
        end["context_management"] = body["context_management"]
    return [*events, end, {"type": "message_stop"}]


def opened(block: dict[str, Any], cut: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """How a block begins, and the deltas that make it whole."""
    kind = block["type"]
    deltas: list[dict[str, Any]] = []
    if kind in _GROWING:
        deltas = [{"type": f"{kind}_delta", kind: piece} for piece in cut(block[kind])]
        deltas += [{"type": "citations_delta", "citation": citation} for citation in block.get("citations") or []]
        begin = {key: value for key, value in block.items() if not (key == "citations" and value)} | {kind: ""}
        if kind == "thinking" and "signature" in block:
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            begin["signature"] = ""
    elif kind.endswith("tool_use"):
        text = exact_json.pretty(block["input"]).decode() if block["input"] else ""
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *cut(text)]]
        begin = {**block, "input": {}}
    elif kind == "compaction":
        deltas = [{**block, "type": "compaction_delta"}]
        begin = {"type": kind, "content": None}
    else:
        begin = block
    return begin, deltas


def decode(events: list[dict[str, Any]]) -> list[Delta]:
    decoder = streams.decoder(NAME)
    raw = b"".join(
        b"event: " + str(event.get("type")).encode() + b"\ndata: " + exact_json.encode(event) + b"\n\n"
        for event in events
    )
    return decoder.feed(raw) + decoder.finish()


def folded(events: list[dict[str, Any]]) -> Message:
    (message,) = fold(decode(events))
    return message


def plain(messages: list[Message]) -> Any:
    return native.plain(messages)


def visible(messages: list[Message]) -> list[Any]:
    """What is said, without residue."""
    found: list[Any] = []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, TextPart | ReasoningPart):
            found.append((type(part), part.text))
        elif isinstance(part, ToolCallPart):
            found.append((type(part), part.tool_call_id, part.tool_name, part.input, part.input_text))
        elif isinstance(part, ToolResultPart):
            found.append((type(part), part.tool_call_id, part.output, part.content))
        elif isinstance(part, RawPart):
            found.append((type(part), part.value))
    return found


def live(deltas: list[Delta]) -> list[Message]:
    return fold([delta for delta in deltas if not isinstance(delta, MessageEnd)])


def cuts(data: st.DataObject) -> Any:
    """Cuts texts into pieces, also between the halves of a surrogate pair."""

    def cut(text: str) -> list[str]:
        halves = text.encode("utf-16-le", "surrogatepass")
        places = data.draw(st.lists(st.integers(0, len(halves) // 2), max_size=4).map(sorted))
        ends = [0, *[2 * place for place in places], len(halves)]
        return [halves[a:b].decode("utf-16-le", "surrogatepass") for a, b in pairwise(ends)]

    return cut


@given(data=st.data())
def test_a_whole_answer_taken_apart_is_read_as_the_format_reads_it(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(whole_answers()))
    deltas = decode(taken(body, cuts(data)))
    assert plain(fold(deltas)) == plain(formats.read(body, NAME).messages)
    assert visible(live(deltas)) == visible(fold(deltas))


def test_recorded_answers_taken_apart_are_read_as_the_format_reads_them(corpus: Path) -> None:
    for path in sorted((corpus / "provider-streams" / NAME).glob("*.json")):
        body = exact_json.decode(path.read_bytes())
        for step in (1, 3, 1000):
            events = taken(body, lambda text, step=step: [text[i : i + step] for i in range(0, len(text), step)])
            assert plain(fold(decode(events))) == plain(formats.read(body, NAME).messages), path.name


@given(data=st.data())
def test_a_cut_anywhere_keeps_every_character_and_nothing_looks_whole(data: st.DataObject) -> None:
    events = taken(EVERY_KIND, cuts(data))
    events = events[: data.draw(st.integers(1, len(events) - 1))]
    deltas = decode(events)
    (message,) = fold(deltas)
    assert message.state == "partial"
    assert not [delta for delta in deltas if isinstance(delta, Failure)]
    assert visible(live(deltas)) == visible([message])
    text = "".join(part.text for part in message.parts if isinstance(part, TextPart | ReasoningPart))
    sent = "".join(
        event["delta"].get("text") or event["delta"].get("thinking") or ""
        for event in events
        if event["type"] == "content_block_delta"
    )
    assert text.encode("utf-16-le", "surrogatepass") == sent.encode("utf-16-le", "surrogatepass")
    stopped = {event["index"] for event in events if event["type"] == "content_block_stop"}
    for i, part in enumerate(message.parts):
        if isinstance(part, ToolCallPart) and i not in stopped:
            pieces = [
                event["delta"] for event in events if event["type"] == "content_block_delta" if event["index"] == i
            ]
            said = "".join(delta["partial_json"] for delta in pieces)
            assert (part.input_text or "") == native_text(said)


def native_text(said: str) -> str:
    return said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@given(data=st.data())
def test_the_quick_way_gives_what_the_long_way_gives(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(whole_answers()))
    raw = b"".join(b"data: " + exact_json.encode(event) + b"\n\n" for event in taken(body, cuts(data)))
    slow, quick = AnthropicDecoder(), AnthropicDecoder()
    slow.grew = lambda *_: None  # type: ignore[method-assign]
    assert slow.feed(raw) + slow.finish() == quick.feed(raw) + quick.finish()


# -- odd streams ---------------------------------------------------------------------------------------------------

START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "c",
        "usage": {"input_tokens": 9, "cache_read_input_tokens": 4, "output_tokens": 1},
    },
}
STOP = {"type": "message_stop"}


def block_start(block: Any = None, index: Any = 0) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block or {"type": "text", "text": ""}}


def block_delta(delta: dict[str, Any], index: Any = 0) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def text(words: str, index: Any = 0) -> dict[str, Any]:
    return block_delta({"type": "text_delta", "text": words}, index)


def json(words: str, index: Any = 0) -> dict[str, Any]:
    return block_delta({"type": "input_json_delta", "partial_json": words}, index)


def block_stop(index: Any = 0) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


CALL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}


def test_the_start_names_the_model_and_counts_are_overwritten_null_keeps() -> None:
    usage = {"output_tokens": 7, "input_tokens": None, "cache_read_input_tokens": None}
    deltas = decode([START, {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": usage}, STOP])
    assert isinstance(deltas[0], MessageStart)
    assert deltas[0].model.name == "c"
    (message,) = fold(deltas)
    assert (message.usage.output_tokens, message.usage.cache_read_tokens) == (7, 4)  # type: ignore[union-attr]
    assert message.finish_reason == "length"
    again = {"type": "message_delta", "delta": {"stop_reason": None}, "usage": None}
    assert folded([START, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, again, STOP]).finish_reason


def test_an_answer_of_the_fallback_is_named_after_who_gave_it() -> None:
    block = {"type": "fallback", "from": {"model": "c"}, "to": {"model": "d"}}
    assert folded([START, block_start(block), block_stop(), STOP]).model.name == "d"


def test_container_and_context_management_are_kept() -> None:
    ending = {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "container": {"id": "k"}},
        "context_management": {"applied_edits": []},
        "input_transformations": [{"type": "thinking_dropped"}],
    }
    extra = folded([START, ending, STOP]).extra[NAME]  # type: ignore[index]
    assert extra["container"] == {"id": "k"}
    assert extra["context_management"] == {"applied_edits": []}
    assert extra["input_transformations"] == [{"type": "thinking_dropped"}]


def test_a_ping_is_nothing_and_an_error_a_failure() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    deltas = decode([START, {"type": "ping"}, block_start(), text("Hi"), error])
    assert [delta.text for delta in deltas if isinstance(delta, Failure)] == ["Overloaded"]
    (message,) = fold(deltas)
    assert message.state == "partial"
    assert [type(part) for part in message.parts] == [TextPart, DataPart]
    bare = decode([{"error": {"message": "Bad key"}}])
    assert [delta.text for delta in bare if isinstance(delta, Failure)] == ["Bad key"]


def test_a_message_said_twice_is_one() -> None:
    deltas = decode([START, START, block_start(), text("Hi"), block_stop(), STOP])
    assert visible(fold(deltas)) == [(TextPart, "Hi")]
    assert not [delta for delta in deltas if isinstance(delta, Failure | StepStart)]


def test_a_message_that_begins_inside_another_is_a_failure_and_both_stay() -> None:
    second = {**START, "message": {**START["message"], "id": "m2"}}
    deltas = decode([START, block_start(CALL), json('{"a'), second, block_start(), text("two"), block_stop(), STOP])
    first, last = fold(deltas)
    assert (first.state, last.state) == ("partial", "partial")
    (call,) = first.parts
    assert isinstance(call, ToolCallPart)
    assert call.input_text == '{"a'
    assert visible([last]) == [(TextPart, "two")]
    assert [delta.text for delta in deltas if isinstance(delta, Failure)]


def test_several_messages_are_several_with_keys_of_their_own() -> None:
    one = [START, block_start(), text("one"), block_stop(), STOP]
    deltas = decode([*one, *one])
    assert visible(fold(deltas)) == [(TextPart, "one"), (TextPart, "one")]
    keys = [delta.key for delta in deltas if isinstance(delta, PartEnd)]
    assert len(keys) == len(set(keys)) == 2


def test_calls_that_the_message_begins_with_are_kept() -> None:
    call = {**CALL, "input": {"player": 1}}
    begun = {**START, "message": {**START["message"], "content": [call]}}
    deltas = decode([begun, STOP])
    assert visible(fold(deltas)) == visible(live(deltas))
    assert fold(deltas)[0].parts[0].input == {"player": 1}  # type: ignore[union-attr]


def test_an_input_that_came_whole_stays_and_one_of_no_pieces_is_empty() -> None:
    whole = folded([START, block_start({**CALL, "input": {"a": 1}}), block_stop(), STOP]).parts[0]
    assert isinstance(whole, ToolCallPart)
    assert whole.input == {"a": 1}
    none = folded([START, block_start(CALL), json(""), block_stop(), STOP]).parts[0]
    assert isinstance(none, ToolCallPart)
    assert none.input == {}
    cut = folded([START, block_start(CALL)]).parts[0]
    assert isinstance(cut, ToolCallPart)
    assert cut.input is UNSET, "nothing was said of it yet"


def test_json_cut_by_the_limit_keeps_its_text() -> None:
    deltas = decode([START, block_start(CALL), json('{"a": [1, 2, "tex'), block_stop(), STOP])
    (part,) = fold(deltas)[0].parts
    assert isinstance(part, ToolCallPart)
    assert part.input_text == '{"a": [1, 2, "tex'
    assert visible(live(deltas)) == visible(fold(deltas))


def test_halves_of_a_surrogate_pair_meet_and_a_lone_one_stays() -> None:
    message = folded([START, block_start(), text("a\ud83d"), text("\ude00b\ud83d"), block_stop(), STOP])
    assert visible([message]) == [(TextPart, "a😀b\ud83d")]


def test_an_index_without_a_block_or_no_index_at_all_loses_nothing() -> None:
    events = [text("He", 4), text("llo", 4), block_delta({"type": "thinking_delta", "thinking": "hm"}, 5), json("{", 6)]
    deltas = decode([START, *events])
    assert visible(fold(deltas)) == [
        (TextPart, "Hello"),
        (ReasoningPart, "hm"),
        (RawPart, {"type": "tool_use", "partial_json": "{"}),
    ]
    assert visible(live(deltas)) == visible(fold(deltas))
    assert visible(fold(decode([START, block_start(index=None), text("Hi", None), block_stop(None), STOP]))) == [
        (TextPart, "Hi")
    ]
    assert visible(fold(decode([text("Hi")]))) == [(TextPart, "Hi")], "and no message either"


def test_the_same_index_again_is_another_block() -> None:
    other = {**CALL, "id": "t2"}
    message = folded([START, block_start(CALL), json("{}"), block_start(other), json('{"a":1}'), block_stop(), STOP])
    assert [part.input for part in message.parts if isinstance(part, ToolCallPart)] == [{}, {"a": 1}]


def test_unknown_blocks_grow_and_unknown_deltas_are_kept_aside() -> None:
    block = {"type": "poem", "text": "Ro"}
    strange = {"type": "rhyme_delta", "rhyme": "x"}
    deltas = decode([START, block_start(block), text("ses"), block_delta(strange), text(" are red")])
    assert visible(fold(deltas)) == visible(live(deltas)) == [(RawPart, {"type": "poem", "text": "Roses are red"})]
    assert [delta.value["delta"] for delta in deltas if isinstance(delta, Other)] == [strange]


def test_a_delta_that_was_given_out_never_changes() -> None:
    deltas = decode([START, block_start({"type": "compaction", "content": None}), STOP])
    before = exact_json.encode(native.plain(fold(deltas)))
    decoder = streams.decoder(NAME)
    begun = decoder.feed_event(START) + decoder.feed_event(block_start({"type": "compaction", "content": None}))
    kept = [repr(delta) for delta in begun]
    decoder.feed_event(block_delta({"type": "compaction_delta", "content": "all", "encrypted_content": "s"}))
    decoder.finish()
    assert [repr(delta) for delta in begun] == kept
    assert b"all" not in before


def test_a_message_that_stops_ends_its_blocks() -> None:
    deltas = decode([START, block_start(CALL), json('{"a": 1}'), STOP])
    assert visible(fold(deltas)) == visible(live(deltas))
    (part,) = fold(deltas)[0].parts
    assert isinstance(part, ToolCallPart)
    assert part.input == {"a": 1}


@given(
    st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(sorted(AnthropicDecoder()._handlers))},
            optional={
                "index": st.one_of(st.none(), st.integers(-1, 2), st.just("x"), st.just([])),
                "message": st.one_of(st.none(), st.just(START["message"]), st.just({"content": "x"}), st.just([])),
                "content_block": st.sampled_from([None, CALL, {"type": "text"}, {}, {"type": [], "text": 5}]),
                "delta": st.sampled_from(
                    [
                        *(None, {}, {"type": []}, {"type": "text_delta", "text": "x"}, {"type": "text_delta"}),
                        *({"type": "citations_delta"}, {"type": "signature_delta", "signature": 5}),
                        *({"type": "input_json_delta", "partial_json": "{"}, {"stop_reason": 5, "content": 5}),
                    ]
                ),
                "usage": st.sampled_from([None, {}, {"output_tokens": "x"}, [1]]),
                "error": st.sampled_from([None, "x", {}, {"message": 5}]),
            },
        ),
        max_size=8,
    )
)
def test_nothing_raises_whatever_the_events_say(events: list[dict[str, Any]]) -> None:
    deltas = decode(events)
    fold(deltas)
    live(deltas)


# -- recorded streams ----------------------------------------------------------------------------------------------


def recorded(corpus: Path) -> list[tuple[str, list[dict[str, Any]]]]:
    paths = sorted((corpus / "provider-streams" / NAME).glob("*.chunks.txt"))
    return [
        (path.name.removesuffix(".chunks.txt"), [exact_json.decode(line) for line in path.read_bytes().splitlines()])
        for path in paths
    ]


def test_recorded_streams_cut_after_every_event_keep_what_was_given_out(corpus: Path) -> None:
    for name, events in recorded(corpus):
        for cut in range(1, len(events)):
            deltas = decode(events[:cut])
            assert visible(live(deltas)) == visible(fold(deltas)), (name, cut)


def test_recorded_streams_say_what_the_ai_sdk_makes_of_them(corpus: Path) -> None:
    compared = 0
    for name, events in recorded(corpus):
        for made in sorted((corpus / "ai-sdk" / "provider").glob(f"{NAME}.{name}.v*.json")):
            chunks = exact_json.decode(made.read_bytes()).get("fullStream")
            end = len(events)
            if name == "spliced-message-start":  # the AI SDK throws what comes after the second start away
                end = [event["type"] for event in events].index("message_start", 1)
            deltas = decode(events[:end])
            assert ours(fold(deltas)) == theirs(chunks), made.name
            raw = exact_json.encode(plain(fold(deltas))).decode()
            found = [chunk["url"] for chunk in chunks if chunk["type"] == "source" and "url" in chunk]
            assert [url for url in found if url not in raw] == []
            compared += 1
    assert compared >= 18


def ours(messages: list[Message]) -> dict[str, Any]:
    parts = [part for message in messages for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    results = [part for part in parts if isinstance(part, ToolResultPart)]
    return {
        "texts": [part.text for part in parts if isinstance(part, TextPart)],
        "reasoning": [(part.text, part.signature) for part in parts if isinstance(part, ReasoningPart)],
        "calls": [part.tool_call_id for part in calls if part.input or part.input == {}],
        "results": [part.tool_call_id for part in results],
    }


def theirs(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    texts: list[str] = []
    reasoning: list[Any] = []
    for chunk in chunks:
        if chunk["type"] == "text-start":
            texts.append("")
        elif chunk["type"] == "text-delta":
            texts[-1] += chunk["text"]
        elif chunk["type"] == "reasoning-start":
            reasoning.append(("", None))
        elif chunk["type"] == "reasoning-delta":
            said = chunk.get("providerMetadata", {}).get("anthropic", {}).get("signature", reasoning[-1][1])
            reasoning[-1] = (reasoning[-1][0] + chunk["text"], said)
    calls = [chunk for chunk in chunks if chunk["type"] == "tool-call"]
    results = [chunk for chunk in chunks if chunk["type"] in ("tool-result", "tool-error")]
    return {
        "texts": texts,
        "reasoning": reasoning,
        "calls": [chunk["toolCallId"] for chunk in calls],
        "results": [chunk["toolCallId"] for chunk in results if chunk.get("providerExecuted")],
    }


def test_pieces_of_text_are_given_out_as_they_come() -> None:
    deltas = decode([START, block_start(), text("a"), text("b"), block_stop(), STOP])
    assert [delta.text for delta in deltas if isinstance(delta, PartDelta)] == ["a", "b"]
