"""The SQLite driver, on apsw: one writer connection per process, concurrent readers; waiting writers share a commit.

WAL and synchronous=FULL: when `write` returns, the data is on the disk. The schema functions come last.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import apsw

from hansard.atomic_file import make_folders
from hansard.errors import ForkedHandle, StorageError
from hansard.ledger.backends.driver import Job, Row, statements
from hansard.ledger.backends.group_commit import GroupCommit, QueuedJob
from hansard.ledger.backends.migrations import missing

T = TypeVar("T")
OLDEST = 3_051_003  # the first SQLite without the WAL-reset bug
APPLICATION_ID = 0x48616E73  # "Hans"
_WAIT = 30_000
_WIPE = 5_000
_opened: dict[tuple[int, int], int] = {}  # the number of handles on each file, by device and inode
_opened_lock = threading.Lock()


class _Tx:
    """One transaction on one connection."""

    __slots__ = ("_connection", "_statements", "_tenant")

    def __init__(self, connection: apsw.Connection, tenant: int) -> None:
        self._connection, self._tenant = connection, tenant
        self._statements = statements("sqlite")

    def all(self, name: str, /, **values: Any) -> list[Row]:
        values["tenant"] = self._tenant
        return self._connection.execute(self._statements[name], values).fetchall()

    def one(self, name: str, /, **values: Any) -> Row | None:
        values["tenant"] = self._tenant
        return self._connection.execute(self._statements[name], values).fetchone()

    def run(self, name: str, /, **values: Any) -> int:
        values["tenant"] = self._tenant
        self._connection.execute(self._statements[name], values)
        return self._connection.changes()

    def many(self, name: str, rows: list[dict[str, Any]], /) -> int:
        tenant, before = self._tenant, self._connection.total_changes()
        self._connection.executemany(self._statements[name], [{**row, "tenant": tenant} for row in rows])
        return self._connection.total_changes() - before


class SqliteDriver:
    """A ledger in a SQLite file, or with `:memory:` in memory."""

    dialect = "sqlite"
    single = False

    def __init__(self, path: str, *, tenant: str = "", durability: str = "full", vfs: str | None = None) -> None:
        if apsw.SQLITE_VERSION_NUMBER < OLDEST:
            raise StorageError(f"SQLite {apsw.sqlite_lib_version()} can corrupt a WAL; pip install 'apsw>=3.51.3'")
        if durability not in ("full", "relaxed"):
            raise StorageError(f"unknown durability {durability!r}: choose full or relaxed")
        self.path = path if path == ":memory:" else os.path.abspath(path)
        self.memory = path == ":memory:"
        self._vfs = vfs
        self._synchronous = "full" if durability == "full" else "normal"
        self._pid = os.getpid()
        self._jobs = GroupCommit(self._begin, lambda error: _translated(error, self.path))
        self._lock = self._jobs.lock
        self.catching_up = threading.RLock()
        self._readers: list[apsw.Connection] = []
        self._executor: ThreadPoolExecutor | None = None
        self._closed = False
        self._inode: tuple[int, int] | None = None
        self.tenant = 0
        try:
            if not self.memory:
                self._create()
                recognise(self.path, vfs)
            self._writer = self._connect()
            self.migrated = migrate(self._writer, self.path)
            self._tx = _Tx(self._writer, 0)
            self.tenant = self._tenant(tenant)
            self._tx = _Tx(self._writer, self.tenant)
        except BaseException as error:
            self._release()
            raise _translated(error, self.path) from None

    # -- jobs ------------------------------------------------------------------------------------------------------

    def write(self, job: Job[T]) -> T:
        """Run a job and wait until it is durable; waiting jobs share one commit."""
        self._check()  # first: in a forked child the lock may never be released
        return self._jobs.run(job)

    def submit(self, jobs: list[Job[Any]]) -> Future[list[QueuedJob]]:
        """Run jobs on the writer thread in one transaction; the outcome of each, when all are durable."""
        self._check()
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="hansard-writer")
        return self._executor.submit(self._jobs.run_all, jobs)

    def _begin(self) -> tuple[apsw.Connection, _Tx]:
        self._check()
        return self._writer, self._tx

    def read(self, job: Job[T]) -> T:
        """Run a job on one snapshot of the file."""
        self._check()
        if self.memory:
            with self._lock:
                return self._translating(lambda: job(self._tx))
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._translating(self._connect)
        try:
            return self._translating(lambda: self._snapshot(connection, job))
        finally:
            self._readers.append(connection)
            if self._closed:  # checked after the append: a concurrent `close` may have missed this connection
                self._shut_readers()

    def read_replica(self, job: Job[T]) -> T:
        return self.read(job)

    def statement(self, name: str, /, **values: Any) -> Row | None:
        return self.write(lambda tx: tx.one(name, **values))

    def _snapshot(self, connection: apsw.Connection, job: Job[T]) -> T:
        connection.execute("begin")
        try:
            return job(_Tx(connection, self.tenant))
        finally:
            if connection.in_transaction:
                connection.execute("rollback")

    def _translating(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise _translated(error, self.path) from None

    # -- file --------------------------------------------------------------------------------------------------

    def _create(self) -> None:
        """Create the file with mode 0600; reject one that another SQLite library in this process has open."""
        folder = os.path.dirname(self.path)
        try:
            make_folders(folder, 0o700)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
            found = os.stat(self.path)
        except OSError as error:
            raise StorageError(f"{self.path}: {error.strerror}; choose a writable path") from None
        key = (found.st_dev, found.st_ino)
        with _opened_lock:
            if not _opened.get(key) and _is_open_here(key):
                raise StorageError(
                    f"{self.path}: another SQLite library has this file open in this process, which loses writes; "
                    "close it, or let another process use it"
                )
            _opened[key] = _opened.get(key, 0) + 1
            self._inode = key

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(self.path, vfs=self._vfs)
        try:
            self._set_up(connection)
        except BaseException:
            _shut(connection)
            raise
        return connection

    def _set_up(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(_WAIT)
        for _ in range(100):
            try:
                connection.execute("pragma journal_mode = wal")
                break
            except apsw.BusyError:  # another process is creating the file
                threading.Event().wait(0.05)
        connection.execute(f"pragma synchronous = {self._synchronous}")
        connection.execute("pragma temp_store = memory")
        connection.execute("pragma secure_delete = on")  # deleted data is overwritten
        connection.execute("pragma cache_size = -16000")
        connection.execute("pragma journal_size_limit = 67108864")
        level: Any = connection.pragma("synchronous")
        if level < (2 if self._synchronous == "full" else 1):
            raise StorageError(f"{self.path}: SQLite ignores the synchronous setting; this ledger would not be durable")

    def _tenant(self, name: str) -> int:
        found = self._writer.execute("select tenant from tenant where name = ?", (name,)).fetchall()
        if not found:
            self.write(lambda tx: tx.run("add_tenant", name=name))
            found = self._writer.execute("select tenant from tenant where name = ?", (name,)).fetchall()
        number = found[0][0] if found else None
        if type(number) is not int:
            raise StorageError(f"{self.path}: its table of tenants is damaged; restore a backup")
        return number

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedHandle(
                f"{self.path}: opened before a fork; open it again in the child, a shared one loses writes"
            )
        if self._closed:
            raise StorageError(f"{self.path}: this ledger is closed; open it again")

    def backup(self, target: str, progress: Callable[[int, int], None] | None = None) -> None:
        """A consistent copy of the live file, through SQLite's backup API."""
        self._check()
        destination = self._translating(lambda: apsw.Connection(target))
        try:
            source = self._writer if self.memory else self._translating(self._connect)
        except BaseException:
            _shut(destination)
            raise
        if self.memory:
            self._lock.acquire()
        try:
            if not self.memory:  # one snapshot: otherwise each write by another connection would restart the copy
                source.execute("begin")
                source.execute("select 1 from sqlite_schema").fetchall()
            copy = destination.backup("main", source, "main")
            try:
                while not copy.done:
                    copy.step(2048)
                    if progress is not None:
                        progress(copy.page_count - copy.remaining, copy.page_count)
                copy.finish()
            finally:
                copy.close(True)
            destination.execute("pragma journal_mode = delete")
        except apsw.Error as error:
            raise _translated(error, target) from None
        finally:
            _shut(destination)
            if self.memory:
                self._lock.release()
            else:
                _shut(source)

    def load(self, table: str, columns: list[str], rows: list[Row]) -> None:
        """Insert rows of another ledger unchanged."""
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        text = f"insert into {table} (tenant, {names}) values ({self.tenant}, {marks})"
        self.write(lambda tx: self._writer.executemany(text, rows))

    def wipe(self) -> bool:
        """Truncate the WAL, so that deleted data is in neither file; False if a reader still needs it."""
        if self.memory:
            return True
        with self._lock:
            self._check()
            self._writer.set_busy_timeout(_WIPE)
            try:
                found = self._translating(lambda: self._writer.execute("pragma wal_checkpoint(truncate)").fetchall())
            finally:
                self._writer.set_busy_timeout(_WAIT)
            return not found[0][0]

    def problems(self) -> list[str]:
        """The findings of SQLite's integrity check."""
        if self.memory:
            rows = self.read(lambda tx: tx.all("integrity"))
        else:  # a new connection: an older one may have parts of the search index cached
            connection = self._translating(self._connect)
            try:
                rows = self._translating(lambda: self._snapshot(connection, lambda tx: tx.all("integrity")))
            finally:
                connection.close()
        return [str(text) for (text,) in rows if text != "ok"]

    def size(self) -> int:
        if self.memory:
            return int(self.read(lambda tx: tx.all("memory_size"))[0][0])
        return sum(os.path.getsize(p) for p in (self.path, self.path + "-wal") if os.path.exists(p))

    def close(self) -> None:
        """Close all connections; in a forked child the handle is only dropped."""
        if self._closed or os.getpid() != self._pid:
            return
        if self._executor is not None:
            self._executor.shutdown(wait=True)
        with self._lock:
            self._jobs.drain()
            self._closed = True
            self._release()

    def _release(self) -> None:
        """Close all connections: an open one would count as another library's at the next opening."""
        self._shut_readers()
        if hasattr(self, "_writer"):
            _shut(self._writer)
        with _opened_lock:
            if self._inode is not None:
                _opened[self._inode] -= 1
                self._inode = None

    def _shut_readers(self) -> None:
        with suppress(IndexError):
            while True:
                _shut(self._readers.pop())


def _shut(connection: apsw.Connection) -> None:
    """Close a connection; errors of its last checkpoint are ignored."""
    with suppress(apsw.Error):
        connection.close()


def _is_open_here(key: tuple[int, int]) -> bool:
    """Whether this process has the file open; only Linux can tell."""
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return False
    for number in numbers:
        try:
            found = os.stat(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if (found.st_dev, found.st_ino) == key:
            return True
    return False


def _translated(error: BaseException, path: str) -> BaseException:
    """An SQLite error as a `StorageError`; other errors unchanged."""
    if isinstance(error, apsw.NotADBError):
        return StorageError(f"{path}: is not a SQLite file; choose another path")
    if isinstance(error, apsw.FullError):
        return StorageError(
            f"{path}: the disk is full; nothing of this call was written; free some space and try again"
        )
    if isinstance(error, apsw.BusyError):
        return StorageError(f"{path}: another process has held the write lock for {_WAIT // 1000} s; try again")
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return StorageError(f"{path}: not writable ({error}); check the permissions of the file and its folder")
    if isinstance(error, apsw.CorruptError | UnicodeDecodeError):
        return StorageError(f"{path}: the file is damaged ({error}); run `hansard verify`, restore a backup")
    if isinstance(error, apsw.Error):
        return StorageError(f"{path}: {type(error).__name__}: {error}; what was acknowledged is safe, try again")
    return error


# -- schema -----------------------------------------------------------------------------------------------------------


def recognise(path: str, vfs: str | None = None) -> None:
    """Reject a file that is not a ledger, or was written by a newer release; the file is only read."""
    if not os.path.getsize(path):
        return
    try:
        _check_schema(path, apsw.SQLITE_OPEN_READONLY, vfs)
    except apsw.ReadOnlyError:  # a process died while creating it: roll back first
        _check_schema(path, apsw.SQLITE_OPEN_READWRITE, vfs)


def _check_schema(path: str, flags: int, vfs: str | None) -> None:
    connection = apsw.Connection(path, flags=flags, vfs=vfs)
    try:
        connection.set_busy_timeout(_WAIT)
        missing("sqlite", applied(connection, path), path)
    finally:
        connection.close()


def migrate(connection: apsw.Connection, path: str) -> list[str]:
    """Apply the missing migrations in one transaction; their names."""
    if not missing("sqlite", applied(connection, path), path):
        return []
    connection.execute("begin immediate")
    try:
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        connection.execute(
            "create table if not exists schema_migration (number integer primary key, checksum text not null)"
        )
        done = missing("sqlite", applied(connection, path), path)  # another process may have been faster
        for migration in done:
            connection.execute(migration.text)
            connection.execute("insert into schema_migration values (?, ?)", (migration.number, migration.checksum))
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
    return [migration.name for migration in done]


def applied(connection: apsw.Connection, path: str) -> list[tuple[int, str]]:
    """The numbers and checksums of the migrations that were applied to a file."""
    names = {name for (name,) in connection.execute("select name from sqlite_schema").fetchall()}
    mark: Any = connection.pragma("application_id")
    if names and mark != APPLICATION_ID:
        raise StorageError(f"{path}: is a SQLite file, but not a ledger; choose another path")
    if "schema_migration" not in names:
        return []
    rows: list[Any] = connection.execute("select number, checksum from schema_migration").fetchall()
    return rows
