"""Undo that is killed, and a race of links: the tree is entirely before or after, and nothing is written outside."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import hansard
from hansard.errors import HansardError
from hansard.workspace import Workspace, rooted_fs
from hansard.workspace.apply import Apply
from tests.faults.harness import Outcome, Place, proof
from tests.workspace import test_faults as trees
from tests.workspace.test_race import CHANGED, UNTOUCHED, prepared, swap
from tests.workspace.trees import tree


@proof(
    "kill -9 of an undo",
    holds="at the next start files and head are entirely before or entirely after, and undo and redo work again",
    tries=1000,
    sample=16,
    defects=("not taken back",),
)
def killed_undos(tries: int, place: Place, defect: str | None) -> Outcome:
    failures: list[str] = []
    seen: Counter[str] = Counter()
    folder = place.folder
    began = time.monotonic()
    steps = len(trees.steps_of(folder))
    lasts = time.monotonic() - began
    take_back = Apply._roll_back if defect is None else lambda self, done: []
    with patch.object(Apply, "_roll_back", take_back):
        for number in range(tries):
            thread, before, after = trees.prepared(folder)
            # at a step, in turn; every other time at any moment
            deadly = number // 2 % steps if number % 2 == 0 else -1
            ended = _killed(folder, thread, deadly, random.Random(number).uniform(0, lasts / 2))
            seen["killed"] += ended == signal.SIGKILL
            try:
                seen[trees.whole(folder, thread, before, after)] += 1
            except (AssertionError, HansardError) as error:
                failures.append(f"kill {number} at step {deadly}: {str(error)[:300] or 'the tree is not whole'}")
    return Outcome(tries=tries, failures=failures[:50], seen={"steps": steps, **seen})


def _killed(folder: Path, thread: str, deadly: int, moment: float) -> int:
    """Undo in a process of its own, and kill it: by itself at a step, or from outside after some time."""
    child = os.fork()
    if child == 0:
        left = iter(range(deadly)) if deadly >= 0 else iter(range(1 << 30))

        def step(name: str) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            trees.undo(folder, thread, step)
        finally:
            os._exit(0)
    if deadly < 0:
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


@contextmanager
def _by_name(self: rooted_fs.Root, path: bytes) -> Iterator[tuple[int, bytes]]:
    """A folder found by its whole name, wherever a link on the way leads to."""
    above, _, name = path.rpartition(b"/")
    fd = os.open(os.path.join(os.fsencode(self.path), above), os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd, name
    finally:
        os.close(fd)


@proof(
    "a race of links during restore",
    holds="nothing outside the root is ever written, however often a folder is swapped for a link",
    tries=10_000,
    sample=150,
    defects=("folders by name",),
)
def link_race(tries: int, place: Place, defect: str | None) -> Outcome:
    root, outside, _ = prepared(place.folder)
    before, failures = tree(outside), list[str]()
    context = multiprocessing.get_context("fork")
    stop = context.Event()
    racer = context.Process(target=swap, args=(str(root), stop))
    racer.start()
    done = wrote = 0
    began = time.monotonic()
    try:
        folder = rooted_fs.Root.folder if defect is None else _by_name
        with (
            patch.object(rooted_fs.Root, "folder", folder),
            hansard.open(str(place.folder / "ledger.db")) as ledger,
            Workspace(ledger, root) as files,
        ):
            while done < tries and not failures:
                done += 1
                try:
                    told = files.restore("sub/a", entry=(CHANGED, UNTOUCHED)[done % 2])
                    wrote += bool(told.files.touched) and not told.conflicts
                except (HansardError, OSError):
                    pass
                if tree(outside) != before:
                    failures.append(f"try {done}: written outside the root")
    finally:
        stop.set()
        racer.join()
    if wrote < min(4, tries):
        failures.append("hardly anything was written at all: the race looks away")
    seconds = round(time.monotonic() - began, 1)
    return Outcome(tries=done, failures=failures, seen={"written below": wrote, "seconds of race": seconds})
