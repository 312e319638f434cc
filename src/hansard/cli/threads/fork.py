"""`hansard fork`: go on from an earlier message."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message, say, say_json, shown


@click.command("fork")
@click.argument("thread", metavar="THREAD")
@click.argument("message", metavar="[MESSAGE]", required=False)
@db_option
@json_option
def command(thread: str, message: str | None, db: str | None, as_json: bool) -> int:
    """Go on from MESSAGE of THREAD: what is said next is a branch beside the rest. Without MESSAGE, from the start."""
    with open_ledger(db) as ledger:
        found = resolve(ledger, thread)
        moved = ledger.fork(found.id, None if message is None else resolve_message(ledger, found.id, message))
    if as_json:
        say_json(moved)
    else:
        where = f"behind {shown(moved.head)}" if moved.head is not None else "at the start"
        say(f"{shown(moved.id)} goes on {where}")
    return 0
