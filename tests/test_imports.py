"""Who may import whom: imports go one way, formats know no store and not one another."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "hansard"
MAY_IMPORT = {
    "errors": set(),
    "_version": set(),
    "whole_file": set(),
    "model": {"errors"},
    "formats": {"errors", "model"},
    "streams": {"errors", "model", "formats"},
    "store": {"whole_file", "errors", "model", "streams"},  # streams: the journal of a run folds its deltas
    "sessions": {"whole_file", "errors", "model", "formats", "store"},
    "server": {"errors", "model", "formats", "streams", "store", "workspace", "agent", "_version"},
    "agent": {"errors", "model", "formats", "streams", "store", "workspace"},
    "workspace": {"whole_file", "errors", "model", "formats", "store"},
    "cli": {
        "whole_file",
        "workspace",
        "sessions",
        "server",
        "agent",
        "errors",
        "model",
        "formats",
        "streams",
        "store",
        "_version",
    },
    "demo": {"errors", "model", "formats", "store", "sessions", "agent", "server", "cli", "_version"},
    "__init__": {"errors", "model", "formats", "store", "agent", "_version"},
    "__main__": {"_version", "cli"},
}


def imported(path: Path) -> set[str]:
    """The modules of hansard that a file imports, also inside functions and under TYPE_CHECKING."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "hansard":
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "hansard"}
    return found


def layer(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    mine = layer(path)
    for name in imported(path):
        other = name.split(".")[1]
        assert other == mine or other in MAY_IMPORT[mine], f"{mine} may not import {name}"


@pytest.mark.parametrize("path", sorted((SOURCE / "formats").glob("*.py")), ids=lambda path: path.stem)
def test_formats_know_not_one_another(path: Path) -> None:
    """A format may be split over files that begin with its name; shared pieces have names of their own."""
    registered = {file.stem for file in (SOURCE / "formats").glob("*.py") if "FORMAT = " in file.read_text()}
    if path.stem not in registered:
        return
    for name in imported(path):
        parts = name.split(".")
        if parts[1] == "formats" and len(parts) > 2:
            assert parts[2] not in registered - {path.stem}, f"{path.stem} imports the format {parts[2]}"


def test_no_format_does_input_or_output_or_reads_a_clock() -> None:
    for path in (SOURCE / "formats").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"os", "io", "time", "datetime", "random", "uuid", "pathlib", "socket"} & set(names), path.name


def test_no_pattern_is_possessive() -> None:
    """Possessive quantifiers are wrong in Python before 3.11.5, which Debian ships."""
    for path in SOURCE.rglob("*.py"):
        for line in path.read_text().splitlines():
            if "re.compile" in line or line.lstrip().startswith(("rb'", 'rb"', "r'", 'r"', "| ")):
                assert not any(mark in line for mark in ("*+", "++", "?+", "(?>")), f"{path.name}: {line}"
