"""`hansard copy`: the ledger in another place, on another backend."""

from __future__ import annotations

import os

import click

from hansard.cli.options import counted, db_option, file_of, json_option, open_ledger, say, say_json, shown, watched
from hansard.errors import StorageError
from hansard.ledger import on_server


@click.command("copy")
@click.argument("target", metavar="URL")
@db_option
@json_option
def command(target: str, db: str | None, as_json: bool) -> int:
    """Copy the ledger into an empty one at URL (postgresql://... or a new file), and check that both say the same."""
    path = file_of(target)
    if path is not None and os.path.exists(path):
        raise StorageError(f"{path}: is there already; name a new file (`hansard backup` replaces one)")
    if path is None and not on_server(target):
        raise StorageError(f"{target}: is gone when the command ends; name a file or postgresql://...")
    with open_ledger(db) as ledger, watched("copying") as progress:
        if path is not None:
            ledger.backup(path, progress)
            with open_ledger(target) as copied:
                count = copied.stats().messages
                problems = copied.verify()
            if problems:
                raise StorageError(f"{path}: the copy is not whole: {problems[0].what}; `hansard verify` says more")
        else:
            from hansard.ledger.maintenance import copy_ledger as moving

            with open_ledger(target, create=True) as copied:
                count = moving.copy(ledger._driver, copied._driver, progress)
    where = target if path is not None else target.partition("?")[0].rpartition("@")[2]
    if as_json:
        say_json({"to": where, "messages": count})
    else:
        say(f"{shown(where)}: {counted(count, 'message')}, and both ledgers say the same")
    return 0
