"""`hansard checkout`: the head of a thread at another message."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message, say, say_json, shown


@click.command("checkout")
@click.argument("thread", metavar="THREAD")
@click.argument("message", metavar="MESSAGE")
@click.option("--tip", is_flag=True, help="Go on to the end of the branch the message is on.")
@db_option
@json_option
def command(thread: str, message: str, tip: bool, db: str | None, as_json: bool) -> int:
    """Put the head of THREAD at MESSAGE: what is said next follows it. Nothing is deleted, all branches stay."""
    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        moved = ledger.checkout(found.id, resolve_message(ledger, found.id, message), tip=tip)
    if as_json:
        say_json(moved)
    else:
        say(f"the head of {shown(moved.id)} is {shown(moved.head)}")
    return 0
