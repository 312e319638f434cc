"""The PostgreSQL driver, on psycopg 3: a connection pool, concurrent writers, row-level security for each tenant.

Jobs are idempotent, so after a lost connection or a deadlock they are run again: a message whose COMMIT was cut off is
found stored. Bytes travel in binary. Every call ends: see `connection_watchdog.py`.

A connection keeps no state between transactions: tenant and limits are set in each transaction, statements are not
prepared on the server. So a pooler that hands its connections on after each transaction (PgBouncer) does no harm.
"""

from __future__ import annotations

import os
import re
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg_pool import ConnectionPool

from hansard.errors import ForkedHandle, HansardError, ReadOnlyServer, StorageError
from hansard.ledger.backends.connection_watchdog import ConnectionWatchdog
from hansard.ledger.backends.driver import Job, Row, statements
from hansard.ledger.backends.migrations import missing
from hansard.ledger.backends.read_replica import ReadReplica

T = TypeVar("T")
_PARAMETER = re.compile(r"(?<!:):([a-z_]\w*)")
_MIGRATING = 0x48616E73
_RETRYABLE = (errors.SerializationFailure, errors.DeadlockDetected)
_POOL_TIMEOUT = 1.0  # seconds: otherwise the pool backs off longer and longer while the server is unreachable
_ROWS = 1000  # in one batch, so that a long list does not trip the watchdog


class PlaceTaken(StorageError):
    """Another writer has taken the place or the id."""


@cache
def _sql() -> dict[str, bytes]:
    """The statements with psycopg's parameters."""
    return {
        name: _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%")).encode()
        for name, text in statements("postgres").items()
    }


class _Tx:
    """One transaction on one connection."""

    __slots__ = ("_connection", "_cursor", "_sql", "_tenant", "_watchdog")

    def __init__(self, connection: psycopg.Connection[Row], tenant: int, watchdog: ConnectionWatchdog) -> None:
        self._connection = connection
        self._cursor = connection.cursor(binary=True)
        self._watchdog = watchdog
        self._tenant = tenant
        self._sql = _sql()

    def _execute(self, name: str, values: dict[str, Any]) -> psycopg.Cursor[Row]:
        values["tenant"] = self._tenant
        self._watchdog.sent(self._connection)
        return self._cursor.execute(self._sql[name], values)

    def all(self, name: str, /, **values: Any) -> list[Row]:
        return self._execute(name, values).fetchall()

    def one(self, name: str, /, **values: Any) -> Row | None:
        return self._execute(name, values).fetchone()

    def run(self, name: str, /, **values: Any) -> int:
        return self._execute(name, values).rowcount

    def many(self, name: str, rows: list[dict[str, Any]], /) -> int:
        tenant, changed = self._tenant, 0
        for i in range(0, len(rows), _ROWS):
            self._watchdog.sent(self._connection)
            self._cursor.executemany(self._sql[name], [{**row, "tenant": tenant} for row in rows[i : i + _ROWS]])
            changed += self._cursor.rowcount
        return changed

    def load(self, table: str, columns: list[str], rows: list[Row]) -> None:
        """Insert rows of another ledger unchanged, identity columns included."""
        names, marks = ", ".join(columns), ", ".join(["%s"] * len(columns))
        text = f"insert into {table} (tenant, {names}) overriding system value values ({self._tenant}, {marks})"
        for i in range(0, len(rows), _ROWS):
            self._watchdog.sent(self._connection)
            self._cursor.executemany(text.encode(), rows[i : i + _ROWS])


class PostgresDriver:
    """A ledger in a database; `durability="relaxed"` accepts a server that acknowledges before it has synced.

    `prepared_statements=True` saves the server the planning; not through a pooler. `direct_url` names the server
    without its pooler, for migrations. `read_url` names a streaming replica: `threads`, `transcript`,
    `export_conversation` and `search` read there once it has this handle's last write, or, after `replica_wait`
    seconds, from the primary.

    All limits are seconds. A call is retried for `retry_for`; the last attempt may take `statement_timeout` (waiting
    for another writer: `lock_timeout`) and `network_timeout` more. Then it ends, whatever the network does.
    """

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
        network_timeout: float = 10.0,
        prepared_statements: bool = False,
        direct_url: str | None = None,
        read_url: str | None = None,
        replica_wait: float = 1.0,
    ) -> None:
        self._where = re.sub(r"//[^@/]*@", "//", url).split("?")[0]
        self._retry_for = retry_for
        self._settings = {
            "statement_timeout": str(int(statement_timeout * 1000)),
            "lock_timeout": str(int(lock_timeout * 1000)),
            # a disconnected client must not block other writers for longer than a slow one
            "idle_in_transaction_session_timeout": str(int(statement_timeout * 1000)),
        }
        self._closed = False
        self._pid = os.getpid()
        self.catching_up = threading.RLock()
        self._watchdog = ConnectionWatchdog(statement_timeout + network_timeout)
        try:
            first = direct_url or url
            options: dict[str, Any] = {"autocommit": True, "prepare_threshold": None}
            with psycopg.connect(first, **options, **_network(first, network_timeout)) as connection:
                self._watchdog.sent(connection)
                self._check_server(connection, durability)
                self._migrate(connection)
                self._watchdog.sent(connection)
                self.tenant = self._tenant(connection, tenant)
                self._watchdog.answered(connection)
        except BaseException as error:
            self._watchdog.stop()
            raise (self._translated(error) if isinstance(error, psycopg.Error) else error) from None
        self._settings["hansard.tenant"] = str(self.tenant)
        self._local = _local_settings(self._settings)
        if prepared_statements:
            options["prepare_threshold"] = 5
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            url,
            kwargs={**options, **_network(url, network_timeout)},
            min_size=1,
            max_size=connections,
            reconnect_timeout=_POOL_TIMEOUT,
            max_lifetime=3600,
            open=True,
            name="hansard",
        )
        self._replica: ReadReplica | None = None
        if read_url is not None:
            options |= _network(read_url, network_timeout)
            self._replica = ReadReplica(read_url, options, connections, replica_wait)

    # -- jobs ------------------------------------------------------------------------------------------------------

    def write(self, job: Job[T]) -> T:
        return self._retry(lambda connection: self._transaction(connection, job))

    def read(self, job: Job[T]) -> T:
        return self._retry(lambda connection: self._snapshot(connection, job))

    def read_replica(self, job: Job[T]) -> T:
        """As `read`, on the replica if there is one that has what this handle wrote."""
        if self._replica is None:
            return self.read(job)
        self._check()
        try:
            with self._replica.connection() as connection:
                if connection is not None:
                    self._watchdog.sent(connection)
                    try:
                        return self._snapshot(connection, job)
                    finally:
                        self._watchdog.answered(connection)
        except psycopg.Error:  # unreachable, or it cancelled the query because of a conflict with its recovery
            self._replica.leave_alone()
        return self.read(job)

    def statement(self, name: str, /, **values: Any) -> Row | None:
        try:
            return self._retry(lambda connection: self._pipelined(connection, name, values))
        except PlaceTaken:
            return None

    def _pipelined(self, connection: psycopg.Connection[Row], name: str, values: dict[str, Any]) -> Row | None:
        """One statement in one round trip: a pipeline without `begin` is one transaction, that of its settings too."""
        with connection.pipeline():
            connection.execute(self._local)
            cursor = self._tx(connection)._execute(name, values)
        if self._replica is not None:
            self._replica.wrote(connection)
        return cursor.fetchone()

    def _transaction(self, connection: psycopg.Connection[Row], job: Job[T]) -> T:
        with self._begun(connection, b"begin"):
            result = job(self._tx(connection))
        if self._replica is not None:
            self._replica.wrote(connection)
        return result

    def _snapshot(self, connection: psycopg.Connection[Row], job: Job[T]) -> T:
        with self._begun(connection, b"begin isolation level repeatable read, read only"):
            return job(self._tx(connection))

    @contextmanager
    def _begun(self, connection: psycopg.Connection[Row], begin: bytes) -> Iterator[None]:
        """A transaction with its settings, begun in one round trip."""
        try:
            connection.execute(begin + b"; " + self._local)
            yield
            connection.commit()
        except BaseException:
            with suppress(psycopg.Error):  # the connection is lost, and with it the transaction
                connection.rollback()
            raise

    def _tx(self, connection: psycopg.Connection[Row]) -> _Tx:
        return _Tx(connection, self.tenant, self._watchdog)

    def _retry(self, action: Callable[[psycopg.Connection[Row]], T]) -> T:
        """Run an action, retrying for `retry_for` seconds while the server is unreachable."""
        until, wait = time.monotonic() + self._retry_for, 0.02
        while True:
            self._check()
            try:
                with self._pool.connection(_POOL_TIMEOUT) as connection:
                    if _gone(connection):
                        connection.close()
                        continue
                    self._watchdog.sent(connection)
                    try:
                        return action(connection)
                    finally:
                        self._watchdog.answered(connection)
            except psycopg.OperationalError as error:  # includes: no connection available
                if not self._is_transient(error) or time.monotonic() > until:
                    raise self._translated(error) from None
            except errors.UniqueViolation as error:
                raise PlaceTaken(str(error)) from None
            except psycopg.Error as error:
                raise self._translated(error) from None
            time.sleep(wait)
            wait = min(wait * 2, 0.5)

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedHandle(
                f"{self._where}: opened before a fork; open it again in the child, a shared one loses writes"
            )
        if self._closed:
            raise StorageError(f"{self._where}: this ledger is closed; open it again")

    def _is_transient(self, error: psycopg.OperationalError) -> bool:
        """Whether a retry can help: yes for deadlocks and lost connections, no for limits and full disks."""
        if isinstance(error, _RETRYABLE):
            return True
        state = error.sqlstate
        return state is None or state.startswith("08") or state in ("57P01", "57P02", "57P03")

    def _translated(self, error: Exception) -> HansardError:
        text = " ".join(str(error).split())
        if isinstance(error, errors.DiskFull):
            return StorageError(f"{self._where}: the server's disk is full; nothing of this call was written")
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return ReadOnlyServer(f"{self._where}: this server is a standby and accepts no writes; open the primary")
        if isinstance(error, errors.LockNotAvailable | errors.QueryCanceled):
            return StorageError(f"{self._where}: waited too long for another writer ({text}); try again")
        if isinstance(error, _RETRYABLE):
            return StorageError(f"{self._where}: repeated conflicts with other writers ({text}); try again")
        if isinstance(error, psycopg.OperationalError):
            return StorageError(f"{self._where}: the server does not answer ({text}); is it running?")
        return StorageError(f"{self._where}: {type(error).__name__}: {text}")

    # -- database ----------------------------------------------------------------------------------------------

    def _check_server(self, connection: psycopg.Connection[Any], durability: str) -> None:
        if durability not in ("full", "relaxed"):
            raise StorageError(f"unknown durability {durability!r}: choose full or relaxed")
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
        self._watchdog.answered(connection)  # a migration may take long, and others wait for its lock
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
        """Nothing to do: the server reclaims deleted rows later (autovacuum)."""
        return True

    def problems(self) -> list[str]:
        """None: the server checks its own files."""
        return []

    def size(self) -> int:
        row = self.read(lambda tx: tx.one("database_size"))
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Close all connections; in a forked child the handle is only dropped."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        self._pool.close()
        if self._replica is not None:
            self._replica.close()
        self._watchdog.stop()


def _local_settings(settings: dict[str, str]) -> bytes:
    """The statement that sets them for the current transaction only."""
    calls = [sql.SQL("set_config({}, {}, true)").format(name, value) for name, value in settings.items()]
    return sql.SQL("select {}").format(sql.SQL(", ").join(calls)).as_bytes(None)


def _network(url: str, limit: float) -> dict[str, Any]:
    """Connection options that detect lost packets, unless the URL sets them."""
    wanted = {
        "connect_timeout": max(int(limit), 2),
        "tcp_user_timeout": int(limit * 1000),
        "keepalives_idle": max(int(limit), 1),
        "keepalives_interval": max(int(limit / 3), 1),
        "keepalives_count": 3,
    }
    given = psycopg.conninfo.conninfo_to_dict(url)
    return {name: value for name, value in wanted.items() if name not in given}


def _gone(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server closed an idle connection; after a restart that is every one of the pool."""
    try:
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    except psycopg.Error:
        return True
