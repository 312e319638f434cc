"""`hansard copy`: copy the ledger to another place or backend."""

from __future__ import annotations

import os

import click

from hansard.cli.options import db_option, file_of, json_option, open_ledger
from hansard.cli.terminal import counted, display, echo, echo_json, progress_bar
from hansard.errors import StorageError
from hansard.ledger import on_server


@click.command("copy")
@click.argument("target", metavar="URL")
@db_option
@json_option
def command(target: str, db: str | None, as_json: bool) -> int:
    """Copy the ledger to URL (an empty postgresql://... or a new file) and verify that both are equal."""
    path = file_of(target)
    if path is not None and os.path.exists(path):
        raise StorageError(f"{path}: already exists; name a new file (`hansard backup` replaces files)")
    if path is None and not on_server(target):
        raise StorageError(f"{target}: would be lost when the command ends; name a file or postgresql://...")
    with open_ledger(db) as ledger, progress_bar("copying") as progress:
        if path is not None:
            ledger.backup(path, progress)
            with open_ledger(target) as copied:
                count = copied.stats().messages
                problems = copied.verify()
            if problems:
                raise StorageError(
                    f"{path}: the copy is damaged: {problems[0].what}; `hansard verify` lists all problems"
                )
        else:
            from hansard.ledger.maintenance import copy_ledger

            with open_ledger(target, create=True) as copied:
                count = copy_ledger.copy(ledger._driver, copied._driver, progress)
    where = target if path is not None else target.partition("?")[0].rpartition("@")[2]
    if as_json:
        echo_json({"to": where, "messages": count})
    else:
        echo(f"{display(where)}: {counted(count, 'message')}, both ledgers are equal")
    return 0
