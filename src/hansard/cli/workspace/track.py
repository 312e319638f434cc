"""`hansard track`: record what a tool changed at the paths it names."""

from __future__ import annotations

import os

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message
from hansard.cli.terminal import display, echo, echo_json
from hansard.cli.workspace.shared import open_workspace, root_option


@click.command("track")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--thread", metavar="THREAD", required=True, help="The thread that called the tool.")
@click.option("--message", metavar="MESSAGE", help="The message that called the tool (default: the thread's last).")
@root_option
@db_option
@json_option
def command(
    paths: tuple[str, ...], thread: str, message: str | None, root: str | None, db: str | None, as_json: bool
) -> int:
    """Record what changed at PATH since the last snapshot, as changes of THREAD; for hooks that run after a tool."""
    from hansard.workspace import Author
    from hansard.workspace.history import describe

    with open_ledger(db) as ledger, open_workspace(ledger, root, create=True) as files:
        key = resolve(ledger, thread).id
        at = None if message is None else resolve_message(ledger, key, message)
        result = files.track(Author(thread_id=key, message_id=at), *(os.path.abspath(path) for path in paths))
        changes = [(display(os.fsdecode(one.path)), describe(one)) for one in result.changes]
    if as_json:
        echo_json({"snapshot": result.number, "changes": [{"path": path, "what": what} for path, what in changes]})
    else:
        for path, what in changes:
            echo(f"{what:<8}  {path}")
    return 0 if changes else 1
