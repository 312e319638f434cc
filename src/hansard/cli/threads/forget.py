"""`hansard forget`: delete a thread for good."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, say, say_json, shown
from hansard.errors import HansardError


@click.command("forget")
@click.argument("thread", metavar="THREAD")
@click.option("--yes", is_flag=True, help="Do not ask.")
@db_option
@json_option
def command(thread: str, yes: bool, db: str | None, as_json: bool) -> int:
    """Delete all that THREAD said, in every table, the search index and the file. This cannot be undone.

    A tombstone stays: its id, times, count and last hash. Backups keep what they hold.
    """
    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        if not yes:
            name = f"{shown(found.id)} {shown(found.title)}" if found.title else shown(found.id)
            try:
                sure = click.confirm(f"Forget {name} with its {found.messages} messages for good?", err=True)
            except click.Abort:
                click.echo(err=True)
                raise HansardError("nobody is there to ask; --yes forgets without asking") from None
            if not sure:
                return 1
        stone = ledger.forget(found.id)
    if as_json:
        say_json(stone)
    else:
        say(f"{shown(stone.id)} is forgotten")
    if not stone.wiped:
        click.echo("hansard: deleted, but another process reads the file just now; run it again to wipe it", err=True)
        return 1
    return 0
