"""`hansard migrate`: bring the ledger to the newest schema."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger
from hansard.cli.terminal import echo, echo_json
from hansard.ledger.backends.migrations import migrations


@click.command("migrate")
@db_option
@json_option
def command(db: str | None, as_json: bool) -> int:
    """Apply missing migrations and list them. Every command applies them when it opens the ledger."""
    with open_ledger(db) as ledger:
        done, dialect = ledger.migrated, ledger.dialect
    newest = migrations(dialect)[-1].number
    if as_json:
        echo_json({"schema": newest, "applied": done})
        return 0
    for name in done:
        echo(f"applied {name}")
    echo(f"the schema version is {newest}" if done else f"nothing to do: the schema version is {newest}")
    return 0
