"""Many processes and cancelled calls on every backend; the proofs try a SQLite file a thousand times as often."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

import hansard
from hansard.errors import Conflict
from tests.faults.processes import together
from tests.faults.sqlite.processes import WRITERS, write
from tests.ledger.said import said, words

EACH = 250


@pytest.mark.prove
def test_eight_processes_lose_nothing_on_postgresql(database: str) -> None:
    with hansard.open(database) as ledger:
        ledger.create_thread("shared")
        together(write, WRITERS, database, EACH, None)
        shared = words(ledger.transcript("shared"))
        for number in range(WRITERS):
            own = words(ledger.transcript(f"t{number}"))
            theirs = [text for text in shared if text.startswith(f"{number} ")]
            assert own == [f"{number} {step}" for step in range(0, EACH, 2)]
            assert theirs == [f"{number} {step}" for step in range(1, EACH, 2)]
        assert ledger.verify() == []


@pytest.mark.prove
def test_a_cancelled_call_is_done_or_not_done_and_the_ledger_goes_on(url: str) -> None:
    rng = random.Random(3)

    async def main() -> None:
        with hansard.open(url) as ledger:
            thread = (await ledger.aio.create_thread()).id
            answered: set[str] = set()

            async def append(key: str) -> None:
                await ledger.aio.append(thread, said(key, id=key))
                answered.add(key)

            for round_ in range(40):
                tasks = [asyncio.create_task(append(f"{round_}-{i}")) for i in range(10)]
                await asyncio.sleep(rng.uniform(0, 0.004))
                for task in tasks:
                    if rng.random() < 0.5:
                        task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            await ledger.aio.append(thread, said("last", id="last"))
            kept = [message.id for message in await ledger.aio.transcript(thread)]
            assert len(kept) == len(set(kept))
            assert answered <= set(kept)
            for key in {f"{r}-{i}" for r in range(40) for i in range(10)}:
                await ledger.aio.append(thread, said(key, id=key))  # a retry is safe, whatever came of the first
            assert len(await ledger.aio.transcript(thread)) == 401

    asyncio.run(main())


def test_a_job_that_fails_leaves_the_others_of_its_commit_alone(tmp_path: Path) -> None:
    async def main() -> None:
        with hansard.open(str(tmp_path / "ledger.db")) as ledger:
            thread = (await ledger.aio.create_thread()).id
            await ledger.aio.append(thread, said("x", id="x"))
            calls = [ledger.aio.append(thread, said(f"{i}", id="x" if i % 3 == 0 else f"{i}")) for i in range(30)]
            done = await asyncio.gather(*calls, return_exceptions=True)
            assert [isinstance(one, Conflict) for one in done] == [i % 3 == 0 for i in range(30)]
            assert len(await ledger.aio.transcript(thread)) == 21

    asyncio.run(main())
