"""Starting is quick: what `hansard --version` imports is next to nothing, so it costs what Python itself costs."""

from __future__ import annotations

import subprocess
import sys


def modules(code: str) -> set[str]:
    listed = [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"]
    return set(subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\n")[-2].split())


def test_the_version_is_told_without_importing_anything_of_others() -> None:
    """`make bench ARGS=start` measures it: within four times of `python -c pass`."""
    code = "sys.argv = ['hansard', '--version']; from hansard.__main__ import main; main()"
    new = modules(code) - modules("pass")
    assert {name.partition(".")[0] for name in new} - sys.stdlib_module_names == {"hansard"}
    assert not new & {"asyncio", "inspect", "importlib.metadata", "dataclasses", "subprocess"}, "slow to import"


def test_help_imports_no_database_and_no_tables() -> None:
    new = modules("from hansard import cli; cli.run(['--help'])")
    assert not new & {"apsw", "rich", "zstandard", "pydantic", "litestar", "psycopg"}
