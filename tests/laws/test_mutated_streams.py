"""Streams whose events were changed at random: nothing raises, every cut says the same, every client is sent JSON."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import streams
from hansard.model import exact_json
from hansard.streams.accumulator import Accumulator
from hansard.streams.deltas import Delta, End, MessageEnd
from tests.laws.test_stream_repeats import CASES
from tests.laws.test_streams import as_sse, decode, plain, recorded

JUNK: list[Any] = [None, True, 0, -1, 1.5, 10**30, "", "x", "\ud83d", [], {}, [None], {"a": 1}, {"type": "x"}]
KEYS = ("type", "index", "id", "text", "delta", "error", "toolCallId", "usage")


def changed(value: Any, dice: random.Random) -> Any:
    """The value with something in it left out, replaced or added."""
    junk = copy.deepcopy(dice.choice(JUNK))
    how = dice.random()
    if type(value) is dict and value:
        key = dice.choice(list(value))
        if how < 0.15:
            value.pop(key)
        elif how < 0.3:
            value[dice.choice((key, *KEYS))] = junk
        else:
            value[key] = changed(value[key], dice)
        return value
    if type(value) is list and value:
        place = dice.randrange(len(value))
        if how < 0.2:
            value.pop(place)
        elif how < 0.4:
            value.insert(place, junk)
        else:
            value[place] = changed(value[place], dice)
        return value
    return junk


def mutated(events: list[Any], dice: random.Random) -> bytes:
    events = copy.deepcopy(events)
    for _ in range(dice.choice((1, 2, 5))):
        place, how = dice.randrange(len(events)), dice.random()
        if how < 0.1 and len(events) > 1:
            events.pop(place)
        elif how < 0.2:
            events.insert(place, copy.deepcopy(dice.choice(events)))
        elif how < 0.3:
            dice.shuffle(events)
        else:
            events[place] = changed(events[place], dice)
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def holds(name: str, raw: bytes, size: int) -> None:
    deltas = decode(name, [raw])
    assert decode(name, [raw[i : i + size] for i in range(0, len(raw), size)]) == deltas
    assert type(deltas[-1]) is End
    for said in (deltas, [delta for delta in deltas if type(delta) is not MessageEnd]):
        folded = Accumulator()
        for delta in said:
            folded.fold(delta)
        exact_json.encode(plain(folded.messages()))
    for client in streams.emitters():
        for own in (False, True) if client == "ai-sdk-ui" == name else (False,):
            sent_is_json(deltas, client, {"own": True} if own else {})


def sent_is_json(deltas: list[Delta], client: str, options: dict[str, Any]) -> None:
    emitter = streams.emitter(client, **options)
    for event in (b"".join([emitter.emit(delta) for delta in deltas]) + emitter.finish()).split(b"\n\n")[:-1]:
        if event != b"data: [DONE]":
            json.loads(event.removeprefix(b"data: "))


@pytest.mark.parametrize("case", CASES)
@given(dice=st.randoms(use_true_random=False), size=st.sampled_from([1, 11, 300]))
def test_nothing_raises_whatever_an_event_says(case: str, dice: random.Random, size: int) -> None:
    name, make = CASES[case]
    holds(name, mutated(make(["Hello", " world", '"}']), dice), size)


def test_nothing_raises_whatever_became_of_a_recorded_stream(corpus: Path) -> None:
    dice = random.Random(20)
    for name, path in recorded(corpus):
        events = [json.loads(line) for line in as_sse(path).replace(b"data: ", b"").splitlines() if line[:1] == b"{"]
        for _ in range(3):
            holds(name, mutated(events[:60] + events[-60:], dice), 101)
