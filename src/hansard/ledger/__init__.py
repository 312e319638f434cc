"""The ledger: durable threads, runs and branches on SQLite or PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hansard.errors import StorageError

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger


def open(url: str, *, tenant: str = "", **options: Any) -> Ledger:
    """Open a ledger: a path, `sqlite:///path`, `:memory:`, or `postgresql://...`. It is made if it is not there.

    >>> from hansard.model import Message, TextPart
    >>> with open(":memory:") as ledger:
    ...     thread = ledger.create_thread(title="Tea")
    ...     said = ledger.append(thread.id, Message(role="user", parts=[TextPart(text="hi")]))
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
    from hansard.ledger.backends.sqlite import SqliteDriver

    return Ledger(SqliteDriver(path_of(url), tenant=tenant, **options))


def on_server(url: str) -> bool:
    """Does a URL mean a ledger on a database server?"""
    return url.startswith(("postgresql://", "postgres://"))


def path_of(url: str) -> str:
    """The file a URL means.

    >>> path_of("sqlite:///here.db"), path_of("sqlite:////there/a.db"), path_of("b.db"), path_of("sqlite://")
    ('here.db', '/there/a.db', 'b.db', ':memory:')
    """
    if url.startswith("sqlite:"):
        path = url.removeprefix("sqlite:").removeprefix("//").removeprefix("/")
        return path or ":memory:"
    if "://" in url:
        raise StorageError(f"no ledger at {url!r}: give a path, sqlite:///path or postgresql://...")
    if not url:
        raise StorageError("no ledger at ''; give a path, sqlite:///path or postgresql://...")
    return url
