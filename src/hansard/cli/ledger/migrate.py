"""`hansard migrate`: the ledger in the newest schema."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, say, say_json
from hansard.ledger.backends.migrations import migrations


@click.command("migrate")
@db_option
@json_option
def command(db: str | None, as_json: bool) -> int:
    """Apply the migrations that the ledger lacks. Every command does so when it opens it; this one says which."""
    with open_ledger(db) as ledger:
        done, dialect = ledger.migrated, ledger.dialect
    newest = migrations(dialect)[-1].number
    if as_json:
        say_json({"schema": newest, "applied": done})
        return 0
    for name in done:
        say(f"applied {name}")
    say(f"the schema is {newest}" if done else f"nothing to do: the schema is {newest}")
    return 0
