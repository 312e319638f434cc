"""Token counts by day, model or project, and their cost by the user's table of prices.

The counts are those of the table `usage` of `Ledger.rows`: an answer counts once, whichever files, forks and copies
brought it.

Prices are a TOML file, per million tokens; the longest matching prefix of a model's name applies:

    ["claude-sonnet-4"]
    input = 3.0
    output = 15.0
    cache_read = 0.3
    cache_write = 3.75
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from msgspec import Struct

from hansard.errors import HansardError
from hansard.ledger.analysis.row_types import UsageRow
from hansard.ledger.ledger import Ledger

_PRICED = ("input", "output", "cache_read", "cache_write")


class TokenCounts(Struct, frozen=True, kw_only=True, rename="camel"):
    """The tokens of one day, model or project. `input_tokens` are those outside the cache; `output_tokens` include
    reasoning. `cost` is None where some model has no price."""

    name: str
    messages: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: float | None = None


def default_prices() -> Path:
    """The path of the user's table."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(folder) / "hansard" / "prices.toml"


def prices(path: Path | None) -> dict[str, dict[str, float]]:
    """The table of prices; empty if the user has none."""
    chosen = path or default_prices()
    if path is None and not chosen.exists():
        return {}
    try:
        table = tomllib.loads(chosen.read_text("utf-8"))
    except OSError as error:
        raise HansardError(f"{chosen}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise HansardError(f"{chosen}: invalid TOML: {error}") from None
    for name, row in table.items():
        for key, price in row.items() if isinstance(row, dict) else [("", None)]:
            if key not in _PRICED or type(price) not in (int, float):
                raise HansardError(f"{chosen}: [{name}] {key}: expected a number for one of {', '.join(_PRICED)}")
    return table


def token_counts(ledger: Ledger, by: str, table: dict[str, dict[str, float]]) -> list[TokenCounts]:
    """The tokens of the whole ledger by day, model or project."""
    sums: dict[str, list[Any]] = {}
    for answer in ledger.rows("usage"):
        counts = [
            answer["inputTokens"],
            answer["outputTokens"],
            answer["cacheReadTokens"],
            answer["cacheWriteTokens"],
            answer["reasoningTokens"],
        ]
        row = sums.setdefault(_name(answer, by), [0, [0] * len(counts), 0.0])
        row[0] += 1
        row[1] = [total + count for total, count in zip(row[1], counts, strict=True)]
        price = _price(answer, table)
        priced = dict(zip(_PRICED, counts, strict=False))
        if price is None:
            row[2] = None if any(counts) else row[2]
        elif row[2] is not None:
            row[2] += sum(count * price.get(key, 0.0) for key, count in priced.items()) / 1e6
    return [
        TokenCounts(
            name=name,
            messages=count,
            input_tokens=totals[0],
            output_tokens=totals[1],
            cache_read_tokens=totals[2],
            cache_write_tokens=totals[3],
            reasoning_tokens=totals[4],
            cost=cost if table else None,
        )
        for name, (count, totals, cost) in sorted(sums.items())
    ]


def _name(answer: UsageRow, by: str) -> str:
    if by == "day":
        return answer["at"][:10]
    if by == "model":
        return answer["model"] or "(no model)"
    return answer["project"] or "(no project)"


def _price(answer: UsageRow, table: dict[str, dict[str, float]]) -> dict[str, float] | None:
    name = _name(answer, "model")
    matching = [known for known in table if name.startswith(known)]
    return table[max(matching, key=len)] if matching else None
