"""`hansard redo`: what was undone, again."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger
from hansard.cli.workspace.shared import carry_out, open_workspace, root_option, thread_option, whose


@click.command("redo")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask, however many files there are.")
@thread_option
@root_option
@db_option
@json_option
def command(dry_run: bool, yes: bool, thread: str | None, root: str | None, db: str | None, as_json: bool) -> int:
    """Take the last undo of a thread back, files and head. It works until something new is said."""
    from hansard.workspace.undo import redo_course

    with open_ledger(db) as ledger, open_workspace(ledger, root) as files:
        return carry_out(redo_course(files, whose(files, thread)), dry_run=dry_run, yes=yes, as_json=as_json)
