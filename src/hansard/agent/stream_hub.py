"""The runs an agent is doing right now, and those who listen to them.

A run is a task of its own: a listener that goes away takes nothing with it. Deltas are handed on when they are
durable, in the order they were written.
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
    """What one run says, for one listener: given to the recorder as its listener, read with `async for`."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[list[Delta], DurableFuture] | None] = asyncio.Queue()
        self._left = False

    def __call__(self, deltas: list[Delta], written: DurableFuture) -> None:
        if not self._left:
            self._queue.put_nowait((deltas, written))

    def say(self, deltas: list[Delta]) -> None:
        """Something that is told to this listener only, and not recorded."""
        done = DurableFuture()
        done.set_result(None)
        self(deltas, done)

    def end(self) -> None:
        """The run is over."""
        self._queue.put_nowait(_END)

    async def deltas(self) -> AsyncIterator[Delta]:
        """Every delta when it is durable; ends with the run."""
        waited: Any = None
        try:
            while (item := await self._queue.get()) is not _END:
                deltas, written = item
                if written is not waited:
                    try:
                        await durable(written)
                    except Conflict:  # the run was stopped before this was written: it was never said
                        continue
                    waited = written
                for delta in deltas:
                    yield delta
        finally:
            self.leave()

    def leave(self) -> None:
        """Nobody listens any more: nothing is kept for them."""
        self._left = True
        while not self._queue.empty():
            self._queue.get_nowait()
