"""Cancelled calls of `ledger.aio`: each is whole or absent, nothing is left open, and the next call works."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from typing import Any

import apsw

import hansard
from hansard import Conversation, Ledger, Message
from hansard.errors import HansardError, NotFound
from tests.faults.harness import Outcome, Place, proof
from tests.ledger.said import said

TASKS = 40


class Naive:
    """What `aio` would be if a transaction were held over an await."""

    def __init__(self, ledger: Ledger) -> None:
        self._driver: Any = ledger._driver
        self._lock = asyncio.Lock()

    async def append(self, thread_id: str, messages: list[Message]) -> None:
        async with self._lock:
            self._driver._writer.execute("begin immediate")
            await asyncio.sleep(0.001)
            self._driver._writer.execute("commit")


class Storm:
    def __init__(self, ledger: Ledger, aio: Any, seed: int) -> None:
        self.ledger, self.aio, self.rng = ledger, aio, random.Random(seed)
        self.seen: Counter[str] = Counter()
        self.failures: list[str] = []

    async def call(self, key: str) -> None:
        """One of the calls that write; what it says goes under three ids."""
        messages = [said(f"{key} {i}", id=f"{key}-{i}") for i in range(3)]
        kind = self.rng.randrange(4)
        if kind == 0:
            await self.aio.sync(f"t{key}", Conversation(messages=messages))
        elif kind == 1:
            await self.aio.import_conversation(Conversation(id=f"t{key}", messages=messages))
        else:
            await self.aio.append("t", messages)

    async def round(self, number: int) -> None:
        tasks = {f"{number}.{i}": asyncio.create_task(self.call(f"{number}.{i}")) for i in range(TASKS)}
        if self.rng.random() < 0.8:  # else they are cancelled before they began
            await asyncio.sleep(self.rng.choice((0, 0, self.rng.uniform(0, 0.006))))
        order = list(tasks)
        self.rng.shuffle(order)
        for key in order:
            if not tasks[key].done():
                self.seen["cancelled"] += 1
                tasks[key].cancel()
            if self.rng.random() < 0.2:
                await asyncio.sleep(self.rng.uniform(0, 0.0005))
        answers = await asyncio.gather(*tasks.values(), return_exceptions=True)
        try:
            await asyncio.wait_for(self.aio.append("t", [said("next", id=f"next-{number}")]), 10)
            self.judge(dict(zip(tasks, answers, strict=True)))
        except (HansardError, apsw.Error, TimeoutError) as error:
            self.failures.append(f"round {number}: the next call failed: {error!r}")
        other = apsw.Connection(self.ledger._driver.path)  # type: ignore[attr-defined]
        try:
            other.execute("begin immediate")
            other.execute("rollback")
        except apsw.BusyError:
            self.failures.append(f"round {number}: a transaction is stranded")
        finally:
            other.close()

    def judge(self, answers: dict[str, Any]) -> None:
        there = {node.id for node in self.ledger.tree("t")}
        for key, answer in answers.items():
            with suppress(NotFound):
                there |= {node.id for node in self.ledger.tree(f"t{key}")}
            held = [f"{key}-{i}" in there for i in range(3)]
            cancelled = isinstance(answer, asyncio.CancelledError)
            if len(set(held)) > 1:
                self.failures.append(f"half: call {key}")
            elif not cancelled and not held[0]:
                self.failures.append(f"lost: call {key}, which answered {answer!r}")
            self.seen["cancelled and done"] += cancelled and held[0]


@proof(
    "cancelled calls, SQLite",
    holds="each is complete or absent, no transaction stays open, the next call works",
    tries=10_000,
    sample=400,
    defects=("a transaction over an await",),
)
def cancelled_calls(tries: int, place: Place, defect: str | None) -> Outcome:
    failures: list[str] = []
    seen: Counter[str] = Counter()

    async def main(seed: int, most: int) -> None:
        with hansard.open(place.file()) as ledger:
            ledger.create_thread("t")
            storm = Storm(ledger, ledger.aio if defect is None else Naive(ledger), seed)
            number = 0
            while storm.seen["cancelled"] < most and len(storm.failures) < 10 and number < 400:
                await storm.round(number)
                number += 1
            if defect is None:
                storm.failures += [f"verify: {problem}" for problem in ledger.verify()]
        failures.extend(storm.failures)
        seen.update(storm.seen)

    seed = 0
    while seen["cancelled"] < tries and not failures:  # a new ledger now and then: `judge` reads all of it
        asyncio.run(main(seed, min(1_000, tries - seen["cancelled"])))
        seed += 1
    return Outcome(tries=seen["cancelled"], failures=failures[:50], seen=dict(seen))
