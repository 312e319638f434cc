"""`hansard watch`: look at a workspace again and again while an agent works in it."""

from __future__ import annotations

import os
import time

import click

from hansard.cli.options import db_option, open_ledger, resolve, say, shown
from hansard.cli.workspace.shared import open_workspace, root_option


@click.command("watch")
@click.option("--thread", metavar="THREAD", help="Whose changes these are, if it works here alone.")
@click.option("--every", metavar="SECONDS", type=click.FloatRange(min=0.1), default=2.0, show_default=True)
@click.option("--times", metavar="N", type=click.IntRange(min=1), help="Look so many times, then stop.")
@root_option
@db_option
def command(thread: str | None, every: float, times: int | None, root: str | None, db: str | None) -> int:
    """Record what changes in a folder, every few seconds, until stopped."""
    from hansard.workspace import By
    from hansard.workspace.history import words

    with open_ledger(db, create=True) as ledger, open_workspace(ledger, root, create=True) as files:
        key = None if thread is None else resolve(ledger, thread).id
        looks = 0
        while True:
            for change in files.snapshot(By(thread_id=key)).changes:
                say(f"{words(change):<8}  {shown(os.fsdecode(change.path))}")
            looks += 1
            if looks == times:
                return 0
            time.sleep(every)
