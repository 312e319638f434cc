"""Forks keep superseded branches by default; `prune` deletes and replaces, as the canonical message document says."""

from __future__ import annotations

from typing import Any

import pytest

from hansard import Ledger
from hansard.errors import Conflict, NotFound
from tests.ledger.said import said

LINEAR = [("M1", "user"), ("M2", "assistant"), ("M3", "user"), ("M4", "assistant")]


@pytest.fixture
def thread(ledger: Ledger) -> str:
    """M1 (user), M2 (assistant), M3 (user), M4 (assistant); M2 and M4 are of runs that committed."""
    ledger.create_thread("t")
    for key, role in LINEAR:
        if role == "user":
            ledger.append("t", said(key, id=key))
        else:
            run = ledger.begin_run("t", id=f"run-{key}")
            run.stage(said(key, "assistant", id=key))
            run.commit()
    return "t"


def ids(ledger: Ledger) -> list[Any]:
    return [message.id for message in ledger.transcript("t")]


def everything(ledger: Ledger) -> dict[str, str | None]:
    return {node.id: node.parent_id for node in ledger.tree("t")}


def regenerate(ledger: Ledger, **how: Any) -> None:
    run = ledger.begin_run("t", fork_from="M2", id="again")
    run.stage(said("M3'", "assistant", id="M3'"))
    ledger.commit("t", run.id, **how)


def test_the_linear_example(ledger: Ledger, thread: str) -> None:
    assert everything(ledger) == {"M1": None, "M2": "M1", "M3": "M2", "M4": "M3"}


def test_the_branched_example_keeps_both_branches_by_default(ledger: Ledger, thread: str) -> None:
    regenerate(ledger)
    assert ids(ledger) == ["M1", "M2", "M3'"]
    assert everything(ledger) == {"M1": None, "M2": "M1", "M3": "M2", "M4": "M3", "M3'": "M2"}


def test_with_prune_all_messages_after_the_fork_point_are_deleted_and_replaced(ledger: Ledger, thread: str) -> None:
    regenerate(ledger, prune=True)
    assert everything(ledger) == {"M1": None, "M2": "M1", "M3'": "M2"}
    assert ledger.run("t", "again").fork_from_message_id == "M2"
    for gone in ("M3", "M4"):
        with pytest.raises(NotFound):
            ledger.get("t", gone)
    assert ledger.verify() == []


def test_the_runs_of_deleted_messages_stay_as_tombstones(ledger: Ledger, thread: str) -> None:
    before = {run.id: run for run in ledger.runs("t")}
    regenerate(ledger, prune=True)
    after = {run.id: run for run in ledger.runs("t")}
    assert (after["run-M2"].status, after["run-M4"].status, after["again"].status) == (
        "committed",
        "superseded",
        "committed",
    )
    assert (after["run-M4"].started_at, after["run-M4"].completed_at) == (
        before["run-M4"].started_at,
        before["run-M4"].completed_at,
    )
    assert ledger.run_messages("t", "run-M4") == []


def test_other_committed_runs_at_the_fork_point_are_superseded(ledger: Ledger, thread: str) -> None:
    regenerate(ledger)
    again = ledger.begin_run("t", fork_from="M2", id="third")
    again.stage(said("M3''", "assistant", id="M3''"))
    again.commit(prune=True)
    assert ledger.run("t", "again").status == "superseded"
    assert list(everything(ledger)) == ["M1", "M2", "M3''"]


def test_prune_may_reach_back_to_before_the_prompt(ledger: Ledger, thread: str) -> None:
    ledger.append("t", said("edited", id="E3"), parent="M2")
    run = ledger.begin_run("t", id="again")
    run.stage(said("answer", "assistant", id="E4"))
    ledger.commit("t", run.id, prune=True, prune_after="M2")
    assert list(everything(ledger)) == ["M1", "M2", "E3", "E4"]


def test_a_fork_may_prune_too(ledger: Ledger, thread: str) -> None:
    assert ledger.fork("t", "M2").messages == 4
    moved = ledger.fork("t", "M2", prune=True)
    assert (moved.head, moved.messages) == ("M2", 2)
    assert list(everything(ledger)) == ["M1", "M2"]
    assert ledger.run("t", "run-M4").status == "superseded"
    ledger.append("t", said("on", id="M5"))
    assert ids(ledger) == ["M1", "M2", "M5"]
    assert ledger.fork("t", None, prune=True).messages == 0
    assert ledger.verify() == []


def test_what_an_active_run_builds_on_is_not_pruned(ledger: Ledger, thread: str) -> None:
    active = ledger.begin_run("t", fork_from="M3", id="active")
    active.stage(said("half", "assistant", id="half"))
    ledger.fork("t", "M2", prune=True)
    assert set(everything(ledger)) == {"M1", "M2", "M3", "half"}
    active.abort()


def test_a_commit_that_is_refused_deletes_nothing(ledger: Ledger, thread: str) -> None:
    run = ledger.begin_run("t", fork_from="M2")
    run.stage(said("again", "assistant", id="again"))
    ledger.append("t", said("meanwhile", id="M5"))
    before = everything(ledger)
    with pytest.raises(Conflict):
        ledger.commit("t", run.id, prune=True)
    with pytest.raises(NotFound, match="no message 'nowhere'"):
        ledger.commit("t", run.id, prune=True, prune_after="nowhere", force=True)
    with pytest.raises(NotFound, match="no message 'nowhere'"):
        ledger.fork("t", "nowhere", prune=True)
    assert everything(ledger) == before
    run.abort()


def test_committing_again_deletes_nothing_more(ledger: Ledger, thread: str) -> None:
    regenerate(ledger, prune=True)
    ledger.append("t", said("on", id="M5"))
    ledger.commit("t", "again", prune=True)
    assert ids(ledger) == ["M1", "M2", "M3'", "M5"]
