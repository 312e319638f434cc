"""`hansard history`: the recorded changes of a workspace, with author and time."""

from __future__ import annotations

import os

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve
from hansard.cli.terminal import counted, display, echo, echo_json
from hansard.cli.workspace.shared import import_edits, open_workspace, root_option

_STATES = {1: "", 2: " (undone)"}


@click.command("history")
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--thread", metavar="THREAD", help="Only changes of this thread.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Maximum number of snapshots, newest first.",
)
@root_option
@db_option
@json_option
def command(path: str | None, thread: str | None, limit: int, root: str | None, db: str | None, as_json: bool) -> int:
    """List the snapshots of a workspace, or of one PATH in it: number, time, source, author, changes."""
    from hansard.model.times import iso_time
    from hansard.workspace.history import describe
    from hansard.workspace.rooted_fs import relative

    with open_ledger(db) as ledger, open_workspace(ledger, root, create=thread is not None) as files:
        key = None if thread is None else resolve(ledger, thread).id
        if key is not None:
            import_edits(files, key)
        name = None if path is None else relative(files.root.path, os.path.abspath(path))
        own = set() if key is None else {one.author.message_id for one in files.snapshots(key)} - {None}
        found = [
            one
            for one in files.snapshots()
            if key is None
            or one.author.thread_id == key
            or (one.author.thread_id is None and one.author.message_id in own)
            if name is None or any(change.path == name for change in one.changes)
        ][-limit:][::-1]
    if as_json:
        echo_json(
            [
                {
                    "snapshot": one.number,
                    "at": iso_time(one.at),
                    "source": one.source,
                    "threadId": one.author.thread_id,
                    "messageId": one.author.message_id,
                    "runId": one.author.run_id,
                    "agentId": one.author.agent_id,
                    "undone": one.state == 2,
                    "partial": one.partial,
                    "changes": [{"path": display(os.fsdecode(c.path)), "what": describe(c)} for c in one.changes],
                }
                for one in found
            ]
        )
        return 0 if found else 1
    for one in found:
        who = display(one.author.agent_id or one.author.thread_id or "outside")
        where = f" {display(one.author.message_id)}" if one.author.message_id else ""
        when = iso_time(one.at)[:19].replace("T", " ")
        echo(f"{one.number}  {when}  {one.source}  {who}{where}{_STATES[one.state]}")
        listed = one.changes if name is None else [change for change in one.changes if change.path == name]
        if one.source == "base" and name is None:
            echo(f"    {counted(len(listed), 'path')} in the first snapshot")
            continue
        for change in listed:
            echo(f"    {describe(change):<8}  {display(os.fsdecode(change.path))}")
    if not found:
        click.echo("no changes recorded; `hansard snapshot` starts recording", err=True)
        return 1
    return 0
