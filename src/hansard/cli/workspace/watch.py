"""`hansard watch`: record snapshots of a workspace at intervals while an agent works in it."""

from __future__ import annotations

import os
import time

import click

from hansard.cli.options import db_option, open_ledger, resolve
from hansard.cli.terminal import display, echo
from hansard.cli.workspace.shared import open_workspace, root_option


@click.command("watch")
@click.option("--thread", metavar="THREAD", help="The thread that makes the changes, if no other works here.")
@click.option(
    "--every", metavar="SECONDS", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Interval."
)
@click.option("--times", metavar="N", type=click.IntRange(min=1), help="Stop after N snapshots.")
@root_option
@db_option
def command(thread: str | None, every: float, times: int | None, root: str | None, db: str | None) -> int:
    """Record the changes of a workspace every few seconds, until stopped."""
    from hansard.workspace import Author
    from hansard.workspace.history import describe

    with open_ledger(db, create=True) as ledger, open_workspace(ledger, root, create=True) as files:
        key = None if thread is None else resolve(ledger, thread).id
        looks = 0
        while True:
            for change in files.snapshot(Author(thread_id=key)).changes:
                echo(f"{describe(change):<8}  {display(os.fsdecode(change.path))}")
            looks += 1
            if looks == times:
                return 0
            time.sleep(every)
