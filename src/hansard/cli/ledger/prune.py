"""`hansard prune`: delete messages of superseded, aborted, failed and interrupted runs."""

from __future__ import annotations

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve
from hansard.cli.terminal import counted, echo, echo_json


@click.command("prune")
@click.argument("thread", metavar="[THREAD]", required=False)
@click.option("--before", metavar="TIME", help="Only branches that ended before this date, e.g. 2026-01-31.")
@db_option
@json_option
def command(thread: str | None, before: str | None, db: str | None, as_json: bool) -> int:
    """Delete messages of superseded, aborted, failed and interrupted runs, their journals, and unreferenced blobs.

    Messages on the active branch stay, and on other branches those of users and of active or committed runs. Without
    THREAD, prune all threads.
    """
    with open_ledger(db) as ledger:
        done = ledger.prune(None if thread is None else resolve(ledger, thread).id, before=before)
    if as_json:
        echo_json(done)
    else:
        pieces = (counted(done.messages, "message"), counted(done.blobs, "blob"), counted(done.chunks, "journal entry"))
        echo(f"deleted {', '.join(pieces)}")
    return 0
