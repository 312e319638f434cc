"""A streaming replica for reads: asked once it has replayed this handle's last write.

PostgreSQL numbers its log: after a write the primary says how far it is (LSN), a replica says how far it has replayed.
A replica that is late for `wait` seconds, or does not answer, is left alone for a moment, and the primary is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool

from hansard.ledger.backends.driver import Row

_WRITTEN = b"select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
_REPLAYED = (
    b"select pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() "
    b"else pg_current_wal_insert_lsn() end, '0/0')::bigint"
)
_AGAIN = 5.0  # seconds until a replica that was late or silent is asked again
_POLL = 0.005


class ReadReplica:
    """The connections to one replica, and the number of the last write."""

    def __init__(self, url: str, options: dict[str, Any], connections: int, wait: float) -> None:
        self._wait = wait
        self._written = 0
        self._lock = threading.Lock()
        self._silent_until = 0.0
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            url, kwargs=options, min_size=1, max_size=connections, reconnect_timeout=1.0, open=True, name="replica"
        )

    def wrote(self, primary: psycopg.Connection[Row]) -> None:
        """Note how far the primary's log is after a commit."""
        row = primary.execute(_WRITTEN).fetchone()
        if row is not None:
            with self._lock:
                self._written = max(self._written, row[0])

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Row] | None]:
        """A connection to the replica with all that was written here; None when the primary must be asked."""
        if time.monotonic() < self._silent_until:
            yield None
            return
        written = self._written
        with self._pool.connection(self._wait) as replica:
            late = self._is_late(replica, written)
            if late:
                self.leave_alone()
            yield None if late else replica

    def leave_alone(self) -> None:
        """Ask the primary for a moment."""
        self._silent_until = time.monotonic() + _AGAIN

    def _is_late(self, replica: psycopg.Connection[Row], written: int) -> bool:
        until = time.monotonic() + self._wait
        while True:
            row = replica.execute(_REPLAYED).fetchone()
            if row is not None and row[0] is not None and row[0] >= written:
                return False
            if time.monotonic() > until:
                return True
            time.sleep(_POLL)

    def close(self) -> None:
        self._pool.close()
