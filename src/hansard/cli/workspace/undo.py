"""`hansard undo`: a thread and the files it changed, back by a turn."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve_message
from hansard.cli.workspace.shared import carry_out, open_workspace, root_option, thread_option, whose


@click.command("undo")
@click.argument("turns", metavar="[N]", type=click.IntRange(min=1), default=1)
@click.option("--to", metavar="MESSAGE", help="Go to this message instead: back, or over to another branch.")
@click.option(
    "--scope",
    type=click.Choice(["both", "files", "conversation"]),
    default="both",
    show_default=True,
    help="What goes back.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask, however many files there are.")
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
    """Take back the last N turns of a thread: its head, its todo list, and the files it changed.

    What others changed stays. A file changed since is merged if it is text and that goes cleanly, else it is kept and
    named (exit 1). `hansard redo` takes it back.
    """
    from hansard.workspace.undo import course

    with open_ledger(db) as ledger, open_workspace(ledger, root, create=thread is not None) as files:
        key = whose(files, thread)
        target = None if to is None else resolve_message(ledger, key, to)
        return carry_out(course(files, key, turns, to=target, scope=scope), dry_run=dry_run, yes=yes, as_json=as_json)
