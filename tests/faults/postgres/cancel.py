"""Cancelled calls of `ledger.aio` on PostgreSQL: each is whole or absent, and no connection is left in a transaction.

The other half of `prove_sqlite_cancel.py`: here a call runs on a thread and a connection of a pool, and what can be
stranded is a transaction that is open on the server, or a run that is kept alive for somebody who is gone.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import psycopg

import hansard
from hansard import Ledger, Message
from hansard.errors import HansardError
from tests.faults.harness import Outcome, Place, proof
from tests.ledger.said import said

_TASKS = 40
_IDLE = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in%'"


class Naive:
    """What `aio` would be if a transaction were held over an await."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._connections: list[psycopg.AsyncConnection[Any]] = []

    async def append(self, thread_id: str, messages: list[Message]) -> None:
        connection = await psycopg.AsyncConnection.connect(self._database, autocommit=True)
        self._connections.append(connection)
        await connection.execute("begin")
        await connection.execute("select 1 from thread where id = %s", (thread_id,))
        await connection.execute("commit")
        await connection.close()

    async def transcript(self, thread_id: str) -> list[Message]:
        return []

    async def begin_run(self, thread_id: str, id: str) -> None:
        return


class Storm:
    def __init__(self, ledger: Ledger, aio: Any, database: str, seed: int) -> None:
        self.ledger, self.aio, self.database, self.rng = ledger, aio, database, random.Random(seed)
        self.seen: Counter[str] = Counter()
        self.failures: list[str] = []

    async def call(self, key: str) -> None:
        kind = self.rng.randrange(8)
        if kind == 0:
            await self.aio.transcript("t")
        elif kind == 1:
            (await self.aio.begin_run("t", id=key)).release()
        else:
            await self.aio.append("t", self.messages(key))

    def messages(self, key: str) -> list[Message]:
        return [said(f"{key} {i}", id=f"{key}-{i}") for i in range(1 + int(key[-1]) % 3)]

    async def round(self, number: int) -> None:
        tasks = {f"{number}.{i}": asyncio.create_task(self.call(f"{number}.{i}")) for i in range(_TASKS)}
        await asyncio.sleep(self.rng.choice((0, self.rng.uniform(0, 0.03))))
        for key in self.rng.sample(list(tasks), len(tasks)):
            if not tasks[key].done():
                self.seen["cancelled"] += 1
                tasks[key].cancel()
            if self.rng.random() < 0.2:
                await asyncio.sleep(self.rng.uniform(0, 0.002))
        await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def calm(self, rounds: int) -> None:
        """The storm is over: what it left behind, and whether what was in doubt can be said again."""
        try:
            async with asyncio.timeout(60):
                await self.aio.append("t", [said("next", id="next")])
        except (HansardError, TimeoutError) as error:
            self.failures.append(f"the next call failed: {error!r}")
        with psycopg.connect(self.database, autocommit=True) as looking:
            for _ in range(100):  # the last of them may still be at it
                found, alive = looking.execute(_IDLE).fetchone(), len(self.ledger._journal._buffers)
                if (found, alive) == ((0,), 0):
                    break
                await asyncio.sleep(0.05)
            else:
                self.failures.append(f"{found} connections left in a transaction, {alive} runs kept alive for nobody")
        there = Counter(node.id for node in self.ledger.tree("t"))
        for key in (f"{number}.{i}" for number in range(rounds) for i in range(_TASKS)):
            held = {there[str(message.id)] for message in self.messages(key)}
            if held not in ({0}, {1}):
                self.failures.append(f"half, or doubled: call {key}")
            self.seen["done though cancelled, or before"] += held == {1}


@proof(
    "cancelled calls, PostgreSQL",
    holds="each is complete or absent, no transaction stays open, the next call works",
    tries=10_000,
    sample=200,
    defects=("a transaction over an await",),
    control_tries=60,
)
def cancelled_calls(tries: int, place: Place, defect: str | None) -> Outcome:
    failures: list[str] = []
    seen: Counter[str] = Counter()

    async def main(seed: int, most: int) -> None:
        database = place.database()
        with hansard.open(database) as ledger:
            ledger.create_thread("t")
            storm = Storm(ledger, ledger.aio if defect is None else Naive(database), database, seed)
            number = 0
            while storm.seen["cancelled"] < most:
                await storm.round(number)
                number += 1
            await storm.calm(number)
            if defect is None:
                storm.failures += [f"verify: {problem}" for problem in ledger.verify()]
        failures.extend(storm.failures)
        seen.update(storm.seen)

    while seen["cancelled"] < tries and not failures:
        asyncio.run(main(seen["cancelled"], min(2_000, tries - seen["cancelled"])))
    return Outcome(tries=seen["cancelled"], failures=failures[:50], seen=dict(seen))
