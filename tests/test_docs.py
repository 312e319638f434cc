"""The documentation is what it says it is: computed pages are up to date, and no link leads nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import hansard
from tests.lab import table

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests" / "cli").glob("*.md")])
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")


def test_the_matrix_of_formats_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "format_matrix.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_list_of_agents_says_what_the_lab_saw() -> None:
    readme = table.README.read_text("utf-8")
    assert table.written(readme) == readme, "run python -m tests.lab.table"
    assert table.rows()
    assert not [(name, cell) for name, row in table.rows().items() for cell, said in row.items() if said == "fails"]


def test_the_guide_counts_the_lines_of_an_agent_of_a_known_family() -> None:
    folder = ROOT / "src" / "hansard" / "formats" / "coding_agents" / "kilo"
    count = sum(len(path.read_text("utf-8").splitlines()) for path in folder.glob("*.py"))
    assert f"{count} lines in its folder" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert count < 150


def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [name for name in hansard.__all__ if name != "AnyPart"])  # a union of the parts
def test_the_reference_has_an_example_of_every_public_name(name: str) -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    (entry,) = re.findall(rf"^### hansard(?:\.\w+)*\.{name}\n(.*?)(?=^###? |\Z)", pages, re.MULTILINE | re.DOTALL)
    assert ">>>" in entry


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in LINK.findall(text):
        if "://" not in target and not target.startswith(("#", "mailto:")):
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = (ROOT / "mkdocs.yml").read_text()
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "reference").glob("*.md")]:  # decisions are linked
        assert f"{page.relative_to(ROOT / 'docs')}\n" in menu, page.name


def test_what_a_page_shows_of_an_example_stands_in_the_example() -> None:
    page = (ROOT / "docs" / "howto-fastapi.md").read_text()
    example = "".join((ROOT / "examples" / name).read_text() for name in ("fastapi_chat.py", "fastapi_users.py"))
    shown = [part for part in page.split("\n\n") if part.startswith("    @app.")]
    assert len(shown) == 5
    for part in shown:
        assert textwrap.dedent(part) in example
