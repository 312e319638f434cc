"""The active runs of an agent and their listeners.

A run is a separate task: it does not depend on its listeners. Listeners get deltas once they are durable, in the order
they were written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from hansard.agent.durability import durable
from hansard.errors import Conflict
from hansard.ledger.live.journal import DurableFuture
from hansard.streams.deltas import Delta

_END = None


class StreamHub:
    """The deltas of the run `run_id` for one listener: passed to the recorder, read with `async for`."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._queue: asyncio.Queue[tuple[list[Delta], DurableFuture] | None] = asyncio.Queue()
        self._left = False
        self.ended = False

    def __call__(self, deltas: list[Delta], written: DurableFuture) -> None:
        if not self._left:
            self._queue.put_nowait((deltas, written))

    def end(self) -> None:
        """Mark the end of the run."""
        self.ended = True
        self._queue.put_nowait(_END)

    async def deltas(self) -> AsyncIterator[Delta]:
        """Yield every delta once it is durable; ends with the run."""
        waited: Any = None
        try:
            while (item := await self._queue.get()) is not _END:
                deltas, written = item
                if written is not waited:
                    try:
                        await durable(written)
                    except Conflict:  # the run was stopped before this was written
                        continue
                    waited = written
                for delta in deltas:
                    yield delta
        finally:
            self.leave()

    def leave(self) -> None:
        """Stop listening and drop queued events."""
        self._left = True
        while not self._queue.empty():
            self._queue.get_nowait()
