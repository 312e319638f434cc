"""PostgreSQL killed under writers, again and again: they wait, go on, and nothing acknowledged is missing or doubled.

Every third time all processes get SIGKILL, every third time only one that serves a client (the server then ends all
others and recovers), and every third time SIGQUIT. The defect acknowledges before the log is written: kill -9 of the
server shows that, unlike kill -9 of a program that writes its files itself.
"""

from __future__ import annotations

import random
import threading
import time

import hansard
from hansard import Ledger
from hansard.errors import HansardError
from tests.faults.harness import Outcome, Place, proof
from tests.faults.postgres.server import Postgres
from tests.ledger.said import said

_WRITERS = 4


class Writer(threading.Thread):
    """Appends to a thread of its own; every fifth time as a run that commits."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        super().__init__(name=name)
        self.ledger, self.key = ledger, name
        self.acknowledged: list[str] = []
        self.failures: list[str] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            key = f"{self.key}-{number}"
            try:
                if number == 0:
                    self.ledger.create_thread(self.key)
                if number % 5 == 4:
                    run = self.ledger.begin_run(self.key, id=f"run-{key}")
                    run.stage(said(key, "assistant", id=key))
                    run.commit()
                else:
                    self.ledger.append(self.key, said(key, id=key))
            except HansardError as error:
                self.failures.append(f"{key}: {error}")
                return
            self.acknowledged.append(key)
            number += 1

    def missing(self) -> list[str]:
        """What is not as it was acknowledged: lost, doubled, out of order, or a run that is not committed."""
        try:
            kept = [message.id for message in self.ledger.transcript(self.key)]
            runs = {run.id: run.status for run in self.ledger.runs(self.key)}
        except HansardError as error:
            return [f"{self.key}: {error}"]
        found = [f"acknowledged and lost: {key}" for key in self.acknowledged if key not in set(kept)]
        found += [f"{kept.count(key)} times: {key}" for key in set(kept) if kept.count(key) > 1]
        if not found and kept[: len(self.acknowledged)] != self.acknowledged:
            found.append(f"{self.key}: a gap, or another order than it was acknowledged in")
        for key in self.acknowledged[4::5]:
            if runs.get(f"run-{key}") != "committed":
                found.append(f"acknowledged as committed, but {runs.get(f'run-{key}')}: {key}")
        return found


@proof(
    "PostgreSQL: the server is killed",
    holds="acknowledged data is there once, in order, and no caller sees an error",
    tries=100,
    sample=6,
    defects=("acknowledged before it is in the log",),
    control_tries=3,
)
def killed_servers(tries: int, place: Place, defect: str | None) -> Outcome:
    rng = random.Random(5)
    with Postgres() as server:
        ledger = hansard.open(server.address, retry_for=60, durability="relaxed" if defect else "full")
        writers = [Writer(ledger, f"w{number}") for number in range(_WRITERS)]
        for one in writers:
            one.start()
        try:
            for number in range(tries):
                more_from(writers)
                time.sleep(rng.uniform(0.02, 0.3))
                if number % 3 == 1:
                    server.kill_a_backend()
                    continue
                server.stop_at_once() if number % 3 == 2 else server.kill()
                server.start()
            more_from(writers)
        finally:
            for one in writers:
                one.stopping.set()
            for one in writers:
                one.join()
        failures = [line for one in writers for line in (*one.failures, *one.missing())]
        failures += [str(problem) for problem in ledger.verify()]
        ledger.close()
    return Outcome(tries=tries, failures=failures, seen={"acknowledged": sum(len(one.acknowledged) for one in writers)})


def more_from(writers: list[Writer]) -> None:
    """Until everybody was heard from again."""
    before = [len(one.acknowledged) for one in writers]
    while any(len(one.acknowledged) < n + 2 and one.is_alive() for one, n in zip(writers, before, strict=True)):
        time.sleep(0.005)
