"""Every limit holds on both sides of its edge."""

from __future__ import annotations

import sys

import pytest

import hansard
from hansard.errors import TooLarge
from hansard.ledger import limits
from hansard.model import DataPart, Message
from tests.faults.limits import LIMITS, SETTABLE, Limit


@pytest.mark.parametrize("limit", [*LIMITS, *SETTABLE], ids=lambda limit: limit.what)
def test_a_limit_is_taken_and_one_more_is_not(limit: Limit) -> None:
    assert [limit.takes(limit.most + more) for more in (-1, 0, 1)] == [True, True, False]


def test_what_no_encoder_can_follow_is_refused_by_name_too() -> None:
    data: object = 1
    for _ in range(100_000):
        data = [data]
    with hansard.open(":memory:") as ledger:
        ledger.create_thread("t")
        for call in (
            lambda: ledger.append("t", Message(role="user", parts=[DataPart(name="x", data=data)])),
            lambda: ledger.create_thread(metadata={"x": data}),
            lambda: ledger.update_thread("t", metadata={"x": data}),
            lambda: ledger.begin_run("t", metadata={"x": data}),
        ):
            with pytest.raises(TooLarge, match=f"deeper than {limits.DEPTH} levels"):
                call()


def test_the_deepest_message_is_read_from_deep_in_a_program() -> None:
    data: object = 1
    for _ in range(limits.DEPTH - 3):
        data = [data]

    def deep(frames: int) -> object:
        return deep(frames - 1) if frames else ledger.transcript("t")[0].parts[0]

    with hansard.open(":memory:") as ledger:
        ledger.create_thread("t")
        ledger.append("t", Message(role="user", parts=[DataPart(name="x", data=data)]))
        assert deep((sys.getrecursionlimit() - limits.DEPTH) // 3) == DataPart(name="x", data=data)


def test_brackets_in_words_are_no_levels() -> None:
    with hansard.open(":memory:") as ledger:
        ledger.create_thread("t")
        ledger.append("t", Message(role="user", parts=[DataPart(name="x", data='[{"' * 2000), *_many(2000)]))
        assert len(ledger.transcript("t")[0].parts) == 2001


def _many(count: int) -> list[DataPart]:
    return [DataPart(name="x", data=[i, {"a": []}]) for i in range(count)]
