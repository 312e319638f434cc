"""`hansard import`: add files of any format to the ledger; a repeated import adds only new messages.

A conversation with an id becomes the thread of that id. Other conversations are identified by file name and first
message, so that importing a file that has grown adds only its new messages.
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
from hansard.cli.options import db_option, json_option, open_ledger
from hansard.cli.terminal import counted, display, echo, echo_json
from hansard.errors import HansardError, UnknownFormat
from hansard.model.conversation import Conversation

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.sessions.discovery import Agent, Session

_LISTED = 50  # bad records reported per file
_PAUSE = 1.0
_FEW = 3  # files that need no summary


@click.command("import")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--format", "--from", "format_", metavar="FORMAT", help="Input format (auto-detected if omitted).")
@click.option("--agent", metavar="NAME", help="Import the sessions of one coding agent only, such as OpenCode.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported, and import nothing.")
@click.option("--watch", is_flag=True, help="Keep running and import new messages, until Ctrl-C.")
@db_option
@json_option
def command(
    paths: tuple[str, ...],
    format_: str | None,
    agent: str | None,
    dry_run: bool,
    watch: bool,
    db: str | None,
    as_json: bool,
) -> int:
    """Import the conversations in PATH (files, folders, or - for standard input).

    Without PATH, import the sessions of every coding agent found on this machine. Known messages are skipped; session
    files are stored byte for byte. Files that cannot be read are reported, the others are imported; the exit code is
    then 2. It is 1 if there was nothing to import at all.
    """
    if format_ is not None:
        formats.get(format_)
    if agent is not None:
        _check_agent(agent, paths)
    if dry_run:
        return _look(paths, format_, agent, as_json)
    with open_ledger(db, create=True) as ledger:
        bad, report = _import_all(ledger, paths, format_, agent, as_json)
        if as_json and not watch:
            echo_json(report)
        elif not watch and len(report) > _FEW:
            echo(_summary(report, bad))
        while watch:
            bad = _import_again(ledger, paths, format_, agent, as_json)
    return 2 if bad else 0 if report else 1


def _summary(report: list[dict[str, Any]], bad: int) -> str:
    """The last line: how much was imported."""
    read = [row for row in report if "error" not in row]
    threads = len({row["threadId"] for row in read})
    added = sum(row["added"] for row in read)
    text = f"{counted(len(read), 'file')}, {counted(threads, 'thread')}: "
    text += f"{counted(added, 'new message')}" if added else "nothing new"
    return text + (f"; {counted(bad, 'file')} could not be read" if bad else "")


def _check_agent(agent: str, paths: tuple[str, ...]) -> None:
    from hansard.sessions import discovery

    names = dict.fromkeys(one.name.partition(" (")[0] for one in discovery.AGENTS)
    if not any(True for _ in discovery.found(agent)):
        raise HansardError(f"unknown agent {agent!r} (choose from {', '.join(names)})")
    if paths:
        raise click.UsageError("--agent searches the agent's own folder; give it without PATH.")


def _look(paths: tuple[str, ...], format_: str | None, agent: str | None, as_json: bool) -> int:
    """Show what an import would read: a line for each file and database."""
    sessions = _sessions(paths, format_, agent, as_json)
    if as_json:
        echo_json([{"path": str(one.path), "format": one.format, "bytes": _size_of(one)} for one in sessions])
    else:
        for one in sessions:
            echo(f"{display(str(one.path))}: {one.format or 'format to be detected'}, {_size_of(one) / 1e6:,.1f} MB")
    return 0


def _import_all(
    ledger: Ledger, paths: tuple[str, ...], format_: str | None, agent: str | None, quiet: bool
) -> tuple[int, list[Any]]:
    """Import everything once: the number of bad files, and a row for every file."""
    bad = 0
    report: list[dict[str, Any]] = []
    for path, rows in _rows(ledger, _sessions(paths, format_, agent, quiet), format_):
        if isinstance(rows, str):
            bad += 1
            report.append({"path": path, "error": rows})
            print(f"hansard: {display(rows)}", file=sys.stderr)
            continue
        report += rows
        for row in () if quiet else rows:
            echo(_line(row))
        for row in rows:
            for one in row.get("bad", [])[:_LISTED]:
                where = f"{one['path']}: line {one['line']}, byte {one['byte']}"
                print(f"hansard: {display(where)}: {display(one['what'])}", file=sys.stderr)
    return bad, report


def _import_again(ledger: Ledger, paths: tuple[str, ...], format_: str | None, agent: str | None, as_json: bool) -> int:
    """Import the same paths again; only files with new messages are reported."""
    import time

    time.sleep(_PAUSE)
    for _, rows in _rows(ledger, _sessions(paths, format_, agent, True), format_, bar=False):
        if isinstance(rows, str):
            print(f"hansard: {display(rows)}", file=sys.stderr)
            continue
        for row in rows:
            if row["added"]:
                echo_json(row) if as_json else echo(_line(row))
    return 0


def _sessions(paths: tuple[str, ...], format_: str | None, agent: str | None, quiet: bool) -> list[Session]:
    """The files to import."""
    from hansard.sessions import discovery

    if not paths:
        found: list[Session] = []
        for known, sessions in discovery.found(agent):
            if not quiet:
                echo(_found(known, sessions))
            found += sessions
        if not found and not quiet:
            looked = ", ".join(dict.fromkeys(_short(agent.folder()) for agent in discovery.AGENTS))
            told = f"no sessions of coding agents in {looked}; name files or folders to import"
            print(f"hansard: {display(told)}", file=sys.stderr)
        return found
    listed: list[Session] = []
    for text in paths:
        path = Path(text)
        if text != "-" and path.is_dir():
            inside = discovery.in_folder(path)
            if not inside and not quiet:
                told = f"{text}: no sessions or conversations in this folder; name another"
                print(f"hansard: {display(told)}", file=sys.stderr)
            listed += [one._replace(format=format_ or one.format) for one in inside]
        else:
            listed.append(discovery.of_file(path, format_ or ""))
    return listed


def _found(agent: Agent, sessions: list[Session]) -> str:
    """What was found of an agent, in a line."""
    folder = display(_short(agent.folder()))
    if not sessions:
        return f"{agent.name}: no sessions below {folder}"
    size = sum(map(_size_of, sessions)) / 1e6
    files = formats.get(agent.format).session
    if files is not None and files.tables is not None:
        from hansard.sessions import databases

        count = sum(databases.count(one.path, files.tables) for one in sessions)
        folder = display(_short(sessions[0].path))
        return f"{agent.name}: {counted(count, 'session')}, {size:,.1f} MB in {folder}"
    return f"{agent.name}: {counted(len(sessions), 'session')}, {size:,.1f} MB in {folder}"


def _size_of(session: Session) -> int:
    if session.path.is_dir():
        return sum(_size(path) for path in session.path.rglob("*.json"))
    wal = _size(session.path.with_name(f"{session.path.name}-wal")) if session.path.suffix in (".db", ".sqlite") else 0
    return wal + sum(_size(path) for path in session.files)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _rows(
    ledger: Ledger, sessions: list[Session], format_: str | None, *, bar: bool = True
) -> Iterator[tuple[str, list[dict[str, Any]] | str]]:
    """Import each file: its path with its rows, or with the reason why it cannot be read."""
    single = len(sessions) == 1
    for session, moved in _progress(sessions, bar):
        try:
            yield str(session.path), _import_session(ledger, session, format_, moved)
        except UnknownFormat as error:
            if single or str(session.path) == "-" or format_ or session.format:
                yield str(session.path), _named(session.path, str(error))
            else:
                print(f"hansard: {display(str(session.path))}: skipped: {display(str(error))}", file=sys.stderr)
        except (HansardError, OSError, MemoryError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            yield str(session.path), _named(session.path, why or "not enough memory; split the file")


def _named(path: Path, why: str) -> str:
    why = why.removeprefix("$: ")  # the document as a whole
    return why if str(path) == "-" or why.startswith(str(path)) else f"{path}: {why}"


def _import_session(
    ledger: Ledger, session: Session, format_: str | None, moved: Callable[[int], None]
) -> list[dict[str, Any]]:
    from hansard.sessions import importer

    if str(session.path) == "-":
        return _import(ledger, "-", format_)
    name = session.format or importer.detect(session.path)
    if not formats.get(name).verbatim:
        return _import(ledger, str(session.path), name, detected=not format_)
    rows: list[dict[str, Any]] = []
    for done in importer.import_found(ledger, session._replace(format=name), moved):
        if done.changed and done.bytes and not done.added and not done.known and done.bad:
            raise HansardError(f"no record of {name} in this file can be read: {done.bad[0]['what']}")
        row = {"path": done.path, "threadId": done.thread_id, "known": done.known, "added": done.added}
        rows.append({**row, "repairs": len(done.repairs), "bad": done.bad, "overUndo": done.over_undo})
    return rows


def _import(ledger: Ledger, path: str, format_: str | None, *, detected: bool = False) -> list[dict[str, Any]]:
    data = load(path)
    rows: list[dict[str, Any]] = []
    with naming(path):
        found = formats.read_all(data, format_)
        if (detected or format_ is None) and not any(conversation.messages for conversation in found):
            raise HansardError("no message in this document; is it of another format? name that with --from")
        for i, conversation in enumerate(found):
            key = _key(conversation, path, i)
            done = ledger.sync(key, conversation)
            rows.append({"path": path, "threadId": key, "known": done.known, "added": done.added, "head": done.head})
        if os.path.isfile(path):
            from hansard.sessions import importer

            name = format_ or formats.detect(data)
            importer.note_document(ledger, Path(path), name, [row["threadId"] for row in rows], data)
    return rows


def _key(conversation: Conversation, path: str, index: int) -> str:
    """The id of the thread that a conversation belongs to."""
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
    if row.get("overUndo"):
        text += "; the agent continued after what was undone, and the head follows it"
    return f"{display(_short(Path(row['path'])))}: {display(row['threadId'])}: {text}"


def _short(path: Path) -> str:
    """A path as a person would write it: relative to the current folder if below it, else with `~` for the home."""
    here, home = (Path.cwd(), ""), (Path.home(), "~/")
    for above, lead in (home, here) if home[0].is_relative_to(here[0]) else (here, home):
        try:
            return lead + str(path.relative_to(above)) if path.is_absolute() else str(path)
        except ValueError:
            continue
    return str(path)


def _progress(sessions: list[Session], bar: bool) -> Iterator[tuple[Session, Callable[[int], None]]]:
    """The sessions, with a progress bar on a terminal if there are three or more."""
    if len(sessions) < 3 or not bar or not sys.stderr.isatty():
        for session in sessions:
            yield session, lambda size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("importing"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        total = sum(map(_size_of, sessions))
        task = progress.add_task("importing", total=total)
        for session in sessions:
            yield session, lambda size: progress.advance(task, size)
