"""`hansard diff`: what a message changed in files."""

from __future__ import annotations

import os

import click

from hansard.cli.options import db_option, json_option, open_ledger, resolve_message
from hansard.cli.terminal import display, echo, echo_json
from hansard.cli.workspace.shared import find_thread, open_workspace, root_option, thread_option


@click.command("diff")
@click.argument("message", metavar="MESSAGE")
@click.option("--now", is_flag=True, help="Compare the current files with those at MESSAGE.")
@thread_option
@root_option
@db_option
@json_option
def command(message: str, now: bool, thread: str | None, root: str | None, db: str | None, as_json: bool) -> int:
    """Print the changes of MESSAGE as a unified diff; exit 1 if there are none."""
    from hansard.workspace.history import changes_of, changes_since, describe, diff

    with open_ledger(db) as ledger, open_workspace(ledger, root, create=thread is not None) as files:
        key = find_thread(files, thread)
        at = resolve_message(ledger, key, message)
        changes = (changes_since if now else changes_of)(files, key, at)
        texts = [diff(files, change) for change in changes]
    if as_json:
        echo_json(
            [
                {"path": display(os.fsdecode(change.path)), "what": describe(change), "diff": text}
                for change, text in zip(changes, texts, strict=True)
            ]
        )
    else:
        for text in texts:
            echo(display(text.removesuffix("\n"), lines=True))
    return 0 if changes else 1
