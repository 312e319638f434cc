"""`hansard forget`: delete a thread permanently."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve
from hansard.cli.terminal import display, echo, echo_json
from hansard.errors import HansardError


@click.command("forget")
@click.argument("thread", metavar="THREAD")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@db_option
@json_option
def command(thread: str, yes: bool, db: str | None, as_json: bool) -> int:
    """Delete THREAD from every table, the search index and the file. This cannot be undone.

    A tombstone stays: id, times, message count and last hash. Backups are not changed.
    """
    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        if not yes:
            name = f"{display(found.id)} {display(found.title)}" if found.title else display(found.id)
            try:
                sure = click.confirm(f"Forget {name} with its {found.messages} messages permanently?", err=True)
            except click.Abort:
                click.echo(err=True)
                raise HansardError("cannot ask for confirmation: standard input is closed; give --yes") from None
            if not sure:
                return 1
        tombstone = ledger.forget(found.id)
    if as_json:
        echo_json(tombstone)
    else:
        echo(f"{display(tombstone.id)} is deleted")
    if not tombstone.wiped:
        click.echo(
            "hansard: deleted, but another process is reading the file; run the command again to wipe the freed space",
            err=True,
        )
        return 1
    return 0
