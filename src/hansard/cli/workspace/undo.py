"""`hansard undo`: undo the last turns of a thread and their changes to files."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve_message
from hansard.cli.workspace.shared import find_thread, open_workspace, root_option, run_options, run_plan, thread_option


@click.command("undo")
@click.argument("turns", metavar="[N]", type=click.IntRange(min=1), default=1)
@click.option("--to", metavar="MESSAGE", help="Go to this message instead, on this or another branch.")
@click.option(
    "--scope",
    type=click.Choice(["both", "files", "conversation"]),
    default="both",
    show_default=True,
    help="What to undo.",
)
@run_options
@thread_option
@root_option
@db_option
@json_option
def command(
    turns: int,
    to: str | None,
    scope: str,
    dry_run: bool,
    yes: bool,
    thread: str | None,
    root: str | None,
    db: str | None,
    as_json: bool,
) -> int:
    """Undo the last N turns (default: 1) of a thread: its head, its todo list, and its changes to files.

    Changes of others stay. A text file that has changed since is merged if the changes do not overlap; other files
    that have changed are kept and listed (exit 1). `hansard redo` reverses an undo.

    The files of a Sage session are verified by their recorded hashes first. If one differs, has no backup or cannot be
    verified, nothing is changed; --yes reverts files that cannot be verified and keeps those that differ.
    """
    from hansard.workspace import Undo

    with open_ledger(db) as ledger, open_workspace(ledger, root, create=thread is not None) as files:
        key = find_thread(files, thread)
        target = None if to is None else resolve_message(ledger, key, to)
        return run_plan(
            files.plan(Undo(key, turns, target, scope, unverified=yes)), dry_run=dry_run, yes=yes, as_json=as_json
        )
