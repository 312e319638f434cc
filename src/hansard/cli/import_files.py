"""`hansard import`: files of every format into the ledger; what is known already is recognised, only the new is added.

A conversation that names itself becomes the thread of that name. One that does not is known again by its file and its
first words, so that a file that grew adds only what is new.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from hansard import formats
from hansard.cli.documents import load, naming
from hansard.cli.ledgers import counted, db_option, json_option, open_ledger, say, say_json, shown
from hansard.errors import HansardError
from hansard.model.conversation import Conversation

if TYPE_CHECKING:
    from hansard.store.ledger import Ledger


@click.command("import")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--format", "--from", "format_", metavar="FORMAT", help="The format; told from the data when left out.")
@db_option
@json_option
def command(paths: tuple[str, ...], format_: str | None, db: str | None, as_json: bool) -> int:
    """Put the conversations in PATH (files, or - for standard input) into the ledger.

    A file that cannot be read is named, the others are imported; the exit code is then 2.
    """
    if format_ is not None:
        formats.get(format_)
    bad = 0
    told: list[dict[str, Any]] = []
    with open_ledger(db, create=True) as ledger:
        for path in _progress(paths):
            try:
                rows = _import(ledger, path, format_)
            except (HansardError, OSError, MemoryError) as error:
                bad += 1
                text = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error) or "too big for memory"
                told.append({"path": path, "error": text})
                print(f"hansard: {shown(text)}", file=sys.stderr)
                continue
            told += rows
            for row in () if as_json else rows:
                say(_line(row))
    if as_json:
        say_json(told)
    return 2 if bad else 0


def _import(ledger: Ledger, path: str, format_: str | None) -> list[dict[str, Any]]:
    data = load(path)
    rows: list[dict[str, Any]] = []
    with naming(path):
        for i, conversation in enumerate(formats.read_all(data, format_)):
            key = _key(conversation, path, i)
            done = ledger.sync(key, conversation)
            rows.append({"path": path, "threadId": key, "known": done.known, "added": done.added, "head": done.head})
    return rows


def _key(conversation: Conversation, path: str, index: int) -> str:
    """The thread a conversation belongs to."""
    if isinstance(conversation.id, str) and conversation.id:
        return conversation.id
    from hashlib import sha256

    from hansard.store.chain import said

    first = said(conversation.messages[0]).hex() if conversation.messages else ""
    name = "-" if path == "-" else os.path.realpath(path)
    return sha256("\0".join((name, str(index), first)).encode("utf-8", "surrogateescape")).hexdigest()[:26]


def _line(row: dict[str, Any]) -> str:
    added, known = row["added"], row["known"]
    if not added:
        text = "nothing new"
    elif known:
        text = f"{added} new, {known} known"
    else:
        text = counted(added, "message")
    return f"{shown(row['path'])}: {shown(row['threadId'])}: {text}"


def _progress(paths: tuple[str, ...]) -> Iterable[str]:
    """The paths, with a bar on a terminal where it may take a while."""
    if len(paths) < 3 or not sys.stderr.isatty():
        return paths
    return _bar(paths)


def _bar(paths: tuple[str, ...]) -> Iterator[str]:
    from rich.console import Console
    from rich.progress import track

    yield from track(paths, "importing", console=Console(stderr=True), transient=True)
