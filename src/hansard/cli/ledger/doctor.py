"""`hansard doctor`: diagnose the installation, the ledger and its disk or server; each problem comes with a fix.

Read-only: a ledger is opened for reading, no migration is applied, no file is created.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from typing import Any

import click
from msgspec import UNSET, Struct, UnsetType

from hansard._version import __version__
from hansard.cli.options import db_option, default_path, file_of, json_option
from hansard.cli.terminal import counted, display, echo, echo_json
from hansard.errors import HansardError, SchemaTooNew
from hansard.ledger import on_server
from hansard.ledger.backends.migrations import migrations, missing

_EXTRAS = {
    "agent": (("pydantic_ai", "pydantic-ai-slim"),),
    "postgres": (("psycopg", "psycopg"), ("psycopg_pool", "psycopg-pool")),
    "server": (("litestar", "litestar"), ("uvicorn", "uvicorn"), ("httptools", "httptools")),
}
_LOW_SPACE = 256 << 20  # bytes
_STALE = "select count(*) from run where status = 'active' and lease_until < {}"
_SETTINGS = ("fsync", "full_page_writes", "synchronous_commit")


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A check and its result, with a fix if something is wrong. `state`: ok, note or wrong."""

    about: str
    found: str
    state: str = "ok"
    way_out: str | UnsetType = UNSET


@click.command("doctor")
@db_option
@json_option
def command(db: str | None, as_json: bool) -> int:
    """Check versions, extras, the ledger, its disk and the agents' folders; exit 1 if something is wrong."""
    findings = list(examine(db))
    wrong = sum(1 for finding in findings if finding.state == "wrong")
    if as_json:
        echo_json(findings)
        return 1 if wrong else 0
    width = max(len(finding.about) for finding in findings)
    for finding in findings:
        sign = {"ok": " ", "note": "-"}.get(finding.state, "!")
        echo(f"{sign} {finding.about:<{width}}  {display(finding.found)}")
        if isinstance(finding.way_out, str):
            echo(f"  {'':<{width}}  fix: {display(finding.way_out)}")
    echo(counted(wrong, "problem") if wrong else "no problems")
    return 1 if wrong else 0


def examine(db: str | None) -> Iterator[Finding]:
    """All checks, in order."""
    yield Finding(about="hansard", found=f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    yield from _sqlite()
    for name, modules in _EXTRAS.items():
        yield _extra(name, modules)
    url = db or default_path()
    note = "" if db else " (default)"
    if on_server(url):
        yield from _postgres_ledger(url)
    else:
        yield from _file(url, note)
    yield from _sessions()


def _sqlite() -> Iterator[Finding]:
    import apsw

    from hansard.ledger.backends.sqlite import OLDEST

    version = f"{apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})"
    if apsw.SQLITE_VERSION_NUMBER < OLDEST:
        yield Finding(
            about="SQLite",
            found=f"{version} can corrupt a write-ahead log",
            state="wrong",
            way_out="pip install 'apsw>=3.51.3'",
        )
        return
    missing = [name for name in ("ENABLE_FTS5", "THREADSAFE=1") if name not in apsw.compile_options]
    if missing:
        yield Finding(
            about="SQLite",
            found=f"{version}, built without {', '.join(missing)}",
            state="wrong",
            way_out="pip install --force-reinstall --only-binary :all: apsw",
        )
        return
    yield Finding(about="SQLite", found=f"{version}, ENABLE_FTS5, THREADSAFE=1")


def _extra(name: str, modules: tuple[tuple[str, str], ...]) -> Finding:
    about = f"extra {name}"
    install = f"pip install 'hansard[{name}]'"
    versions: list[str] = []
    for module, package in modules:
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            return Finding(about=about, found="not installed", state="note", way_out=install)
        try:
            import_module(module)
        except Exception as error:  # a broken package can raise anything
            text = " ".join(str(error).split())[:200]
            return Finding(
                about=about,
                found=f"{package} is installed, but cannot be imported: {text}",
                state="wrong",
                way_out=f"{install} --force-reinstall",
            )
    return Finding(about=about, found=", ".join(versions))


def _file(url: str, note: str) -> Iterator[Finding]:
    try:
        path = file_of(url)
    except HansardError as error:
        yield Finding(about="ledger", found=str(error), state="wrong", way_out="name a path, or postgresql://...")
        return
    if path is None:
        yield Finding(about="ledger", found="in memory: lost when the program ends", state="note")
        return
    path = os.path.abspath(path)
    yield from _folder(path)
    if not os.path.exists(path):
        yield Finding(about="ledger", found=f"{path}{note}: not created yet; `hansard import` creates it", state="note")
        return
    yield from _sqlite_ledger(path)


def _folder(path: str) -> Iterator[Finding]:
    """The nearest existing folder: permissions and free space."""
    folder = os.path.dirname(path)
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        yield Finding(about="folder", found=f"{folder} is a file", state="wrong", way_out="name another path with --db")
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Finding(
            about="folder",
            found=f"{folder} cannot be written by this user",
            state="wrong",
            way_out=f"chown {_user()} {folder}, or name another path with --db",
        )
    free = shutil.disk_usage(folder).free
    if free < _LOW_SPACE:
        yield Finding(
            about="disk",
            found=f"{free >> 20:,} MB free in {folder}",
            state="wrong",
            way_out="free disk space, or run `hansard prune`",
        )
    else:
        yield Finding(about="disk", found=f"{free >> 20:,} MB free in {folder}")


def _sqlite_ledger(path: str) -> Iterator[Finding]:
    """A ledger in a file: permissions, then its content."""
    import apsw

    mode = os.stat(path).st_mode
    if not os.access(path, os.R_OK | os.W_OK):
        way_out = f"chown or chmod u+rw {path}"
        yield Finding(about="ledger", found=f"{path} cannot be written by this user", state="wrong", way_out=way_out)
        return
    if mode & (stat.S_IRWXG | stat.S_IRWXO) and os.name != "nt":
        found = f"{path} can be read by other users ({stat.filemode(mode)})"
        yield Finding(about="ledger", found=found, state="wrong", way_out=f"chmod 600 {path}")
    else:
        yield Finding(about="ledger", found=f"{path}, {os.path.getsize(path):,} bytes, {stat.filemode(mode)}")
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)  # writable, to read a write-ahead log too
        try:
            connection.set_busy_timeout(5000)
            connection.execute("pragma query_only = on")
            yield from _sqlite_inside(connection, path)
        finally:
            connection.close()
    except (apsw.Error, HansardError) as error:
        text = str(error)
        way_out = "pip install --upgrade hansard" if isinstance(error, SchemaTooNew) else "restore a backup"
        yield Finding(about="ledger", found=text, state="wrong", way_out=way_out)


def _sqlite_inside(connection: Any, path: str) -> Iterator[Finding]:
    from hansard.ledger.backends.sqlite import applied

    done = applied(connection, path)
    yield _schema("sqlite", done, path)
    journal = connection.pragma("journal_mode")
    if journal != "wal":
        yield Finding(about="durability", found=f"journal_mode={journal} until it is next opened", state="note")
    else:
        yield Finding(about="durability", found="full: journal_mode=wal, synchronous=full")
    problems = [row[0] for row in connection.execute("pragma quick_check(5)").fetchall()]
    if problems != ["ok"]:
        yield Finding(
            about="integrity",
            found="; ".join(map(str, problems)),
            state="wrong",
            way_out="restore a backup; `hansard verify` lists every bad row, `hansard export` saves intact threads",
        )
        return
    yield Finding(about="integrity", found="quick check: ok; `hansard verify` checks every message")
    if done:
        now = "cast((julianday('now') - 2440587.5) * 86400000 as integer)"
        yield _stale(connection.execute(_STALE.format(now)).fetchone()[0])


def _postgres_ledger(url: str) -> Iterator[Finding]:
    """A ledger on a PostgreSQL server."""
    try:
        import psycopg
    except ImportError:
        yield Finding(
            about="ledger",
            found="PostgreSQL needs an extra that is not installed",
            state="wrong",
            way_out="pip install 'hansard[postgres]'",
        )
        return
    where = url.partition("?")[0].rpartition("@")[2]
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=5, prepare_threshold=None) as connection:
            yield from _pooler(connection)
            yield from _postgres_inside(lambda text: connection.execute(text.encode()).fetchall(), where)
    except (psycopg.Error, HansardError) as error:
        yield Finding(
            about="ledger",
            found=f"{where}: {' '.join(str(error).split())}",
            state="wrong",
            way_out="start the server, or correct the address in --db or HANSARD_DB",
        )


def _pooler(connection: Any) -> Iterator[Finding]:
    """A pooler gives its clients process numbers of its own."""
    (process,) = connection.execute("select pg_backend_pid()").fetchone()
    if process != connection.info.backend_pid:
        yield Finding(
            about="pooler",
            found="a pooler (such as PgBouncer) is between here and the server; hansard sets tenant and limits in each "
            "transaction and prepares no statements, so every pool mode but `statement` works",
            state="note",
            way_out="leave prepared_statements off; name the server itself as direct_url= for migrations",
        )


def _postgres_inside(query: Callable[[str], list[Any]], where: str) -> Iterator[Finding]:
    yield Finding(about="ledger", found=f"{where}, PostgreSQL {query('show server_version')[0][0]}")
    settings = {name: query(f"show {name}")[0][0] for name in _SETTINGS}
    listed = ", ".join(f"{name}={value}" for name, value in settings.items())
    if off := [name for name, value in settings.items() if value == "off"]:
        yield Finding(
            about="durability",
            found=f"{listed}: the server may lose committed transactions",
            state="wrong",
            way_out=f"alter system set {off[0]} = on, then restart the server",
        )
    else:
        yield Finding(about="durability", found=f"full: {listed}")
    if query("select to_regclass('schema_migration')::text")[0][0] is None:
        yield Finding(
            about="schema", found="no ledger in this database yet; `hansard import` creates one", state="note"
        )
        return
    yield _schema("postgres", query("select number, checksum from schema_migration"), where)
    if query("select rolsuper or rolbypassrls from pg_roles where rolname = current_user")[0][0]:
        yield Finding(
            about="tenants",
            found="this role sees the rows of every tenant (superuser or bypassrls)",
            state="note",
            way_out="use a role without these attributes for applications",
        )
    yield _stale(query(_STALE.format("(extract(epoch from now()) * 1000)::bigint"))[0][0])


def _schema(dialect: str, applied: list[Any], where: str) -> Finding:
    """The state of the schema; `missing` raises for a newer or foreign one."""
    lacking = missing(dialect, applied, where)
    newest = migrations(dialect)[-1].number
    if lacking:
        found = f"{len(applied)} of {newest}; the rest is applied when the ledger is next opened"
        return Finding(about="schema", found=found, state="note", way_out="hansard backup FILE, then hansard migrate")
    return Finding(about="schema", found=f"{newest}, the newest")


def _stale(count: int) -> Finding:
    if not count:
        return Finding(about="runs", found="no stale runs")
    return Finding(
        about="runs",
        found=f"{counted(count, 'stale run')}: the process died; its messages are kept",
        state="note",
        way_out="`hansard serve` ends them at startup, as does ledger.recover()",
    )


def _sessions() -> Iterator[Finding]:
    from hansard.sessions.discovery import found

    some = False
    for agent, sessions in found():
        if not sessions:
            continue
        some = True
        yield Finding(about=agent.name, found=f"{counted(len(sessions), 'session')} in {agent.folder()}")
    if not some:
        yield Finding(about="coding agents", found="no sessions found on this machine", state="note")


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
