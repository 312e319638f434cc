"""An answer on its way to a client: awaited it has begun, or says why not; read it is bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from typing import Any


class Answer(AsyncIterator[bytes]):
    """What `agent.sse` gives.

    `await` it where a status is still to be chosen: what is asked for is durable then, or it raises. `async for` gives
    the bytes, and awaits it first if nobody has.
    """

    def __init__(self, begin: Callable[[], Awaitable[AsyncGenerator[bytes, None]]]) -> None:
        self._begin = begin
        self._bytes: AsyncGenerator[bytes, None] | None = None
        self._beginning = asyncio.Lock()

    def __await__(self) -> Generator[Any, Any, Answer]:
        return self._begun().__await__()

    async def _begun(self) -> Answer:
        async with self._beginning:  # one answer, however many await it
            if self._bytes is None:
                self._bytes = await self._begin()
        return self

    async def __anext__(self) -> bytes:
        if self._bytes is None:
            await self
        assert self._bytes is not None
        return await anext(self._bytes)

    async def aclose(self) -> None:
        """Listen no longer; the answer goes on."""
        if self._bytes is not None:
            await self._bytes.aclose()
