"""The contract of a backend: a driver runs jobs in transactions on a schema. The rules of the ledger are elsewhere.

A job is a function of one transaction. It may be run again (after a deadlock, a lost connection), so it creates no ids
and reads no clock. When `write` returns, what the job wrote is durable. A new backend needs a driver with these methods
and a folder of SQL: migrations, and the statements in which it differs from the common ones in `ledger/sql/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import threading

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]


class Tx(Protocol):
    """One transaction: runs statements by their name in the `.sql` files; adds the tenant to the parameters."""

    def all(self, name: str, /, **values: Any) -> list[Row]: ...

    def one(self, name: str, /, **values: Any) -> Row | None: ...

    def run(self, name: str, /, **values: Any) -> int:
        """Execute; the number of changed rows."""
        ...

    def many(self, name: str, rows: list[dict[str, Any]], /) -> int:
        """Execute for each row of parameters; the total number of changed rows."""
        ...


Job: TypeAlias = Callable[[Tx], T]


class Driver(Protocol):
    """A backend. `single` is true where an append should be a single statement (a server, a round trip away)."""

    dialect: str
    single: bool
    tenant: int
    migrated: list[str]  # migrations applied on opening
    catching_up: threading.RLock  # held by the thread that updates the search index

    def read(self, job: Job[T]) -> T: ...

    def read_replica(self, job: Job[T]) -> T:
        """As `read`, from a replica that has this handle's writes, if there is one."""
        ...

    def write(self, job: Job[T]) -> T: ...

    def statement(self, name: str, /, **values: Any) -> Row | None:
        """Run one statement as a transaction of its own."""
        ...

    def wipe(self) -> bool:
        """Remove deleted data from the files; False if another process prevents it."""
        ...

    def problems(self) -> list[str]:
        """The findings of the database's own check of its files."""
        ...

    def size(self) -> int:
        """Bytes on disk."""
        ...

    def close(self) -> None: ...


_FILES = ("queries.sql", "search.sql", "maintenance.sql", "sources.sql", "workspace.sql")
_INCLUDED = re.compile(r"\{(\w+)\}")
_HEADING = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def statements(dialect: str) -> dict[str, str]:
    """The statements of a dialect by name: the common ones, replaced by its own where it has any."""
    found: dict[str, str] = {}
    folder = files("hansard.ledger") / "sql"
    for source in [place / name for place in (folder, folder / dialect) for name in _FILES]:
        if not source.is_file():  # no statements of its own
            continue
        _, *pieces = _HEADING.split(source.read_text("utf-8"))
        for name, text in zip(pieces[::2], pieces[1::2], strict=True):
            found[name] = _INCLUDED.sub(lambda match: found[match[1]], text.strip())
    return found


def safe(text: str | None) -> str | None:
    """A string that every database accepts as text: NUL and lone surrogates are escaped.

    >>> safe("plain"), safe("a\\x00b")
    ('plain', '\\x01"a\\\\u0000b"')
    """
    if text is None or (text.isprintable() and text[:1] != "\x01"):
        return text
    try:
        text.encode()
        if "\x00" not in text and text[:1] != "\x01":
            return text
    except UnicodeEncodeError:
        pass
    import json

    return "\x01" + json.dumps(text)


def unsafe(text: str | None) -> str | None:
    """The string that was given to `safe`."""
    if text is None or text[:1] != "\x01":
        return text
    import json

    return str(json.loads(text[1:]))
