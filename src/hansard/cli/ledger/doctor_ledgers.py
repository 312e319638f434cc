"""What `hansard doctor` sees of a ledger: its file or server, its schema, its health, runs that nobody goes on with."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import Any

from hansard.cli.ledger.doctor import Finding
from hansard.cli.options import counted
from hansard.errors import HansardError, SchemaTooNew
from hansard.ledger.backends.migrations import migrations, missing

_STALE = "select count(*) from run where status = 'active' and lease_until < {}"
_SETTINGS = ("fsync", "full_page_writes", "synchronous_commit")


def examine_sqlite(path: str) -> Iterator[Finding]:
    """A ledger in a file."""
    import apsw

    mode = os.stat(path).st_mode
    if not os.access(path, os.R_OK | os.W_OK):
        way_out = f"chown or chmod u+rw {path}"
        yield Finding(about="ledger", found=f"{path} cannot be written by this user", state="wrong", way_out=way_out)
        return
    if mode & (stat.S_IRWXG | stat.S_IRWXO) and os.name != "nt":
        found = f"{path} may be read by others ({stat.filemode(mode)})"
        yield Finding(about="ledger", found=found, state="wrong", way_out=f"chmod 600 {path}")
    else:
        yield Finding(about="ledger", found=f"{path}, {os.path.getsize(path):,} bytes, {stat.filemode(mode)}")
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)  # a log left behind needs to be read too
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
            way_out="restore a backup; `hansard verify` names every bad row, `hansard export` saves what is well",
        )
        return
    yield Finding(about="integrity", found="quick check: ok; `hansard verify` proves every message")
    if done:
        now = "cast((julianday('now') - 2440587.5) * 86400000 as integer)"
        yield _stale(connection.execute(_STALE.format(now)).fetchone()[0])


def examine_postgres(url: str) -> Iterator[Finding]:
    """A ledger on a server."""
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
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            yield from _postgres_inside(lambda text: connection.execute(text.encode()).fetchall(), where)
    except (psycopg.Error, HansardError) as error:
        yield Finding(
            about="ledger",
            found=f"{where}: {' '.join(str(error).split())}",
            state="wrong",
            way_out="start the server, or correct the address in --db or HANSARD_DB",
        )


def _postgres_inside(ask: Callable[[str], list[Any]], where: str) -> Iterator[Finding]:
    yield Finding(about="ledger", found=f"{where}, PostgreSQL {ask('show server_version')[0][0]}")
    settings = {name: ask(f"show {name}")[0][0] for name in _SETTINGS}
    told = ", ".join(f"{name}={value}" for name, value in settings.items())
    if off := [name for name, value in settings.items() if value == "off"]:
        yield Finding(
            about="durability",
            found=f"{told}: the server may lose what it acknowledged",
            state="wrong",
            way_out=f"alter system set {off[0]} = on, and restart it",
        )
    else:
        yield Finding(about="durability", found=f"full: {told}")
    if ask("select to_regclass('schema_migration')::text")[0][0] is None:
        yield Finding(about="schema", found="no ledger there yet; `hansard import` makes one", state="note")
        return
    yield _schema("postgres", ask("select number, checksum from schema_migration"), where)
    if ask("select rolsuper or rolbypassrls from pg_roles where rolname = current_user")[0][0]:
        yield Finding(
            about="tenants",
            found="this role sees the rows of every tenant (superuser or bypassrls)",
            state="note",
            way_out="give applications a role of their own that is neither",
        )
    yield _stale(ask(_STALE.format("(extract(epoch from now()) * 1000)::bigint"))[0][0])


def _schema(dialect: str, applied: list[Any], where: str) -> Finding:
    """A newer or a strange one is told by the error of `missing`."""
    lacking = missing(dialect, applied, where)
    newest = migrations(dialect)[-1].number
    if lacking:
        found = f"{len(applied)} of {newest}; the rest is applied when it is next opened"
        return Finding(about="schema", found=found, state="note", way_out="hansard backup FILE, then hansard migrate")
    return Finding(about="schema", found=f"{newest}, the newest")


def _stale(count: int) -> Finding:
    if not count:
        return Finding(about="runs", found="none that died without a word")
    return Finding(
        about="runs",
        found=f"{counted(count, 'run')} died without a word; what they said is kept",
        state="note",
        way_out="`hansard serve` marks them as interrupted when it starts, ledger.recover() too",
    )
