"""`hansard snapshot`: scan all files of a workspace and record what changed."""

from __future__ import annotations

import os

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message
from hansard.cli.terminal import counted, display, echo, echo_json
from hansard.cli.workspace.shared import open_workspace, root_option


@click.command("snapshot")
@click.option("--thread", metavar="THREAD", help="The thread that made the changes (default: none).")
@click.option("--message", metavar="MESSAGE", help="The message that made the changes (default: the thread's last).")
@root_option
@db_option
@json_option
def command(thread: str | None, message: str | None, root: str | None, db: str | None, as_json: bool) -> int:
    """Record the current files. The first snapshot of a folder starts its history."""
    if message is not None and thread is None:
        raise click.UsageError("--message needs --thread.")
    from hansard.workspace import Author
    from hansard.workspace.history import describe

    with open_ledger(db, create=True) as ledger, open_workspace(ledger, root, create=True) as files:
        key = None if thread is None else resolve(ledger, thread).id
        at = None if key is None or message is None else resolve_message(ledger, key, message)
        result = files.snapshot(Author(thread_id=key, message_id=at))
        changes = [(display(os.fsdecode(one.path)), describe(one)) for one in result.changes]
        if as_json:
            echo_json(
                {
                    "root": files.root.path,
                    "snapshot": result.number,
                    "files": result.files,
                    "changes": [{"path": path, "what": what} for path, what in changes],
                    "partial": result.partial,
                }
            )
            return 0
        for path, what in changes:
            echo(f"{what:<8}  {path}")
        echo(f"{display(files.root.path)}: {counted(result.files, 'file')}, {counted(len(changes), 'change')}")
        for reason in result.partial:
            click.echo(f"hansard: partial: {display(reason)}", err=True)
    return 0
