"""Pruning deletes what stands on no branch in force, and nothing else; the chains still hold afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hansard
from hansard import Ledger, Run
from hansard.errors import HansardError, NotFound
from hansard.ledger.results import Pruned
from tests.ledger.said import said, transcript

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "run", "fork", "checkout", "prune"]),
        st.integers(0, 9),
        st.sampled_from(["commit", "commit", "abort", "fail", "leave"]),
    ),
    min_size=1,
    max_size=14,
)


def count(ledger: Ledger, table: str) -> int:
    """How many rows a table holds, looked at behind the ledger's back."""
    driver: Any = ledger._driver
    text = f"select count(*) from {table}"
    if driver.dialect == "sqlite":
        return int(driver._writer.execute(text).fetchall()[0][0])
    with driver._pool.connection() as connection:
        return int(connection.execute(text).fetchone()[0])


def ask(ledger: Ledger, thread: str, text: str, *, of: str | None = None, **commit: Any) -> Run:
    """A run that says something, behind the head or another message."""
    run = ledger.begin_run(thread, **({} if of is None else {"fork_from": of}))
    run.stage(said(text, "assistant", id=text))
    return run.commit(**commit)


def test_a_fork_that_prunes_deletes_what_it_replaces(ledger: Ledger) -> None:
    thread = ledger.create_thread("t").id
    ledger.append(thread, said("question", id="q"))
    first = ask(ledger, thread, "answer")
    ledger.append(thread, said("thanks", id="thanks"))
    second = ask(ledger, thread, "welcome")
    third = ask(ledger, thread, "better", of="q", prune=True)
    assert transcript(ledger, thread) == ["question", "better"]
    for gone in ("answer", "thanks", "welcome"):
        with pytest.raises(NotFound):
            ledger.get(thread, gone)
    assert count(ledger, "message") == ledger.thread(thread).messages == 2
    assert {run.id: run.status for run in ledger.runs(thread)} == {
        first.id: "superseded",
        second.id: "superseded",
        third.id: "committed",
    }
    assert ledger.run_messages(thread, first.id) == []
    assert ledger.verify() == []
    ledger.append(thread, said("on", id="on"))
    assert transcript(ledger, thread) == ["question", "better", "on"]
    assert ledger.verify() == []


def test_a_fork_that_does_not_prune_deletes_nothing(ledger: Ledger) -> None:
    thread = ledger.create_thread("t").id
    ledger.append(thread, said("question", id="q"))
    first = ask(ledger, thread, "answer")
    ask(ledger, thread, "better", of="q")
    assert count(ledger, "message") == 3
    assert [message.id for message in ledger.run_messages(thread, first.id)] == ["answer"]


def test_a_fork_in_the_middle_of_a_run_leaves_its_first_half(ledger: Ledger) -> None:
    thread = ledger.create_thread("t").id
    run = ledger.begin_run(thread)
    run.stage([said("a", id="a"), said("b", id="b"), said("c", id="c")])
    run.commit()
    ask(ledger, thread, "B", of="a", prune=True)
    assert transcript(ledger, thread) == ["a", "B"]
    assert [message.id for message in ledger.run_messages(thread, run.id)] == ["a"]
    assert ledger.run(thread, run.id).status == "committed"
    assert ledger.verify() == []


def test_what_a_run_that_goes_on_stands_on_is_kept(ledger: Ledger) -> None:
    thread = ledger.create_thread("t").id
    ledger.append(thread, said("question", id="q"))
    ask(ledger, thread, "answer")
    live = ledger.begin_run(thread, fork_from="answer")
    live.stage(said("more", id="more"))
    ask(ledger, thread, "better", of="q", prune=True)
    assert {node.id for node in ledger.tree(thread)} == {"q", "answer", "more", "better"}
    live.abort()
    assert ledger.prune(thread).messages == 2
    assert ledger.verify() == []


def test_prune_deletes_dead_ends_and_keeps_branches_in_force(ledger: Ledger) -> None:
    thread = ledger.create_thread("t").id
    ledger.append(thread, said("q", id="q"))
    ask(ledger, thread, "old")
    ledger.append(thread, said("behind old", id="behind"))
    ask(ledger, thread, "new", of="q")
    failed = ledger.begin_run(thread)
    failed.stage(said("half", id="half"))
    failed.fail("no")
    ledger.fork(thread, "q")
    ledger.append(thread, said("another way", id="way"))
    assert ledger.prune("t") == Pruned(threads=1, messages=3, runs=2)
    assert {node.id for node in ledger.tree(thread)} == {"q", "new", "way"}
    assert ledger.run(thread, failed.id).error == "no"
    assert ledger.prune().messages == 0
    assert ledger.verify() == []


def test_what_goes_on_behind_a_failed_run_keeps_it(ledger: Ledger) -> None:
    thread = ledger.create_thread("t").id
    ledger.append(thread, said("q", id="q"))
    failed = ledger.begin_run(thread)
    failed.stage(said("half", id="half"))
    failed.fail("no")
    ledger.append(thread, said("go on", id="on"), parent="half")
    ledger.append(thread, said("other", id="other"), parent="q")
    assert ledger.prune().messages == 0


def test_only_what_was_over_before_a_time_is_pruned(ledger: Ledger) -> None:
    thread = ledger.create_thread("t").id
    ledger.append(thread, said("q", id="q"))
    ask(ledger, thread, "old")
    ask(ledger, thread, "new", of="q")
    assert ledger.prune(before="2020-01-01").messages == 0
    assert ledger.prune(before="2120-01-01T00:00:00Z").messages == 1
    with pytest.raises(HansardError, match="invalid time 'soon'"):
        ledger.prune(before="soon")


def test_blobs_go_with_the_last_message_that_uses_them(ledger: Ledger) -> None:
    shared, own = "shared " * 2000, "own " * 3000
    thread, other = ledger.create_thread("t").id, ledger.create_thread("u").id
    ledger.append(other, said(shared))
    ledger.append(thread, said("q", id="q"))
    run = ledger.begin_run(thread)
    run.stage([said(shared, id="a"), said(own, id="b")])
    run.commit()
    assert count(ledger, "blob") == 2
    ask(ledger, thread, "new", of="q")
    assert ledger.prune().blobs == 1
    assert (count(ledger, "blob"), count(ledger, "blob_use")) == (1, 1)
    assert transcript(ledger, other) == [shared]
    assert ledger.verify() == []


def test_a_blob_that_a_message_left_in_the_thread_uses_stays(ledger: Ledger) -> None:
    long = "long " * 2000
    thread = ledger.create_thread("t").id
    ledger.append(thread, said(long, id="q"))
    run = ledger.begin_run(thread)
    run.stage(said(long, id="a"))
    run.commit()
    ask(ledger, thread, "new", of="q", prune=True)
    assert transcript(ledger, thread) == [long, "new"]
    assert ledger.verify() == []


@given(steps=STEPS)
@settings(max_examples=150)
def test_a_random_history_is_pruned_to_what_is_in_force(steps: list[tuple[str, int, str]]) -> None:
    with hansard.open(":memory:") as ledger:
        thread = ledger.create_thread("t").id
        walk(ledger, thread, steps)
        before = transcript(ledger, thread)
        kept = in_force(ledger, thread)
        ledger.prune()
        assert {node.id for node in ledger.tree(thread)} == kept
        assert transcript(ledger, thread) == before
        assert ledger.verify() == []
        assert ledger.prune().messages == 0
        ledger.append(thread, said("on"))
        assert ledger.verify() == []


def walk(ledger: Ledger, thread: str, steps: list[tuple[str, int, str]]) -> None:
    for number, (what, pick, end) in enumerate(steps):
        ids = [node.id for node in ledger.tree(thread)]
        at = ids[pick % len(ids)] if ids else None
        if what == "append":
            ledger.append(thread, said(f"m{number}", id=f"m{number}"))
        elif what == "run":
            run = ledger.begin_run(thread, fork_from=at) if pick % 3 else ledger.begin_run(thread)
            run.stage([said(f"r{number}.{i}", id=f"r{number}.{i}") for i in range(pick % 3)])
            if end == "commit":
                run.commit(prune=pick > 7)
            elif end == "abort":
                run.abort()
            elif end == "fail":
                run.fail("no")
        elif what == "fork":
            ledger.fork(thread, at)
            ledger.append(thread, said(f"f{number}", id=f"f{number}"))
        elif what == "checkout" and at is not None:
            ledger.checkout(thread, at)
        elif what == "prune":
            ledger.prune()
        assert ledger.verify() == []


def in_force(ledger: Ledger, thread: str) -> set[str]:
    """The rule, said once more: from the tree as it is shown."""
    nodes = {node.id: node for node in ledger.tree(thread)}

    def up(key: str | None) -> set[str]:
        found = set()
        while key is not None:
            found.add(key)
            key = nodes[key].parent_id
        return found

    safe = up(ledger.thread(thread).head)
    for run in ledger.runs(thread):
        if run.status == "active":
            safe |= up(run.fork_from_message_id or None)
            safe |= {above for node in nodes.values() if node.run_id == run.id for above in up(node.id)}

    def superseded(key: str) -> bool:
        return any(nodes[above].status == "superseded" and above not in safe for above in up(key))

    kept = set(safe)
    for key, node in nodes.items():
        if node.status in (None, "committed", "active") and not superseded(key):
            kept |= up(key)
    return kept
