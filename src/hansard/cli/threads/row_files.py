"""Rows of the ledger as CSV or JSON lines: `hansard export --rows`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from hansard.cli.files import save
from hansard.ledger.analysis.row_types import Row, Table, columns
from hansard.model import exact_json

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger

KINDS = ("csv", "jsonl")


def write_rows(ledger: Ledger, table: Table, to: str | None, threads: list[str] | None, output: str | None) -> int:
    """Write the rows of some threads, or of all if `threads` is None."""
    if to not in KINDS:
        raise click.UsageError("rows are written --to csv or --to jsonl.")
    found: Iterator[Row]
    if threads is None:
        found = ledger.rows(table)
    else:
        found = chain.from_iterable(ledger.rows(table, thread=key) for key in threads)
    save(_csv(found, columns(table)) if to == "csv" else _lines(found), output)
    return 0


def _lines(rows: Iterable[Row]) -> bytes:
    return b"".join(exact_json.encode(row) + b"\n" for row in rows)


def _csv(rows: Iterable[Any], names: list[str]) -> bytes:
    """A header and the rows; lone surrogates, which no CSV reader takes, are written as escapes."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")
