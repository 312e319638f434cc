"""Agents' databases, read while the agent writes: from a copy of the file and its WAL, never in the agent's folder.

Opening a database in WAL mode writes beside it, even for reading. So the file is copied, then its WAL; if the WAL was
restarted meanwhile, or the file changed without one, both are copied again. What is in the copy is then a state that
was committed. The copy is for this user only, and is deleted at once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hansard.errors import HansardError
from hansard.formats.coding_agents import rows
from hansard.formats.coding_agents.rows import Database, Tables

if TYPE_CHECKING:
    import apsw

_TRIES = 20
_PIECE = 1 << 20
_WAL_HEADER = 32


class Busy(HansardError):
    """A database that changed during every attempt to copy it."""


def _open(path: str) -> BinaryIO:
    """Open a file for reading without changing its time of access, where the system allows that."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    try:
        return os.fdopen(os.open(path, flags | getattr(os, "O_NOATIME", 0)), "rb")
    except PermissionError:
        return os.fdopen(os.open(path, flags), "rb")


def _copy(source: str, target: str) -> None:
    with _open(source) as given, open(target, "wb") as taken:
        shutil.copyfileobj(given, taken, _PIECE)


def _head(path: str) -> bytes | None:
    """The header of a WAL, which is another one whenever the WAL is restarted; None if there is nothing in it."""
    try:
        with _open(path) as file:
            return file.read(_WAL_HEADER) or None
    except FileNotFoundError:
        return None


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return None
    return stat.st_size, stat.st_mtime_ns


def stamp(path: Path) -> tuple[tuple[int, int] | None, ...]:
    """Size and time of change of a database and of its WAL."""
    return _stamp(str(path)), _stamp(f"{path}-wal")


def _copy_both(path: str, target: str) -> bool:
    """Copy a database and its WAL; False if what was copied may not belong together."""
    before, wal = _stamp(path), _head(f"{path}-wal")
    for leftover in (f"{target}-wal", f"{target}-journal"):
        Path(leftover).unlink(missing_ok=True)
    if _stamp(f"{path}-journal") not in (None, (0, 0)) and wal is None:
        _copy(f"{path}-journal", f"{target}-journal")  # of a writer that stopped in the middle
    _copy(path, target)
    if wal is not None:
        try:
            _copy(f"{path}-wal", f"{target}-wal")
        except FileNotFoundError:
            return False
    if _head(f"{path}-wal") != wal:
        return False
    return wal is not None or _stamp(path) == before


@contextmanager
def snapshot(path: Path) -> Iterator[apsw.Connection]:
    """A connection to a copy of a database as it was at one moment."""
    import apsw

    with tempfile.TemporaryDirectory(prefix="hansard-") as folder:
        target = os.path.join(folder, "copy.db")
        for _ in range(_TRIES):
            if _copy_both(str(path), target):
                break
        else:
            raise Busy("the database changed during every attempt to read it; try again when the agent is idle")
        try:
            connection = apsw.Connection(target)
        except apsw.Error as error:
            raise rows.unreadable(error) from None
        try:
            yield connection
        finally:
            connection.close()


def content(path: Path) -> bytes:
    """A database with what its WAL has, as one file."""
    import apsw

    with snapshot(path) as connection:
        try:
            connection.execute("pragma journal_mode = delete").fetchall()
            data: bytes = connection.serialize("main")
        except apsw.Error as error:
            raise rows.unreadable(error) from None
        return data


class Found:
    """One session in a database: its id, its rows as lines, and what tells whether they changed."""

    def __init__(self, key: str, lines: Iterable[bytes], carried: frozenset[str]) -> None:
        self.key, self.carried = key, carried
        digest = hashlib.sha256()
        passed = (b'{"rows":', *(b'{"table":"%s",' % one.encode() for one in carried))
        whole: list[bytes] = []
        for line in lines:
            whole.append(line)
            if not line.startswith(passed):
                digest.update(line)
        self.text, self.digest = b"".join(whole), digest.hexdigest()


def sessions(database: Database) -> Iterator[Found]:
    """The sessions in a database. What several share is looked at with the newest of them only."""
    tables = database.tables
    keys = database.roots()
    newest = set(database.newest())
    for key in keys:
        yield Found(key, database.lines(key), frozenset() if key in newest else frozenset(tables.shared))


@contextmanager
def opened(path: Path, tables: Tables) -> Iterator[Database]:
    """The sessions in a database on disk."""
    with snapshot(path) as connection:
        yield Database(connection, tables)


def schema(path: Path) -> bytes:
    """The statements that made the tables of a database."""
    import apsw

    with snapshot(path) as connection:
        try:
            found = connection.execute("select sql from sqlite_master where sql is not null order by rowid").fetchall()
        except apsw.Error as error:
            raise rows.unreadable(error) from None
    return "\n".join(str(sql) for (sql,) in found).encode()


def kind(path: Path) -> str | None:
    """The agent's format that a file is a database of, by the tables it had when its WAL was last written back."""
    import apsw

    from hansard import formats

    try:
        with open(path, "rb") as file:
            if file.read(len(rows.MAGIC)) != rows.MAGIC:
                return None
        address = f"{path.absolute().as_uri()}?immutable=1"
        connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except (OSError, apsw.Error):
        return None
    try:
        made = connection.execute("select sql from sqlite_master where sql is not null order by rowid").fetchall()
        found = formats.get(formats.detect(rows.MAGIC + "\n".join(str(sql) for (sql,) in made).encode()))
    except (apsw.Error, HansardError):
        return None
    finally:
        connection.close()
    return found.name if found.session is not None and found.session.tables is not None else None


def count(path: Path, tables: Tables) -> int:
    """How many sessions are in a database or a folder, without those that others started; 0 if it is unreadable."""
    if path.is_dir():
        return len(list(path.glob("session/*/*.json")))
    try:
        return _count(path, tables)
    except (HansardError, OSError):
        return 0


def _count(path: Path, tables: Tables) -> int:
    with opened(path, tables) as database:
        return len(database.roots())


def add(path: Path, text: bytes, table: str, key: str) -> bool:
    """Add the rows of a session to an agent's own database, in one transaction; False if the session is there."""
    import apsw

    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(5000)
        connection.execute("begin immediate")
        if connection.execute(f"select 1 from {table} where id = ?", (key,)).fetchall():
            return False
        rows.insert(connection, text)
        connection.execute("commit")
        return True
    except apsw.BusyError:
        raise Busy(f"{path}: the database is locked; stop the agent, or try again") from None
    except apsw.Error as error:
        raise HansardError(
            f"{path}: the session cannot be added: {error}; start the agent once, then try again"
        ) from None
    finally:
        if connection.in_transaction:
            connection.execute("rollback")
        connection.close()


# -- files of older releases -----------------------------------------------------------------------------------------


def in_files(storage: Path, name: str) -> Iterator[tuple[Found, int]]:
    """The sessions in a folder `storage` of OpenCode before its database, and when each changed last.

    `session/PROJECT/ID.json`, `message/ID/MESSAGE.json`, `part/MESSAGE/PART.json`, `todo/ID.json`, `project/ID.json`.
    """
    infos = {path.stem: path for path in sorted(storage.glob("session/*/*.json"))}
    parents = {key: _field(path, "parentID") or "" for key, path in infos.items()}
    for root in [key for key, parent in parents.items() if parent not in infos]:
        family = [root]
        for above in family:  # grows meanwhile
            family += [key for key, parent in parents.items() if parent == above and key not in family]
        paths = [path for one in family for path in _files(storage, one, infos[one])]
        head = rows.header_line(name, root)
        lines = (rows.file_line(path.relative_to(storage).as_posix(), path.read_bytes()) for path in paths)
        changed = max(path.stat().st_mtime_ns for path in paths)
        yield Found(root, [head, *lines], frozenset()), changed


def _files(storage: Path, session: str, info: Path) -> Iterator[Path]:
    yield info
    yield from (path for path in [storage / "project" / f"{info.parent.name}.json"] if path.is_file())
    for message in sorted(storage.glob(f"message/{session}/*.json")):
        yield from sorted(storage.glob(f"part/{message.stem}/*.json"))
        yield message
    for more in ("todo", "session_diff"):
        yield from (path for path in [storage / more / f"{session}.json"] if path.is_file())


def _field(path: Path, name: str) -> str | None:
    import msgspec

    try:
        value = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None
