"""`hansard export`: threads of the ledger as a document of any format, and exactly what it could not carry."""

from __future__ import annotations

from typing import Any

import click

from hansard import formats
from hansard.cli.ledgers import db_option, open_ledger, resolve
from hansard.cli.writing import Order, deliver, writing_options
from hansard.formats.contract import Written, WrittenAll


@click.command("export")
@click.argument("threads", metavar="THREAD...", nargs=-1, required=True)
@writing_options
@db_option
def command(threads: tuple[str, ...], db: str | None, **options: Any) -> int:
    """Write THREAD (an id, the beginning of one, or a title) in a format, with all its branches where it has them.

    A thread that was imported and not touched comes out as it went in. When OUT is a folder, each thread becomes a
    file in it.
    """
    order = Order(**options)
    formats.get(order.to)
    with open_ledger(db) as ledger:
        found = [ledger.export_conversation(resolve(ledger, text).id) for text in threads]
    written: Written | WrittenAll | list[Written]
    if order.folder is not None:
        written = [formats.write(conversation, order.to, target=order.aim) for conversation in found]
    else:
        written = formats.write_all(found, order.to, target=order.aim)
    return deliver(order, written)
