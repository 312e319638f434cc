"""Clocks that step back and far forward in eight processes: order and ids hold, because neither is the clock's."""

from __future__ import annotations

import random
import time
from collections import Counter
from multiprocessing.synchronize import Barrier
from typing import Any
from unittest.mock import patch

from ulid import ULID

import hansard
from hansard.errors import Conflict
from hansard.ledger import ids
from hansard.model import TextPart
from hansard.streams.deltas import PartDelta, PartStart
from tests.faults.harness import Outcome, Place, proof
from tests.faults.processes import together, wait
from tests.ledger.said import said, words

WRITERS, IDS = 8, 100
_real = time.time_ns


class SteppingClock:
    def __init__(self, seed: int) -> None:
        self._rng, self._off = random.Random(seed), 0

    def step(self) -> None:
        hour = 3_600_000_000_000
        self._off = self._rng.choice((0, -hour, hour, -24 * hour, self._rng.randrange(hour), 30 * 365 * 24 * hour))

    def __call__(self) -> int:
        return _real() + self._off


def _naive_id() -> str:
    return str(ULID.from_timestamp(time.time_ns() / 1e9))


def write(number: int, barrier: Barrier, url: str, steps: int, defect: str | None) -> dict[str, Any]:
    clock = SteppingClock(number)
    new_id = _naive_id if defect == "ids by clock" else ids.new_id
    made: list[str] = []
    runs: list[tuple[str, str, bool]] = []
    with patch("time.time_ns", clock), hansard.open(url) as ledger:
        wait(barrier)
        for step in range(steps):
            clock.step()
            made += [new_id() for _ in range(IDS)]
            ledger.append("shared", said(f"{number} {step}"))
            if step % 10 == 0:
                runs.append(_run(ledger, clock, f"t{number}", f"r{number}-{step}"))
                ledger.recover()
    return {"ids": made, "runs": runs}


def _run(ledger: hansard.Ledger, clock: SteppingClock, thread: str, run_id: str) -> tuple[str, str, bool]:
    """A run whose clock steps while it goes on: somebody's `recover` may take it for dead, never lose its words."""
    run = ledger.begin_run(ledger.create_thread(thread).id, id=run_id)
    durable = False
    try:
        run.write([PartStart(key="0", part=TextPart(text="")), PartDelta(key="0", text=f"words of {run_id}")])
        run.flush()
        durable = True
        clock.step()
        run.stage(said(f"answer of {run_id}", "assistant"))
        run.commit()
    except Conflict:
        run.release()
        return run_id, "failed", durable
    return run_id, "committed", durable


@proof(
    "stepping clocks, SQLite",
    holds="messages keep each writer's order, ids increase and are unique, no run loses content",
    tries=8_000,
    sample=160,
    defects=("order by clock", "ids by clock"),
)
def stepping_clocks(tries: int, place: Place, defect: str | None) -> Outcome:
    url, steps = place.file(), -(-tries // WRITERS)
    with hansard.open(url) as ledger:
        ledger.create_thread("shared")
    told = together(write, WRITERS, url, steps, defect)
    failures: list[str] = []
    seen: Counter[str] = Counter()
    for number, one in enumerate(told):
        fallen = sum(a >= b for a, b in zip(one["ids"], one["ids"][1:], strict=False))
        failures += [f"writer {number}: {fallen} ids fell"] if fallen else []
        seen["ids"] += len(one["ids"])
    if len({key for one in told for key in one["ids"]}) != seen["ids"]:
        failures.append("an id was made twice")
    with hansard.open(url) as ledger:
        said_now = ledger.transcript("shared")
        if defect == "order by clock":
            said_now = sorted(said_now, key=lambda message: str(message.created_at))
        for number in range(WRITERS):
            own = [text for text in words(said_now) if text.startswith(f"{number} ")]
            if own != [f"{number} {step}" for step in range(steps)]:
                failures.append(f"writer {number}: not in the order it was said, or not all")
            for run_id, came, durable in told[number]["runs"]:
                seen[came] += 1
                status = ledger.run(f"t{number}", run_id).status
                text = " ".join(words(ledger.run_messages(f"t{number}", run_id)))
                if (came == "committed") != (status == "committed") or (durable and run_id not in text):
                    failures.append(f"run {run_id}: {came}, is {status}, and says {text!r}")
        failures += [f"verify: {problem}" for problem in ledger.verify()]
    return Outcome(tries=steps * WRITERS, failures=failures[:50], seen=dict(seen))
