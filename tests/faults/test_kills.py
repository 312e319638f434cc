"""kill -9: what was acknowledged is there, what was not is whole or absent. The same check must catch a defect."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CYCLES = 100


def crash(url: str, cycles: int, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.crashing_writer", url, str(cycles), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent.parent,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    found = crash(str(tmp_path / "ledger.db"), CYCLES)
    print(found)
    assert found["acknowledged"] >= CYCLES
    assert found["interrupted"] > 0, "no run was ever killed while it streamed: the test looks away"
    assert (found["lost"], found["problems"]) == (0, [])


def test_nothing_acknowledged_is_lost_when_writers_to_postgresql_are_killed(database: str) -> None:
    found = crash(database, 20)
    print(found)
    assert (found["lost"], found["problems"]) == (0, [])


def test_the_check_catches_a_writer_that_acknowledges_too_early(tmp_path: Path) -> None:
    assert crash(str(tmp_path / "ledger.db"), 30, "--defect", "ack-first")["lost"] > 0
