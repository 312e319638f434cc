"""Connections on which nothing is heard any more: whoever waits on one is woken with an error, not left waiting.

TCP finds out when packets vanish. It cannot find out when the other side's kernel still answers and its program does
not: a frozen server, a proxy that lost the way, a standby that is waited for. Limits of the server's own do not help
there either, so we keep one of ours: a connection with no new statement and no answer for `limit` seconds is hung up.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import Protocol


class Connection(Protocol):
    def fileno(self) -> int: ...


class Silence:
    """Who waits on which connection, and since when."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._since: dict[Connection, float] = {}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def spoken(self, connection: Connection) -> None:
        """Something was just sent, or is about to be."""
        self._since[connection] = time.monotonic()
        if self._thread is None:
            self._start()

    def over(self, connection: Connection) -> None:
        """Nobody waits on it any more."""
        self._since.pop(connection, None)

    def stop(self) -> None:
        self._stopping.set()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="hansard-silence", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while not self._stopping.wait(self.limit / 8):
            late = time.monotonic() - self.limit
            for connection, since in list(self._since.items()):
                if since < late:
                    self.over(connection)
                    hang_up(connection)


def hang_up(connection: Connection) -> None:
    """End it under the feet of whoever waits on it; the connection itself is closed by its owner."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
    except Exception:  # it ended by itself just now
        return
