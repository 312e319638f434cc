"""`hansard project`: fill the table of messages that SQL can query."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve
from hansard.cli.terminal import counted, echo, echo_json


@click.command("project")
@click.argument("thread", metavar="[THREAD]", required=False)
@db_option
@json_option
def command(thread: str | None, db: str | None, as_json: bool) -> int:
    """Bring the table conversation_message up to date with the transcripts, on PostgreSQL.

    It has one row for each message: id, thread_id, role, type, content (jsonb), created_at and resource_id. Only what
    is new is written. Without THREAD, project all threads.
    """
    with open_ledger(db) as ledger:
        done = ledger.project(None if thread is None else resolve(ledger, thread).id)
    if as_json:
        echo_json(done)
    else:
        escaped = f", {counted(done.escaped, 'message')} with escaped content" if done.escaped else ""
        pieces = f"{counted(done.messages, 'message')} added, {done.removed} removed"
        echo(f"{pieces}, in {counted(done.threads, 'thread')}{escaped}")
    return 0
