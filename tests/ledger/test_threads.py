"""Threads, messages and branches, the same on every backend."""

from __future__ import annotations

from itertools import count
from typing import Any
from unittest.mock import patch

import pytest

from hansard import Ledger
from hansard.errors import Conflict, NotFound, StorageError
from hansard.model import Usage
from tests.ledger.said import said, transcript, words


def test_what_was_appended_is_the_transcript(ledger: Ledger) -> None:
    thread = ledger.create_thread(title="Tea")
    for text in "abc":
        ledger.append(thread.id, said(text))
    assert transcript(ledger, thread.id) == ["a", "b", "c"]
    assert ledger.thread(thread.id).messages == 3
    assert ledger.thread(thread.id).title == "Tea"


def test_appending_the_same_again_is_nothing(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    first = ledger.append(thread.id, said("a", id="m1"))
    assert ledger.append(thread.id, said("a", id="m1")).id == first.id
    assert transcript(ledger, thread.id) == ["a"]
    with pytest.raises(Conflict):
        ledger.append(thread.id, said("b", id="m1"))
    assert transcript(ledger, thread.id) == ["a"]
    ledger.append(thread.id, said("c"))
    assert transcript(ledger, thread.id) == ["a", "c"]


def test_a_head_that_was_taken_back_is_not_gone_on_from(ledger: Ledger) -> None:
    """The ledger remembers heads: one whose transaction was undone is another writer's by now."""
    thread = ledger.create_thread().id
    ledger.append(thread, [said("a"), said("b")])

    def undone(job: Any) -> Any:
        def failing(tx: Any) -> Any:
            job(tx)
            raise StorageError("the power went")

        return ledger._driver.write(failing)

    here, there = Ledger(ledger._driver), Ledger(ledger._driver)
    for known in ([], [said("c")]):  # here has never seen the head, or has seen the one before
        for message in known:
            here.append(thread, message)
        with patch.object(here, "_write", undone), pytest.raises(StorageError):
            here.append(thread, [said("lost"), said("lost too")])
        there.append(thread, said("theirs"))
        here.append(thread, said("ours"))
    assert transcript(ledger, thread) == ["a", "b", "theirs", "ours", "c", "theirs", "ours"]
    assert ledger.verify() == []


def test_a_remembered_head_is_looked_for_again_when_anybody_changed_the_thread(ledger: Ledger) -> None:
    thread = ledger.create_thread().id
    here, there = Ledger(ledger._driver), Ledger(ledger._driver)
    first = here.append(thread, said("a", "assistant", usage=Usage(input_tokens=1)))
    there.append(thread, said("b", "assistant", usage=Usage(input_tokens=2)))
    here.append(thread, said("c", "assistant", usage=Usage(input_tokens=4)))
    there.fork(thread, first.id)  # type: ignore[arg-type]
    here.append(thread, said("d"))
    there.update_thread(thread, title="Tea")
    here.append(thread, said("e"))
    run = there.begin_run(thread, fork_from=first.id)  # type: ignore[arg-type]
    run.stage(said("staged", "assistant", usage=Usage(input_tokens=8)))
    run.abort()
    here.append(thread, said("f", "assistant", usage=Usage(input_tokens=16)))
    assert transcript(ledger, thread) == ["a", "d", "e", "f"]
    told = ledger.thread(thread)
    assert (told.messages, told.usage.input_tokens, told.title) == (7, 31, "Tea")
    assert here.append(thread, said("a", "assistant", id=first.id, usage=Usage(input_tokens=1))).id == first.id
    assert transcript(ledger, thread) == ["a", "d", "e", "f"]
    ledger.forget(thread)
    with pytest.raises(NotFound):
        here.append(thread, said("g"))
    assert ledger.verify() == []


def test_an_unmet_expectation_of_the_head_is_a_conflict_with_both_heads(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    first = ledger.append(thread.id, said("a"))
    second = ledger.append(thread.id, said("b"))
    with pytest.raises(Conflict) as caught:
        ledger.append(thread.id, said("c"), expected_head=first.id)
    assert (caught.value.expected, caught.value.found) == (first.id, second.id)


def test_pages_go_both_ways(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    ledger.append(thread.id, [said(str(i)) for i in range(25)])
    fork = ledger.messages(thread.id, newest=False, limit=10).items[-1]
    ledger.fork(thread.id, fork.id)  # type: ignore[arg-type]
    ledger.append(thread.id, [said(f"b{i}") for i in range(10)])
    whole = transcript(ledger, thread.id)
    assert len(whole) == 20
    for newest in (True, False):
        seen: list[str] = []
        cursor = None
        while True:
            where = {"before" if newest else "after": cursor}
            page = ledger.messages(thread.id, newest=newest, limit=7, **where)  # type: ignore[arg-type]
            seen += words(page.items)
            cursor = page.next
            if cursor is None:
                break
        assert seen == (whole[::-1] if newest else whole)


def test_a_fork_leaves_what_was_said_and_checkout_goes_back(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    a, b, c = (ledger.append(thread.id, said(text)) for text in "abc")
    ledger.fork(thread.id, a.id)  # type: ignore[arg-type]
    assert transcript(ledger, thread.id) == ["a"]
    ledger.append(thread.id, said("B"))
    assert transcript(ledger, thread.id) == ["a", "B"]
    found = ledger.branches(thread.id)
    assert [(branch.active, branch.depth) for branch in found] == [(True, 2), (False, 3)]
    ledger.checkout(thread.id, b.id, tip=True)  # type: ignore[arg-type]
    assert transcript(ledger, thread.id) == ["a", "b", "c"]
    ledger.checkout(thread.id, None)
    assert transcript(ledger, thread.id) == []
    ledger.append(thread.id, said("A"))
    assert transcript(ledger, thread.id) == ["A"]
    assert {node.parent_id for node in ledger.tree(thread.id)} == {None, a.id, b.id}
    assert words([ledger.get(thread.id, c.id)]) == ["c"]  # type: ignore[arg-type]


def test_threads_are_listed_by_keyset(ledger: Ledger) -> None:
    ids = [ledger.create_thread(resource_id="r" if i % 2 else "s").id for i in range(7)]
    seen: list[str] = []
    cursor = None
    while True:
        page = ledger.threads(limit=3, after=cursor)
        seen += [thread.id for thread in page.items]
        if (cursor := page.next) is None:
            break
    assert sorted(seen) == sorted(ids)
    assert len(ledger.threads(resource_id="r").items) == 3


def test_a_thread_that_is_not_there_is_not_found(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        ledger.transcript("nobody")
    thread = ledger.create_thread()
    with pytest.raises(NotFound):
        ledger.get(thread.id, "nothing")


def test_lists_of_threads_are_in_the_order_of_their_last_change(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = count(1_700_000_000_000, 60_000)
    monkeypatch.setattr("hansard.ledger.ledger.clock", lambda: next(times))
    for name in ("a", "b", "c", "d"):
        ledger.create_thread(f"thread {name}", title="same", resource_id="r")
    ledger.append("thread b", said("newest now"))
    newest = ["thread b", "thread d", "thread c", "thread a"]
    for more in ({}, {"resource_id": "r"}):
        for page in (1, 3, 10):
            for newest_first, wanted in ((True, newest), (False, newest[::-1])):
                seen: list[str] = []
                after: str | None = None
                while True:
                    found = ledger.threads(limit=page, after=after, newest=newest_first, **more)
                    seen += [thread.id for thread in found.items]
                    if (after := found.next) is None:
                        break
                assert seen == wanted
    assert [thread.id for thread in ledger.find_threads("thread")] == newest
    assert [thread.id for thread in ledger.find_threads("same", limit=2)] == newest[:2]
    assert ledger.find_threads("hread") == []


def test_a_tree_says_of_every_message_who_said_it_and_where(ledger: Ledger) -> None:
    thread = ledger.create_thread("t").id
    asked = ledger.append(thread, said("ask"))
    ledger.append(thread, [said("answer", "assistant", agent_id="waiter"), said("42", "tool")])
    other = ledger.append(thread, said("another answer", "assistant"), parent=asked.id)
    run = ledger.begin_run(thread, "cook")
    run.stage([said("soup", "assistant")])
    run.commit()
    found = ledger.tree(thread)
    assert [(node.role, node.depth, node.active, node.agent_id, node.status) for node in found] == [
        ("user", 1, True, None, None),
        ("assistant", 2, False, "waiter", None),
        ("tool", 3, False, None, None),
        ("assistant", 2, True, None, None),
        ("assistant", 3, True, None, "committed"),
    ]
    ids = [node.id for node in found]
    assert [node.parent_id for node in found] == [None, ids[0], ids[1], ids[0], other.id]
    assert [node.run_id for node in found] == [None] * 4 + [run.value.id]
