"""Streams that something went wrong with: the good part is kept, what went wrong is named, in any cut of the bytes."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from hansard import streams
from hansard.formats.anthropic.stream import AnthropicDecoder
from hansard.model import Message, exact_json
from hansard.streams.accumulator import fold
from hansard.streams.deltas import End, Failure, Other
from tests.laws.test_stream_repeats import STREAMS
from tests.laws.test_streams import decode, plain

DEEP = b"[" * 100_000 + b"]" * 100_000
GOOD = {
    name: [json.dumps(event).encode() for event in make(["Hello", " world", "!"])] for name, make in STREAMS.items()
}


def sse(payloads: list[bytes]) -> bytes:
    return b"".join(b"data: " + payload + b"\n\n" for payload in payloads)


# What stands between two events, and what is said of it: nothing where it does no harm.
BETWEEN: dict[str, tuple[bytes, str]] = {
    "a page": (b"<html>\n<body>\n\n<h1>504 Gateway Time-out</h1></body></html>\n\n", "not an event: b'<html>"),
    "compressed bytes": (gzip.compress(b"hello", mtime=0) + b"\n\n", "not an event: b'\\x1f\\x8b"),
    "a sentence": (b"upstream connect error: reset\n\n", "not an event: b'upstream"),
    "half an event": (b'data: {"type":\n\n', "is not valid JSON"),
    "words that are no JSON": (b"data: <html>\n\n", "is not valid JSON"),
    "bytes that are no letters": (b"data: \xff\xfe\n\n", "is not valid JSON"),
    "a number that JSON has not": (b'data: {"type":"ping","x":NaN}\n\n', "is not valid JSON"),
    "brackets without end": (b'data: {"type":"ping","x":' + DEEP + b"}\n\n", "nested too deeply"),
    "a number of ten thousand digits": (b'data: {"type":"ping","x":' + b"9" * 10_000 + b"}\n\n", ""),
    "a number beyond floats": (b'data: {"type":"ping","x":1e999}\n\n', ""),
    "a value that is no object": (b"data: null\n\ndata: 7\n\ndata: []\n\n", ""),
    "a comment": (b": keep-alive\n\n", ""),
    "nothing": (b"data:\n\ndata: \n\n\n\n", ""),
    "fields that nobody knows": (b"x-request: 7\nretry: 10\nid: 3\n\n", ""),
}


@pytest.mark.parametrize("what", BETWEEN)
@pytest.mark.parametrize("name", STREAMS)
def test_what_stands_between_events_is_named_and_every_word_is_kept(name: str, what: str) -> None:
    between, said = BETWEEN[what]
    good = GOOD[name]
    whole = decode(name, [sse(good)])
    for place in (1, len(good) // 2, len(good)):
        raw = sse(good[:place]) + between + sse(good[place:])
        deltas = decode(name, [raw])
        failures = [delta.text for delta in deltas if type(delta) is Failure]
        assert bool(failures) == bool(said), failures
        assert all(said in text for text in failures)
        (message,), (expected,) = fold(deltas), fold(whole)
        parts = [part for part in plain([message])[0]["parts"] if part.get("name") != "error"]
        assert parts == plain([expected])[0]["parts"]
        errors = [part["data"] for part in plain([message])[0]["parts"] if part.get("name") == "error"]
        assert errors == failures
        assert (message.state == "partial") == (bool(failures) or expected.state == "partial")
        size = 1 if len(raw) < 10_000 else 1001
        assert decode(name, [raw[i : i + size] for i in range(0, len(raw), size)]) == deltas


# What is no stream at all.
NO_STREAM: dict[str, bytes] = {
    "a page": b"<!DOCTYPE html>\n<html><head>\n\n<title>502 Bad Gateway</title></head></html>\n",
    "a sentence": b"Internal Server Error",
    "compressed bytes": gzip.compress(sse(GOOD["anthropic"]), mtime=0),
    "another encoding": sse(GOOD["anthropic"]).decode().encode("utf-16"),
    "bytes": bytes(range(256)) * 40,
    "a comment": b": stream-open\n\n",
    "one long line": b"x" * 1_000_000,
}


@pytest.mark.parametrize("what", NO_STREAM)
@pytest.mark.parametrize("name", STREAMS)
def test_what_is_no_stream_is_one_failure_that_shows_its_beginning(name: str, what: str) -> None:
    raw = NO_STREAM[what]
    deltas = decode(name, [raw])
    (failure,) = [delta for delta in deltas if type(delta) is Failure]
    assert failure.text.startswith(f"the stream contains no event; it begins with {raw[:60].strip()!r}")
    (message,) = fold(deltas)
    assert (message.state, plain([message])[0]["parts"]) == (
        "partial",
        [{"type": "data", "name": "error", "data": failure.text}],
    )
    size = 1 if len(raw) < 20_000 else 1001
    assert decode(name, [raw[i : i + size] for i in range(0, len(raw), size)]) == deltas


def test_a_letter_that_is_none_is_replaced_and_its_event_is_read() -> None:
    for name, good in GOOD.items():
        raw = sse(good).replace(b" world", b" w\xffrld").replace(b"Hello", b"He\tllo")
        deltas = decode(name, [raw])
        text = json.dumps(plain(fold(deltas)), ensure_ascii=False)
        assert "He\\tllo w\ufffdrld!" in text, name
        assert sum(type(delta) is Failure for delta in deltas) in (2, 4)
        assert decode(name, [raw[i : i + 3] for i in range(0, len(raw), 3)]) == deltas


def test_the_last_of_two_equal_keys_is_read_and_both_are_told() -> None:
    for name, good in GOOD.items():
        first = b'{"x":"one","x":"two",' + good[0][1:]
        deltas = decode(name, [sse([first, *good[1:]])])
        assert Other(format=name, value=first.decode()) in deltas
        assert "Hello world!" in json.dumps(plain(fold(deltas))), name


def test_values_that_nest_as_deep_as_json_may_never_raise() -> None:
    for name, good in GOOD.items():
        for depth in (100, 200, 300, 400, 600, 900, 960, 990):
            value: Any = b"[" * depth + b"]" * depth
            for place in range(len(good)):
                deep = [*good[:place], good[place][:-1] + b',"deep":' + value + b"}", *good[place + 1 :]]
                deltas = decode(name, [sse(deep)])
                assert type(deltas[-1]) is End
                assert fold(deltas)


def test_deep_values_inside_the_answer_never_raise() -> None:
    for depth in (100, 300, 600, 900, 960, 990):
        deep = "[" * depth + "]" * depth
        call = f'{{"type":"tool_use","id":"t","name":"f","input":{{"a":{deep}}}}}'
        start = f'{{"type":"content_block_start","index":0,"content_block":{call}}}'.encode()
        pieces = json.dumps({"type": "input_json_delta", "partial_json": '{"a":' + deep + "}"})
        grow = f'{{"type":"content_block_delta","index":0,"delta":{pieces}}}'.encode()
        part = f'{{"functionCall":{{"name":"f","args":{{"a":{deep}}}}}}}'
        made = f'{{"type":"tool-input-available","toolCallId":"c","toolName":"f","input":{deep}}}'.encode()
        for name, events in {
            "anthropic": [GOOD["anthropic"][0], start, grow, b'{"type":"message_stop"}'],
            "gemini": [f'{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}}}}]}}'.encode()],
            "ai-sdk-ui": [b'{"type":"start"}', made, b'{"type":"finish"}'],
        }.items():
            deltas = decode(name, [sse(events)])
            assert type(deltas[-1]) is End
            for target in streams.emitters():
                emitter = streams.emitter(target)
                assert b"".join([emitter.emit(delta) for delta in deltas]) + emitter.finish()


@pytest.mark.parametrize("name", STREAMS)
def test_one_huge_piece_is_read_in_any_cut(name: str) -> None:
    good = list(GOOD[name])
    raw = sse(good).replace(b" world", b"\\u00e9x" * 2_000_000, 1)
    deltas = decode(name, [raw[i : i + 65536] for i in range(0, len(raw), 65536)])
    assert exact_json.encode(plain(fold(deltas))).count("éx".encode()) >= 2_000_000
    assert not [delta for delta in deltas if type(delta) is Failure]


class Unreadable(AnthropicDecoder):
    """Its answer cannot be read as a whole."""

    def whole(self) -> list[Message]:
        raise ZeroDivisionError


def test_an_answer_that_cannot_be_read_as_a_whole_is_what_its_deltas_say() -> None:
    decoder = Unreadable()
    deltas = decoder.feed(sse(GOOD["anthropic"])) + decoder.finish()
    (message,) = fold(deltas)
    text, _, error = plain([message])[0]["parts"]
    assert (text["text"], message.state) == ("Hello world!", "partial")
    assert "cannot be read: ZeroDivisionError" in error["data"]


def test_citations_behind_what_is_no_list_are_kept() -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "citations": 7}}
    said = {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "so"}}
    events = [json.loads(GOOD["anthropic"][0]), start, {"type": "content_block_delta", "index": 0, "delta": said}]
    deltas = decode("anthropic", [sse([json.dumps(event).encode() for event in events])])
    assert b"cited_text" in exact_json.encode(plain(fold(deltas)))


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_at_any_byte_is_no_failure(name: str) -> None:
    raw = b"".join(b"event: message\nid: 1\ndata: " + payload + b"\n\n" for payload in GOOD[name])
    for cut in range(raw.index(b"\n\n") + 2, len(raw)):
        assert not [delta for delta in decode(name, [raw[:cut]]) if type(delta) is Failure], raw[:cut][-20:]
