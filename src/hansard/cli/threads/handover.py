"""`hansard handover`: continue a thread in another coding agent."""

from __future__ import annotations

import sys

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve, resolve_message
from hansard.cli.terminal import display, echo, echo_json


@click.command("handover")
@click.argument("thread", metavar="THREAD")
@click.option(
    "--to",
    "to",
    required=True,
    metavar="AGENT",
    help="The agent, such as codex or claude-code.",
)
@click.option("--cwd", metavar="FOLDER", help="Folder of the project (default: the folder the thread last ran in).")
@click.option("--at", metavar="MESSAGE", help="Hand over the session as of this message of any branch.")
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would be written, and the losses.")
@db_option
@json_option
def command(thread: str, to: str, cwd: str | None, at: str | None, dry_run: bool, db: str | None, as_json: bool) -> int:
    """Write THREAD as a native session of another agent, into the folder where that agent keeps its sessions."""
    from hansard.ledger.ids import clock
    from hansard.sessions.handover import handover, note_handover

    with open_ledger(db) as ledger:
        key = resolve(ledger, thread).id
        at = at and resolve_message(ledger, key, at)
        done = handover(ledger.export_conversation(key), to, cwd=cwd, at=at, dry=dry_run, now=clock())
        if not dry_run:
            note_handover(ledger, key, done)
    losses = done.written.losses
    if as_json:
        echo_json({"path": str(done.path), "resume": done.resume, "losses": losses})
        return 0
    echo(f"would write {display(str(done.path))}" if dry_run else display(str(done.path)))
    echo(f"continue with: {display(done.resume)}")
    if losses:
        print(display(losses.title) + "; --json lists them", file=sys.stderr)
        for line in losses.groups():
            print(display(line), file=sys.stderr)
    return 0
