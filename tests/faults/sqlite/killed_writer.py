"""Writers that are killed: run as a program, it prints one line of JSON about what was found broken.

    python -m tests.faults.sqlite.killed_writer URL CYCLES SEED [DEFECT]

Each cycle forks a child that opens the ledger, imports a session file, does deed after deed and tells its parent
through a pipe what was acknowledged; the parent kills it with SIGKILL at a random moment, opens the ledger and looks.
A process of its own, because a child that is forked out of a test with threads may not live to be killed.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hansard
from hansard.sessions.discovery import Session
from hansard.sessions.importer import import_session
from tests.faults.operations import Line, Writer, broken

RECORDS = 900


def session(folder: str, name: str, records: int = RECORDS) -> Session:
    """A session file that takes more than one transaction to import."""
    lines = []
    for i in range(records):
        above = f"{name}-{i - 1}" if i else None
        record = {"parentUuid": above, "isSidechain": False, "userType": "external", "cwd": "/", "sessionId": name}
        record |= {"version": "2.0.1", "type": "user", "message": {"role": "user", "content": f"{i} of {name}"}}
        record |= {"uuid": f"{name}-{i}", "timestamp": "2026-01-01T00:00:00.000Z"}
        lines.append(json.dumps(record) + "\n")
    path = Path(folder) / f"{name}.jsonl"
    path.write_text("".join(lines))
    return Session(path, "claude-code")


def child(url: str, name: str, seed: int, out: int, sent: Session | None, ack_first: bool) -> None:
    """Write until somebody kills us."""

    def tell(line: Line) -> None:
        if ack_first and "try" in line:
            os.write(out, (json.dumps({"ack": line["try"]}) + "\n").encode())
        elif not ack_first:
            os.write(out, (json.dumps(line) + "\n").encode())

    ledger = hansard.open(url)
    writer = Writer(ledger, tell, name, seed)
    writer.deed()
    if sent is not None:
        import_session(ledger, sent)
    while True:
        writer.deed()


def killed(start: Callable[[int], None], rng: random.Random) -> list[Line]:
    """Start a child that tells through a pipe, kill it, and give back what it told."""
    inward, outward = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(inward)
            start(outward)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(outward)
    data, until = b"", None
    while until is None or time.monotonic() < until:
        if select.select([inward], [], [], 0.002)[0]:
            piece = os.read(inward, 65536)
            if not piece:
                raise SystemExit("the writer died by itself")
            data += piece
            until = until or time.monotonic() + rng.uniform(0, 0.12)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while piece := os.read(inward, 65536):
        data += piece
    os.close(inward)
    return [json.loads(line) for line in data.splitlines(keepends=True) if line.endswith(b"\n")]


def main(url: str, cycles: int, seed: int, defect: str | None) -> dict[str, Any]:
    rng = random.Random(seed)
    failures: list[str] = []
    seen = {"acknowledged": 0, "runs cut off": 0, "imports cut off": 0}
    with tempfile.TemporaryDirectory() as folder:
        for cycle in range(cycles):
            name = f"c{seed}-{cycle}"
            sent = session(folder, name) if cycle % 3 == 0 else None
            told = killed(
                lambda out, n=name, c=cycle, s=sent: child(url, n, seed + c, out, s, defect == "ack-first"),  # type: ignore[misc]
                rng,
            )
            with hansard.open(url) as ledger:
                failures += [f"kill {cycle}: {one}" for one in broken(ledger, told, verify=cycle == cycles - 1)]
                if sent is not None:
                    seen["imports cut off"] += import_session(ledger, sent).changed
                    ids = [message.id for message in ledger.transcript(name)]
                    if ids != [f"{name}-{i}" for i in range(RECORDS)]:
                        failures.append(f"kill {cycle}: the import of {name} is not whole: {len(ids)} of {RECORDS}")
            seen["acknowledged"] += sum("ack" in line for line in told)
            seen["runs cut off"] += bool(told) and told[-1].get("try", told[-1].get("ack"))["deed"] == "words"
    return {"failures": failures, "seen": seen}


if __name__ == "__main__":
    _, url_, cycles_, seed_, *defects_ = sys.argv
    print(json.dumps(main(url_, int(cycles_), int(seed_), defects_[0] if defects_ else None)))
