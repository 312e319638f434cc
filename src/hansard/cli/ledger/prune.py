"""`hansard prune`: delete what stands on no branch in force."""

from __future__ import annotations

import click

from hansard.cli.options import counted, db_option, json_option, open_ledger, resolve, say, say_json


@click.command("prune")
@click.argument("thread", metavar="[THREAD]", required=False)
@click.option("--before", metavar="TIME", help="Only what was over before, such as 2026-01-31.")
@db_option
@json_option
def command(thread: str | None, before: str | None, db: str | None, as_json: bool) -> int:
    """Delete what superseded, aborted, failed and interrupted runs said, journals, and blobs that nobody uses.

    What is on the path to the head, or on a branch in force, stays. Without THREAD, in all threads.
    """
    with open_ledger(db) as ledger:
        done = ledger.prune(None if thread is None else resolve(ledger, thread).id, before=before)
    if as_json:
        say_json(done)
    else:
        pieces = (counted(done.messages, "message"), counted(done.blobs, "blob"), counted(done.chunks, "journal entry"))
        say(f"deleted {', '.join(pieces)}")
    return 0
