"""`hansard stats`: how much the ledger holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from hansard.cli.options import db_option, json_option, open_ledger, say, say_json, shown

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger

_WORDS = {
    "threads": "threads",
    "forgotten": "forgotten threads",
    "messages": "messages",
    "runs": "runs",
    "blobs": "blobs",
    "payloadBytes": "bytes said",
    "storedBytes": "bytes stored for them",
    "bytesOnDisk": "bytes on disk",
    "schema": "schema",
}
_TOKENS = {
    "inputTokens": "tokens in",
    "outputTokens": "tokens out",
    "totalTokens": "tokens in all",
    "reasoningTokens": "tokens of reasoning",
    "cacheReadTokens": "tokens read from caches",
    "cacheWriteTokens": "tokens written to caches",
}


@click.command("stats")
@click.option("--by", type=click.Choice(["day", "model", "project"]), help="The tokens, and their cost, put together.")
@click.option("--prices", metavar="FILE", help="A TOML table of prices; else prices.toml in the user's config folder.")
@db_option
@json_option
def command(by: str | None, prices: str | None, db: str | None, as_json: bool) -> int:
    """Count threads, messages, runs, blobs, bytes and tokens; with --by, tokens and cost by day, model or project."""
    with open_ledger(db) as ledger:
        if by is not None:
            return _spent(ledger, by, prices, as_json)
        found = ledger.stats()
    if as_json:
        say_json(found)
        return 0
    counts = to_builtins(found)
    rows = [(words, counts[key]) for key, words in _WORDS.items()]
    rows += [(_TOKENS.get(key, key), count) for key, count in counts["usage"].items()]
    width = max(len(f"{count:,}") for _, count in rows)
    for words, count in rows:
        say(f"{count:>{width},}  {words}")
    return 0


def _spent(ledger: Ledger, by: str, prices: str | None, as_json: bool) -> int:
    from hansard.sessions import costs

    table = costs.prices(Path(prices) if prices else None)
    rows = costs.token_counts(ledger, by, table)
    if as_json:
        say_json(rows)
        return 0
    if not rows:
        say("no message counts its tokens")
        return 1
    most = max(row.output_tokens for row in rows) or 1
    width = max(len(shown(row.name)) for row in rows)
    say(f"{by:<{width}}  {'in':>13} {'cache read':>13} {'cache write':>13} {'out':>11} {'cost':>9}")
    for row in rows:
        cost = f"{row.cost:,.2f}" if row.cost is not None else "-"
        cached = f"{row.cache_read_tokens:>13,} {row.cache_write_tokens:>13,}"
        counts = f"{row.input_tokens:>13,} {cached} {row.output_tokens:>11,}"
        bar = "\u2587" * max(1, round(24 * row.output_tokens / most)) if row.output_tokens else ""
        say(f"{shown(row.name):<{width}}  {counts} {cost:>9}  {bar}".rstrip())
    return 0
