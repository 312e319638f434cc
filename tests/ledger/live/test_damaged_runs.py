"""A run whose rows are damaged is ended with what can be read and the damage named, and the others are ended too."""

from __future__ import annotations

from typing import Any

import pytest

from hansard import Ledger
from hansard.errors import Damaged
from hansard.ledger.ids import clock
from hansard.ledger.live import interrupt
from hansard.ledger.live.run_handle import RunHandle
from hansard.model import TextPart
from hansard.streams.deltas import PartDelta, PartStart
from tests.ledger.said import transcript, words

LATER = 100_000


def behind_its_back(ledger: Ledger, text: str) -> None:
    driver: Any = ledger._driver
    if driver.dialect == "sqlite":
        driver._writer.execute(text)
    else:
        with driver._pool.connection() as connection:
            connection.execute(text)


def begun(ledger: Ledger, thread_id: str, *pieces: str) -> RunHandle:
    """A run that said something, each piece a chunk of the journal."""
    run = ledger.begin_run(thread_id, "bot")
    run.write([PartStart(key="0", part=TextPart(text=""))]).result()
    for piece in pieces:
        run.write([PartDelta(key="0", text=piece)]).result()
    return run


# What may befall a chunk: no known layout, no zstd, no JSON, JSON that is no delta, too few lines, nothing at all.
DAMAGES = {
    "layout": "update run_chunk set data = {ff00} where seq = 2 and run = 1",
    "zstd": "update run_chunk set data = {0141} where seq = 2 and run = 1",
    "json": "update run_chunk set data = {007b} where seq = 2 and run = 1",
    "delta": "update run_chunk set data = {0031} where seq = 2 and run = 1",
    "lines": "update run_chunk set data = {00} where seq = 2 and run = 1",
    "gone": "delete from run_chunk where seq = 2 and run = 1",
    "end": "delete from run_chunk where seq >= 2 and run = 1",
}


def damage(ledger: Ledger, name: str) -> None:
    text = DAMAGES[name]
    if "{" in text:
        before, _, rest = text.partition("{")
        digits, _, after = rest.partition("}")
        spelled = f"x'{digits}'" if ledger._driver.dialect == "sqlite" else rf"'\x{digits}'::bytea"
        text = before + spelled + after
    behind_its_back(ledger, text)


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_journal_keeps_no_other_run_from_being_found_dead(ledger: Ledger, name: str) -> None:
    bad, good = ledger.create_thread(), ledger.create_thread()
    first, second = begun(ledger, bad.id, "one ", "two ", "three"), begun(ledger, good.id, "well")
    other = begun(ledger, bad.id, "beside")
    damage(ledger, name)
    behind_its_back(ledger, f"update run set lease_until = 1 where id = '{first.id}'")  # it is met first
    named = [problem for problem in ledger.verify() if problem.where != "file"]
    assert [(problem.thread_id, problem.where) for problem in named] == [(bad.id, f"run {first.id}")]
    assert "after delta 2" in named[0].what
    done = interrupt.recover(ledger._driver, clock() + LATER)
    assert sorted(done) == sorted([(bad.id, first.id), (good.id, second.id), (bad.id, other.id)])
    for thread, run, kept in ((bad, first, "one "), (good, second, "well"), (bad, other, "beside")):
        value = ledger.run(thread.id, run.id)
        assert value.status == "failed"
        assert words(ledger.run_messages(thread.id, run.id)) == [kept]
        assert ("damaged after delta 2" in str(value.error)) is (run is first)
    assert interrupt.recover(ledger._driver, clock() + LATER) == []


def test_a_run_whose_journal_is_damaged_can_be_stopped_and_says_so(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    run = begun(ledger, thread.id, "one ", "two ", "three")
    damage(ledger, "zstd")
    assert "damaged after delta 2" in ledger.stop(thread.id, run.id).error
    assert transcript(ledger, thread.id) == ["one "]


def test_following_a_damaged_journal_ends_with_its_place(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    run = begun(ledger, thread.id, "one ", "two ", "three")
    damage(ledger, "json")
    with pytest.raises(Damaged, match="after delta 2"):
        list(ledger.follow(run.value))


def test_a_run_that_cannot_be_marked_is_named_when_the_others_are(ledger: Ledger) -> None:
    threads = [ledger.create_thread() for _ in range(3)]
    runs = [begun(ledger, thread.id, "word") for thread in threads]
    behind_its_back(ledger, f"update run set body = tip_hash, lease_until = 1 where id = '{runs[0].id}'")
    for _ in range(2):
        with pytest.raises(Damaged, match=rf"{threads[0].id}.*{runs[0].id}.*checksum"):
            interrupt.recover(ledger._driver, clock() + LATER)
    assert [ledger.run(thread.id, run.id).status for thread, run in zip(threads[1:], runs[1:], strict=True)] == [
        "failed",
        "failed",
    ]
