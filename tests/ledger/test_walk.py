"""A random walk over the ledger agrees with a model of fifty lines, on every backend, through crashes and reopening."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import hansard
from hansard import Ledger
from hansard.errors import Conflict
from hansard.ledger.live.run_handle import RunHandle
from tests.ledger.said import said, words


class _Stop(Exception):
    """What a test raises inside a transaction to see it undone."""


class Walk(RuleBasedStateMachine):
    """The model: parents of messages, a head, and runs as (fork, base, tip, status)."""

    open: Callable[[], Ledger]
    numbers = 0

    messages = Bundle("messages")
    runs = Bundle("runs")

    @initialize()
    def start(self) -> None:
        Walk.numbers += 1
        self.ledger = type(self).open()
        self.thread = self.ledger.create_thread(f"t{Walk.numbers}").id
        self.parent: dict[str, str | None] = {}
        self.head: str | None = None
        self.of: dict[str, dict[str, Any]] = {}

    def path(self, tip: str | None) -> list[str]:
        found: list[str] = []
        while tip is not None:
            found.append(tip)
            tip = self.parent[tip]
        return found[::-1]

    def new(self, parent: str | None) -> str:
        key = f"m{len(self.parent)}"
        self.parent[key] = parent
        return key

    @rule(target=messages)
    def append(self) -> str:
        key = self.new(self.head)
        self.ledger.append(self.thread, said(key, id=key))
        self.head = key
        return key

    @rule(target=messages, parent=messages)
    def append_elsewhere(self, parent: str) -> str:
        key = self.new(parent)
        self.ledger.append(self.thread, said(key, id=key), parent=parent)
        self.head = key
        return key

    @rule(key=messages)
    def append_again(self, key: str) -> None:
        self.ledger.append(self.thread, self.ledger.get(self.thread, key))
        with pytest.raises(Conflict):
            self.ledger.append(self.thread, said("something else", id=key))

    @rule(target=runs, fork=st.one_of(st.just(""), st.none(), messages))
    def begin(self, fork: str | None) -> RunHandle:
        where = {} if fork == "" else {"fork_from": fork}
        run = self.ledger.begin_run(self.thread, **where)  # type: ignore[arg-type]
        at = self.head if fork == "" else fork
        self.of[run.id] = {"fork": at, "base": self.head, "tip": at, "status": "active", "said": []}
        return run

    @rule(target=messages, run=runs)
    def stage(self, run: RunHandle) -> str:
        of = self.of[run.id]
        if of["status"] != "active":
            with pytest.raises(Conflict):
                self.ledger.stage(self.thread, run.id, said("late"))
            return next(iter(self.parent), "") or self.append()
        key = self.new(of["tip"])
        self.ledger.stage(self.thread, run.id, said(key, id=key))
        of["tip"] = key
        of["said"].append(key)
        return key

    @rule(run=runs)
    def commit(self, run: RunHandle) -> None:
        of = self.of[run.id]
        if of["status"] == "committed":
            self.ledger.commit(self.thread, run.id)
        elif of["status"] != "active" or of["base"] != self.head:
            with pytest.raises(Conflict):
                self.ledger.commit(self.thread, run.id)
        else:
            self.ledger.commit(self.thread, run.id)
            for other in self.of.values():
                if other["fork"] == of["fork"] and other["status"] == "committed":
                    other["status"] = "superseded"
            of["status"] = "committed"
            self.head = of["tip"]

    @rule(run=consumes(runs), how=st.sampled_from(["aborted", "failed"]))
    def end(self, run: RunHandle, how: str) -> None:
        of = self.of[run.id]
        call = self.ledger.abort if how == "aborted" else lambda t, r: self.ledger.fail(t, r, "no")
        if of["status"] in ("active", how):
            call(self.thread, run.id)
            of["status"] = how
        else:
            with pytest.raises(Conflict):
                call(self.thread, run.id)

    @rule(key=messages)
    def checkout(self, key: str) -> None:
        self.ledger.checkout(self.thread, key)
        self.head = key

    @rule(key=st.one_of(st.none(), messages))
    def fork(self, key: str | None) -> None:
        self.ledger.fork(self.thread, key)
        self.head = key

    @rule()
    def crash_in_a_transaction(self) -> None:
        def job(tx: Any) -> None:
            from hansard.ledger import messages as message_rules
            from hansard.ledger.messages import Prepared

            message_rules.append(tx, self.thread, [Prepared(said("torn", id="torn"), "torn")], 0)
            raise _Stop

        with pytest.raises(_Stop):
            self.ledger._driver.write(job)

    @rule()
    def reopen(self) -> None:
        if type(self).reopens:
            self.ledger.close()
            self.ledger = type(self).open()

    reopens = True

    @invariant()
    def the_ledger_says_what_the_model_says(self) -> None:
        if not hasattr(self, "ledger"):
            return
        path = self.path(self.head)
        assert words(self.ledger.transcript(self.thread)) == path
        assert self.ledger.thread(self.thread).head == self.head
        assert {run.id: run.status for run in self.ledger.runs(self.thread)} == {
            key: of["status"] for key, of in self.of.items()
        }
        nodes = self.ledger.tree(self.thread)
        assert {node.id: node.parent_id for node in nodes} == self.parent
        assert {node.id for node in nodes if node.active} == set(path)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            for key, of in self.of.items():
                assert words(self.ledger.run_messages(self.thread, key)) == of["said"]
            branches = self.ledger.branches(self.thread)
            parents = set(self.parent.values())
            assert {b.head for b in branches} >= {key for key in self.parent if key not in parents}
            self.ledger.close()


def test_a_random_walk_agrees_with_the_model(url: str, tmp_path: Path) -> None:
    kind = type("Walk", (Walk,), {"open": staticmethod(lambda: hansard.open(url)), "reopens": url != ":memory:"})
    many = 60 if url == ":memory:" else 25
    run_state_machine_as_test(
        kind,
        settings=settings(
            max_examples=many, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
