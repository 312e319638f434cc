"""`hansard fork`: continue from an earlier message."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message
from hansard.cli.terminal import counted, display, echo, echo_json


@click.command("fork")
@click.argument("thread", metavar="THREAD")
@click.argument("message", metavar="[MESSAGE]", required=False)
@click.option("--prune", is_flag=True, help="Delete everything after MESSAGE; it is kept as a branch otherwise.")
@db_option
@json_option
def command(thread: str, message: str | None, prune: bool, db: str | None, as_json: bool) -> int:
    """Continue THREAD from MESSAGE: the next message starts a new branch. Without MESSAGE, from the start.

    With --prune there is no new branch: all messages after MESSAGE are deleted, on every branch. Branches of active
    runs stay, and so do the rows of runs, without their messages.
    """
    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        point = None if message is None else resolve_message(ledger, found.id, message)
        moved = ledger.fork(found.id, point, prune=prune)
    if as_json:
        echo_json(moved)
    else:
        where = display(moved.head) if moved.head is not None else "the start"
        deleted = f"; deleted {counted(found.messages - moved.messages, 'message')}" if prune else ""
        echo(f"{display(moved.id)} now continues from {where}{deleted}")
    return 0
