"""A search in the threads that filters leave: the same hits as of all threads, only those, and full pages."""

from __future__ import annotations

from typing import Any

import pytest

from hansard import Ledger
from hansard.errors import HansardError
from hansard.ledger.search import query as search
from hansard.model import Message, TextPart
from hansard.model.conversation import Context, ModelRef

THREADS = 60
FILTERS: list[dict[str, Any]] = [
    {"agent": "even"},
    {"agent": "odd", "model": "opus"},
    {"project": "/tea"},
    {"format": "sage"},
    {"resource_id": "third"},
    {"since": "today"},
    {"until": "2001-01-01"},
    {"agent": "nobody"},
]


@pytest.fixture
def full(ledger: Ledger) -> Ledger:
    for i in range(THREADS):
        ledger.create_thread(f"t{i}", resource_id="third" if i % 3 == 0 else "other")
        told: dict[str, Any] = {
            "agent_id": "odd" if i % 2 else "even",
            "model": ModelRef(name="opus" if i % 5 else "gpt"),
        }
        if i % 7 == 0:
            told.update(context=Context(cwd="/tea"), extra={"sage": {"odd": 1}})
        words = [f"tea number {i}", "more tea", "rain"]
        ledger.append(f"t{i}", [Message(role="assistant", parts=[TextPart(text=text)], **told) for text in words])
    return ledger


def found(ledger: Ledger, limit: int, query: str = "tea", **only: Any) -> tuple[list[tuple[str, str]], list[int]]:
    """All hits in their order, and how many each page had."""
    hits: list[tuple[str, str]] = []
    sizes: list[int] = []
    after: str | None = None
    while True:
        page = ledger.search(query, limit=limit, after=after, **only)
        hits += [(hit.thread_id, hit.message_id) for hit in page.items]
        sizes.append(len(page.items))
        if (after := page.next) is None:
            return hits, sizes


@pytest.mark.parametrize("few", [0, 400], ids=["many threads are left", "few threads are left"])
def test_hits_are_those_of_the_threads_that_are_left_and_pages_are_full(
    full: Ledger, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_FEW", few)
    monkeypatch.setattr(search, "MAX_READ", 40)
    everything, _ = found(full, 1000)
    assert len(everything) == 2 * THREADS
    for only in FILTERS:
        left = {thread.id for thread in full.threads_where(limit=1000, **only).items}
        hits, sizes = found(full, 7, **only)
        assert hits == [hit for hit in everything if hit[0] in left], only
        assert all(size == 7 for size in sizes[:-1]), (only, sizes)
    assert found(full, 7, "tea thread:t1 thread:t2", agent="odd")[0] == found(full, 7, "tea thread:t1")[0]


def test_a_cursor_belongs_to_its_filters(full: Ledger) -> None:
    after = full.search("tea", limit=3, agent="even").next
    assert after is not None
    assert full.search("tea", limit=3, agent="even", after=after).items
    for other in ({}, {"agent": "odd"}):
        with pytest.raises(HansardError, match="another query"):
            full.search("tea", limit=3, after=after, **other)
    with pytest.raises(HansardError, match="yesterdayish"):
        full.search("tea", since="yesterdayish")
