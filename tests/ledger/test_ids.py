"""Ids of messages and threads: their order, and no two alike."""

from __future__ import annotations

import os
from typing import Any

import pytest

from hansard.ledger import ids


def test_ids_of_one_process_are_in_order() -> None:
    made = [ids.new_id() for _ in range(5000)]
    assert made == sorted(set(made))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_makes_other_ids_than_its_parent_in_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        @staticmethod
        def time_ns() -> int:
            return 1_700_000_000_000_000_000

    clock: Any = Clock
    monkeypatch.setattr(ids, "time", clock)
    ids.new_id()
    reading, writing = os.pipe()
    with ids._lock:  # as another thread may hold it in that moment
        child = os.fork()
        if child == 0:
            os.write(writing, ids.new_id().encode())
            os._exit(0)
    mine = ids.new_id()
    os.close(writing)
    os.waitpid(child, 0)
    theirs = os.read(reading, 100).decode()
    os.close(reading)
    assert len(theirs) == 26
    assert mine != theirs
