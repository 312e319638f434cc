"""`hansard fork`: continue from an earlier message."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message
from hansard.cli.terminal import display, echo, echo_json


@click.command("fork")
@click.argument("thread", metavar="THREAD")
@click.argument("message", metavar="[MESSAGE]", required=False)
@db_option
@json_option
def command(thread: str, message: str | None, db: str | None, as_json: bool) -> int:
    """Continue THREAD from MESSAGE: the next message starts a new branch. Without MESSAGE, from the start."""
    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        moved = ledger.fork(found.id, None if message is None else resolve_message(ledger, found.id, message))
    if as_json:
        echo_json(moved)
    else:
        where = display(moved.head) if moved.head is not None else "the start"
        echo(f"{display(moved.id)} now continues from {where}")
    return 0
