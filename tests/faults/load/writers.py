"""Eight processes that append to one ledger, on threads of their own and on one that they share."""

from __future__ import annotations

import multiprocessing
import time
from typing import Any

import hansard
from hansard.ledger.ids import clock
from tests.faults.harness import Outcome, Place, proof
from tests.faults.load.memory import peak
from tests.ledger.said import said, words

WRITERS = 8
HOLDS = "no error, nothing lost or duplicated, each writer's messages in order"


@proof("load: 8 writers, SQLite", holds=HOLDS, tries=16_000, sample=160, defects=("ack-first",))
def sqlite(tries: int, place: Place, defect: str | None) -> Outcome:
    return _write(place.file(), tries, defect)


@proof("load: 8 writers, PostgreSQL", holds=HOLDS, tries=16_000, sample=160, defects=("ack-first",))
def postgres(tries: int, place: Place, defect: str | None) -> Outcome:
    return _write(place.database(), tries, defect)


def _write(url: str, tries: int, defect: str | None) -> Outcome:
    each = -(-tries // WRITERS)
    spawn = multiprocessing.get_context("spawn")
    began = time.monotonic()
    with spawn.Pool(WRITERS) as pool:
        told = pool.starmap(_writer, [(url, number, each, defect) for number in range(WRITERS)])
    seconds = time.monotonic() - began
    failures = [error for one in told for error in one["errors"]]
    with hansard.open(url) as ledger:
        shared = words(ledger.transcript("shared"))
        for number, one in enumerate(told):
            own = words(ledger.transcript(f"own-{number}"))
            for where, found in (("its own thread", own), ("the shared one", shared)):
                expected = [
                    text for text in one["acknowledged"] if (int(text.split("-")[1]) % 2 == 0) == (found is own)
                ]
                if [text for text in found if text.startswith(f"{number}-")] != expected:
                    failures.append(f"writer {number}: what it said is not what is in {where}")
        failures += [str(problem) for problem in ledger.verify()]
    took = sorted(second for one in told for second in one["took"])
    seen: dict[str, int | float | str] = {
        "acknowledged": sum(len(one["acknowledged"]) for one in told),
        "a second": round(len(took) / seconds),
        "p50 ms": round(1000 * took[len(took) // 2], 2),
        "p99 ms": round(1000 * took[len(took) * 99 // 100], 2),
        "MB a writer": max(one["memory"] for one in told) >> 10,
    }
    return Outcome(tries=each * WRITERS, failures=failures, seen=seen)


def _writer(url: str, number: int, each: int, defect: str | None) -> dict[str, Any]:
    """Every other message goes to the shared thread. The defect says that it wrote what it did not."""
    acknowledged: list[str] = []
    took: list[float] = []
    errors: list[str] = []
    with hansard.open(url) as ledger:
        own = ledger.create_thread(f"own-{number}").id
        ledger.create_thread("shared")
        for i in range(each):
            text = f"{number}-{i}-{clock()}"
            began = time.perf_counter()
            try:
                if not (defect == "ack-first" and i == each - 1):
                    ledger.append("shared" if i % 2 else own, said(text))
                acknowledged.append(text)
            except Exception as error:
                errors.append(f"writer {number}: {type(error).__name__}: {error}")
            took.append(time.perf_counter() - began)
    memory = peak()
    return {"acknowledged": acknowledged, "took": took, "errors": errors, "memory": memory}
