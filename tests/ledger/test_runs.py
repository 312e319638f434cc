"""Runs: staged beside the transcript, committed whole, superseded by forks, never lost."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import hansard
from hansard import Ledger
from hansard.errors import Conflict, NotFound
from hansard.ledger.ids import clock
from hansard.ledger.live import interrupt
from hansard.model import PendingCall, Settings, TextPart, Tool, ToolResultPart, Usage
from hansard.streams.deltas import End, MessageStart, PartDelta, PartStart
from tests.ledger.said import said, transcript, words


def test_staged_messages_are_in_the_transcript_only_after_the_commit(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    ledger.append(thread.id, said("q"))
    run = ledger.begin_run(thread.id, "bot")
    run.stage(said("a", "assistant", usage=Usage(input_tokens=3, output_tokens=4)))
    assert transcript(ledger, thread.id) == ["q"]
    assert words(run.messages()) == ["a"]
    done = run.commit()
    assert transcript(ledger, thread.id) == ["q", "a"]
    assert done.status == "committed"
    assert done.usage == Usage(input_tokens=3, output_tokens=4)
    assert ledger.thread(thread.id).usage == hansard.TokenSum(input_tokens=3, output_tokens=4)
    assert run.commit().status == "committed"


def test_a_fork_replaces_what_came_after_and_supersedes_its_run(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    question = ledger.append(thread.id, said("q"))
    first = ledger.begin_run(thread.id, "bot")
    first.stage(said("a1", "assistant"))
    first.commit()
    ledger.append(thread.id, said("q2"))
    again = ledger.begin_run(thread.id, "bot", fork_from=question.id)
    again.stage(said("a2", "assistant"))
    assert transcript(ledger, thread.id) == ["q", "a1", "q2"]
    again.commit()
    assert transcript(ledger, thread.id) == ["q", "a2"]
    assert [run.status for run in ledger.runs(thread.id)] == ["superseded", "committed"]
    assert words(ledger.run_messages(thread.id, first.id)) == ["a1"]
    root = ledger.begin_run(thread.id, fork_from=None)
    root.stage(said("new"))
    root.commit()
    other = ledger.begin_run(thread.id, fork_from=None)
    other.stage(said("newer"))
    other.commit()
    assert transcript(ledger, thread.id) == ["newer"]
    assert ledger.run(thread.id, root.id).status == "superseded"


def test_a_moved_head_is_a_conflict_with_both_heads(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    question = ledger.append(thread.id, said("q"))
    one, two = ledger.begin_run(thread.id), ledger.begin_run(thread.id)
    one.stage(said("a", "assistant"))
    (staged,) = two.stage(said("b", "assistant"))
    two.commit()
    with pytest.raises(Conflict) as caught:
        one.commit()
    assert (caught.value.expected, caught.value.found) == (question.id, staged.id)
    assert transcript(ledger, thread.id) == ["q", "b"]
    one.abort()
    assert ledger.run(thread.id, one.id).status == "aborted"
    with pytest.raises(Conflict):
        one.stage(said("late"))


def test_a_run_as_a_context_fails_with_what_was_raised(ledger: Ledger) -> None:
    thread = ledger.create_thread()

    def broken() -> None:
        with ledger.begin_run(thread.id) as run:
            run.stage(said("half", "assistant"))
            raise ValueError("no")

    with pytest.raises(ValueError):
        broken()
    (run,) = ledger.runs(thread.id)
    assert (run.status, run.error) == ("failed", {"type": "ValueError", "message": "no"})
    assert transcript(ledger, thread.id) == []


def test_pending_calls_wait_until_they_are_answered(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    run = ledger.begin_run(thread.id)
    run.stage(said("may I?", "assistant"))
    run.commit(pending=[PendingCall(tool_call_id="c1", kind="approval"), PendingCall(tool_call_id="c2")])
    assert [(call.tool_call_id, call.kind) for call in ledger.pending(thread.id)] == [
        ("c1", "approval"),
        ("c2", "external"),
    ]
    ledger.resolve(thread.id, ToolResultPart(tool_call_id="c1", output="yes"))
    assert [call.tool_call_id for call in ledger.pending(thread.id)] == ["c2"]
    assert ledger.transcript(thread.id)[-1].role == "tool"
    with pytest.raises(NotFound):
        ledger.resolve(thread.id, ToolResultPart(tool_call_id="c9", output="yes"))


def test_at_most_one_of_many_commits_at_one_point_wins(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    ledger.append(thread.id, said("q"))
    going = [ledger.begin_run(thread.id) for _ in range(6)]
    for run in going:
        run.stage(said(run.id, "assistant"))
    won: list[str] = []

    def commit(run: object) -> None:
        try:
            won.append(run.commit().id)  # type: ignore[attr-defined]
        except Conflict:
            pass

    threads = [threading.Thread(target=commit, args=(run,)) for run in going]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(won) == 1
    assert [run.status for run in ledger.runs(thread.id)].count("committed") == 1
    assert transcript(ledger, thread.id) == ["q", won[0]]


def test_what_a_run_streams_can_be_followed_from_elsewhere(ledger: Ledger, reopened: Callable[[], Ledger]) -> None:
    thread = ledger.create_thread()
    run = ledger.begin_run(thread.id)
    run.write([MessageStart(id="m"), PartStart(key="0", part=TextPart(text=""))])
    heard: list[object] = []
    with reopened() as other:
        listener = threading.Thread(target=lambda: heard.extend(other.follow(run.value)))
        listener.start()
        for i in range(100):
            run.write([PartDelta(key="0", text=str(i % 10))])
        run.write([End(how="done")]).result()
        run.stage(said("0123456789" * 10, "assistant"))
        run.commit()
        listener.join(60)
        assert [one.seq for one in heard] == list(range(1, 104))  # type: ignore[attr-defined]
        rest = list(other.follow(run.value, after=100))
        assert rest == heard[100:]


def test_a_dead_run_is_found_and_keeps_what_it_had_said(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    run = ledger.begin_run(thread.id, "bot")
    run.write([PartStart(key="0", part=TextPart(text="")), PartDelta(key="0", text="first")])
    run.stage(said("first", "assistant"))
    run.write([PartStart(key="1", part=TextPart(text="")), PartDelta(key="1", text="and th")]).result()
    assert ledger.recover() == []
    later = interrupt.recover(ledger._driver, clock() + 100_000)
    assert later == [(thread.id, run.id)]
    assert ledger.run(thread.id, run.id).status == "failed"
    assert ledger.run(thread.id, run.id).error == interrupt.DIED
    kept = ledger.run_messages(thread.id, run.id)
    assert words(kept) == ["first", "and th"]
    assert [message.state for message in kept][1] == "interrupted"
    assert transcript(ledger, thread.id) == ["first", "and th"]
    with pytest.raises(Conflict):
        run.commit()


def test_tools_and_settings_belong_to_the_run_and_an_export_has_those_of_its_head(ledger: Ledger) -> None:
    thread = ledger.create_thread()
    question = ledger.append(thread.id, said("q"))
    look, sing = Tool(name="look"), Tool(name="sing")
    first = ledger.begin_run(thread.id, "bot", tools=[look], settings=Settings(max_tokens=1))
    first.stage(said("a1", "assistant", id="a1"))
    first.commit()
    again = ledger.begin_run(thread.id, "bot", fork_from=question.id, tools=[look])
    ledger.stage(thread.id, again.id, said("a2", "assistant"), tools=[sing], settings=Settings(max_tokens=2))
    ledger.stage(thread.id, again.id, said("a3", "assistant"))
    again.commit()
    ledger.append(thread.id, said("q2"))
    assert [(run.tools, run.settings) for run in ledger.runs(thread.id)] == [
        ([look], Settings(max_tokens=1)),
        ([sing], Settings(max_tokens=2)),
    ]
    found = ledger.export_conversation(thread.id)
    assert (found.tools, found.settings) == ([sing], Settings(max_tokens=2))
    ledger.checkout(thread.id, "a1")
    found = ledger.export_conversation(thread.id)
    assert (found.tools, found.settings) == ([look], Settings(max_tokens=1))
    ledger.sync("copy", found)
    assert ledger.export_conversation("copy") == found  # an unchanged import comes out as it went in


def test_tools_and_settings_of_an_imported_request_are_those_of_the_last_one(ledger: Ledger) -> None:
    asked = [
        hansard.Conversation(messages=[said(text) for text in "ab"[:count]], settings=Settings(max_tokens=count))
        for count in (1, 2)
    ]
    for request in asked:
        ledger.sync("t", request)
    assert ledger.export_conversation("t").settings == Settings(max_tokens=2)
