"""Four calls that keep messages: what was saved is listed, word for word."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.agent import LedgerMemoryStore, MemoryStore

GOLDEN = Path(__file__).parent.parent / "golden" / "agent-store"


@pytest.fixture
def store() -> Iterator[LedgerMemoryStore]:
    with hansard.open(":memory:") as ledger:
        yield LedgerMemoryStore(ledger)


def said(id: str, text: str, **more: Any) -> dict[str, Any]:
    content = {"format": 2, "parts": [{"type": "text", "text": text}]}
    at = "2026-01-01T00:00:00Z"
    return {"id": id, "threadId": "t", "role": "user", "type": "text", "content": content, "createdAt": at, **more}


def _stored(path: Path) -> list[dict[str, Any]]:
    """The messages of a document, if each has an id of its own and names its thread."""
    document = json.loads(path.read_text())
    records = document if type(document) is list else document.get("messages", [document] if "role" in document else [])
    ids = {record.get("id") for record in records} - {None}
    named = all(record.get("threadId") or record.get("thread_id") for record in records)
    return records if named and len(ids) == len(records) else []


STORED = [pytest.param(records, id=path.stem) for path in sorted(GOLDEN.glob("*.json")) if (records := _stored(path))]


@pytest.mark.parametrize("records", STORED)
def test_what_was_saved_is_listed(store: LedgerMemoryStore, records: list[dict[str, Any]]) -> None:
    ids = [record["id"] for record in records]
    asyncio.run(store.save_messages(messages=records))
    asyncio.run(store.save_messages(messages=records))  # again is nothing
    threads = dict.fromkeys(record.get("threadId") or record["thread_id"] for record in records)
    listed = [message for thread in threads for message in asyncio.run(store.list_messages(thread_id=thread))]
    assert sorted(listed, key=lambda one: ids.index(one["id"])) == records


def test_order_and_limit(store: LedgerMemoryStore) -> None:
    messages = [said(f"m{i}", str(i)) for i in range(5)]
    asyncio.run(store.save_messages(messages=messages))
    assert asyncio.run(store.list_messages(thread_id="t", limit=2)) == messages[:2]
    assert asyncio.run(store.list_messages(thread_id="t", limit=2, order_by="desc")) == messages[:-3:-1]
    assert asyncio.run(store.list_messages(thread_id="nobody")) == []


def test_dates_may_be_dates(store: LedgerMemoryStore) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    asyncio.run(store.save_messages(messages=[said("m", "hi", createdAt=at, resourceId="ann")]))
    (listed,) = asyncio.run(store.list_messages(thread_id="t"))
    assert listed == said("m", "hi", createdAt=at.isoformat(), resourceId="ann")


def test_threads_are_kept_as_they_were_saved(store: LedgerMemoryStore) -> None:
    assert asyncio.run(store.get_thread_by_id(thread_id="t")) is None
    thread = {
        "id": "t",
        "title": "Tea",
        "resourceId": "ann",
        "metadata": {"a": 1},
        "createdAt": "2026-01-01",
        "mood": 3,
    }
    asyncio.run(store.save_thread(thread=thread))
    found = asyncio.run(store.get_thread_by_id(thread_id="t"))
    assert found is not None
    assert {key: value for key, value in found.items() if key != "updatedAt"} == thread
    asyncio.run(store.save_thread(thread={"id": "t", "title": "Coffee"}))
    found = asyncio.run(store.get_thread_by_id(thread_id="t"))
    assert found is not None
    assert (found["title"], "resourceId" in found, "mood" in found) == ("Coffee", False, False)


@pytest.mark.parametrize(
    ("message", "place"),
    [
        (3, "$.messages[0]"),
        ({"id": "m", "role": "user", "content": {"format": 2, "parts": []}}, "$.messages[0].threadId"),
        ({"threadId": "t", "role": "user"}, "$.messages[0].content"),
    ],
)
def test_what_cannot_be_kept_is_told_its_place(store: LedgerMemoryStore, message: Any, place: str) -> None:
    with pytest.raises(hansard.HansardError) as caught:
        asyncio.run(store.save_messages(messages=[message]))
    assert getattr(caught.value, "path", "") == place


def test_other_words_under_an_id_are_refused(store: LedgerMemoryStore) -> None:
    asyncio.run(store.save_messages(messages=[said("m", "hi")]))
    with pytest.raises(hansard.HansardError, match="another message"):
        asyncio.run(store.save_messages(messages=[said("m", "ho")]))
    assert [one["content"]["parts"][0]["text"] for one in asyncio.run(store.list_messages(thread_id="t"))] == ["hi"]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda store: store.list_messages(thread_id="t", order_by="up"), "unknown order_by 'up'; use asc or desc"),
        (lambda store: store.list_messages(thread_id="t", limit=-1), "invalid limit -1"),
        (lambda store: store.list_messages(thread_id=3), "thread_id is a text, not int"),
        (lambda store: store.save_messages(messages={}), "expected a list of messages"),
        (lambda store: store.save_messages(messages=[said("n", "hi"), {"role": 1}]), "missing role"),
        (lambda store: store.save_thread(thread={"title": "Tea"}), "a thread has an id"),
        (lambda store: store.save_thread(thread={"id": "t", "title": 3}), "expected a text"),
        (lambda store: store.save_thread(thread=3), "expected a thread object"),
    ],
)
def test_bad_input_gets_one_message_and_changes_nothing(store: LedgerMemoryStore, call: Any, problem: str) -> None:
    with pytest.raises(hansard.HansardError, match=problem):
        asyncio.run(call(store))
    assert store.ledger.threads().items == []


def test_the_ledger_has_the_protocol(store: LedgerMemoryStore) -> None:
    assert isinstance(store, MemoryStore)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 300])
def test_a_limit_counts_records_and_not_rows(store: LedgerMemoryStore, limit: int) -> None:
    part = {"type": "tool-invocation", "toolCallId": "c", "toolName": "a", "args": {}, "result": 1, "state": "result"}
    content = {"format": 2, "parts": [part]}
    records = [said(f"m{i}", "", role="assistant", type="tool") | {"content": content} for i in range(4)]
    asyncio.run(store.save_messages(messages=records))
    assert asyncio.run(store.list_messages(thread_id="t", limit=limit)) == records[:limit]
    assert asyncio.run(store.list_messages(thread_id="t", limit=limit, order_by="desc")) == records[::-1][:limit]
