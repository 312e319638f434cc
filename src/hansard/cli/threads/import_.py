"""`hansard import`: files of every format into the ledger; what is known already is recognised, only the new is added.

A conversation that names itself becomes the thread of that name. One that does not is known again by its file and its
first words, so that a file that grew adds only what is new.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hansard import formats
from hansard.cli.files import load, naming
from hansard.cli.options import counted, db_option, json_option, open_ledger, say, say_json, shown
from hansard.errors import HansardError, UnknownFormat
from hansard.model.conversation import Conversation

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.sessions.discovery import Session

_LISTED = 50  # bad records of a file that are named
_PAUSE = 1.0


@click.command("import")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--format", "--from", "format_", metavar="FORMAT", help="The format; told from the data when left out.")
@click.option("--watch", is_flag=True, help="Go on: import what is said from now on, until Ctrl-C.")
@db_option
@json_option
def command(paths: tuple[str, ...], format_: str | None, watch: bool, db: str | None, as_json: bool) -> int:
    """Put the conversations in PATH (files, folders, or - for standard input) into the ledger.

    Without PATH: the sessions of every coding agent that is found on this machine. What is known already is
    recognised, a session file is kept byte for byte. A file that cannot be read is named, the others are imported;
    the exit code is then 2.
    """
    if format_ is not None:
        formats.get(format_)
    with open_ledger(db, create=True) as ledger:
        bad, told = _import_all(ledger, paths, format_, as_json)
        if as_json and not watch:
            say_json(told)
        while watch:
            bad = _again(ledger, paths, format_, as_json)
    return 2 if bad else 0


def _import_all(ledger: Ledger, paths: tuple[str, ...], format_: str | None, quiet: bool) -> tuple[int, list[Any]]:
    """Import everything once; how many files were bad, and what came of the others."""
    bad = 0
    told: list[dict[str, Any]] = []
    for path, rows in _rows(ledger, _sessions(paths, format_, quiet), format_):
        if isinstance(rows, str):
            bad += 1
            told.append({"path": path, "error": rows})
            print(f"hansard: {shown(rows)}", file=sys.stderr)
            continue
        told += rows
        for row in () if quiet else rows:
            say(_line(row))
        for row in rows:
            for one in row.get("bad", [])[:_LISTED]:
                where = f"{one['path']}: line {one['line']}, byte {one['byte']}"
                print(f"hansard: {shown(where)}: {shown(one['what'])}", file=sys.stderr)
    return bad, told


def _again(ledger: Ledger, paths: tuple[str, ...], format_: str | None, as_json: bool) -> int:
    """One more look at the same places; only what changed is told."""
    import time

    time.sleep(_PAUSE)
    for path, rows in _rows(ledger, _sessions(paths, format_, True), format_, bar=False):
        if isinstance(rows, str):
            print(f"hansard: {shown(path)}: {shown(rows)}", file=sys.stderr)
            continue
        for row in rows:
            if row["added"]:
                say_json(row) if as_json else say(_line(row))
    return 0


def _sessions(paths: tuple[str, ...], format_: str | None, quiet: bool) -> list[Session]:
    """What there is to import."""
    from hansard.sessions import discovery as places

    if not paths:
        found: list[Session] = []
        for agent, sessions in places.found():
            size = sum(_size(path) for one in sessions for path in (one.path, *one.parts))
            if not quiet:
                say(f"{agent.name}: {counted(len(sessions), 'session')}, {size / 1e6:,.1f} MB in {agent.folder()}")
            found += sessions
        if not found and not quiet:
            say("no sessions of coding agents here; name files or folders to import")
        return found
    listed: list[Session] = []
    for text in paths:
        path = Path(text)
        if text != "-" and path.is_dir():
            inside = places.in_folder(path)
            if not inside:
                raise HansardError(f"{text}: no session or conversation in this folder")
            listed += [one._replace(format=format_ or one.format) for one in inside]
        else:
            listed.append(places.Session(path, format_ or ""))
    return listed


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _rows(
    ledger: Ledger, sessions: list[Session], format_: str | None, *, bar: bool = True
) -> Iterator[tuple[str, list[dict[str, Any]] | str]]:
    """Import each; what came of it, or why it could not be read."""
    single = len(sessions) == 1
    for session, moved in _progress(sessions, bar):
        try:
            yield str(session.path), _import_session(ledger, session, format_, moved)
        except UnknownFormat as error:
            if single or str(session.path) == "-" or format_ or session.format:
                yield str(session.path), _named(session.path, str(error))
            else:
                print(f"hansard: {shown(str(session.path))}: left out: {shown(str(error))}", file=sys.stderr)
        except (HansardError, OSError, MemoryError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            yield str(session.path), _named(session.path, why or "too big for memory")


def _named(path: Path, why: str) -> str:
    return why if str(path) == "-" or why.startswith(str(path)) else f"{path}: {why}"


def _import_session(
    ledger: Ledger, session: Session, format_: str | None, moved: Callable[[int], None]
) -> list[dict[str, Any]]:
    from hansard.sessions import importer

    if str(session.path) == "-":
        return _import(ledger, "-", format_)
    name = session.format or importer.detect(session.path)
    if formats.get(name).session is None and not session.parts:
        return _import(ledger, str(session.path), name)
    done = importer.import_session(ledger, session._replace(format=name), moved)
    row: dict[str, Any] = {"path": done.path, "threadId": done.thread_id, "known": done.known, "added": done.added}
    return [{**row, "repairs": len(done.repairs), "bad": done.bad}]


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

    from hansard.ledger.hash_chain import said

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


def _progress(sessions: list[Session], bar: bool) -> Iterator[tuple[Session, Callable[[int], None]]]:
    """The sessions, with a bar over their bytes on a terminal where it may take a while."""
    if len(sessions) < 3 or not bar or not sys.stderr.isatty():
        for session in sessions:
            yield session, lambda size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        total = sum(_size(path) for one in sessions for path in (one.path, *one.parts))
        task = progress.add_task("importing", total=total)
        for session in sessions:
            yield session, lambda size: progress.advance(task, size)
