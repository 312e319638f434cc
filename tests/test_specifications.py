"""The rows of docs/specifications.md: each command is run as written, and shows the values of its document.

A section `## NNN ...` has a table of the columns `the document names`, `in Hansard`, `command`, `shows`, `deviation`.
A row's command runs in a copy of docs/specifications/NNN, after the setup (the `sh` block of the section) was run there
once; each text in `shows` must occur in what it prints. `$POSTGRES` is the URL of an empty PostgreSQL database.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "specifications.md"
COLUMNS = ["the document names", "in Hansard", "command", "shows", "deviation"]
_CELL = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


class Row(NamedTuple):
    section: str
    name: str
    command: str
    shows: list[str]


class Section(NamedTuple):
    number: str
    setup: str
    rows: list[Row]


def sections() -> list[Section]:
    found = []
    for text in PAGE.read_text().split("\n## ")[1:]:
        number = text[:3]
        if not number.isdigit():
            continue
        setup = re.search(r"```sh\n(.*?)```", text, re.DOTALL)
        rows = []
        for line in text.splitlines():
            cells = [cell.strip() for cell in _CELL.split(line)[1:-1]]
            if len(cells) != len(COLUMNS) or cells == COLUMNS or set(cells[0]) <= set("-: "):
                continue
            commands, shows = codes(cells[2]), codes(cells[3])
            assert len(commands) == 1, f"{number}: {cells[0]}: a row has one command"
            assert shows, f"{number}: {cells[0]}: a row says what its command shows"
            rows.append(Row(number, cells[0].replace("`", ""), commands[0], shows))
        found.append(Section(number, setup[1] if setup else "", rows))
    return found


def codes(cell: str) -> list[str]:
    """The code in a cell; a doubled backtick lets it hold a backtick, with a space beside it."""
    found = [match[2] for match in _CODE.finditer(cell.replace("\\|", "|"))]
    return [one[1:-1] if one.startswith(" ") and one.endswith(" ") and one.strip() else one for one in found]


_printed: dict[tuple[str, str], str] = {}
SECTIONS = {section.number: section for section in sections()}


def shell(command: str, folder: Path, **more: str) -> str:
    """What a command prints in a folder; it must succeed."""
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "HOME": str(home), "PATH": path, "HANSARD_DB": str(folder / "ledger.db"), **more}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    said = done.stdout.decode()
    assert done.returncode == 0, f"{command}\n{said}"
    return said


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a section after its setup."""
    made: dict[str, Path] = {}

    def folder(number: str) -> Path:
        if number not in made:
            made[number] = tmp_path_factory.mktemp(f"specification-{number}") / "project"
            documents = PAGE.parent / "specifications" / number
            shutil.copytree(documents, made[number]) if documents.is_dir() else made[number].mkdir()
            shell(SECTIONS[number].setup, made[number])
        return made[number]

    return folder


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row.section}: {row.name}") for one in SECTIONS.values() for row in one.rows]
)
def test_a_row_of_a_specification(
    row: Row, prepared: Callable[[str], Path], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    key = (row.section, row.command)
    if key not in _printed:  # a command that several rows show is run once
        folder = tmp_path / "project"
        shutil.copytree(prepared(row.section), folder)
        more = {"POSTGRES": request.getfixturevalue("database")} if "$POSTGRES" in row.command else {}
        _printed[key] = shell(row.command, folder, **more)
    said = _printed[key]
    for text in row.shows:
        assert text in said, f"{row.command}\n{said}"


def test_rows_have_names_of_their_own() -> None:
    for section in SECTIONS.values():
        assert section.rows
        names = [row.name for row in section.rows]
        assert len(set(names)) == len(names)
