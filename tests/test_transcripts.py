"""Documentation that runs: every command and its output, and every Python example, in README, docs and tests/cli.

A ```console block is commands after `$ ` and just what they print (stdout, then stderr); `(exit N)` closes one that
does not exit 0; a line `...` stands for any lines. Commands run in a fresh folder with the package's samples in it.
A ```python block runs as it is, in such a folder too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests" / "cli").glob("*.md")])
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[object]:
    found: list[object] = []
    for page in PAGES:
        text = page.read_text()
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(pytest.param(match[1], match[2], id=f"{page.relative_to(ROOT)}:{line}"))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src" / "hansard" / "samples", tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize(("kind", "text"), blocks())
def test_an_example_does_what_it_says(kind: str, text: str, folder: Path) -> None:
    if kind == "python":
        done = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return
    for step in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
        if step.strip():
            command, _, expected = step.partition("\n")
            assert_prints(command.removeprefix("$ "), expected.rstrip("\n"), folder)


def assert_prints(command: str, expected: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False
    )
    printed = done.stdout.rstrip("\n")
    if done.stderr:
        printed = f"{printed}\n{done.stderr}".strip("\n")
    if done.returncode:
        printed = f"{printed}\n(exit {done.returncode})".strip("\n")
    pattern = re.escape(expected).replace("\\.\\.\\.\\\n", "(?:.*\n)*?").replace("\\\n\\.\\.\\.", "(?:\n.*)*")
    assert re.fullmatch(pattern, printed), f"$ {command}\n{printed}"
