"""A TCP proxy in front of PostgreSQL that fails at the byte it is told: it cuts, resets, swallows or drops.

    proxy.arm("reply", 17, "cut")     the 17 first bytes of what the server says next arrive, then both lines end

`swallow` keeps the lines up and says nothing any more: the kernels still answer each other. `drop` is a network that
lost the way: a filter on the client's line throws every packet away before TCP sees it, so nobody answers at all.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import threading
from typing import Literal
from urllib.parse import parse_qs, urlsplit

Direction = Literal["request", "reply"]
How = Literal["cut", "reset", "swallow", "drop"]
_SO_ATTACH_FILTER = 26
_NOTHING = struct.pack("HBBI", 0x06, 0, 0, 0)  # one instruction of the packet filter: keep 0 bytes


class Proxy:
    """Between one who calls `address` and the server whose address (with a socket folder as its host) is given."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self._server = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        port = self._listener.getsockname()[1]
        self.address = f"postgresql://postgres@127.0.0.1:{port}{parts.path}?sslmode=disable&gssencmode=disable"
        self._lock = threading.Lock()
        self._armed: tuple[Direction, int, How] | None = None
        self._lines: set[_Line] = set()
        self.carried: dict[Direction, int] = {"request": 0, "reply": 0}
        self.fired = 0
        self.silent = False
        """Whether new lines are swallowed from their first byte."""
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for line in list(self._lines):
            line.end(hard=False)

    def arm(self, direction: Direction, byte: int, how: How) -> None:
        """Fail once, when so many bytes have gone that way; counted from now."""
        with self._lock:
            self._armed = (direction, byte, how)
            self.carried = {"request": 0, "reply": 0}

    def disarm(self) -> bool:
        """Whether it had failed as it was told."""
        with self._lock:
            armed, self._armed = self._armed, None
            return armed is None

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
            except OSError:
                return
            line = _Line(self, client, server)
            if self.silent:
                line.mute = True
            self._lines.add(line)
            line.start()

    def passes(self, direction: Direction, size: int) -> tuple[int, How | None]:
        """How many of the next bytes go through, and what happens then."""
        with self._lock:
            before = self.carried[direction]
            self.carried[direction] = before + size
            if self._armed is None or self._armed[0] != direction or before + size <= self._armed[1]:
                return size, None
            _, byte, how = self._armed
            self._armed = None
            self.fired += 1
            return byte - before, how

    def forget(self, line: _Line) -> None:
        self._lines.discard(line)


class _Line:
    """One connection: two threads, each carrying one way."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self.proxy, self.client, self.server = proxy, client, server
        self.mute = False

    def start(self) -> None:
        for way in ((self.client, self.server, "request"), (self.server, self.client, "reply")):
            threading.Thread(target=self._carry, args=way, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, direction: Direction) -> None:
        try:
            while data := source.recv(65536):
                if self.mute:
                    continue
                size, how = self.proxy.passes(direction, len(data))
                target.sendall(data[:size])
                if how in ("swallow", "drop"):
                    self.mute = True
                    if how == "drop":
                        _drop_all(self.client)
                elif how is not None:
                    self.end(hard=how == "reset")
                    return
        except OSError:
            pass
        if not self.mute:
            self.end(hard=False)

    def end(self, *, hard: bool) -> None:
        """Hang up on both sides: politely, or with a reset that throws away what was on its way."""
        if hard:
            with contextlib.suppress(OSError):
                self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RD if hard else socket.SHUT_RDWR)  # wakes whoever reads from it
            end.close()
        self.proxy.forget(self)


def _drop_all(line: socket.socket) -> None:
    """Throw away every packet that comes in on this line, before anybody acknowledges it."""
    program = ctypes.create_string_buffer(_NOTHING)
    line.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(program)))
