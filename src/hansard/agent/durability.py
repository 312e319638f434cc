"""Waiting on an event loop until writes are durable, and passing events on once they are.

A journal makes many events durable at once. A stream is therefore read by a task of its own, and each event waits for
the future of its write; hundreds of events may wait for the same future.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any, TypeVar

from hansard.ledger.live.journal import DurableFuture


async def durable(written: DurableFuture) -> None:
    """Wait until it is durable; raises if it failed. Cancelling does not affect other waiters."""
    if not written.done() and written.batch is not None:
        loop = asyncio.get_running_loop()
        here = written.batch.loop_futures.get(loop)
        if here is None:
            here = written.batch.loop_futures[loop] = asyncio.wrap_future(written.batch, loop=loop)
        await asyncio.shield(here)
    written.result(0)


E = TypeVar("E")
_AHEAD = 1024


async def durable_events(
    stream: AsyncIterable[E], take: Callable[[E], DurableFuture | None], hurry: Callable[[], None]
) -> AsyncIterator[E]:
    """Yield the events of a stream, each as soon as the write that `take` made of it is durable."""
    queue: asyncio.Queue[tuple[E, DurableFuture | None] | BaseException | None] = asyncio.Queue(_AHEAD)

    async def pump() -> None:
        end: BaseException | None = None
        try:
            async for event in stream:
                await queue.put((event, take(event)))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            end = error
        hurry()
        await queue.put(end)

    task = asyncio.create_task(pump())
    waited: Any = None
    try:
        while True:
            item = await queue.get()
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            event, future = item
            if future is not None and future is not waited:
                await durable(future)
                waited = future
            yield event
    finally:
        if not task.done():
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        closing = getattr(stream, "aclose", None)
        if closing is not None:
            await closing()
