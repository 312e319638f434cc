"""`hansard redo`: reverse the last undo."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger
from hansard.cli.workspace.shared import find_thread, open_workspace, root_option, run_options, run_plan, thread_option


@click.command("redo")
@run_options
@thread_option
@root_option
@db_option
@json_option
def command(dry_run: bool, yes: bool, thread: str | None, root: str | None, db: str | None, as_json: bool) -> int:
    """Reverse the last undo of a thread, files and head; possible until a message is added."""
    from hansard.workspace import Redo

    with open_ledger(db) as ledger, open_workspace(ledger, root) as files:
        plan = files.plan(Redo(find_thread(files, thread)))
        return run_plan(plan, dry_run=dry_run, yes=yes, as_json=as_json)
