"""Limits on slow or oversized requests (408, 431).

A body must arrive within a time that grows with the bytes received; request line and headers within a few seconds and
kilobytes. The first limit holds in any ASGI server, the second in `hansard serve`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from litestar.exceptions import HTTPException

_FIRST = 30.0  # seconds allowed for a body,
_SLOWEST = 10_000  # plus one second per this many bytes received
HEAD_SECONDS = 15.0
HEAD_BYTES = 64 * 1024


def in_time(receive: Callable[[], Awaitable[Any]], first: float = _FIRST) -> Callable[[], Awaitable[Any]]:
    """Pass messages on; reject a body that stops arriving (408)."""
    began, came, whole = time.monotonic(), 0, False

    async def received() -> Any:
        nonlocal came, whole
        if whole:  # only the disconnect follows, which may come at any time
            return await receive()
        left = began + first + came / _SLOWEST - time.monotonic()
        try:
            message = await asyncio.wait_for(receive(), max(left, 0.001))
        except TimeoutError:
            raise HTTPException("the body did not arrive in time; send it again", status_code=408) from None
        came += len(message.get("body", b""))
        whole = message["type"] != "http.request" or not message.get("more_body")
        return message

    return received


def protocol() -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol with limits on the time and size of headers, which it lacks."""
    from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

    class LimitedHttpProtocol(HttpToolsProtocol):
        _head: asyncio.TimerHandle | None = None
        _size, _tail, _over = 0, b"", False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._start_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._over:
                return
            if self._head is not None:
                end = (self._tail + data).find(b"\r\n\r\n")
                self._size += len(data) if end < 0 else min(end, len(data))
                self._tail = data[-3:]
                if self._size > HEAD_BYTES:
                    self._reject(431)
                    return
            super().data_received(data)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._head is None:
                self._start_timer()

        def on_headers_complete(self) -> None:
            self._stop_timer()
            super().on_headers_complete()

        def _start_timer(self) -> None:
            self._size, self._tail = 0, b""
            self._head = self.loop.call_later(HEAD_SECONDS, self._reject, 408)

        def _stop_timer(self) -> None:
            if self._head is not None:
                self._head.cancel()
                self._head = None

        def _reject(self, status: int) -> None:
            self._stop_timer()
            self._over = True
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()

    return LimitedHttpProtocol
