"""OpenCode's snapshots of the workspace: undo takes back what shells did, bytes and modes; without them it says so."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hansard.cli import run
from hansard.formats.coding_agents import rows
from tests.lab.session import state
from tests.sessions.test_databases import TIME, add_prompt, add_session, insert, new_database

KEY = "ses_1"


class Agent:
    """What OpenCode leaves: its database, and a repository with a tree of the workspace before and after each step."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.folder, self.workspace = home / ".local/share/opencode", workspace
        self.db = new_database(self.folder / "opencode.db")
        self.snapshots = self.folder / "snapshot" / "p1" / "w1"
        self.snapshots.mkdir(parents=True)
        project = {"id": "p1", "worktree": str(workspace), "vcs": "git", "time_created": 1, "time_updated": 2}
        insert(self.db, "project", {**project, "sandboxes": "[]"})
        add_session(self.db, KEY, project_id="p1", directory=str(workspace))
        self.count = 0
        self.git("init", "-q")

    def git(self, *command: str) -> str:
        environment = {**os.environ, "GIT_DIR": str(self.snapshots), "GIT_WORK_TREE": str(self.workspace)}
        done = subprocess.run(["git", *command], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def tree(self) -> str:
        self.git("add", "-A")
        return self.git("write-tree")

    def turn(self, prompt: str, command: str) -> None:
        """A prompt, and an answer of one step that runs a command."""
        self.count += 2
        asked, own = f"msg_{self.count:03d}", f"msg_{self.count + 1:03d}"
        add_prompt(self.db, KEY, asked, prompt, self.count)
        before = self.tree()
        subprocess.run(command, shell=True, cwd=self.workspace, check=True)
        cwd = {"cwd": str(self.workspace), "root": str(self.workspace)}
        at = TIME + self.count + 1
        info = {"role": "assistant", "parentID": asked, "path": cwd, "time": {"created": at, "completed": at}}
        done: dict[str, Any] = {"status": "completed", "input": {"command": command}, "output": "", "metadata": {}}
        call = {"type": "tool", "tool": "bash", "callID": f"call_{own}", "state": done}
        start, end = {"type": "step-start", "snapshot": before}, {"type": "step-finish", "snapshot": self.tree()}
        times = {"session_id": KEY, "time_created": at, "time_updated": at}
        insert(self.db, "message", {"id": own, **times, "data": rows._ENCODER.encode(info).decode()})
        for i, part in enumerate((start, call, end)):
            data = rows._ENCODER.encode(part).decode()
            insert(self.db, "part", {"id": f"prt_{own}_{i}", "message_id": own, **times, "data": data})


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Agent, list[dict[str, list[Any]]]]:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HANSARD_DB", str(tmp_path / "ledger.db"))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "tea.txt").write_bytes(b"darjeeling\r\n\x00\xff")
    (workspace / "run it.sh").write_bytes(b"#!/bin/sh\n")
    (workspace / "run it.sh").chmod(0o755)
    agent = Agent(tmp_path / "home", workspace)
    states = [state(workspace, {})]
    for prompt, command in (
        ("Move and delete.", "mv tea.txt 'grüner tee.txt'; rm 'run it.sh'; mkdir -p a/b; printf x > a/b/c"),
        ("Look.", "ls"),
        ("Change.", "printf more >> 'grüner tee.txt'; chmod 755 a/b/c"),
    ):
        agent.turn(prompt, command)
        states.append(state(workspace, {}))
    agent.db.close()
    assert run(["import"]) == 0
    return agent, states


def test_undo_takes_back_what_shells_did_and_redo_does_it_again(
    played: tuple[Agent, list[dict[str, list[Any]]]], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    agent, states = played
    at = ["--yes", "--thread", KEY, "--root", str(agent.workspace)]
    kept = {path: path.read_bytes() for path in agent.folder.rglob("*") if path.is_file()}
    for before in reversed(states[:-1]):
        assert run(["undo", *at]) == 0, capfdbinary.readouterr()
        assert state(agent.workspace, {}) == before
    for after in states[1:]:
        assert run(["redo", *at]) == 0
        assert state(agent.workspace, {}) == after
    assert {path: path.read_bytes() for path in agent.folder.rglob("*") if path.is_file()} == kept


def test_without_its_snapshots_the_commands_are_named(
    played: tuple[Agent, list[dict[str, list[Any]]]], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    agent, states = played
    shutil.rmtree(agent.snapshots)
    assert run(["undo", "3", "--yes", "--thread", KEY, "--root", str(agent.workspace)]) == 1
    assert "left    changes of the command: mv tea.txt 'grüner tee.txt'" in capfdbinary.readouterr().out.decode()
    assert state(agent.workspace, {}) == states[-1]
