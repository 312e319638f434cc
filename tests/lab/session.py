"""Play the scenario with one agent, and write down what is true: the manifest, made without asking Hansard."""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.lab import processes
from tests.lab.agents import AGENTS, Agent
from tests.lab.install import Release
from tests.lab.provider import Answer, Provider
from tests.lab.scenario import FILES, FORK, HELPER, ONWARD, PROMPTS, Prompt

ROOT = Path("/tmp/hansard-lab")  # always the same: agents write these paths into their files
KINDS = ("input", "cacheRead", "cacheWrite", "output", "reasoning")
Told = Callable[[str], None]


class Played:
    """One agent in a HOME and a workspace of its own, with a provider that keeps what it saw."""

    def __init__(self, release: Release, folder: Path, tell: Told) -> None:
        self.release, self.folder, self.tell = release, folder, tell
        self.home, self.workspace = folder / "home", folder / "workspace"
        for one in (self.home, self.workspace):
            one.mkdir(parents=True, exist_ok=True)
        self.provider = Provider([HELPER, *PROMPTS, FORK, ONWARD])
        kind = AGENTS[release.agent]
        self.agent: Agent = kind(release.program, self.home, self.workspace, self.provider.url)
        self.provider.agent = self.agent
        self.agent.prepare()

    def close(self) -> None:
        self.provider.close()

    def environment(self) -> dict[str, str]:
        """What a program started in this HOME sees."""
        return processes.environment(HOME=str(self.home), **self.agent.environment())

    def ask(self, prompt: Prompt, session: str = "", *, how: str = "") -> tuple[str, list[Answer]]:
        """Ask one prompt; returns what the agent printed, and the answers it got."""
        before = len(self.provider.answers)
        how = (how or prompt.how) if self.agent.resumes else "start"
        mark = self.workspace / prompt.until if prompt.until else None
        done = processes.run(
            self.agent.command("resume" if how == "interrupt" else how, prompt.text, session),
            env=self.environment(),
            cwd=self.workspace,
            interrupt=mark.exists if mark is not None else None,
        )
        if done.code != 0 and mark is None:
            self.provider.faults.append(f"{self.release.name} ended with {done.code}: {done.output.strip()[-600:]}")
        self.tell(f"  {prompt.text} -> exit {done.code}, {len(self.provider.answers) - before} requests")
        return done.output, self.provider.answers[before:]

    def session_id(self) -> str:
        """The id of the session that was written last."""
        return self.agent.session_id(self.agent.session_files()[-1])


def lay_out(workspace: Path) -> None:
    """Write the files of the scenario."""
    for name, (data, mode) in FILES.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)


def state(workspace: Path, contents: dict[str, str]) -> dict[str, list[Any]]:
    """Every file of a workspace with its hash and mode; the contents are added to `contents` by hash, in base64."""
    found = {}
    for path in sorted(workspace.rglob("*")):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            contents[digest] = base64.b64encode(data).decode()
            found[path.relative_to(workspace).as_posix()] = [digest, f"{path.stat().st_mode & 0o7777:o}"]
    return found


def usage(answers: list[Answer]) -> dict[str, dict[str, int]]:
    """The tokens of the answers that belong to sessions, by model."""
    sums: dict[str, dict[str, int]] = {}
    for one in answers:
        if not one.aside:
            row = sums.setdefault(one.model, {"answers": 0, **dict.fromkeys(KINDS, 0)})
            row["answers"] += 1
            for kind in KINDS:
                row[kind] += one.usage[kind]
    return sums


def play(
    release: Release, tell: Told, folder: Path, begun: Callable[[Played], Any] = lambda played: None
) -> tuple[Played, dict[str, Any]]:
    """The whole scenario with one agent: where it is, and its manifest. `begun` is called before the first prompt."""
    shutil.rmtree(folder, ignore_errors=True)
    played = Played(release, folder, tell)
    begun(played)
    lay_out(played.workspace)
    contents: dict[str, str] = {}
    first = state(played.workspace, contents)
    turns: list[dict[str, Any]] = []
    session = ""
    forgotten: list[Answer] = []
    unnamed: list[str] = []
    for prompt in PROMPTS:
        if prompt.how in played.agent.cannot:
            continue
        _, answers = played.ask(prompt, session)
        if prompt.how == "interrupt" and played.agent.forgets_interrupted:
            forgotten += answers
        session = session or played.session_id()
        turn = _turn(played, prompt, answers, contents)
        turn["shellChanges"] += unnamed
        unnamed = []
        if prompt.how == "interrupt" and played.agent.forgets_interrupted_prompt:
            unnamed = turn["shellChanges"]  # they stay as they are until the next state
            continue
        turns.append(turn)
        if not played.agent.resumes:
            turns[-1]["session"] = played.session_id()
    manifest: dict[str, Any] = {
        "agent": release.agent,
        "version": release.version,
        "format": played.agent.format,
        "home": str(played.home),
        "workspace": str(played.workspace),
        "session": session,
        "before": first,
        "turns": turns,
        "contents": contents,
    }
    if "fork" not in played.agent.cannot:
        _, answers = played.ask(FORK, session)
        manifest["fork"] = {"session": played.session_id(), **_turn(played, FORK, answers, contents)}
    manifest["usage"] = usage([one for one in played.provider.answers if one not in forgotten])
    return played, manifest


def _shell_changes(agent: Agent, prompt: Prompt) -> list[str]:
    """The paths that shell commands of a turn change: deletions and moves are commands where there is no tool."""
    found = list(prompt.shell_changes)
    for reply in prompt.replies:
        for does, *given in reply:
            if does in ("write", "edit", "delete", "rename"):
                called = {name for name, _ in agent.calls((does, *given))}
                if called == {name for name, _ in agent.do_shell("true")}:
                    found += given if does == "rename" else given[:1]
    return found


def _turn(played: Played, prompt: Prompt, answers: list[Answer], contents: dict[str, str]) -> dict[str, Any]:
    said = [block[1] for one in answers if not one.aside for block in one.blocks if block[0] == "say"]
    return {
        "prompt": prompt.text,
        "how": prompt.how,
        "said": said,
        "usage": usage(answers),
        "files": state(played.workspace, contents),
        "shellChanges": _shell_changes(played.agent, prompt),
    }
