"""The ledger: durable threads, branches, runs and search on SQLite or PostgreSQL.

Read in this order:

    ledger          `Ledger`, the facade: each method is one job and calls a module below; `aio` is the same for asyncio
    rows, results   what SQL returns, what callers get
    messages        prepares messages and writes their rows: the only place that does
    tree            segments, branches, pages, transcripts        threads         descriptions, lists, heads
    runs            begin, stage, commit, end, resolve            conversations   merge and export whole threads
    sources         files that threads were imported from         hash_chain      the two chains of hashes
    bodies          how a body is stored (zstd_dictionary)        ids, limits     ids and the clock; sizes
    live/           runs being written: journal, recovery         search/         query language, index, facets
    maintenance/    verify, prune, erasure, backup, copy, stats   backends/       drivers, migrations
    sql/            statements by name; one folder per database with its own statements and its migrations

Rules are written once, on `Driver` and `Tx`; what differs between databases is SQL. May import: `model`, `streams` (the
journal folds deltas), `atomic_file`, `errors`; never a format. Free to change: functions, statements in `sql/*.sql`.
Ask first: tables, columns and numbered migrations, layouts of `bodies`, the dictionary, both hashes, statuses of runs
and `hansard.tenant` are stored or seen by others; a ledger of every earlier release must open and verify.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.errors import StorageError

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger


def open(url: str, *, tenant: str = "", **options: Any) -> Ledger:
    """Open a ledger: a path, `sqlite:///path`, `:memory:`, or `postgresql://...`. A missing one is created.

    >>> from hansard.model import Message, TextPart
    >>> with open(":memory:") as ledger:
    ...     thread = ledger.create_thread(title="Tea")
    ...     stored = ledger.append(thread.id, Message(role="user", parts=[TextPart(text="hi")]))
    ...     [message.role for message in ledger.transcript(thread.id)]
    ['user']
    """
    from hansard.ledger.ledger import Ledger

    url = str(url)
    if on_server(url):
        try:
            from hansard.ledger.backends.postgres import PostgresDriver
        except ImportError:
            raise StorageError("PostgreSQL needs an extra: pip install 'hansard[postgres]'") from None
        return Ledger(PostgresDriver(url, tenant=tenant, **options))
    for name in ("read_url", "direct_url"):
        if options.pop(name, None) is not None:
            raise StorageError(f"{name} is for a ledger on PostgreSQL; {url!r} is a SQLite file")
    from hansard.ledger.backends.sqlite import SqliteDriver

    return Ledger(SqliteDriver(path_of(url), tenant=tenant, **options))


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
