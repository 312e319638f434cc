"""kill -9 in the middle of a file tool: what it did is the thread's, undo takes it back, and no shell is left."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.agent import Agent, FileTools, ScriptedModel
from hansard.ledger.ids import clock
from hansard.ledger.live.interrupt import recover
from hansard.workspace import Workspace
from tests.agent.test_file_tools import gone
from tests.waiting import wait_until
from tests.workspace.test_faults import in_child
from tests.workspace.trees import say, tree

CALLS = {
    "a new file": {"tool": "write", "input": {"path": "new/deep/file", "content": "new\n"}},
    "a file written over": {"tool": "write", "input": {"path": "a", "content": "other\n"}},
    "an edit": {"tool": "edit", "input": {"path": "a", "old_string": "one", "new_string": "two"}},
    "a shell": {"tool": "shell", "input": {"command": "rm a; mkdir d; echo x > d/e"}},
}


def prepared(folder: Path) -> dict[bytes, Any]:
    """A tree that no ledger has seen, and a thread in which something was said."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "project").mkdir(parents=True)
    (folder / "project/a").write_text("one\n")
    (folder / "project/a").chmod(0o640)
    with hansard.open(str(folder / "ledger.db")) as ledger:
        ledger.create_thread("t")
        ledger.append("t", [say("user"), say("assistant")])
    return tree(folder / "project")


def run(folder: Path, call: dict[str, Any], step: Callable[[str], None]) -> None:
    """An agent that is asked, does a call, and then another that nobody will see if it dies before."""
    with hansard.open(str(folder / "ledger.db")) as ledger:
        files = FileTools(ledger, folder / "project")
        files.workspace.step = step
        agent = Agent(ScriptedModel(["Hello.", [call], "Done."]), ledger=ledger, name="coder", toolsets=[files])
        asyncio.run(agent.run("t", "go"))


def undone(folder: Path, before: dict[bytes, Any]) -> None:
    """That the next one who opens it can undo and redo, exactly."""
    with hansard.open(str(folder / "ledger.db")) as ledger:
        recover(ledger._driver, clock() + 60_000)
        head = [message.id for message in ledger.transcript("t")][1]
        with Workspace(ledger, folder / "project") as files:
            left = tree(folder / "project")
            assert [name for name in left if name.startswith(b".hansard")] == []
            assert files.undo("t").conflicts == []
            assert (tree(folder / "project"), ledger.thread("t").head) == (before, head)
            assert files.redo("t").conflicts == []
            assert tree(folder / "project") == left
            assert files.snapshot().changes == []
        assert ledger.verify() == []


@pytest.mark.parametrize("what", CALLS)
def test_killed_at_every_step_of_a_tool_the_turn_can_be_undone(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "here"
    before = prepared(folder)
    names: list[str] = []
    run(folder, CALLS[what], names.append)
    after = tree(folder / "project")
    undone(folder, before)
    seen = set()
    for number in range(len(names)):
        before = prepared(folder)
        left = iter(range(number))

        def step(name: str, left: Any = left) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(lambda step=step: run(folder, CALLS[what], step)) == signal.SIGKILL  # type: ignore[misc]
        found = {name: one for name, one in tree(folder / "project").items() if not name.startswith(b".hansard")}
        if what != "a new file":  # folders on the way are made one by one
            assert found in (before, after), names[number]
        seen.add(found == after)
        undone(folder, before)
    assert seen == {False, True}


def ready(project: Path) -> bool:
    """Whether the shell and its child have written their numbers."""
    return (project / "ready").exists() and (project / "child").is_file() and (project / "child").read_text() != ""


def test_killed_in_a_shell_nothing_of_it_goes_on_and_the_turn_can_be_undone(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    before = prepared(folder)
    script = "echo $$ > pid; rm a; (echo $BASHPID > child; sleep 600; touch late) & touch ready; sleep 600"
    code = (
        "import sys; from pathlib import Path; from tests.agent.test_file_tools_kills import run; "
        f"run(Path(sys.argv[1]), {{'tool': 'shell', 'input': {{'command': {script!r}}}}}, lambda name: None)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(folder)]) as process:
        wait_until(lambda: ready(folder / "project") or process.poll() is not None, "the shell")
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    for name in ("pid", "child"):
        assert gone(int((folder / "project" / name).read_text()))
    assert not (folder / "project/late").exists()
    undone(folder, before)
