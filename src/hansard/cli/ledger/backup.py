"""`hansard backup`: a consistent copy of a ledger in use."""

from __future__ import annotations

import os

import click

from hansard.cli.options import db_option, json_option, open_ledger
from hansard.cli.terminal import display, echo, echo_json, progress_bar


@click.command("backup")
@click.argument("path", metavar="FILE")
@db_option
@json_option
def command(path: str, db: str | None, as_json: bool) -> int:
    """Copy the current ledger to FILE, itself a ledger (open it with --db). FILE is replaced atomically."""
    with open_ledger(db) as ledger, progress_bar("copying") as progress:
        ledger.backup(path, progress)
    size = os.path.getsize(path)
    if as_json:
        echo_json({"path": path, "bytes": size})
    else:
        echo(f"{display(path)}: {size:,} bytes")
    return 0
