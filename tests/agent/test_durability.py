"""Waiting for the journal on an event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import hansard
from hansard.agent.durability import durable
from hansard.errors import Conflict
from hansard.model import TextPart
from hansard.streams.deltas import PartStart


def test_a_loop_is_woken_once_for_all_runs_that_were_written_together() -> None:
    async def main() -> None:
        loop: Any = asyncio.get_running_loop()
        woken = []
        wake = loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda action, *args: (woken.append(action), wake(action, *args))
        with hansard.open(":memory:") as ledger:
            runs = [ledger.begin_run(ledger.create_thread().id) for _ in range(20)]
            ledger.abort(runs[7].thread_id, runs[7].id)
            with ledger._journal._changed:  # the journal waits until all of them have spoken
                written = [run.write([PartStart(key="a", part=TextPart(text="words"))]) for run in runs]
                waiting = [asyncio.ensure_future(durable(one)) for one in written]
                await asyncio.sleep(0)
            waiting[3].cancel()
            came = await asyncio.gather(*waiting, return_exceptions=True)
            assert [type(one) for one in came] == [
                Conflict if i == 7 else asyncio.CancelledError if i == 3 else type(None) for i in range(20)
            ]
            assert len(woken) == 1
            await durable(written[3])
            with pytest.raises(Conflict):
                await durable(written[7])

    asyncio.run(main())
