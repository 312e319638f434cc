"""Lists of threads narrowed by format, agent, model, project and date: the same on every backend, page by page."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hansard import Ledger, Message
from hansard.errors import HansardError
from hansard.model import TextPart
from hansard.model.conversation import Agent, Context, Conversation, ModelRef

AGENTS, MODELS, PROJECTS, FORMATS = (
    ("waiter", "Rooms", "\ud800"),
    ("opus", "gpt"),
    ("/tea", "/" + "x" * 3000),
    ("sage",),
)
COUNT = iter(range(10**9))


def message(told: dict[str, Any]) -> Message:
    given: dict[str, Any] = {}
    if told["agent"] is not None:
        given["agent_id"] = told["agent"]
    if told["model"] is not None:
        given["model"] = ModelRef(name=told["model"])
    if told["project"] is not None:
        given["context"] = Context(cwd=told["project"])
    if told["format"] is not None:
        given["extra"] = {told["format"]: {"odd": 1}}
    return Message(role="assistant", parts=[TextPart(text="hi")], **given)


facts = st.fixed_dictionaries(
    {
        "agent": st.sampled_from([None, *AGENTS]),
        "model": st.sampled_from([None, *MODELS]),
        "project": st.sampled_from([None, *PROJECTS]),
        "format": st.sampled_from([None, *FORMATS]),
    }
)


@given(threads=st.lists(st.lists(facts, max_size=3), min_size=1, max_size=8), wanted=facts, limit=st.integers(1, 3))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_narrowing_is_a_naive_scan(
    ledger: Ledger, threads: list[list[dict[str, Any]]], wanted: dict[str, Any], limit: int
) -> None:
    turn = f"r{next(COUNT)}"
    expected = set()
    for i, said in enumerate(threads):
        ledger.create_thread(f"{turn}.{i}", resource_id=turn)
        if said:
            ledger.append(f"{turn}.{i}", [message(told) for told in said])
        if all(value is None or any(told[kind] == value for told in said) for kind, value in wanted.items()):
            expected.add(f"{turn}.{i}")
    for newest in (True, False):
        found: list[str] = []
        after = None
        while True:
            page = ledger.threads_where(resource_id=turn, limit=limit, after=after, newest=newest, **wanted)
            found += [one.id for one in page.items]
            if (after := page.next) is None:
                break
        assert sorted(found) == sorted(expected)
    every = ledger.threads(limit=1000, resource_id=turn).items
    assert [one.id for one in every if one.id in expected] == [
        one.id for one in ledger.threads_where(resource_id=turn, limit=1000, **wanted).items
    ]


def test_what_there_is_is_listed_with_its_number_of_threads(ledger: Ledger) -> None:
    ledger.create_thread("a", agents=[Agent(id="w", model="haiku")])
    ledger.append("a", message({"agent": "w", "model": "opus", "project": "/tea", "format": None}))
    ledger.import_conversation(Conversation(messages=[], extra={"anthropic": {"x": 1}}), "empty")
    ledger.create_thread("b")
    for _ in range(2):
        ledger.append("b", message({"agent": "w", "model": None, "project": None, "format": "sage"}))
    assert [(one.kind, one.value, one.threads) for one in ledger.facts()] == [
        ("format", "sage", 1),
        ("agent", "w", 2),
        ("model", "haiku", 1),
        ("model", "opus", 1),
        ("project", "/tea", 1),
    ]


def test_dates_are_those_of_the_last_change(ledger: Ledger) -> None:
    ledger.create_thread("now")
    assert [one.id for one in ledger.threads_where(since="1h").items] == ["now"]
    assert ledger.threads_where(until="1h").items == []
    assert [one.id for one in ledger.threads_where(since="today", until="today").items] == ["now"]
    with pytest.raises(HansardError, match="since:soon is not a valid time"):
        ledger.threads_where(since="soon")


def test_a_forgotten_thread_leaves_no_fact(ledger: Ledger) -> None:
    ledger.create_thread("t")
    ledger.append("t", message({"agent": "w", "model": "opus", "project": "/secret", "format": "sage"}))
    assert len(ledger.facts()) == 4
    ledger.forget("t")
    assert ledger.facts() == []
    assert ledger.threads_where(agent="w").items == []


def test_what_only_a_pruned_branch_said_is_so_no_more(ledger: Ledger) -> None:
    ledger.create_thread("t")
    ledger.append("t", Message(id="q", role="user", parts=[TextPart(text="?")]))
    for name in ("first", "second"):
        with ledger.begin_run("t", fork_from="q") as run:
            run.stage(Message(id=name, role="assistant", agent_id=name, parts=[TextPart(text="!")]))
            run.commit()
    assert [one.value for one in ledger.facts()] == ["first", "second"]
    ledger.prune("t")
    assert [one.value for one in ledger.facts()] == ["second"]
