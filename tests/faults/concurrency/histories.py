"""Processes that append, read, fork, commit and go elsewhere in the same threads at once, on both backends.

Each writes down what it asks before it asks, and what it heard. One of them is killed in the middle; in front of
PostgreSQL a proxy cuts connections. Afterwards `history.problems` looks for a serial order of all of it.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import msgspec

import hansard
from hansard import Ledger
from hansard.errors import Conflict, HansardError
from hansard.ledger import tree
from hansard.ledger.backends.driver import Tx
from hansard.ledger.rows import find_runs, find_thread
from tests.faults.concurrency.defects import FORGETFUL, SCATTERED, UNLOCKED, break_it, drop_backstop
from tests.faults.concurrency.serial_order import Op, View, problems
from tests.faults.harness import Outcome, Place, proof
from tests.faults.postgres.tcp_proxy import Proxy
from tests.faults.processes import Failed, started, wait
from tests.ledger.said import said

_ACTORS = 4
_EACH = 12  # things that one of them does in a thread
STALE = "reads are answered from a cache"


class Line(msgspec.Struct, frozen=True):
    """What is written down: the same number when it is asked and when it is answered."""

    number: int
    thread: str
    op: Op


def look(ledger: Ledger, thread: str) -> View:
    """A thread in one moment."""

    def job(tx: Tx) -> View:
        row = find_thread(tx, thread)
        nodes = tree.nodes(tx, row)
        runs = [run.value for run in find_runs(tx, row).values()]
        path = sorted((node for node in nodes if node.active), key=lambda node: node.depth)
        return View(
            path=[node.id for node in path],
            parents=[(node.id, node.parent_id) for node in nodes],
            committed={run.id: run.fork_from_message_id or None for run in runs if run.status == "committed"},
        )

    return ledger._read(job)


class Actor:
    """One process: it does things, and writes down what it did."""

    def __init__(self, number: int, ledger: Ledger, log: Path, *, asks_once: bool, stale: bool) -> None:
        self.rng, self.ledger, self.name = random.Random(number), ledger, f"w{number}"
        self.file = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self.asks_once, self.stale = asks_once, stale
        self.known: dict[str, View] = {}
        self.count = 0

    def act(self, thread: str) -> None:
        kinds = ["append", "append", "expecting", "read", "run", "run"] + ["checkout"] * self.asks_once
        kind = self.rng.choice(kinds)
        view = self.known.get(thread)
        some = self.rng.choice(view.path) if view and view.path else None
        if kind == "read" or view is None:
            self.read(thread)
        elif kind == "checkout" and some is not None:
            self.done(thread, Op(who=self.name, kind="checkout", invoked=0, id=some), self.ledger.checkout, some)
        elif kind == "run":
            self.run(thread, some)
        else:
            key = self.key("m")
            expected = view.path[-1] if kind == "expecting" and view.path else None
            op = Op(who=self.name, kind="append", invoked=0, id=key, expected=expected)
            more = {} if expected is None else {"expected_head": expected}
            self.done(thread, op, self.ledger.append, said(key, id=key), **more)

    def run(self, thread: str, fork: str | None) -> None:
        """Begin behind some message, say one thing, commit."""
        key, message = self.key("r"), self.key("a")
        force = self.rng.random() < 0.5
        where = {} if fork is None else {"fork_from": fork}
        begun = self.done(
            thread,
            Op(who=self.name, kind="begin", invoked=0, run=key, id=fork),
            lambda thread: self.ledger.begin_run(thread, id=key, **where).release(),
        )
        staged = begun and self.done(
            thread,
            Op(who=self.name, kind="stage", invoked=0, run=key, id=message),
            lambda thread: self.ledger.stage(thread, key, said(message, "assistant", id=message)),
        )
        if staged:
            op = Op(who=self.name, kind="commit", invoked=0, run=key, force=force)
            self.done(thread, op, lambda thread: self.ledger.commit(thread, key, force=force))

    def read(self, thread: str) -> None:
        op = Op(who=self.name, kind="read", invoked=time.monotonic_ns())
        try:
            view = look(self.ledger, thread)
        except HansardError:
            return
        if self.stale and thread in self.known and self.rng.random() < 0.5:
            view = self.known[thread]
        self.known[thread] = view
        self.write(thread, self.next(), msgspec.structs.replace(op, returned=time.monotonic_ns(), seen=view))

    def done(self, thread: str, op: Op, call: Callable[..., Any], *given: Any, **named: Any) -> bool:
        number = self.next()
        op = msgspec.structs.replace(op, invoked=time.monotonic_ns(), outcome="unknown")
        self.write(thread, number, op)
        try:
            call(thread, *given, **named)
            outcome: Any = "ok"
        except Conflict as error:
            # A commit that was cut off after it was done, and superseded before it was asked for again.
            outcome = "unknown" if "superseded" in str(error) else "fail"
        except Exception:
            return False
        self.write(thread, number, msgspec.structs.replace(op, returned=time.monotonic_ns(), outcome=outcome))
        return bool(outcome == "ok")

    def next(self) -> int:
        self.count += 1
        return self.count

    def key(self, kind: str) -> str:
        return f"{kind}-{self.name}-{self.count}"

    def write(self, thread: str, number: int, op: Op) -> None:
        os.write(self.file, msgspec.json.encode(Line(number, thread, op)) + b"\n")


def act(number: int, barrier: Barrier, url: str, folder: str, threads: int, defect: str | None) -> int:
    """One process. Those with an odd number let the ledger ask again by itself when a connection is cut."""
    once = number % 2 == 0
    options = {"retry_for": 0.0 if once else 15.0, "connections": 2} if url.startswith("postgresql") else {}
    with hansard.open(url, **options) as ledger:
        break_it(ledger, defect)
        actor = Actor(number, ledger, Path(folder) / f"{number}.log", asks_once=once, stale=defect == STALE)
        wait(barrier)
        for thread in range(threads):
            for _ in range(_EACH):
                actor.act(f"t{thread}")
        return actor.count


def _lived(tries: int, url: str, place: Place, defect: str | None, proxy: Proxy | None = None) -> Outcome:
    threads = -(-tries // (_ACTORS * _EACH))
    with hansard.open(url) as ledger:
        for thread in range(threads):
            ledger.create_thread(f"t{thread}")
    if defect in (UNLOCKED, SCATTERED, FORGETFUL):
        drop_backstop(url)
    stopping = threading.Event()
    children = started(act, _ACTORS, proxy.address if proxy else url, str(place.folder), threads, defect)
    logs = [place.folder / f"{number}.log" for number in range(_ACTORS)]
    if proxy is not None:
        threading.Thread(target=_cut, args=(proxy, logs, stopping), daemon=True).start()
    _kill_one(children[0].process, logs[0], threads)
    try:
        for child in children:
            child.answer()
    except Failed as error:
        return Outcome(tries=tries, failures=[str(error)])
    finally:
        stopping.set()
    histories = _read(logs)
    failures: list[str] = []
    with hansard.open(url) as ledger:
        for thread, ops in sorted(histories.items()):
            failures += [f"{thread}: {line}" for line in problems(ops, look(ledger, thread))]
        if defect is None:
            failures += [str(problem) for problem in ledger.verify()]
    every = [op for ops in histories.values() for op in ops]
    seen: dict[str, int | float | str] = {
        outcome: sum(op.outcome == outcome for op in every) for outcome in ("ok", "fail", "unknown")
    }
    return Outcome(tries=max(tries, len(every)), failures=failures, seen=seen | {"cuts": proxy.fired if proxy else 0})


def _kill_one(process: Any, log: Path, threads: int) -> None:
    """SIGKILL when it is about half through."""
    while process.is_alive():
        if log.exists() and f'"t{threads // 2}"'.encode() in log.read_bytes()[-600:]:
            process.kill()
            return
        time.sleep(0.01)


def _cut(proxy: Proxy, logs: list[Path], stopping: threading.Event) -> None:
    rng = random.Random(3)
    while not all(log.exists() and log.stat().st_size for log in logs) and not stopping.wait(0.01):
        continue
    while not stopping.wait(rng.uniform(0.1, 0.4)):
        proxy.arm("reply" if rng.random() < 0.7 else "request", rng.randrange(600), "cut")
    proxy.disarm()


def _read(logs: list[Path]) -> dict[str, list[Op]]:
    """What was asked, with the answer if there was one, by thread. The last line of a killed one may be half."""
    found: dict[tuple[int, int], Line] = {}
    for actor, log in enumerate(logs):
        for text in log.read_bytes().splitlines(keepends=True):
            if text.endswith(b"\n"):
                line = msgspec.json.decode(text, type=Line)
                found[actor, line.number] = line
    histories: dict[str, list[Op]] = {}
    for line in found.values():
        histories.setdefault(line.thread, []).append(line.op)
    return histories


_EXPLAINED = "a serial order explains everything that was acknowledged"


@proof(
    "histories, SQLite",
    holds=_EXPLAINED,
    tries=10_000,
    sample=144,
    defects=(SCATTERED, STALE, FORGETFUL),
    control_tries=96,
)
def histories_on_sqlite(tries: int, place: Place, defect: str | None) -> Outcome:
    return _lived(tries, place.file(), place, defect)


@proof(
    "histories, PostgreSQL",
    holds=_EXPLAINED,
    tries=10_000,
    sample=144,
    defects=(UNLOCKED, STALE, FORGETFUL),
    control_tries=96,
)
def histories_on_postgresql(tries: int, place: Place, defect: str | None) -> Outcome:
    database = place.database()
    if defect is not None:
        return _lived(tries, database, place, defect)
    with Proxy(database) as proxy:
        return _lived(tries, database, place, defect, proxy)
