"""`hansard backup`: a copy of the ledger while others write to it."""

from __future__ import annotations

import os

import click

from hansard.cli.options import db_option, json_option, open_ledger, say, say_json, shown, watched


@click.command("backup")
@click.argument("path", metavar="FILE")
@db_option
@json_option
def command(path: str, db: str | None, as_json: bool) -> int:
    """Copy the ledger as it is now into FILE, a ledger itself: `--db FILE` opens it. FILE is replaced when whole."""
    with open_ledger(db) as ledger, watched("copying") as progress:
        ledger.backup(path, progress)
    size = os.path.getsize(path)
    if as_json:
        say_json({"path": path, "bytes": size})
    else:
        say(f"{shown(path)}: {size:,} bytes")
    return 0
