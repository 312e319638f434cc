"""Writers that are killed: run as a program, it prints one line of JSON about what was lost.

    python -m tests.faults.crashing_writer URL CYCLES [--defect ack-first]

Each cycle forks a child that opens the ledger, appends, streams runs and tells its parent through a pipe what was
acknowledged; the parent kills it with SIGKILL at a random moment, opens the ledger and looks. The defect
`ack-first` acknowledges before it writes: whoever checks for losses must see it.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from typing import Any

import hansard
from hansard.model import TextPart
from hansard.store import following
from hansard.store.chain import clock
from hansard.streams.deltas import PartDelta, PartStart
from tests.store.said import said, words


def child(url: str, cycle: int, out: int, ack_first: bool) -> None:
    """Append, and do runs, until somebody kills us."""
    ledger = hansard.open(url)
    thread = ledger.create_thread("crash").id

    def acknowledge(**what: Any) -> None:
        os.write(out, (json.dumps(what) + "\n").encode())

    for number in range(1_000_000):
        key = f"{cycle}-{number}"
        if ack_first:
            acknowledge(message=key)
        ledger.append(thread, said(key * 20, id=key))
        if not ack_first:
            acknowledge(message=key)
        if number % 5 == 0 and not ack_first:
            run = ledger.begin_run(thread, id=f"run-{key}")
            run.write([PartStart(key="0", part=TextPart(text=""))])
            for word in range(10):
                run.write([PartDelta(key="0", text=f"{word} ")]).result()
                acknowledge(run=run.id, words=word + 1)
            run.stage(said("whole", "assistant", id=f"answer-{key}"))
            run.commit()
            acknowledge(committed=run.id, message=f"answer-{key}")


def cycle_once(url: str, cycle: int, ack_first: bool, rng: random.Random) -> list[dict[str, Any]]:
    """Start a child, kill it, and give back what it had acknowledged."""
    inward, outward = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(inward)
            child(url, cycle, outward, ack_first)
        finally:
            os._exit(1)
    os.close(outward)
    data = b""
    deadline = None
    while deadline is None or time.monotonic() < deadline:
        ready, _, _ = select.select([inward], [], [], 0.002)
        if ready:
            piece = os.read(inward, 65536)
            if not piece:
                raise SystemExit("the writer died by itself")
            data += piece
            deadline = deadline or time.monotonic() + rng.uniform(0, 0.06)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while piece := os.read(inward, 65536):
        data += piece
    os.close(inward)
    return [json.loads(line) for line in data.splitlines(keepends=True) if line.endswith(b"\n")]


def main(url: str, cycles: int, defect: str | None) -> dict[str, Any]:
    rng = random.Random(7)
    acknowledged = lost = interrupted = 0
    problems: list[str] = []
    for cycle in range(cycles):
        told = cycle_once(url, cycle, defect == "ack-first", rng)
        with hansard.open(url) as ledger:
            following.recover(ledger._driver, clock() + 3_600_000)
            said_now = {message.id for message in ledger.transcript("crash")}
            runs = {run.id: run for run in ledger.runs("crash")}
            for what in told:
                acknowledged += 1
                if "message" in what and what["message"] not in said_now:
                    lost += 1
                if "committed" in what and runs[what["committed"]].status != "committed":
                    lost += 1
                if "words" in what:
                    run = runs[what["run"]]
                    if run.status == "interrupted":
                        interrupted += 1
                        partial = "".join(words(ledger.run_messages("crash", run.id)))
                        lost += len(partial.split()) < what["words"] and "whole" not in partial
            problems += [str(problem) for problem in ledger.verify()] if cycle == cycles - 1 else []
    return {
        "cycles": cycles,
        "acknowledged": acknowledged,
        "lost": lost,
        "interrupted": interrupted,
        "problems": problems,
    }


if __name__ == "__main__":
    chosen = sys.argv[sys.argv.index("--defect") + 1] if "--defect" in sys.argv else None
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), chosen)))
