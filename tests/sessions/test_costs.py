"""What was spent: every token once, and money only where every token has a price."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

import hansard
from hansard.errors import HansardError
from hansard.model import Context, Message, ModelRef, TextPart, Usage
from hansard.sessions.costs import prices, token_counts

PRICES = {
    "sonnet": {"input": 1.0, "output": 1.0},
    "sonnet-4-5": {"input": 2.0, "output": 10.0, "cache_read": 0.5, "cache_write": 4.0},
}


def answer(model: str | None, day: str, folder: str | None, *counts: int) -> Message:
    read, wrote = counts[2:] or (UNSET, UNSET)
    usage: Any = Usage(
        input_tokens=counts[0], output_tokens=counts[1], cache_read_tokens=read, cache_write_tokens=wrote
    )
    return Message(
        role="assistant",
        parts=[TextPart(text="tea")],
        created_at=f"{day}T10:00:00Z",
        model=ModelRef(name=model) if model else UNSET,
        context=Context(cwd=folder) if folder else UNSET,
        usage=usage if counts else UNSET,
    )


@pytest.fixture
def ledger() -> Iterator[hansard.Ledger]:
    with hansard.open(":memory:") as opened:
        opened.create_thread("t")
        said = [
            answer("sonnet-4-5", "2026-01-01", "/tea", 1_000_000, 100_000, 300_000, 200_000),
            answer("sonnet-4-5-x", "2026-01-01", "/tea", 1_000_000, 0),
            answer("sonnet-4", "2026-01-02", "/tea", 1_000_000, 500_000),
            answer("other", "2026-01-02", "/milk", 10, 20),
            answer("sonnet-4", "2026-01-02", "/milk", 1_000_000, 0),
            answer(None, "2026-01-03", None, 0, 0),
            answer("sonnet-4", "2026-01-03", None, 3_000_000, 0),
            Message(role="user", parts=[TextPart(text="no tokens are counted here")]),
        ]
        opened.append("t", said)
        yield opened


EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "day": [
        ("2026-01-01", 2, 1_500_000, 100_000, 300_000, 200_000, 4.95),
        ("2026-01-02", 3, 2_000_010, 500_020, 0, 0, None),
        ("2026-01-03", 2, 3_000_000, 0, 0, 0, 3.0),
    ],
    "model": [
        ("(no model)", 1, 0, 0, 0, 0, 0.0),
        ("other", 1, 10, 20, 0, 0, None),
        ("sonnet-4", 3, 5_000_000, 500_000, 0, 0, 5.5),
        ("sonnet-4-5", 1, 500_000, 100_000, 300_000, 200_000, 2.95),
        ("sonnet-4-5-x", 1, 1_000_000, 0, 0, 0, 2.0),
    ],
    "project": [
        ("/milk", 2, 1_000_010, 20, 0, 0, None),
        ("/tea", 5, 5_500_000, 600_000, 300_000, 200_000, 9.45),  # two answers name no folder: that of their thread
    ],
}


@pytest.mark.parametrize("by", EXPECTED)
def test_tokens_and_their_cost_are_put_together(ledger: hansard.Ledger, by: str) -> None:
    found = [
        (
            one.name,
            one.messages,
            one.input_tokens,
            one.output_tokens,
            one.cache_read_tokens,
            one.cache_write_tokens,
            one.cost,
        )
        for one in token_counts(ledger, by, PRICES)
    ]
    assert [one[:-1] for one in found] == [one[:-1] for one in EXPECTED[by]]
    assert [one[-1] for one in found] == [one[-1] and pytest.approx(one[-1]) for one in EXPECTED[by]]
    assert {one.cost for one in token_counts(ledger, by, {})} == {None}


def test_messages_beyond_a_batch_are_counted_too(ledger: hansard.Ledger) -> None:
    ledger.append("t", [answer("sonnet", "2026-02-01", None, 1, 2) for _ in range(2500)])
    (found,) = [one for one in token_counts(ledger, "day", {}) if one.name == "2026-02-01"]
    assert (found.messages, found.input_tokens, found.output_tokens) == (2500, 2500, 5000)


@pytest.mark.parametrize(
    ("table", "what"), [("x = 1", r"\[x\]"), ("[x]\ninput = '3'", "input"), ("[x]\ncost = 3", "cost"), ("[", "TOML")]
)
def test_a_table_of_prices_that_is_none_is_refused_by_its_place(tmp_path: Path, table: str, what: str) -> None:
    path = tmp_path / "prices.toml"
    with pytest.raises(HansardError, match="No such file"):
        prices(path)
    path.write_text(table)
    with pytest.raises(HansardError, match=what):
        prices(path)
    path.write_text("['sonnet']\ninput = 3\noutput = 1.5\n")
    assert prices(path) == {"sonnet": {"input": 3, "output": 1.5}}
