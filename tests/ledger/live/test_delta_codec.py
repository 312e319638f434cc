"""Deltas in the journal are read back as they were written, also those that a newer release or a hostile text made."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hansard.ledger.live.delta_codec import read_lines, write_lines
from hansard.model import native
from hansard.model.conversation import Message
from hansard.model.parts import TextPart, Unknown
from hansard.streams.deltas import Delta, End, Failure, MessageEnd, MessageStart, Other, PartDelta, PartEnd, PartStart

NEWER = native.build_part({"type": "hologram", "data": [1, {"x": None}]}, "$")
FIELD = TextPart(text="x", unknown=Unknown({"newer": [1, {"x": None}]}))
HALF = "half of a pair \ud83d"


@pytest.mark.parametrize(
    "delta",
    [
        PartStart(key="0", part=NEWER),
        PartEnd(key="0", part=NEWER),
        PartStart(key="0", part=FIELD),
        PartEnd(key="0", part=FIELD),
        MessageEnd(messages=[Message(role="assistant", parts=[NEWER, FIELD], unknown=Unknown({"mood": "good"}))]),
        PartDelta(key="0", text=HALF),
        PartStart(key=HALF, part=TextPart(text=HALF)),
        PartEnd(key="0", part=TextPart(text=HALF)),
        PartEnd(key="0"),
        MessageEnd(messages=[Message(role="assistant", parts=[TextPart(text=HALF)])]),
        MessageStart(id=HALF),
        Failure(text=HALF, error={"of": HALF}),
        Other(format="x", value={"exact": Decimal("0.10000000000000000000001"), "half": HALF}),
        End(how="stop"),
    ],
    ids=lambda delta: f"{type(delta).__name__}",
)
def test_a_delta_is_read_back_as_it_was_written(delta: Delta) -> None:
    others: list[Delta] = [PartDelta(key="0", text="before\n"), PartDelta(key="0", text="after")]
    assert read_lines(write_lines([others[0], delta, others[1]])) == [others[0], delta, others[1]]


def test_nothing_written_is_nothing_read() -> None:
    assert read_lines(write_lines([])) == []


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match="object is not valid JSON"):
        write_lines([Other(format="x", value=object())])
