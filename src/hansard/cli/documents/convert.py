"""`hansard convert`: any format in, any format out, and exactly what was lost on the way."""

from __future__ import annotations

from typing import Any

import click

from hansard import formats
from hansard.cli.files import load, naming
from hansard.cli.output import Order, deliver, writing_options
from hansard.formats.contract import Written, WrittenAll


@click.command("convert")
@click.argument("source", metavar="SRC")
@click.option("--from", "from_", metavar="FORMAT", help="The format of SRC; told from the data when left out.")
@writing_options
def command(source: str, from_: str | None, **options: Any) -> int:
    """Write the conversations in SRC (a file, or - for standard input) in another format.

    When OUT is a folder, each conversation becomes a file in it.
    """
    order = Order(**options)
    formats.get(order.to)
    data = load(source)
    written: Written | WrittenAll | list[Written]
    with naming(source):
        if order.folder is not None:
            read = formats.read_all(data, from_)
            written = [formats.write(conversation, order.to, target=order.aim) for conversation in read]
        else:
            written = formats.convert(data, order.to, from_, target=order.aim)
    return deliver(order, written)
