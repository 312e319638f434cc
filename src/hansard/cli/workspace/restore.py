"""`hansard restore`: one file as it was at a message."""

from __future__ import annotations

import os
import re

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve_message
from hansard.cli.workspace.shared import carry_out, open_workspace, root_option, thread_option, whose


@click.command("restore")
@click.argument("path", metavar="PATH")
@click.option("--at", metavar="MESSAGE", required=True, help="A message, a snapshot's number, or 17^ for before it.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@thread_option
@root_option
@db_option
@json_option
def command(
    path: str, at: str, dry_run: bool, thread: str | None, root: str | None, db: str | None, as_json: bool
) -> int:
    """Put PATH back as it was at MESSAGE, whoever changed it since. What is there now is recorded first."""
    from hansard.workspace.history import at_message, at_snapshot
    from hansard.workspace.rooted_fs import relative
    from hansard.workspace.undo import restore_course

    with open_ledger(db) as ledger, open_workspace(ledger, root, create=thread is not None) as files:
        name = relative(files.root.path, os.path.abspath(path))
        if number := re.fullmatch(r"(\d{1,15})(\^?)", at):
            state = at_snapshot(files, int(number[1]), before=bool(number[2]))
        else:
            key = whose(files, thread)
            state = at_message(files, key, resolve_message(ledger, key, at))
        course = restore_course(files, name, state.entry(name))
        return carry_out(course, dry_run=dry_run, yes=True, as_json=as_json)
