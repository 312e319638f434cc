"""Tools and shells at work: each change is whose it is, whoever looks meanwhile, and however the work ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard import Ledger
from hansard.workspace import Author, Workspace
from tests.workspace.test_faults import in_child
from tests.workspace.trees import tree, turn


@pytest.fixture
def files(ledger: Ledger, tmp_path: Path) -> Iterator[Workspace]:
    root = tmp_path / "project"
    root.mkdir()
    with Workspace(ledger, root) as workspace:
        workspace.snapshot()
        yield workspace


def test_a_look_leaves_to_a_tool_at_work_what_it_will_tell_itself(ledger: Ledger, files: Workspace) -> None:
    root = Path(files.root.path)
    (root / "a").write_text("before")
    files.snapshot()
    one, two = ledger.create_thread().id, ledger.create_thread().id
    turn(ledger, one), turn(ledger, two)
    with files.window(Author(thread_id=two)):
        tool = files.tool(Author(thread_id=one), "a", "sub/new")
        tool.__enter__()
        (root / "a").write_text("one's")
        (root / "sub").mkdir()
        (root / "sub/new").write_text("one's too")
        (root / "twos").write_text("two's")
    Workspace(ledger, root).close()  # somebody else opens it: the tool is alive, and left alone
    tool.__exit__(None, None, None)
    whose = {
        change.path: made.author.thread_id
        for made in files.snapshots()
        for change in made.changes
        if made.source != "base"
    }
    assert {path: whose[path] for path in (b"a", b"sub", b"sub/new", b"twos")} == {
        b"a": one,
        b"sub": one,
        b"sub/new": one,
        b"twos": two,
    }
    files.undo(one)
    assert {name: data for name, (_, _, data) in tree(root).items()} == {b"a": b"before", b"twos": b"two's"}
    assert files.snapshot().changes == []


def test_what_a_tool_did_before_it_failed_is_recorded(ledger: Ledger, files: Workspace) -> None:
    root = Path(files.root.path)
    thread = ledger.create_thread().id
    turn(ledger, thread)

    def fail(alone: bool) -> None:
        with files.tool(Author(thread_id=thread), f"{alone}", alone=alone):
            (root / f"{alone}").write_text("x")
            raise ValueError("no")

    for alone in (True, False):
        with pytest.raises(ValueError, match="no"):
            fail(alone)
    assert sorted(tree(root)) == [b"False", b"True"]
    files.undo(thread)
    assert tree(root) == {}


def test_a_tool_that_did_nothing_leaves_no_snapshot(ledger: Ledger, files: Workspace) -> None:
    thread = ledger.create_thread().id
    turn(ledger, thread)
    Path(files.root.path, "a").write_text("x")
    with files.tool(Author(thread_id=thread), "a"):
        pass
    assert files.snapshots(thread) == []
    assert ledger.verify() == []


@pytest.mark.parametrize("how", ["tool", "window"])
def test_what_a_dead_process_changed_is_its_threads(tmp_path: Path, how: str) -> None:
    root, db = tmp_path / "project", str(tmp_path / "ledger.db")
    root.mkdir()
    (root / "a").write_text("before")
    with hansard.open(db) as ledger:
        thread = ledger.create_thread("t").id
        turn(ledger, thread)

    def die() -> None:
        with hansard.open(db) as ledger, Workspace(ledger, root) as files:
            by = Author(thread_id="t", agent_id="coder")
            with files.tool(by, "a", "b") if how == "tool" else files.window(by):
                (root / "a").write_text("after")
                (root / "b").write_text("new")
                os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(die) == signal.SIGKILL
    with hansard.open(db) as ledger, Workspace(ledger, root) as files:
        assert files.recovered == [
            f"a {'tool' if how == 'tool' else 'shell'} was interrupted; its changes are recorded: 2 paths"
        ]
        assert [one.author.agent_id for one in files.snapshots("t")] == ["coder"]
        files.undo("t")
        assert {name: data for name, (_, _, data) in tree(root).items()} == {b"a": b"before"}
        (root / "later").write_text("mine")
        assert files.snapshot().number is not None
        assert files.snapshots()[-1].author.thread_id is None
    with hansard.open(db) as ledger, Workspace(ledger, root) as files:
        assert files.recovered == []
