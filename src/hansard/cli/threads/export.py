"""`hansard export`: threads of the ledger as a document of any format, and exactly what it could not carry."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from hansard import formats
from hansard.cli.files import load
from hansard.cli.options import db_option, open_ledger, resolve
from hansard.cli.output import Order, deliver, writing_options
from hansard.errors import HansardError
from hansard.formats.contract import Written, WrittenAll

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger


@click.command("export")
@click.argument("threads", metavar="THREAD...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every thread of the ledger.")
@writing_options
@db_option
def command(threads: tuple[str, ...], everything: bool, db: str | None, **options: Any) -> int:
    """Write THREAD (an id, the beginning of one, or a title) in a format, with all its branches where it has them.

    With - the ids are read from standard input, one a line, as `hansard threads --ids` prints them.

    A thread that was imported and not touched comes out as it went in. When OUT is a folder, each thread becomes a
    file in it.
    """
    order = Order(**options)
    formats.get(order.to)
    with open_ledger(db) as ledger:
        ids = _chosen(ledger, threads, everything)
        if not ids:
            click.echo("no threads to write; `hansard import` puts some in", err=True)
            return 1
        if (kept := _session_files(ledger, ids, order)) is not None:
            return kept
        found = [ledger.export_conversation(key) for key in ids]
    written: Written | WrittenAll | list[Written]
    if order.folder is not None:
        written = [formats.write(conversation, order.to, target=order.aim) for conversation in found]
    else:
        written = formats.write_all(found, order.to, target=order.aim)
    return deliver(order, written)


def _chosen(ledger: Ledger, threads: tuple[str, ...], everything: bool) -> list[str]:
    if everything == bool(threads):
        raise click.UsageError("name threads, or - to read their ids, or --all.")
    if everything:
        from hansard.cli.threads.threads import every

        return list(every(ledger, newest=False))
    return [resolve(ledger, text).id for text in (_listed(load("-")) if threads == ("-",) else threads)]


def _listed(lines: bytes) -> list[str]:
    """The ids in lines, which may have spaces in them, and half surrogate pairs."""
    try:
        text = lines.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise HansardError(f"standard input: not UTF-8 at byte {error.start}; give ids, one a line") from None
    return [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]


def _session_files(ledger: Ledger, ids: list[str], order: Order) -> int | None:
    """The session files that threads were imported from, as they were; None where that is not what is asked for."""
    if formats.get(order.to).session is None or order.as_json or order.report:
        return None
    from hansard.cli.files import save
    from hansard.sessions.exporter import session_files

    found = [session_files(ledger, key, order.to) for key in ids]
    if any(files is None for files in found) or (len(found) > 1 and order.folder is None):
        return None
    kept = [files for files in found if files is not None]
    if order.folder is None:
        save(next(iter(kept[0].values())), order.output)
        return 0
    names = [_below(name).lower() for files in kept for name in files]
    alike = len(set(names)) < len(names)  # some agents call every session the same: each gets a folder then
    for i, files in enumerate(kept, start=1):
        folder = os.path.join(order.folder, f"{i:0{len(str(len(kept)))}}") if alike else order.folder
        for name, data in files.items():
            path = os.path.join(folder, _below(name))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            save(data, path)
    return 0


def _below(name: str) -> str:
    """Where a file of a session goes in a folder: never above it."""
    return os.path.basename(name) if name.startswith("..") else name
