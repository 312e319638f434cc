"""`hansard export`: threads of the ledger as a document of any format, with a list of what was lost."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from hansard import formats
from hansard.cli.files import load
from hansard.cli.options import db_option, open_ledger, resolve
from hansard.cli.output import WriteOptions, export_options, report_losses, write_documents
from hansard.cli.terminal import counted, display
from hansard.errors import HansardError
from hansard.formats.contract import Losses, Written, WrittenAll, losses_of
from hansard.ledger.analysis.row_types import TABLES, Table

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger


@click.command("export")
@click.argument("threads", metavar="THREAD...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Export every thread of the ledger.")
@click.option("--rows", "table", type=click.Choice(list(TABLES)), help="Write flat rows, --to csv or jsonl.")
@export_options
@db_option
def command(threads: tuple[str, ...], everything: bool, table: Table | None, db: str | None, **given: Any) -> int:
    """Write THREAD (an id, a prefix of one, or a title) in a format, with all branches if the format has them.

    With - the ids are read from standard input, one per line, as `hansard threads --ids` prints them.

    An imported thread that has not changed is written byte for byte. If OUT is a folder, each thread is written to a
    file of its own in it. With --to sage, OUT is the folder of sessions unless it ends in .json or .jsonl, or the
    thread came from a single file: sessions/ID/ with messages.jsonl, snapshots.jsonl, metadata.json and backups/.

    With --rows the output is a table for pandas, DuckDB or a spreadsheet: one row for each thread, message, prompt,
    call, answer (usage) or changed file.
    """
    if table is not None:
        from hansard.cli.threads.row_files import write_rows

        with open_ledger(db) as ledger:
            ids = _chosen(ledger, threads, everything) if threads or not everything else None
            return write_rows(ledger, table, given["to"], ids, given["output"])
    if given["to"] is None:
        if not (everything and given["output"] and not threads):
            raise click.UsageError("no format named; give --to FORMAT, or --all -o FOLDER for the imported files.")
        with open_ledger(db) as ledger:
            return _every_file(ledger, given["output"])
    options = WriteOptions(**given)
    row = formats.get(options.to)
    if everything and row.session is not None and not _is_database(options):
        options = options.into_folder(row.suffix)
    with open_ledger(db) as ledger:
        ids = _chosen(ledger, threads, everything)
        if not ids:
            click.echo("no threads to write; `hansard import` adds some", err=True)
            return 1
        if options.to == "sage" and _names_folder(ledger, ids, options):
            return _sage_sessions(ledger, ids, options)
        if _is_database(options):
            return _database(ledger, ids, options, everything)
        if (kept := _session_files(ledger, ids, options)) is not None:
            return kept
        written: Written | WrittenAll | list[Written]
        if options.folder is not None:
            written = [_converted(ledger, key, options) for key in ids]
        elif len(ids) == 1:
            written = _converted(ledger, ids[0], options)
        else:
            found = [ledger.export_conversation(key) for key in ids]
            written = formats.write_all(found, options.to, target=options.write_target, **options.request)
    return write_documents(options, written)


def _every_file(ledger: Ledger, out: str) -> int:
    """Write every imported file in the format it came in, at its place relative to the others."""
    from hansard.cli.files import save
    from hansard.sessions.exporter import every_file

    missing = count = 0
    for name, data in every_file(ledger):
        if data is None:
            print(f"hansard: {display(name)}: its bytes are not in the ledger; import it again", file=sys.stderr)
            missing += 1
            continue
        path = os.path.join(out, name)
        _make_folder(os.path.dirname(path))
        save(data, path)
        count += 1
    click.echo(f"{display(out)}: {counted(count, 'file')}")
    return 2 if missing else 0


def _chosen(ledger: Ledger, threads: tuple[str, ...], everything: bool) -> list[str]:
    if everything == bool(threads):
        raise click.UsageError("no threads named; give THREAD, - to read ids, or --all.")
    if everything:
        from hansard.cli.threads.threads import thread_ids

        return list(thread_ids(ledger, newest=False))
    return [resolve(ledger, text).id for text in (_listed(load("-")) if threads == ("-",) else threads)]


def _listed(lines: bytes) -> list[str]:
    """One id per line; an id may contain spaces and lone surrogates."""
    try:
        text = lines.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise HansardError(f"standard input: not UTF-8 at byte {error.start}; give ids, one per line") from None
    return [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]


def _names_folder(ledger: Ledger, ids: list[str], options: WriteOptions) -> bool:
    """Whether OUT is a folder, there already or to be made; threads imported from a single file become one again."""
    from hansard.workspace.sage.folder import is_single_file

    out = options.output
    if out is None or out == "-" or options.as_json:
        return False
    if os.path.isdir(out) or out.endswith("/"):
        return True
    if os.path.exists(out) or out.endswith((".json", ".jsonl")):
        return False
    return not all(is_single_file(ledger, key) for key in ids)


def _sage_sessions(ledger: Ledger, ids: list[str], options: WriteOptions) -> int:
    """Write each thread as a Sage session below OUT."""
    from hansard.cli.files import save
    from hansard.workspace.sage.folder import session_folder

    out = options.output or "."
    sessions = [session_folder(ledger, key, cwd=os.getcwd()) for key in ids]
    if not report_losses(options, Losses(loss for session in sessions for loss in session.losses)):
        return 1
    for session in sessions:
        if session.backups is not None:
            _make_folder(os.path.join(out, session.backups))
        for name, data in sorted(session.files.items()):
            path = os.path.join(out, name)
            _make_folder(os.path.dirname(path))
            save(data, path)
        click.echo(f"{display(os.path.join(out, session.folder))}: {counted(len(session.files), 'file')}")
    return 0


def _is_database(options: WriteOptions) -> bool:
    session = formats.get(options.to).session
    return session is not None and session.tables is not None and not options.as_json


def _database(ledger: Ledger, ids: list[str], options: WriteOptions, everything: bool) -> int:
    """Write the threads as one database of an agent; sessions of an older release, which are files, as files."""
    from hansard.cli.files import save
    from hansard.sessions.exporter import as_database, came_as_lines, session_text

    if len(ids) == 1 and came_as_lines(ledger, ids[0], options.to):
        save(session_text(ledger, ids[0], options.to) or b"", options.output)
        return 0
    data, files, losses = as_database(ledger, ids, options.to, options.write_target)
    if not report_losses(options, Losses(losses)):
        return 1
    out = options.output
    is_folder = out is not None and out != "-" and (os.path.isdir(out) or out.endswith("/"))
    is_folder = is_folder or (out not in (None, "-") and everything and not str(out).endswith((".db", ".sqlite")))
    if files and not is_folder:
        raise HansardError("these sessions are files of an older release; name a folder with -o FOLDER/")
    for name, content in {**({f"{options.to}.db": data} if data is not None else {}), **files}.items():
        path = os.path.join(out, name) if is_folder and out is not None else out
        if is_folder and path is not None:
            _make_folder(os.path.dirname(path))
        save(content, path)
    return 0


def _make_folder(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise HansardError(f"{path}: {error.strerror}; name another folder") from None


def _session_files(ledger: Ledger, ids: list[str], options: WriteOptions) -> int | None:
    """Write the session files that threads were imported from, unchanged, and the other threads converted; None if
    that is not what is wanted."""
    if formats.get(options.to).session is None or options.as_json or options.report:
        return None
    from hansard.cli.files import save
    from hansard.sessions.exporter import session_files

    found = [session_files(ledger, key, options.to) for key in ids]
    kept = [files for files in found if files is not None]
    if not kept or (options.folder is None and len(found) > 1):
        return None
    if options.folder is None:
        save(next(iter(kept[0].values())), options.output)
        return 0
    others = [key for key, files in zip(ids, found, strict=True) if files is None]
    written = [_converted(ledger, key, options) for key in others]
    if not report_losses(options, losses_of(written)):
        return 1
    for key, one in zip(others, written, strict=True):
        kept.append({f"{_inside(key.replace(os.sep, '-'))}.{one.format.suffix}": one.json})
    names = [_inside(name).lower() for files in kept for name in files]
    alike = len(set(names)) < len(names)  # some agents use one file name for every session: each gets a folder
    for i, files in enumerate(kept, start=1):
        folder = os.path.join(options.folder, f"{i:0{len(str(len(kept)))}}") if alike else options.folder
        for name, data in files.items():
            path = os.path.join(folder, _inside(name))
            _make_folder(os.path.dirname(path))
            save(data, path)
    return 0


def _converted(ledger: Ledger, key: str, options: WriteOptions) -> Written:
    target = replace(options.write_target, at=ledger.thread(key).created_at)
    return formats.write(ledger.export_conversation(key), options.to, target=target, **options.request)


def _inside(name: str) -> str:
    """The path of a session's file in the output folder, never outside it."""
    return os.path.basename(name) if name.startswith("..") else name
