"""kill -9 of writers: what was acknowledged is there, what was under way is whole or absent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults.harness import Outcome, Place, proof

EACH = 50  # kills of one ledger


def kills(tries: int, ledger: Callable[[], str], defect: str | None) -> Outcome:
    failures: list[str] = []
    seen: Counter[str] = Counter()
    for seed in range(0, tries, EACH):
        words = [ledger(), str(min(EACH, tries - seed)), str(seed), *([defect] if defect else [])]
        done = subprocess.run(
            [sys.executable, "-m", "tests.faults.sqlite.killed_writer", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parent.parent.parent.parent,
        )
        if done.returncode:
            return Outcome(tries=seed, failures=[f"the writers could not be started: {done.stderr[-2000:]}"])
        found = json.loads(done.stdout)
        failures += found["failures"]
        seen.update(found["seen"])
    return Outcome(tries=tries, failures=failures, seen=dict(seen))


@proof(
    "kill -9 of writers, SQLite",
    holds="every acknowledged message is there, an interrupted operation is complete or absent, the ledger verifies",
    tries=1000,
    sample=25,
    defects=("ack-first",),
)
def sqlite_kills(tries: int, place: Place, defect: str | None) -> Outcome:
    return kills(tries, place.file, defect)


@proof(
    "kill -9 of writers, PostgreSQL",
    holds="every acknowledged message is there, an interrupted operation is complete or absent, the ledger verifies",
    tries=200,
    sample=6,
    defects=("ack-first",),
    control_tries=12,
)
def postgres_kills(tries: int, place: Place, defect: str | None) -> Outcome:
    return kills(tries, place.database, defect)
