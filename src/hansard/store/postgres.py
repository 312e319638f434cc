"""PostgreSQL through psycopg 3: a pool of connections, many writers, row-level security for each tenant.

Jobs are idempotent, so a lost connection or a deadlock only means running them again: a message whose COMMIT was cut
off is found stored the second time. Bytes travel in binary.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool, PoolTimeout

from hansard.errors import HansardError, StorageError
from hansard.store.driver import Job, Row, statements
from hansard.store.migrations import missing

T = TypeVar("T")
_PARAMETER = re.compile(r"(?<!:):([a-z_]\w*)")
_MIGRATING = 0x48616E73
_AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)


class Taken(StorageError):
    """A place or an id that somebody else has taken meanwhile."""


@cache
def _sql() -> dict[str, bytes]:
    """The statements with psycopg's parameters."""
    return {
        name: _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%")).encode()
        for name, text in statements("postgres").items()
    }


class _Tx:
    """One transaction on one connection."""

    __slots__ = ("_cursor", "_sql", "_tenant")

    def __init__(self, connection: psycopg.Connection[Row], tenant: int) -> None:
        self._cursor = connection.cursor(binary=True)
        self._tenant = tenant
        self._sql = _sql()

    def all(self, name: str, /, **values: Any) -> list[Row]:
        values["tenant"] = self._tenant
        return self._cursor.execute(self._sql[name], values).fetchall()

    def one(self, name: str, /, **values: Any) -> Row | None:
        values["tenant"] = self._tenant
        return self._cursor.execute(self._sql[name], values).fetchone()

    def run(self, name: str, /, **values: Any) -> int:
        values["tenant"] = self._tenant
        return self._cursor.execute(self._sql[name], values).rowcount

    def many(self, name: str, rows: list[dict[str, Any]], /) -> None:
        tenant = self._tenant
        self._cursor.executemany(self._sql[name], [{**row, "tenant": tenant} for row in rows])


class PostgresDriver:
    """A database; `durability="relaxed"` accepts a server that acknowledges before it has synced."""

    dialect = "postgres"
    single = True

    def __init__(
        self,
        url: str,
        *,
        tenant: str = "",
        durability: str = "full",
        connections: int = 16,
        retry_for: float = 15.0,
        statement_timeout: float = 60.0,
        lock_timeout: float = 20.0,
    ) -> None:
        self._where = re.sub(r"//[^@/]*@", "//", url).split("?")[0]
        self._retry_for = retry_for
        self._settings = {
            "statement_timeout": str(int(statement_timeout * 1000)),
            "lock_timeout": str(int(lock_timeout * 1000)),
            "idle_in_transaction_session_timeout": "60000",
        }
        self._network = {"connect_timeout": 10, "tcp_user_timeout": 10_000, "keepalives_idle": 10}
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._closed = False
        try:
            with psycopg.connect(url, autocommit=True, **self._network) as connection:  # type: ignore[arg-type]
                self._check_server(connection, durability)
                self._migrate(connection)
                self.tenant = self._tenant(connection, tenant)
        except psycopg.Error as error:
            raise self._translated(error) from None
        self._settings["hansard.tenant"] = str(self.tenant)
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            url,
            kwargs={"autocommit": True, **self._network},
            min_size=1,
            max_size=connections,
            timeout=retry_for,
            max_lifetime=3600,
            configure=self._configure,
            open=True,
            name="hansard",
        )

    # -- jobs ------------------------------------------------------------------------------------------------------

    def write(self, job: Job[T]) -> T:
        return self._again(lambda connection: self._transaction(connection, job))

    def read(self, job: Job[T]) -> T:
        return self._again(lambda connection: self._snapshot(connection, job))

    def statement(self, name: str, /, **values: Any) -> Row | None:
        try:
            return self._again(lambda connection: _Tx(connection, self.tenant).one(name, **values))
        except Taken:
            return None

    def submit(self, job: Job[T]) -> Future[T]:
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._pool.max_size, thread_name_prefix="hansard-writer")
        return self._executor.submit(self.write, job)

    def _transaction(self, connection: psycopg.Connection[Row], job: Job[T]) -> T:
        with connection.transaction():
            return job(_Tx(connection, self.tenant))

    def _snapshot(self, connection: psycopg.Connection[Row], job: Job[T]) -> T:
        with connection.transaction():
            connection.execute("set transaction isolation level repeatable read, read only")
            return job(_Tx(connection, self.tenant))

    def _again(self, action: Callable[[psycopg.Connection[Row]], T]) -> T:
        """Run it until the server answers, for `retry_for` seconds."""
        if self._closed:
            raise StorageError(f"{self._where}: this ledger is closed; open it again")
        until, wait = time.monotonic() + self._retry_for, 0.02
        while True:
            try:
                with self._pool.connection() as connection:
                    return action(connection)
            except PoolTimeout as error:
                raise self._translated(error) from None
            except psycopg.OperationalError as error:
                if not self._passing(error) or time.monotonic() > until:
                    raise self._translated(error) from None
            except errors.UniqueViolation as error:
                raise Taken(str(error)) from None
            except psycopg.Error as error:
                raise self._translated(error) from None
            time.sleep(wait)
            wait = min(wait * 2, 0.5)

    def _passing(self, error: psycopg.OperationalError) -> bool:
        """Will trying again help? Yes for deadlocks and lost connections, no for limits and full disks."""
        if isinstance(error, _AGAIN):
            return True
        state = error.sqlstate
        return state is None or state.startswith("08") or state in ("57P01", "57P02", "57P03")

    def _translated(self, error: Exception) -> HansardError:
        text = " ".join(str(error).split())
        if isinstance(error, errors.DiskFull):
            return StorageError(f"{self._where}: the server's disk is full; nothing of this call was written")
        if isinstance(error, errors.LockNotAvailable | errors.QueryCanceled):
            return StorageError(f"{self._where}: waited too long for another writer ({text}); try again")
        if isinstance(error, psycopg.OperationalError | PoolTimeout):
            return StorageError(f"{self._where}: the server does not answer ({text}); is it running?")
        return StorageError(f"{self._where}: {type(error).__name__}: {text}")

    # -- the database ----------------------------------------------------------------------------------------------

    def _configure(self, connection: psycopg.Connection[Row]) -> None:
        for name, value in self._settings.items():
            connection.execute("select set_config(%s, %s, false)", (name, value))

    def _check_server(self, connection: psycopg.Connection[Any], durability: str) -> None:
        if durability not in ("full", "relaxed"):
            raise StorageError(f"no durability {durability!r}; there are full and relaxed")
        if durability == "relaxed":
            self._settings["synchronous_commit"] = "off"
            return
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            row = connection.execute("select current_setting(%s)", (name,)).fetchone()
            if row is not None and row[0] == "off":
                raise StorageError(
                    f"{self._where}: the server runs with {name}=off and would lose what it acknowledged; "
                    f'set it to on, or open the ledger with durability="relaxed"'
                )

    def _migrate(self, connection: psycopg.Connection[Any]) -> None:
        def applied() -> list[tuple[int, str]]:
            row = connection.execute("select to_regclass('schema_migration')::text").fetchone()
            if row is None or row[0] is None:
                return []
            return connection.execute("select number, checksum from schema_migration").fetchall()

        self.migrated: list[str] = []
        if not missing("postgres", applied(), self._where):
            return
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (_MIGRATING,))
            connection.execute(
                "create table if not exists schema_migration (number int primary key, checksum text not null)"
            )
            done = missing("postgres", applied(), self._where)
            for migration in done:
                connection.execute(migration.text.encode())
                connection.execute(
                    "insert into schema_migration values (%s, %s)", (migration.number, migration.checksum)
                )
        self.migrated = [migration.name for migration in done]

    def _tenant(self, connection: psycopg.Connection[Any], name: str) -> int:
        row = connection.execute("select tenant from tenant where name = %s", (name,)).fetchone()
        if row is None:
            connection.execute("insert into tenant (name) values (%s) on conflict do nothing", (name,))
            row = connection.execute("select tenant from tenant where name = %s", (name,)).fetchone()
        assert row is not None
        return int(row[0])

    def wipe(self) -> bool:
        """The server overwrites deleted rows in its own time (autovacuum)."""
        return True

    def problems(self) -> list[str]:
        """The server looks after its own files."""
        return []

    def size(self) -> int:
        row = self.read(lambda tx: tx.one("database_size"))
        return int(row[0]) if row else 0

    def close(self) -> None:
        if self._closed:
            return
        if self._executor is not None:
            self._executor.shutdown(wait=True)
        self._closed = True
        self._pool.close()
