"""Waiting on an event loop until what was written is durable, together with everybody who waits for the same."""

from __future__ import annotations

import asyncio

from hansard.ledger.live.journal import Written


async def durable(written: Written) -> None:
    """Wait until it is durable; raises if it never will be. Cancelling stops nobody else's waiting."""
    if not written.done() and written.round is not None:
        loop = asyncio.get_running_loop()
        here = written.round.here.get(loop)
        if here is None:
            here = written.round.here[loop] = asyncio.wrap_future(written.round, loop=loop)
        await asyncio.shield(here)
    written.result(0)
