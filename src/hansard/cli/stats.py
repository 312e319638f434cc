"""`hansard stats`: how much the ledger holds."""

from __future__ import annotations

import click
from msgspec import to_builtins

from hansard.cli.ledgers import db_option, json_option, open_ledger, say, say_json

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
@db_option
@json_option
def command(db: str | None, as_json: bool) -> int:
    """Count threads, messages, runs, blobs, bytes and tokens."""
    with open_ledger(db) as ledger:
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
