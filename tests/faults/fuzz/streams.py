"""Streams of every decoder, and events: nothing raises, any cut says the same, and what comes out can be folded."""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path

from hansard import streams
from hansard.model import exact_json, native
from hansard.streams.accumulator import Accumulator
from hansard.streams.deltas import End
from hansard.streams.json_array import ArrayReader
from hansard.streams.jsonl import LineReader
from hansard.streams.sse import Event, SSEReader, write_event
from tests.faults.fuzz.engine import Surface, Target
from tests.laws.test_stream_repeats import CASES
from tests.laws.test_streams import as_sse, decode, recorded

_LARGEST_SEED = 4000
_MOST_SEEDS = 60
_LONG = 50_000  # of longer ones the laws are not asked: they are there for time and memory


def seeds(name: str) -> list[bytes]:
    """The streams of the laws, and recorded ones where there are any."""
    made = [make(["Hello", " world", '"}']) for one, make in CASES.values() if one == name]
    found = [b"".join(b"data: " + exact_json.encode(event) + b"\n\n" for event in events) for events in made]
    found += [b"".join(exact_json.encode(event) + b"\n" for event in events) for events in made]
    if corpus := os.environ.get("HANSARD_CORPUS"):
        found += [as_sse(path) for one, path in recorded(Path(corpus)) if one == name]
    cut = [raw if len(raw) <= _LARGEST_SEED else raw[: raw.rfind(b"\n\n", 0, _LARGEST_SEED) + 2] for raw in found]
    return random.Random(1).sample(cut, min(_MOST_SEEDS, len(cut)))


def decoding(name: str) -> Target:
    """The deltas of a stream, folded; in another cut they are the same, and any client can be sent them."""
    clients = streams.emitters()

    def target(data: bytes, rng: random.Random) -> bool:
        deltas = decode(name, [data])
        assert type(deltas[-1]) is End, "no end"
        folded = Accumulator()
        for delta in deltas:
            folded.fold(delta)
        messages = folded.messages()
        dice = rng.random()
        if dice < 0.2 and len(data) < _LONG:
            at = rng.randrange(len(data) + 1)
            assert decode(name, [data[:at], data[at:]]) == deltas, "another cut says something else"
        elif dice < 0.4 and len(data) < _LONG:
            emitter = streams.emitter(rng.choice(clients))
            for delta in deltas:
                emitter.emit(delta)
            emitter.finish()
        elif dice < 0.5:
            exact_json.encode(native.plain(messages))
        return bool(messages)

    return target


def events() -> Target:
    """Server-sent events: any cut gives the same, and what was read can be written and read again."""

    def target(data: bytes, rng: random.Random) -> bool:
        reader = SSEReader()
        whole = [*reader.feed(data), *reader.finish()]
        at, to = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        again = SSEReader()
        cut = [*again.feed(data[:at]), *again.feed(data[at:to]), *again.feed(data[to:]), *again.finish()]
        assert cut == whole, "another cut gives other events"
        plain = [event for event in whole if not event.stray]
        back = SSEReader()
        sent = b"".join(write_event(event.data, event.event, event.id) for event in plain if _writable(event))
        assert [one.data for one in back.feed(sent)] == [one.data for one in plain if _writable(one)], (
            "written otherwise"
        )
        return bool(plain)

    return target


def _writable(event: Event) -> bool:
    words = event.event + (event.id or "")
    return "\n" not in words and "\r" not in words and b"\r" not in event.data


def items(kind: type[ArrayReader] | type[LineReader]) -> Target:
    """An array that comes piece by piece, or JSON lines."""

    def target(data: bytes, rng: random.Random) -> bool:
        reader = kind()
        at = rng.randrange(len(data) + 1)
        found = [*reader.feed(data[:at]), *reader.feed(data[at:]), *reader.finish()]
        whole = kind()
        assert [one.data for one in found] == [one.data for one in [*whole.feed(data), *whole.finish()]], "another cut"
        return bool(found)

    return target


def _all_seeds() -> list[bytes]:
    every = [raw for name in streams.decoders() for raw in seeds(name)[:8]]
    odd = b"\xef\xbb\xbf: hi\r\nretry: 10\rid: 7\nevent: x\r\ndata\ndata:a\ndata:  b\n\n<html>\n\ndata: end"
    return [*every, odd, odd.replace(b"\n", b"\r")]


def _arrays() -> list[bytes]:
    lines = [raw.replace(b"data: ", b"").split(b"\n\n") for raw in _all_seeds()]
    return [b"[" + b",\n".join(one for one in events if one) + b"]" for events in lines] + [b"[]", b'["]",{"a":"}"}]']


SURFACES = [
    *(Surface(f"{name} streams", partial(seeds, name), partial(decoding, name)) for name in streams.decoders()),
    Surface("server-sent events", _all_seeds, events),
    Surface("arrays in pieces", _arrays, partial(items, ArrayReader)),
    Surface("lines in pieces", _all_seeds, partial(items, LineReader)),
]
