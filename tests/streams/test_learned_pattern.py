"""The learned byte pattern: when it is made, what it takes and what it leaves to the handlers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hansard import streams
from hansard.streams.accumulator import fold
from hansard.streams.decoder_base import EventDecoder
from hansard.streams.learned_pattern import NUMBER, OBJECT, STRING, Frame, Repeat, pattern

LINES = {
    "LF": ("data: ", "\n\n"),
    "CRLF": ("data: ", "\r\n\r\n"),
    "no space": ("data:", "\n\n"),
    "named": ("event: message.delta\ndata: ", "\n\n"),
    "named, CRLF": ("event: message.delta\r\ndata: ", "\r\n\r\n"),
    "JSON lines": ("", "\n"),
}


def chunk(text: str, **more: Any) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return json.dumps({"id": "c1", "created": 1, "choices": [choice], **more})


def decoder() -> tuple[EventDecoder, list[Any]]:
    """A decoder, and the events that were read whole."""
    made, handled = streams.decoder("openai-chat"), []
    handle = made.handle

    def counted(event: Any, kind: str) -> None:
        handled.append(event)
        handle(event, kind)

    made.handle = counted  # type: ignore[method-assign]
    return made, handled


def text_of(deltas: list[Any]) -> str:
    (message,) = fold(deltas)
    return "".join(part.text for part in message.parts)


@pytest.mark.parametrize("size", [1, 50, 1 << 20], ids=["byte by byte", "in pieces", "whole"])
@pytest.mark.parametrize("lines", LINES)
def test_the_fourth_event_that_repeats_is_read_by_its_bytes(lines: str, size: int) -> None:
    head, end = LINES[lines]
    raw = "".join(f"{head}{chunk(letter)}{end}" for letter in "abcdefgh" * 60).encode()
    made, handled = decoder()
    deltas = [delta for at in range(0, len(raw), size) for delta in made.feed(raw[at : at + size])] + made.finish()
    assert text_of(deltas) == "abcdefgh" * 60
    assert len(handled) == 4  # the first begins the answer and its text, three teach


def test_a_pattern_that_no_longer_holds_is_learned_anew_but_later_each_time() -> None:
    events = [chunk("a", created=i // 20) for i in range(100)]  # `created` varies only after it changed once
    made, handled = decoder()
    deltas = [delta for event in events for delta in made.feed(f"data: {event}\n\n".encode())] + made.finish()
    assert text_of(deltas) == "a" * 100
    assert len(handled) == 4 + 6
    rotating = [chunk("a", system_fingerprint=str(i // 4)) for i in range(1000)]
    made, handled = decoder()
    deltas = [delta for event in rotating for delta in made.feed(f"data: {event}\n\n".encode())] + made.finish()
    assert text_of(deltas) == "a" * 1000
    assert len(handled) > 950  # no pattern is made for what never stays


def test_two_objects_in_one_event_are_not_taken_for_one() -> None:
    made, _ = decoder()
    for _ in range(6):
        made.feed(f"data: {chunk('a')}\n\n".encode())
    twice = f"data: {chunk('b')}\ndata:\ndata: {chunk('c')}\n\n".encode()
    deltas = made.feed(twice[:20]) + made.feed(twice[20:])
    assert [type(delta).__name__ for delta in deltas] == ["Failure", "Other"]


@pytest.mark.parametrize("after", [0, 250], ids=["compared", "compiled"])
def test_a_pattern_matches_only_what_differs_in_the_piece_and_in_what_varies(after: int) -> None:
    event = b'{"n":1,"delta":"a","usage":{"t":{"u":1}},"pad":"xx","id":"i"}'
    learned = pattern(event, "delta", {"n": NUMBER, "usage": OBJECT, "pad": STRING})
    assert learned is not None
    repeat = Repeat(learned, Frame(b"data: ", rb"\n\n", b"\n\n"), "0", [], None)
    for _ in range(after):
        assert repeat.matches(repeat.framed(event))
    repeat.compile()
    assert (repeat.compiled is not None) == (after > 200)
    match = repeat.compiled or repeat.match
    found = match(b'data: {"n":20,"delta":"\\"b","usage":{},"pad":"","id":"i" }\n\n', 0)
    assert found is not None
    assert {**repeat.values, **found.groupdict()} == {"n": b"20", "text": b'"\\"b"', "usage": b"{}", "pad": b'""'}
    for old, new in ((b'"i"', b'"j"'), (b'"n":1', b'"m":1'), (b'"a"', b"1"), (b"1", b"01"), (b'"pad"', b'"x":1,"pad"')):
        assert match(repeat.framed(event.replace(old, new, 1)), 0) is None
    assert match(repeat.framed(event)[:-1], 0) is None
