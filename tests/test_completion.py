"""Completion as the shells ask for it: commands, options, formats, streams, threads; and the scripts in the shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def test_an_unknown_shell_gets_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hansard", "completion"],
        capture_output=True,
        text=True,
        env={**os.environ, "SHELL": "/bin/tcsh"},
        check=False,
    )
    assert done.returncode == 2
    assert "name bash, zsh or fish" in done.stderr
