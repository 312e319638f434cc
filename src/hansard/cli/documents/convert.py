"""`hansard convert`: any format in, any format out, with a list of what was lost."""

from __future__ import annotations

from typing import Any

import click

from hansard import formats
from hansard.cli.files import load, naming
from hansard.cli.output import WriteOptions, write_documents, writing_options
from hansard.formats.contract import Written, WrittenAll


@click.command("convert")
@click.argument("source", metavar="SRC")
@click.option("--from", "from_", metavar="FORMAT", help="Input format (auto-detected if omitted).")
@writing_options
def command(source: str, from_: str | None, **given: Any) -> int:
    """Convert the conversations in SRC (a file, or - for standard input) to another format.

    If OUT is a folder, each conversation is written to a file of its own in it.
    """
    options = WriteOptions(**given)
    formats.get(options.to)
    data = load(source)
    written: Written | WrittenAll | list[Written]
    with naming(source):
        if options.folder is not None:
            read = formats.read_all(data, from_)
            current = [formats.migrated(conversation, options.to) for conversation in read]
            written = [
                formats.write(conversation, options.to, target=options.write_target, **options.request)
                for conversation in current
            ]
        else:
            written = formats.convert(data, options.to, from_, target=options.write_target, **options.request)
    return write_documents(options, written)
