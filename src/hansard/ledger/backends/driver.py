"""What a backend is: something that runs jobs in transactions, and a schema. The rules of the ledger are elsewhere.

A job is a function of one transaction. It may be run again (after a deadlock, a lost connection), so it makes no ids
and reads no clock of its own. When `write` returns, what the job wrote is durable.
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
    """One transaction: statements by their name in the `.sql` files; the tenant is always given."""

    def all(self, name: str, /, **values: Any) -> list[Row]: ...

    def one(self, name: str, /, **values: Any) -> Row | None: ...

    def run(self, name: str, /, **values: Any) -> int:
        """Execute; how many rows it changed."""
        ...

    def many(self, name: str, rows: list[dict[str, Any]], /) -> int:
        """Execute with each of the rows; how many rows that changed together."""
        ...


Job: TypeAlias = Callable[[Tx], T]


class Driver(Protocol):
    """A backend. `single` is true where a whole append should be one statement (a server, a round trip away)."""

    dialect: str
    single: bool
    tenant: int
    migrated: list[str]  # what was applied when it was opened
    catching_up: threading.RLock  # held by the thread that indexes: the others need not cut the same words

    def read(self, job: Job[T]) -> T: ...

    def write(self, job: Job[T]) -> T: ...

    def statement(self, name: str, /, **values: Any) -> Row | None:
        """One statement that is a transaction of its own."""
        ...

    def wipe(self) -> bool:
        """Make sure that what was deleted is in no file any more; false if somebody else is in the way."""
        ...

    def problems(self) -> list[str]:
        """What the database itself finds wrong with its files."""
        ...

    def size(self) -> int:
        """Bytes on disk."""
        ...

    def close(self) -> None: ...


_FILES = ("queries.sql", "search.sql", "upkeep.sql", "sources.sql", "workspace.sql")
_INCLUDED = re.compile(r"\{(\w+)\}")
_HEADING = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def statements(dialect: str) -> dict[str, str]:
    """The named statements of a dialect: the common ones, and its own in their place."""
    found: dict[str, str] = {}
    folder = files("hansard.ledger") / "sql"
    for source in [place / name for place in (folder, folder / dialect) for name in _FILES]:
        if not source.is_file():  # nothing to say in this dialect's own way
            continue
        _, *pieces = _HEADING.split(source.read_text("utf-8"))
        for name, text in zip(pieces[::2], pieces[1::2], strict=True):
            found[name] = _INCLUDED.sub(lambda match: found[match[1]], text.strip())
    return found


def safe(text: str | None) -> str | None:
    """A string that every database takes as text: one with NUL or half a surrogate pair is spelled in ASCII.

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
    """What `safe` was given."""
    if text is None or text[:1] != "\x01":
        return text
    import json

    return str(json.loads(text[1:]))
