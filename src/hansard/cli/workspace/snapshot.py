"""`hansard snapshot`: look at all files of a workspace and record what changed."""

from __future__ import annotations

import os

import click

from hansard.cli.options import (
    counted,
    db_option,
    json_option,
    open_ledger,
    resolve,
    resolve_message,
    say,
    say_json,
    shown,
)
from hansard.cli.workspace.shared import open_workspace, root_option


@click.command("snapshot")
@click.option("--thread", metavar="THREAD", help="Whose changes these are; without it they are nobody's.")
@click.option("--message", metavar="MESSAGE", help="Which message made them; else the thread's last.")
@root_option
@db_option
@json_option
def command(thread: str | None, message: str | None, root: str | None, db: str | None, as_json: bool) -> int:
    """Record the files as they are. The first snapshot of a folder begins its history."""
    if message is not None and thread is None:
        raise click.UsageError("--message is one of a thread; name that with --thread.")
    from hansard.workspace import By
    from hansard.workspace.history import words

    with open_ledger(db, create=True) as ledger, open_workspace(ledger, root, create=True) as files:
        key = None if thread is None else resolve(ledger, thread).id
        at = None if key is None or message is None else resolve_message(ledger, key, message)
        taken = files.snapshot(By(thread_id=key, message_id=at))
        changes = [(shown(os.fsdecode(one.path)), words(one)) for one in taken.changes]
        if as_json:
            say_json(
                {
                    "root": files.root.path,
                    "snapshot": taken.number,
                    "files": taken.files,
                    "changes": [{"path": path, "what": what} for path, what in changes],
                    "partial": taken.partial,
                }
            )
            return 0
        for path, what in changes:
            say(f"{what:<8}  {path}")
        say(f"{shown(files.root.path)}: {counted(taken.files, 'file')}, {counted(len(changes), 'change')}")
        for reason in taken.partial:
            click.echo(f"hansard: partial: {shown(reason)}", err=True)
    return 0
