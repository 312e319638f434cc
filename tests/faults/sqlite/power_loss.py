"""Power loss: whatever part of the unsynced writes reached the disk, the ledger opens and says all it acknowledged."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import hansard
from hansard.errors import HansardError
from tests.faults.disk_layer import Call, Layer
from tests.faults.harness import Outcome, Place, proof
from tests.faults.operations import Line, Writer, broken
from tests.faults.power import Happened, Left, held, losses, missed, put

OLD = Path(__file__).parent.parent.parent / "golden/ledgers/0001.db"
DEEDS, EACH = 14, 125


def recorded(folder: Path, seed: int, defect: str | None) -> tuple[dict[str, Left], list[Happened]]:
    """What a writer did and was told, in the order it happened, and what was there at the start.

    Every third ledger is one of an old release and is migrated; checkpoints come every few commits.
    """
    happened: list[Happened] = []
    path = folder / "ledger.db"
    if seed % 3 == 2:
        shutil.copy(OLD, path)
    start = held(folder)
    durability = "relaxed" if defect == "synchronous normal" else "full"
    with Layer(folder, after=happened.append), hansard.open(str(path), durability=durability) as ledger:
        connection = ledger._driver._writer  # type: ignore[attr-defined]
        connection.execute(f"pragma wal_autocheckpoint = {random.Random(seed).choice((4, 12, 40))}")
        if defect == "synchronous off":
            connection.execute("pragma synchronous = off")
        Writer(ledger, happened.append, f"s{seed}", seed).go(DEEDS)
    assert missed(happened, start, folder) == [], "the recorder missed a call"
    return start, happened


@proof(
    "power loss, SQLite",
    holds="the ledger opens, verifies, has every acknowledged message and no partial operation",
    tries=20_000,
    sample=250,
    defects=("synchronous normal", "synchronous off"),
    control_tries=120,
)
def power_loss(tries: int, place: Place, defect: str | None) -> Outcome:
    failures: list[str] = []
    seen: Counter[str] = Counter()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    for seed in range(-(-tries // EACH)):
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            start, happened = recorded(Path(folder), seed, defect)
            seen["disk calls"] += sum(isinstance(one, Call) for one in happened)
        for number, (state, told) in enumerate(losses(happened, start, EACH, seed)):
            seen["losses"] += 1
            with tempfile.TemporaryDirectory(dir=memory) as after:
                put(state, folder, after)
                found = judged(after + "/ledger.db", told)
            seen["acknowledged"] += sum("ack" in line for line in told)
            seen["corrupt"] += any("verify" in one or "opens" in one for one in found)
            failures += [f"ledger {seed}, loss {number}: {one}" for one in found]
    seen["failures"] = len(failures)
    return Outcome(tries=seen.pop("losses"), failures=failures[:50], seen=dict(seen))


def judged(path: str, told: list[Line]) -> list[str]:
    try:
        with hansard.open(path) as ledger:
            return broken(ledger, told)
    except HansardError as error:
        return [f"no longer opens: {error}"]
