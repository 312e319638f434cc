"""Snapshots of many files beside a shadow git: the same tree, the same changes, in turn.

The git repository lies beside the tree (`GIT_DIR` elsewhere), as agents do it: `git add -A` and a commit. Both are
timed on the clock and in CPU, children included; `HANSARD_BENCH_FILES` says how many files (20,000, about 100 MB).
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import hansard
from hansard.workspace import Limits, Workspace, rooted_fs, scan

_ROUNDS = 5
_CHANGES = 50


def grow(root: Path, files: int, size: int) -> list[Path]:
    """A tree of so many files of about that size, the same every time."""
    rng = random.Random(1)
    words = [f"{rng.getrandbits(rng.choice((12, 20, 36))):x}" for _ in range(4000)]
    paths: list[Path] = []
    for i in range(files):
        folder = root / f"d{i % 200}" / f"e{i // 200 % 10}"
        if i < 2000:
            folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"f{i}.txt"
        length = int(rng.expovariate(1 / size)) if size > 100 else size
        text, total = [], 0
        while total < length:
            text.append(rng.choice(words))
            total += len(text[-1]) + 1
        path.write_text(" ".join(text))
        paths.append(path)
    return paths


def _cpu() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock and of CPU."""
    start, before = time.perf_counter(), _cpu()
    action()
    return time.perf_counter() - start, _cpu() - before


class _Git:
    """A shadow repository of a tree."""

    def __init__(self, folder: Path, tree: Path) -> None:
        self._env = {
            **os.environ,
            "GIT_DIR": str(folder),
            "GIT_WORK_TREE": str(tree),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
        }
        self._run("init", "-q")
        self._run("config", "user.name", "bench")
        self._run("config", "user.email", "bench@example.invalid")

    def _run(self, *words: str) -> None:
        subprocess.run(["git", *words], env=self._env, check=True, capture_output=True)

    def snapshot(self) -> None:
        self._run("add", "-A")
        self._run("commit", "-q", "-m", "x", "--allow-empty")


def _row(name: str, ours: tuple[float, float], theirs: tuple[float, float], goal: str) -> None:
    times = [f"{a * 1000:8.0f} ms {b * 1000:8.0f} ms {a / b:6.2f}x" for a, b in zip(ours, theirs, strict=True)]
    print(f"  {name:<44} {times[0]}   {times[1]}   {goal}")


def workspaces() -> None:
    files = int(os.environ.get("HANSARD_BENCH_FILES", "20000"))
    print("\nWorkspaces: snapshots of files, beside a shadow git (add -A, commit)")
    print(f"  {'':<44} {'hansard':>11} {'git':>11} {'':>7}   {'CPU':>11} {'git':>11}")
    with tempfile.TemporaryDirectory(prefix="hansard-bench-") as folder:
        top = Path(folder)
        tree = top / "tree"
        paths = grow(tree, files, 5000)
        size = sum(path.stat().st_size for path in paths) / 1e6
        first_ours: list[tuple[float, float]] = []
        first_theirs: list[tuple[float, float]] = []
        for i in range(2):
            with hansard.open(str(top / f"first{i}.db")) as ledger, Workspace(ledger, tree) as ours:
                first_ours.append(timed(ours.snapshot))
            first_theirs.append(timed(_Git(top / f"git{i}", tree).snapshot))
        _row(f"first, {files:,} files, {size:.0f} MB", min(first_ours), min(first_theirs), "no slower")
        rng = random.Random(2)
        ours_best = theirs_best = (float("inf"), float("inf"))
        git = _Git(top / "git1", tree)
        with hansard.open(str(top / "first1.db")) as ledger, Workspace(ledger, tree) as ours:
            ours.snapshot(), git.snapshot()
            for number in range(_ROUNDS):
                for path in rng.sample(paths, _CHANGES):
                    path.write_text(f"changed {number}\n" * 300)
                time.sleep(0.1)
                ours_best = min(ours_best, timed(ours.snapshot))
                theirs_best = min(theirs_best, timed(git.snapshot))
        _row(f"next, {_CHANGES} changes", ours_best, theirs_best, "at most 1.2x")
        _many(top / "many", files * 5)


def _many(tree: Path, files: int) -> None:
    grow(tree, files, 50)
    root = rooted_fs.Root(tree)
    limits = Limits(seconds=600)
    index = scan.Scan(root, {}, lambda name, data: None, limits, frozenset()).run().index
    time.sleep(0.1)
    index = scan.Scan(root, index, lambda name, data: None, limits, frozenset()).run().index
    best = min(
        timed(lambda: scan.Scan(root, index, lambda name, data: None, limits, frozenset()).run())
        for _ in range(_ROUNDS)
    )
    print(
        f"  a scan of {files:,} files that finds nothing new: {best[0]:.2f} s, {best[1]:.2f} s of CPU   goal: under 1 s"
    )
    root.close()


if __name__ == "__main__":
    workspaces()
