"""The ledger: durable threads, branches, runs and search on SQLite or PostgreSQL.

Read in this order:

    ledger          `Ledger`, the facade: each method is one job and calls a module below
    async_ledger    `AsyncLedger`, the same methods awaited: written by scripts/async_ledger.py; aio: how its calls run
    rows, results   what SQL returns, what callers get
    messages        prepares messages and writes their rows: the only place that does
    tree            segments, branches, pages, transcripts        threads         descriptions, lists, heads
    runs            begin, stage, commit, end, resolve            conversations   merge and export whole threads
    sources         files that threads were imported from         hash_chain      the two chains of hashes
    bodies          how a body is stored (zstd_dictionary)        ids, limits     ids and the clock; sizes
    summary         token counts, project, agent and models of a thread       analysis/       flat rows
    live/           runs being written: journal, recovery         search/         query language, index, facets
    maintenance/    verify, prune, erasure, backup, copy, stats   backends/       drivers, migrations
    sql/            statements by name; one folder per database with its own statements and its migrations

Rules are written once, on `Driver` and `Tx`; what differs between databases is SQL. May import: `model`, `streams` (the
journal folds deltas), `atomic_file`, `errors`; never a format. Free to change: functions, statements in `sql/*.sql`.
Ask first: tables, columns and numbered migrations, layouts of `bodies`, the dictionary, both hashes, statuses of runs
and `hansard.tenant` are stored or seen by others; a ledger of every earlier release must open and verify.
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any, Literal

from hansard.errors import StorageError
from hansard.ledger.ledger import Ledger


def open(
    url: str | PathLike[str],
    *,
    tenant: str = "",
    durability: Literal["full", "relaxed"] = "full",
    vfs: str | None = None,
    connections: int | None = None,
    retry_for: float | None = None,
    statement_timeout: float | None = None,
    lock_timeout: float | None = None,
    network_timeout: float | None = None,
    prepared_statements: bool | None = None,
    direct_url: str | None = None,
    read_url: str | None = None,
    replica_wait: float | None = None,
) -> Ledger:
    """Open a ledger: a path, `sqlite:///path`, `:memory:`, or `postgresql://...`. A missing one is created.

    `tenant` separates the threads of several customers. With `durability="relaxed"` a crash of the machine may lose the
    last acknowledged calls. `vfs` names the file layer of SQLite. The others are for PostgreSQL: `connections` is the
    size of the pool, 16 if omitted; the rest are seconds: `retry_for` (15) after a lost connection,
    `statement_timeout` (60), `lock_timeout` (20) and `network_timeout` (10). `prepared_statements=True` saves planning,
    but does not work through a pooler; `direct_url` is the server without its pooler, for migrations. `read_url` names
    a replica, which `threads`, `transcript`, `export_conversation` and `search` read; they wait `replica_wait` seconds
    (1) until it has the last write of this handle, then read from the primary.

    >>> from hansard.model import Message
    >>> with open(":memory:") as ledger:
    ...     thread = ledger.create_thread(title="Tea")
    ...     stored = ledger.append(thread.id, Message.user("hi"))
    ...     [message.text for message in ledger.transcript(thread.id)]
    ['hi']
    """
    url = fspath(url)
    server = {
        "connections": connections,
        "retry_for": retry_for,
        "statement_timeout": statement_timeout,
        "lock_timeout": lock_timeout,
        "network_timeout": network_timeout,
        "prepared_statements": prepared_statements,
        "direct_url": direct_url,
        "read_url": read_url,
        "replica_wait": replica_wait,
    }
    given: dict[str, Any] = {name: value for name, value in server.items() if value is not None}
    if on_server(url):
        if vfs is not None:
            raise StorageError("vfs is for a ledger on SQLite; leave it out for PostgreSQL")
        try:
            from hansard.ledger.backends.postgres import PostgresDriver
        except ImportError:
            raise StorageError("PostgreSQL needs an extra: pip install 'hansard[postgres]'") from None
        return Ledger(PostgresDriver(url, tenant=tenant, durability=durability, **given))
    for name in given:
        raise StorageError(f"{name} is for a ledger on PostgreSQL; {url!r} is a SQLite file")
    from hansard.ledger.backends.sqlite import SqliteDriver

    return Ledger(SqliteDriver(path_of(url), tenant=tenant, durability=durability, vfs=vfs))


def on_server(url: str) -> bool:
    """Whether a URL names a ledger on a database server."""
    return url.startswith(("postgresql://", "postgres://"))


def path_of(url: str) -> str:
    """The path of the file that a URL names.

    >>> path_of("sqlite:///here.db"), path_of("sqlite:////there/a.db"), path_of("b.db"), path_of("sqlite://")
    ('here.db', '/there/a.db', 'b.db', ':memory:')
    """
    if url.startswith("sqlite:"):
        path = url.removeprefix("sqlite:").removeprefix("//").removeprefix("/")
        return path or ":memory:"
    if "://" in url:
        raise StorageError(f"invalid ledger URL {url!r}: use a path, sqlite:///path or postgresql://...")
    if not url:
        raise StorageError("invalid ledger URL '': use a path, sqlite:///path or postgresql://...")
    return url
