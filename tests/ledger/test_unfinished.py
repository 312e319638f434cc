"""What stays of a run that did not complete: one rule, however it ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hansard import Ledger
from hansard.ledger.ids import clock
from hansard.ledger.live import interrupt
from hansard.ledger.live.run_handle import RunHandle
from hansard.model import Message, ReasoningPart, TextPart, ToolCallPart
from hansard.streams.deltas import Delta, MessageStart, PartDelta, PartEnd, PartStart
from tests.ledger.said import said, transcript

CALL = ToolCallPart(tool_call_id="c1", tool_name="look", input={})
START: list[Delta] = [MessageStart(id="m1")]
TEXT: list[Delta] = [PartStart(key="0", part=TextPart(text="")), PartDelta(key="0", text="Half")]
CALLED: list[Delta] = [PartStart(key="0", part=CALL), PartEnd(key="0", part=CALL)]
THOUGHT: list[Delta] = [PartStart(key="0", part=ReasoningPart(text="")), PartDelta(key="0", text="Hm")]


def killed(ledger: Ledger, run: RunHandle) -> None:
    run.release()
    assert interrupt.recover(ledger._driver, clock() + 100_000) == [(run.thread_id, run.id)]


ENDS: dict[str, tuple[Callable[[Ledger, RunHandle], object], str]] = {
    "killed": (killed, "failed"),
    "stopped": (lambda ledger, run: ledger.stop(run.thread_id, run.id), "aborted"),
    "failed": (lambda ledger, run: run.fail({"type": "Model", "message": "tired"}), "failed"),
    "aborted": (lambda ledger, run: run.abort(), "aborted"),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    ("deltas", "kept"),
    [
        (START, []),
        ([*START, PartStart(key="0", part=TextPart(text=""))], []),
        ([*START, *THOUGHT], []),
        ([*START, *TEXT], ["Half"]),
        ([*START, *CALLED], ["", interrupt.UNKNOWN]),
    ],
    ids=["nothing", "no text yet", "thought", "text", "call"],
)
def test_what_a_client_saw_stays_and_nothing_else(
    ledger: Ledger, end: str, deltas: list[Delta], kept: list[str]
) -> None:
    thread = ledger.create_thread()
    asked = ledger.append(thread.id, said("q"))
    run = ledger.begin_run(thread.id, "bot")
    run.write(deltas).result()
    how, status = ENDS[end]
    how(ledger, run)
    assert ledger.run(thread.id, run.id).status == status
    shown = [str(part.output) for m in ledger.transcript(thread.id)[1:] for part in m.results]
    assert [m.text for m in ledger.transcript(thread.id)[1:] if m.role == "assistant"] + shown == kept
    if kept:
        assert ledger.transcript(thread.id)[1].state == "interrupted"
        assert ledger.transcript(thread.id)[1].id == "m1"
        assert [hit.message_id for hit in ledger.search("half").items] == (["m1"] if kept == ["Half"] else [])
    again = ledger.begin_run(thread.id, "bot", fork_from=asked.id)
    again.stage(said("whole", "assistant"))
    again.commit()
    assert transcript(ledger, thread.id) == ["q", "whole"]
    assert [hit.message_id for hit in ledger.search("half").items] == []
    assert ledger.verify() == []
    ledger.prune(thread.id)
    assert transcript(ledger, thread.id) == ["q", "whole"]
    assert len(ledger.tree(thread.id)) == 2


@pytest.mark.parametrize("end", ENDS)
def test_complete_steps_stay_with_what_came_after_them(ledger: Ledger, end: str) -> None:
    thread = ledger.create_thread()
    run = ledger.begin_run(thread.id, "bot")
    run.write([*START, *CALLED]).result()
    run.stage([Message(role="assistant", parts=[CALL], id="m1")])
    ENDS[end][0](ledger, run)
    answer, result = ledger.transcript(thread.id)
    assert answer.id == "m1"
    assert [(part.call_id, part.status) for part in result.results] == [("c1", "interrupted")]


@pytest.mark.parametrize("end", ENDS)
def test_where_the_head_has_moved_nothing_is_put_on_the_path(ledger: Ledger, end: str) -> None:
    thread = ledger.create_thread()
    run = ledger.begin_run(thread.id, "bot")
    run.write([*START, *TEXT]).result()
    ledger.append(thread.id, said("q"))
    ENDS[end][0](ledger, run)
    assert transcript(ledger, thread.id) == ["q"]
    assert [m.text for m in ledger.run_messages(thread.id, run.id)] == ["Half"]
