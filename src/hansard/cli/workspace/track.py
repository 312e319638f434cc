"""`hansard track`: record what a tool did to the paths it names."""

from __future__ import annotations

import os

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message, say, say_json, shown
from hansard.cli.workspace.shared import open_workspace, root_option


@click.command("track")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--thread", metavar="THREAD", required=True, help="Whose tool it was.")
@click.option("--message", metavar="MESSAGE", help="Which message called it; else the thread's last.")
@root_option
@db_option
@json_option
def command(
    paths: tuple[str, ...], thread: str, message: str | None, root: str | None, db: str | None, as_json: bool
) -> int:
    """Record what changed at PATH since the last look, as the thread's: for hooks that run after a tool."""
    from hansard.workspace import By
    from hansard.workspace.history import words

    with open_ledger(db) as ledger, open_workspace(ledger, root, create=True) as files:
        key = resolve(ledger, thread).id
        at = None if message is None else resolve_message(ledger, key, message)
        taken = files.track(By(thread_id=key, message_id=at), *(os.path.abspath(path) for path in paths))
        changes = [(shown(os.fsdecode(one.path)), words(one)) for one in taken.changes]
    if as_json:
        say_json({"snapshot": taken.number, "changes": [{"path": path, "what": what} for path, what in changes]})
    else:
        for path, what in changes:
            say(f"{what:<8}  {path}")
    return 0 if changes else 1
