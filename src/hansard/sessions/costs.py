"""Token counts by day, model or project, and their cost by the user's table of prices.

An answer counts once, whichever files, forks and copies brought it: by the id the provider gave it, otherwise by what
was said with everything before it. Of several versions of one answer the longest counts.

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
from msgspec.structs import replace

from hansard.errors import HansardError
from hansard.ledger import tree
from hansard.ledger.backends.driver import Tx
from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Message, Usage

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
    for message in answers(ledger):
        counts = _counts(message)
        row = sums.setdefault(_name(message, by), [0, [0] * len(counts), 0.0])
        row[0] += 1
        row[1] = [total + count for total, count in zip(row[1], counts, strict=True)]
        price = _price(message, table)
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


def answers(ledger: Ledger) -> Iterator[Message]:
    """Every answer with token counts, once: the version of it that used most."""
    found: dict[Any, Message] = {}
    for message, said in _messages_with_usage(ledger):
        key = _identity(message, said)
        if key not in found or _counts(message)[1] > _counts(found[key])[1]:
            found[key] = replace(message, parts=[])
    yield from found.values()


def _identity(message: Message, said: bytes) -> Any:
    """What identifies an answer: the provider's id with that of the request; otherwise all that was said so far."""
    model = message.model
    if model is not UNSET and isinstance(model.response_id, str) and model.response_id:
        request = message.extra.get("claude-code", {}).get("requestId") if message.extra is not UNSET else None
        return model.response_id, request if isinstance(request, str) else None
    return said, _counts(message)


def _counts(message: Message) -> tuple[int, int, int, int, int]:
    """Input outside the cache, output, cache read, cache write, reasoning."""
    usage = message.usage
    assert isinstance(usage, Usage)
    read, write = _count(usage.cache_read_tokens), _count(usage.cache_write_tokens)
    given = max(0, _count(usage.input_tokens) - read - write)
    return given, _count(usage.output_tokens), read, write, _count(usage.reasoning_tokens)


def _messages_with_usage(ledger: Ledger) -> Iterator[tuple[Message, bytes]]:
    """Every message that has usage with its content chain, a batch at a time."""
    after = 0
    while True:

        def job(tx: Tx, after: int = after) -> tuple[list[Message], list[bytes], int]:
            rows = tx.all("answers_after", n=after, limit=2000)
            messages = tree.messages_of(tx, [(row[1], row[2]) for row in rows])
            return messages, [bytes(row[3]) for row in rows], rows[-1][0] if rows else 0

        found, chains, last = ledger._read(job)
        yield from (pair for pair in zip(found, chains, strict=True) if pair[0].usage is not UNSET)
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
