"""The streaming answer to a chat request: await it to start it (or raise), iterate it for its bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from typing import Any


class Answer(AsyncIterator[bytes]):
    """The result of `agent.sse`.

    `await` it before the HTTP status is sent: then the prompt is durable, or it raises. `async for` yields the bytes,
    and starts it if it was not awaited.
    """

    def __init__(self, begin: Callable[[], Awaitable[AsyncGenerator[bytes, None]]]) -> None:
        self._begin = begin
        self._bytes: AsyncGenerator[bytes, None] | None = None
        self._beginning = asyncio.Lock()

    def __await__(self) -> Generator[Any, Any, Answer]:
        return self._begun().__await__()

    async def _begun(self) -> Answer:
        async with self._beginning:  # one answer for all awaiters
            if self._bytes is None:
                self._bytes = await self._begin()
        return self

    async def __anext__(self) -> bytes:
        if self._bytes is None:
            await self
        assert self._bytes is not None
        return await anext(self._bytes)

    async def aclose(self) -> None:
        """Stop listening; the answer continues."""
        if self._bytes is not None:
            await self._bytes.aclose()
