"""Upkeep beside writers: nothing that is just being said loses what it needs; journals go, live ones stay."""

from __future__ import annotations

import asyncio
import threading

import psycopg

from hansard import Ledger
from hansard.ledger import messages as message_rules
from hansard.ledger.backends.driver import Tx
from hansard.ledger.ids import clock
from hansard.ledger.messages import Prepared
from hansard.streams.deltas import PartDelta
from tests.ledger.maintenance.test_prune import ask, count
from tests.ledger.said import said, transcript
from tests.waiting import wait_until

LONG = [f"{number} " + "the same long words " * 400 for number in range(3)]


def test_a_blob_that_is_just_being_used_again_is_not_deleted(ledger: Ledger) -> None:
    failures: list[BaseException] = []

    def talk(name: str) -> None:
        try:
            for number in range(12):
                key = ledger.create_thread(f"{name}{number}").id
                for text in LONG:
                    ledger.append(key, said(text))
                if number % 3:
                    ledger.forget(key)
                if number % 4 == 0:
                    ledger.prune()
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=talk, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failures == []
    assert ledger.verify() == []
    for thread in ledger.threads(limit=100).items:
        assert transcript(ledger, thread.id) == LONG
    for thread in ledger.threads(limit=100).items:
        ledger.forget(thread.id)
    assert count(ledger, "blob") == 0


def _waits(ledger: Ledger, url: str) -> bool:
    """Whether a write waits for another that is not yet committed."""
    if not url.startswith("postgresql"):
        return bool(ledger._driver._jobs._queue)
    with psycopg.connect(url) as connection:
        return connection.execute("select 1 from pg_locks where not granted").fetchone() is not None


def test_a_use_that_is_not_yet_committed_counts(ledger: Ledger, url: str) -> None:
    for key in "tu":
        ledger.create_thread(key)
    ledger.append("u", said(LONG[0]))
    begun, waited = threading.Event(), threading.Event()

    def job(tx: Tx) -> None:
        message_rules.append(tx, "t", [Prepared(said(LONG[0], id="m"), "m")], clock())
        begun.set()
        waited.wait(60)

    writer = threading.Thread(target=lambda: ledger._driver.write(job))
    writer.start()
    begun.wait(60)
    eraser = threading.Thread(target=lambda: ledger.forget("u"))
    eraser.start()
    wait_until(lambda: _waits(ledger, url), "the erasure that waits for the writer")
    waited.set()
    for one in (writer, eraser):
        one.join(60)
    assert ledger.verify() == []
    assert transcript(ledger, "t") == [LONG[0]]


def test_journals_of_runs_that_are_over_are_pruned(ledger: Ledger) -> None:
    thread = ledger.create_thread("t").id
    ledger.append(thread, said("q", id="q"))
    done, live = ledger.begin_run(thread), ledger.begin_run(thread)
    for run in (done, live):
        run.write([PartDelta(key="0", text="words")]).result()
    done.stage(said("words", "assistant"))
    done.commit()
    assert ledger.prune().chunks == 1
    assert count(ledger, "run_chunk") == 1
    assert ledger.run(thread, live.id).status == "active"


def test_maintenance_can_be_awaited(ledger: Ledger) -> None:
    thread = ledger.create_thread("t").id
    ledger.append(thread, said("q", id="q"))
    ask(ledger, thread, "a")
    ask(ledger, thread, "b", of="q")

    async def work() -> None:
        assert (await ledger.aio.prune()).messages == 1
        assert await ledger.aio.verify() == []
        assert (await ledger.aio.stats()).messages == 2
        assert (await ledger.aio.forget(thread)).messages == 2
        assert (await ledger.aio.tombstone(thread)).messages == 2

    asyncio.run(work())
