"""`hansard handover`: go on with a thread in another coding agent."""

from __future__ import annotations

import sys

import click

from hansard.cli.options import counted, db_option, json_option, open_ledger, resolve, say, say_json, shown


@click.command("handover")
@click.argument("thread", metavar="THREAD")
@click.option("--to", "to", required=True, metavar="AGENT", help="claude-code, codex, gemini-cli, sage or pi.")
@click.option("--cwd", metavar="FOLDER", help="The project; the folder the thread was last in when left out.")
@db_option
@json_option
def command(thread: str, to: str, cwd: str | None, db: str | None, as_json: bool) -> int:
    """Write THREAD as a native session of another agent, where that agent looks for its sessions."""
    from hansard.ledger.ids import clock
    from hansard.sessions.handover import handover

    with open_ledger(db) as ledger:
        conversation = ledger.export_conversation(resolve(ledger, thread).id)
    done = handover(conversation, to, cwd=cwd, now=clock())
    losses = done.written.losses
    if as_json:
        say_json({"path": str(done.path), "resume": done.resume, "losses": losses})
        return 0
    say(shown(str(done.path)))
    say(f"go on with: {shown(done.resume)}")
    if losses:
        print(f"{counted(len(losses), 'thing')} could not be carried as they were; --json lists them", file=sys.stderr)
    return 0
