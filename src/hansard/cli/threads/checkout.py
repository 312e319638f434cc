"""`hansard checkout`: move the head of a thread to another message."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message
from hansard.cli.terminal import display, echo, echo_json


@click.command("checkout")
@click.argument("thread", metavar="THREAD")
@click.argument("message", metavar="MESSAGE")
@click.option("--tip", is_flag=True, help="Use the last message of the branch that MESSAGE is on.")
@db_option
@json_option
def command(thread: str, message: str, tip: bool, db: str | None, as_json: bool) -> int:
    """Move the head of THREAD to MESSAGE: the next message follows it. All branches stay."""
    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        moved = ledger.checkout(found.id, resolve_message(ledger, found.id, message), tip=tip)
    if as_json:
        echo_json(moved)
    else:
        echo(f"the head of {display(moved.id)} is now {display(moved.head)}")
    return 0
