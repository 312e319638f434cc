"""Token counts by day, model or project, and their cost by the user's table of prices.

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct

from hansard.errors import HansardError
from hansard.ledger import tree
from hansard.ledger.backends.driver import Tx
from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Message, Usage

_PRICED = ("input", "output", "cache_read", "cache_write")


class TokenCounts(Struct, frozen=True, kw_only=True, rename="camel"):
    """The tokens of one day, model or project. `cost` is None where some model has no price."""

    name: str
    messages: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
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
    for message in _messages_with_usage(ledger):
        usage = message.usage
        assert isinstance(usage, Usage)
        read, write = _count(usage.cache_read_tokens), _count(usage.cache_write_tokens)
        counts = (max(0, _count(usage.input_tokens) - read - write), _count(usage.output_tokens), read, write)
        row = sums.setdefault(_name(message, by), [0, 0, 0, 0, 0, 0.0])
        row[0] += 1
        for i, count in enumerate(counts):
            row[i + 1] += count
        price = _price(message, table)
        if price is None:
            row[5] = None if any(counts) else row[5]
        elif row[5] is not None:
            row[5] += sum(count * price.get(key, 0.0) for key, count in zip(_PRICED, counts, strict=True)) / 1e6
    return [
        TokenCounts(
            name=name,
            messages=row[0],
            input_tokens=row[1],
            output_tokens=row[2],
            cache_read_tokens=row[3],
            cache_write_tokens=row[4],
            cost=row[5] if table else None,
        )
        for name, row in sorted(sums.items())
    ]


def _messages_with_usage(ledger: Ledger) -> Iterator[Message]:
    """Every message that has usage, a batch at a time."""
    after = 0
    while True:

        def job(tx: Tx, after: int = after) -> tuple[list[Message], int]:
            rows = tx.all("answers_after", n=after, limit=2000)
            return tree.messages_of(tx, [(row[1], row[2]) for row in rows]), rows[-1][0] if rows else 0

        found, last = ledger._read(job)
        yield from (message for message in found if message.usage is not UNSET)
        if not last:
            return
        after = last


def _name(message: Message, by: str) -> str:
    if by == "day":
        return message.created_at[:10] if isinstance(message.created_at, str) else "(no time)"
    if by == "model":
        return (
            message.model.name if message.model is not UNSET and isinstance(message.model.name, str) else "(no model)"
        )
    context = message.context
    return context.cwd if context is not UNSET and isinstance(context.cwd, str) else "(no project)"


def _price(message: Message, table: dict[str, dict[str, float]]) -> dict[str, float] | None:
    name = _name(message, "model")
    matching = [known for known in table if name.startswith(known)]
    return table[max(matching, key=len)] if matching else None


def _count(value: Any) -> int:
    return value if type(value) is int else 0
