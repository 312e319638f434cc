"""A thread of a million messages: what people do with a thread works at that length, and says what is there."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import hansard
from tests.faults.harness import Outcome, Place, proof
from tests.faults.load.memory import peak
from tests.ledger.said import said, words

BATCH = 500
MEMORY = 512  # megabytes for what reads a page at a time
_TEXT = "message {} says that the weather in town {} is fine, and the tea is {}"


@proof(
    "load: a thread of 1,000,000 messages",
    holds="pages, appends, branches, search and verify match what was written; pages need constant memory",
    tries=1_000_000,
    sample=3000,
    defects=("skips one",),
)
def long_thread(tries: int, place: Place, defect: str | None) -> Outcome:
    """In a process of its own, whose memory is looked at."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        failures, seen = pool.apply(_live, (place.file(), tries, defect))
    return Outcome(tries=tries, failures=failures, seen=seen)


def _text(number: int) -> str:
    return _TEXT.format(number, number % 977, "green" if number % 1000 else "jasmine")


def _live(url: str, tries: int, defect: str | None) -> tuple[list[str], dict[str, Any]]:
    failures: list[str] = []
    seen: dict[str, Any] = {}

    def timed(name: str, action: Callable[[], Any], unit: str = "ms") -> Any:
        began = time.perf_counter()
        found = action()
        took = time.perf_counter() - began
        seen[f"{name} {unit}"] = round(took * (1000 if unit == "ms" else 1), 2)
        return found

    def expect(what: str, found: Any, wanted: Any) -> None:
        if found != wanted:
            failures.append(f"{what}: {str(found)[:100]!r}, not {str(wanted)[:100]!r}")

    with hansard.open(url) as ledger:
        ledger.create_thread("t")

        def fill() -> None:
            for start in range(0, tries, BATCH):
                numbers = [i for i in range(start, min(start + BATCH, tries)) if not (defect and i == tries // 2)]
                ledger.append("t", [said(_text(i), id=f"m{i}") for i in numbers])

        timed("filling", fill, "s")
        page = timed("newest page", lambda: ledger.messages("t", limit=50, newest=True))
        expect("the newest page", sorted(words(page.items)), sorted(_text(i) for i in range(tries - 50, tries)))
        timed("one append", lambda: ledger.append("t", said("one more", id="more")))
        middle = f"m{tries // 2 - 1}"
        timed("checkout in the middle", lambda: ledger.checkout("t", middle))
        timed("append to a branch", lambda: ledger.append("t", said("another way", id="branch")))
        branches = timed("branches", lambda: ledger.branches("t"))
        expect("the ends of branches", {branch.head for branch in branches}, {"more", "branch"})
        timed("checkout of the end", lambda: ledger.checkout("t", "more"))
        seen["MB so far"] = peak() >> 10
        if seen["MB so far"] > MEMORY:
            failures.append(f"{seen['MB so far']} MB before anything was read as a whole")
        hits = timed("first search, with indexing", lambda: ledger.search("jasmine", limit=50), "s")
        expect("what a search finds", len(hits.items), min(50, -(-tries // 1000)))
        timed("second search", lambda: ledger.search("jasmine weather", limit=20))
        count = 0

        def walk() -> None:
            nonlocal count
            for number, message in enumerate(ledger.iter_transcript("t")):
                expect("the transcript", message.id, f"m{number}" if number < tries else "more")
                count += 1
                if failures:
                    return

        timed("the whole transcript", walk, "s")
        expect("messages", count, tries + 1)
        nodes = timed("tree", lambda: ledger.tree("t"), "s")
        expect("nodes of the tree", len(nodes), tries + 2)
        del nodes
        failures += [str(problem) for problem in timed("verify", ledger.verify, "s")]
    seen["MB at last"] = peak() >> 10
    return failures, seen
