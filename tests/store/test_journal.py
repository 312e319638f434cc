"""The journal of runs: what streams is durable or its writer is told, whoever else writes at the same time."""

from __future__ import annotations

from typing import Any

import pytest

from hansard import Ledger
from hansard.errors import HansardError, StorageError
from hansard.model import TextPart, ToolCallPart
from hansard.streams.deltas import Delta, MessageEnd, PartStart
from tests.store.said import said, transcript

_SECONDS = 20


def _words(text: str) -> list[Delta]:
    return [PartStart(key="a", part=TextPart(text=text))]


def test_what_one_run_cannot_say_keeps_no_other_from_the_disk(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    bad, good = ledger.begin_run(thread.id), ledger.begin_run(thread.id)
    strange = ToolCallPart(tool_call_id="1", tool_name="look", input=object())
    lost, kept = bad.write([PartStart(key="a", part=strange)]), good.write(_words("one"))
    kept.result(_SECONDS)
    with pytest.raises(HansardError, match="not JSON"):
        lost.result(_SECONDS)
    with pytest.raises(HansardError, match="begin a new one"):
        bad.write(_words("more"))
    with pytest.raises(HansardError, match="not JSON"):
        bad.flush()
    good.write(_words("two")).result(_SECONDS)
    assert ledger.stop(thread.id, good.id).status == "committed"


def test_behind_deltas_that_were_lost_none_are_written(monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> None:
    thread = ledger.create_thread()
    run = ledger.begin_run(thread.id)
    driver: Any = ledger._driver
    write, later = driver.write, []

    def full(job: Any) -> Any:
        monkeypatch.setattr(driver, "write", write)
        later.append(run.write(_words("second")))
        raise StorageError("the disk is full")

    monkeypatch.setattr(driver, "write", full)
    first = run.write(_words("first"))
    with pytest.raises(StorageError, match="full"):
        first.result(_SECONDS)
    with pytest.raises(StorageError, match="full"):
        later[0].result(_SECONDS)
    ledger.stop(thread.id, run.id)
    assert transcript(ledger, thread.id) == []


def test_a_run_that_is_stopped_keeps_every_message_it_had_said(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    run = ledger.begin_run(thread.id)
    run.write([MessageEnd(messages=[said(str(i), "assistant") for i in range(100)])])
    run.flush()
    ledger.stop(thread.id, run.id)
    assert transcript(ledger, thread.id) == [str(i) for i in range(100)]
