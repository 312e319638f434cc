"""Watchdog that closes connections with no response for `limit` seconds, so that every call ends.

TCP detects lost packets, but not a peer whose kernel still answers while its program does not: a frozen server, a proxy
without a backend, a standby that is waited for. The server's own limits do not help there.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import Protocol


class Connection(Protocol):
    def fileno(self) -> int: ...


class ConnectionWatchdog:
    """The connections that wait for a response, and since when."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._since: dict[Connection, float] = {}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def sent(self, connection: Connection) -> None:
        """A statement was just sent, or is about to be."""
        self._since[connection] = time.monotonic()
        if self._thread is None:
            self._start()

    def answered(self, connection: Connection) -> None:
        """No caller waits on the connection any more."""
        self._since.pop(connection, None)

    def stop(self) -> None:
        self._stopping.set()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="hansard-watchdog", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while not self._stopping.wait(self.limit / 8):
            late = time.monotonic() - self.limit
            for connection, since in list(self._since.items()):
                if since < late:
                    self.answered(connection)
                    hang_up(connection)


def hang_up(connection: Connection) -> None:
    """Shut the socket down, which fails the waiting call; the owner closes the connection object."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
    except Exception:  # the connection ended in the meantime
        return
