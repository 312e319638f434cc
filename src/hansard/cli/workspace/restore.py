"""`hansard restore`: restore a file as it was at a message or snapshot."""

from __future__ import annotations

import os
import re

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve_message
from hansard.cli.workspace.shared import find_thread, open_workspace, root_option, run_plan, thread_option


@click.command("restore")
@click.argument("path", metavar="PATH")
@click.option(
    "--at", metavar="MESSAGE", required=True, help="A message, or a snapshot: 17 for the state after it, 17^ before it."
)
@click.option("--dry-run", is_flag=True, help="Print what would change; change nothing.")
@thread_option
@root_option
@db_option
@json_option
def command(
    path: str, at: str, dry_run: bool, thread: str | None, root: str | None, db: str | None, as_json: bool
) -> int:
    """Restore PATH as it was at MESSAGE, regardless of later changes; its current content is recorded first."""
    from hansard.workspace import Restore
    from hansard.workspace.history import at_message, at_snapshot
    from hansard.workspace.rooted_fs import relative

    with open_ledger(db) as ledger, open_workspace(ledger, root, create=thread is not None) as files:
        name = relative(files.root.path, os.path.abspath(path))
        if number := re.fullmatch(r"(\d{1,15})(\^?)", at):
            state = at_snapshot(files, int(number[1]), before=bool(number[2]))
        else:
            key = find_thread(files, thread)
            state = at_message(files, key, resolve_message(ledger, key, at))
        plan = files.plan(Restore(name, state.entry(name)))
        return run_plan(plan, dry_run=dry_run, yes=True, as_json=as_json)
