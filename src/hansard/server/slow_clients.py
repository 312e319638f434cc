"""Clients that send too slowly or too much: they are told so and let go, and hold nothing up meanwhile.

A body must come within a time that grows with what has come; a request line and headers within a few seconds and
kilobytes. The first holds in any server that runs the application, the second in `hansard serve`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from litestar.exceptions import HTTPException

_FIRST = 30.0  # seconds that a body may take,
_SLOWEST = 10_000  # and one more for so many bytes that did come
HEAD_SECONDS = 15.0
HEAD_BYTES = 64 * 1024


def in_time(receive: Callable[[], Awaitable[Any]], first: float = _FIRST) -> Callable[[], Awaitable[Any]]:
    """The same messages; a body that stops coming is a fault of the client's (408)."""
    began, came, whole = time.monotonic(), 0, False

    async def received() -> Any:
        nonlocal came, whole
        if whole:  # what comes now is that the client leaves, and it may stay as long as it likes
            return await receive()
        left = began + first + came / _SLOWEST - time.monotonic()
        try:
            message = await asyncio.wait_for(receive(), max(left, 0.001))
        except TimeoutError:
            raise HTTPException("the body did not come in time; send it again", status_code=408) from None
        came += len(message.get("body", b""))
        whole = message["type"] != "http.request" or not message.get("more_body")
        return message

    return received


def protocol() -> type[asyncio.Protocol]:
    """uvicorn's HTTP, which waits for headers for ever and keeps any number of them, with an end to both."""
    from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

    class Patience(HttpToolsProtocol):
        _head: asyncio.TimerHandle | None = None
        _size, _tail, _over = 0, b"", False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._await_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_awaiting()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._over:
                return
            if self._head is not None:
                end = (self._tail + data).find(b"\r\n\r\n")
                self._size += len(data) if end < 0 else min(end, len(data))
                self._tail = data[-3:]
                if self._size > HEAD_BYTES:
                    self._let_go(431)
                    return
            super().data_received(data)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._head is None:
                self._await_head()

        def on_headers_complete(self) -> None:
            self._stop_awaiting()
            super().on_headers_complete()

        def _await_head(self) -> None:
            self._size, self._tail = 0, b""
            self._head = self.loop.call_later(HEAD_SECONDS, self._let_go, 408)

        def _stop_awaiting(self) -> None:
            if self._head is not None:
                self._head.cancel()
                self._head = None

        def _let_go(self, status: int) -> None:
            self._stop_awaiting()
            self._over = True
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()

    return Patience
