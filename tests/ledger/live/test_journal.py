"""The journal of runs: what streams is durable or its writer is told, whoever else writes at the same time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from hansard import Ledger
from hansard.errors import Conflict, HansardError, StorageError
from hansard.ledger.ids import clock
from hansard.ledger.live import interrupt, tail
from hansard.model import TextPart, ToolCallPart
from hansard.streams.deltas import Delta, MessageEnd, MessageStart, PartStart
from tests.ledger.said import said, transcript, words

_SECONDS = 60


def _words(text: str) -> list[Delta]:
    return [PartStart(key="a", part=TextPart(text=text))]


def test_what_one_run_cannot_say_keeps_no_other_from_the_disk(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    bad, good = ledger.begin_run(thread.id), ledger.begin_run(thread.id)
    strange = ToolCallPart(tool_call_id="1", tool_name="look", input=object())
    lost, kept = bad.write([PartStart(key="a", part=strange)]), good.write(_words("one"))
    kept.result(_SECONDS)
    with pytest.raises(HansardError, match="not valid JSON"):
        lost.result(_SECONDS)
    with pytest.raises(HansardError, match="begin a new one"):
        bad.write(_words("more"))
    with pytest.raises(HansardError, match="not valid JSON"):
        bad.flush()
    good.write(_words("two")).result(_SECONDS)
    assert ledger.stop(thread.id, good.id).status == "aborted"


def test_runs_that_stream_at_once_are_written_together(monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> None:
    runs = [ledger.begin_run(ledger.create_thread().id) for _ in range(20)]
    ran: list[tuple[str, int]] = []
    driver: Any = ledger._driver
    write = driver.write

    def spied(job: Any) -> Any:
        return write(lambda tx: job(_Spy(tx, ran)))

    monkeypatch.setattr(driver, "write", spied)
    with ledger._journal._changed:  # the journal waits until all of them have spoken
        for run in runs:
            run.write(_words(run.id))
    for run in runs:
        run.flush()
    assert [(name, count) for name, count in ran if "chunk" in name] == [("count_chunks", 20), ("add_chunk", 20)]
    assert [said.delta for run in runs for said in _now(ledger, run)] == [
        delta for run in runs for delta in _words(run.id)
    ]


def test_a_run_that_is_shut_out_takes_no_other_with_it(ledger: Ledger) -> None:
    runs = [ledger.begin_run(ledger.create_thread().id) for _ in range(3)]
    ledger.abort(runs[1].thread_id, runs[1].id)
    with ledger._journal._changed:
        written = [run.write(_words("words")) for run in runs]
    for run, future in zip(runs, written, strict=True):
        if run is runs[1]:
            with pytest.raises(Conflict, match="no longer active"):
                future.result(_SECONDS)
        else:
            future.result(_SECONDS)
    assert [len(_now(ledger, run)) for run in runs] == [1, 0, 1]


class _Spy:
    """A transaction that notes the statements it is given and how many rows with them."""

    def __init__(self, tx: Any, ran: list[tuple[str, int]]) -> None:
        self._tx, self._ran = tx, ran

    def run(self, name: str, /, **values: Any) -> int:
        self._ran.append((name, 1))
        return int(self._tx.run(name, **values))

    def many(self, name: str, rows: list[Any], /) -> int:
        self._ran.append((name, len(rows)))
        return int(self._tx.many(name, rows))


def _now(ledger: Ledger, run: Any) -> list[tail.NumberedDelta]:
    return ledger._driver.read(lambda tx: tail.deltas_after(tx, run.thread_id, run.id, 0))[0]


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
    assert ledger.stop(thread.id, run.id).error is UNSET  # what is behind a gap would be damage
    assert transcript(ledger, thread.id) == []


def test_a_run_that_somebody_stopped_is_told_whenever_it_writes_or_waits(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    run = ledger.begin_run(thread.id)
    ledger.stop(thread.id, run.id)
    with pytest.raises(Conflict, match="no longer active"):
        run.write(_words("late")).result(_SECONDS)
    for wait in (run.flush, run.flush, run.commit):
        with pytest.raises(Conflict, match="no longer active"):
            wait()


def test_the_lease_of_an_ended_run_is_not_renewed(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    for end in ("commit", "abort", "release"):
        getattr(ledger.begin_run(thread.id), end)()
    ledger.begin_run(thread.id).fail("no tea")
    assert ledger._journal._buffers == {}


def test_a_run_that_is_stopped_keeps_every_message_it_had_said(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    run = ledger.begin_run(thread.id)
    run.write([MessageEnd(messages=[said(str(i), "assistant") for i in range(100)])])
    run.flush()
    ledger.stop(thread.id, run.id)
    assert transcript(ledger, thread.id) == [str(i) for i in range(100)]


def test_a_run_whose_message_has_the_id_of_another_can_be_stopped_and_found_dead(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    ledger.append(thread.id, [said("old", "assistant", id="m"), said("older", "assistant", id="o")])
    stopped = ledger.begin_run(thread.id)
    again = [said("stopped", "assistant", id="m"), said("too", "assistant", id="o")]
    stopped.write([MessageEnd(messages=again)]).result(_SECONDS)
    ledger.stop(thread.id, stopped.id)
    assert transcript(ledger, thread.id) == ["old", "older", "stopped", "too"]
    dead = [ledger.begin_run(thread.id) for _ in range(3)]
    for run, key in zip(dead, ("m", "o", "n"), strict=True):
        run.write([MessageStart(id=key), *_words(key)]).result(_SECONDS)
        run.release()
    found = interrupt.recover(ledger._driver, clock() + 3_600_000)
    assert [run_id for _, run_id in found] == [run.id for run in dead]
    assert [words(ledger.run_messages(thread.id, run.id)) for run in dead] == [["m"], ["o"], ["n"]]


def _stream(message_id: str, text: str) -> bytes:
    events: list[dict[str, str]] = [
        {"type": "start", "messageId": message_id},
        {"type": "text-start", "id": "0"},
        {"type": "text-delta", "id": "0", "delta": text},
        {"type": "text-end", "id": "0"},
        {"type": "finish"},
    ]
    return b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events) + b"data: [DONE]\n\n"


def test_a_stream_that_says_a_known_id_again_is_recorded_all_the_same(ledger: Ledger) -> None:
    for text in ("one", "two"):
        list(ledger.record([_stream("m", text)], format="ai-sdk-ui", thread="t"))
    assert transcript(ledger, "t") == ["one", "two"]
    assert ledger.transcript("t")[0].id == "m"


def test_a_recording_that_comes_too_late_has_failed_and_keeps_its_words(ledger: Ledger) -> None:
    pieces = iter(ledger.record([_stream("m", "late")], format="ai-sdk-ui", thread="t"))
    next(pieces)
    ledger.append("t", said("meanwhile"))
    with pytest.raises(Conflict):
        next(pieces)
    (run,) = ledger.runs("t")
    assert run.status == "failed"
    assert words(ledger.run_messages("t", run.id)) == ["late"]
    assert transcript(ledger, "t") == ["meanwhile"]
