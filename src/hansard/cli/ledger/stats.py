"""`hansard stats`: size of the ledger, tokens and their cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from hansard.cli.options import db_option, json_option, open_ledger
from hansard.cli.terminal import display, echo, echo_json

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger

_LABELS = {
    "threads": "threads",
    "forgotten": "deleted threads",
    "messages": "messages",
    "runs": "runs",
    "blobs": "blobs",
    "payloadBytes": "bytes of messages",
    "storedBytes": "bytes stored for messages",
    "bytesOnDisk": "bytes on disk",
    "schema": "schema",
}
_TOKENS = {
    "inputTokens": "input tokens",
    "outputTokens": "output tokens",
    "totalTokens": "total tokens",
    "reasoningTokens": "reasoning tokens",
    "cacheReadTokens": "cache read tokens",
    "cacheWriteTokens": "cache write tokens",
}


@click.command("stats")
@click.option(
    "--by", type=click.Choice(["day", "model", "project"]), help="Sum tokens and cost by day, model or project."
)
@click.option(
    "--prices", metavar="FILE", help="TOML table of prices (default: prices.toml in the user's config folder)."
)
@db_option
@json_option
def command(by: str | None, prices: str | None, db: str | None, as_json: bool) -> int:
    """Count threads, messages, runs, blobs, bytes and tokens; with --by, sum tokens and cost."""
    with open_ledger(db) as ledger:
        if by is not None:
            return _costs(ledger, by, prices, as_json)
        found = ledger.stats()
    if as_json:
        echo_json(found)
        return 0
    counts = to_builtins(found)
    rows = [(label, counts[key]) for key, label in _LABELS.items()]
    rows += [(_TOKENS.get(key, key), count) for key, count in counts["usage"].items()]
    width = max(len(f"{count:,}") for _, count in rows)
    for label, count in rows:
        echo(f"{count:>{width},}  {label}")
    return 0


def _costs(ledger: Ledger, by: str, prices: str | None, as_json: bool) -> int:
    from hansard.sessions import costs

    table = costs.prices(Path(prices) if prices else None)
    rows = costs.token_counts(ledger, by, table)
    if as_json:
        echo_json(rows)
        return 0
    if not rows:
        echo("no message has token counts")
        return 1
    most = max(row.output_tokens for row in rows) or 1
    width = max(len(display(row.name)) for row in rows)
    echo(f"{by:<{width}}  {'in':>13} {'cache read':>13} {'cache write':>13} {'out':>11} {'cost':>9}")
    for row in rows:
        cost = f"{row.cost:,.2f}" if row.cost is not None else "-"
        cached = f"{row.cache_read_tokens:>13,} {row.cache_write_tokens:>13,}"
        counts = f"{row.input_tokens:>13,} {cached} {row.output_tokens:>11,}"
        bar = "\u2587" * max(1, round(24 * row.output_tokens / most)) if row.output_tokens else ""
        echo(f"{display(row.name):<{width}}  {counts} {cost:>9}  {bar}".rstrip())
    return 0
