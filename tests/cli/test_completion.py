"""Completion as the shells ask for it: commands, options, formats, streams, threads; and the scripts in the shells."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import formats


def asked(words: str, folder: Path, **more: str) -> list[str]:
    """What bash would be offered for the last word."""
    said = f"hansard {words}".split(" ")
    environment = {
        **os.environ,
        "_HANSARD_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(said),
        "COMP_CWORD": str(len(said) - 1),
        **more,
    }
    command = [sys.executable, "-c", "import sys; sys.argv = ['hansard']; from hansard.__main__ import main; main()"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with hansard.open(str(tmp_path / "talks.db")) as ledger:
        for name in ("tea-1", "tea-2", "rain"):
            ledger.create_thread(name, title=f"About {name}")
    return tmp_path


def test_commands_and_options_are_completed(folder: Path) -> None:
    assert asked("conv", folder) == ["convert"]
    assert "--strict" in asked("convert --s", folder)


def test_formats_are_completed(folder: Path) -> None:
    assert asked("convert x.json --to ", folder) == formats.names()
    assert asked("convert x.json --to openai-c", folder) == ["openai-chat"]
    assert "anthropic" in asked("stream --from ", folder)


def test_threads_are_completed_from_the_ledger_that_is_named(folder: Path) -> None:
    assert sorted(asked("show tea", folder, HANSARD_DB="talks.db")) == ["tea-1", "tea-2"]
    assert asked("show --db talks.db ra", folder, HANSARD_DB="none.db") == ["rain"]
    assert asked("show tea", folder, HANSARD_DB="none.db") == []
    assert not (folder / "none.db").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_takes(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hansard", "completion", shell], capture_output=True, text=True, check=True
    )
    assert "_HANSARD_COMPLETE" in done.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: the script is only printed")
    checked = subprocess.run([shell, "-n"], input=done.stdout, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


# -- in the shells -----------------------------------------------------------------------------------------------------


def in_bash(script: Path, line: str, **how: Any) -> str:
    words = line.split(" ")
    given = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _hansard_completion hansard"
    return subprocess.run(["bash", "-c", f'{given}; echo "${{COMPREPLY[@]}}"'], **how).stdout.strip()


def in_fish(script: Path, line: str, **how: Any) -> str:
    done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], **how)
    return done.stdout.partition("\t")[0].strip()


def in_zsh(script: Path, line: str, *, env: dict[str, str], cwd: Path, **_: Any) -> str:
    """Only a terminal completes: the line is typed with a tab behind it, and printed instead of run."""
    ours, theirs = pty.openpty()
    command = ["zsh", "-f", "-i"]
    shell = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=cwd, close_fds=True)
    os.close(theirs)
    try:
        os.write(ours, f"bindkey -e; autoload -Uz compinit; compinit -u -D; source {script}; print re''ady\n".encode())
        until(ours, b"ready")
        os.write(ours, f"{line}\t\x01print -r -- sa''id: \x05 en''d\n".encode())
        return until(ours, b" end").rpartition(b"said: ")[2].decode().strip().rpartition(" ")[2]
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)


def until(terminal: int, mark: bytes) -> bytes:
    """What a terminal shows up to a mark."""
    seen = b""
    while mark not in seen:
        assert select.select([terminal], [], [], 60)[0], seen
        seen += os.read(terminal, 4096)
    return seen.partition(mark)[0]


SHELLS: dict[str, Callable[..., str]] = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_completes_with_the_script(shell: str, folder: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: nothing is completed in it")
    (folder / "bin").mkdir()
    program = folder / "bin" / "hansard"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hansard "$@"\n')
    program.chmod(0o755)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HANSARD_DB": "talks.db", "HOME": str(folder), "TERM": "dumb"}
    how: dict[str, Any] = {"env": env, "cwd": folder, "capture_output": True, "text": True, "timeout": 60}
    script = folder / "script"
    script.write_text(subprocess.run([str(program), "completion", shell], check=True, **how).stdout)
    for line, offered in (
        ("hansard conv", "convert"),
        ("hansard convert --losse", "--losses"),
        ("hansard convert x.json --to openai-c", "openai-chat"),
        ("hansard show ra", "rain"),
    ):
        assert SHELLS[shell](script, line, **how) == offered, line


def test_an_unknown_shell_gets_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hansard", "completion"],
        capture_output=True,
        text=True,
        env={**os.environ, "SHELL": "/bin/tcsh"},
        check=False,
    )
    assert done.returncode == 2
    assert "choose bash, zsh or fish" in done.stderr
