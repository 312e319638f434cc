"""`make agents`: run the agents, check every promise, print the table agent x promise; exit 1 if a cell fails."""

from __future__ import annotations

import argparse
import fcntl
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hansard.sessions.handover import TARGETS
from tests.lab import processes
from tests.lab.agents import AGENTS
from tests.lab.golden import record
from tests.lab.install import Release, install, releases
from tests.lab.promises import PROMISES, Bench, Faults, run_hansard
from tests.lab.session import ROOT, Played, play
from tests.lab.table import keep


def main() -> int:
    options = argparse.ArgumentParser(prog="make agents", description=__doc__)
    options.add_argument("agents", nargs="*", help="such as codex, or claude@2.1.327 (default: all)")
    options.add_argument("--record", action="store_true", help="write the sessions to tests/golden/lab")
    options.add_argument("--only", action="append", choices=list(PROMISES), help="check only this promise")
    given = options.parse_args()
    wanted = releases(given.agents)
    began = time.monotonic()
    table: dict[str, dict[str, str]] = {}
    with ExitStack() as stack:
        stack.callback(_ended)
        for release in wanted:
            stack.enter_context(_alone(release))
            table[release.name] = _run(release, given.record, given.only or list(PROMISES))
            keep({release.name: table[release.name]})
    print(f"\n{_table(table)}\n{(time.monotonic() - began) / 60:.1f} minutes")
    return 1 if any(cell == "fails" for row in table.values() for cell in row.values()) else 0


@contextmanager
def _alone(release: Release) -> Iterator[None]:
    """Hold the folders of a release: two runs of it would disturb each other."""
    ROOT.mkdir(parents=True, exist_ok=True)
    with open(ROOT / f"{release.name}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another run of the lab plays {release.name} in {ROOT}; wait for its end") from None
        yield


def _ended() -> None:
    if left := processes.end_all():
        print(f"ended {len(left)} processes that were left running")


def _run(release: Release, recording: bool, promises: list[str]) -> dict[str, str]:
    """Play the scenario with one release and check it: a cell per promise."""
    install(release)
    print(f"{release.name}", flush=True)
    folder = ROOT / release.name
    with ExitStack() as stack:
        watch = stack.enter_context(ExitStack())
        played, manifest = play(release, _tell, folder, lambda played: watch.enter_context(_watcher(played)))
        watch.close()
        stack.callback(played.close)
        faults = list(played.provider.faults)
        if recording:
            _tell(f"  recorded: {record(played, manifest)}")
        where = (AGENTS[release.agent], played.home, played.workspace, manifest, played.folder / "ledger.db")
        bench = Bench(*where, run_hansard, played, tuple(_others(release)))
        row = {"session": _cell("session", faults)}
        for name in PROMISES:
            if name in AGENTS[release.agent].cannot:
                _tell(f"  {name}: cannot: {AGENTS[release.agent].cannot[name]}")
                row[name] = "cannot"
            elif name in promises and (name != "compaction" or AGENTS[release.agent].compact):
                row[name] = _cell(name, _checked(name, bench))
    return row


def _watcher(played: Played):  # type: ignore[no-untyped-def]
    """`hansard import --watch` while the agent works."""
    env = processes.environment(HOME=str(played.home), PYTHONPATH=str(Path(__file__).parents[2] / "src"))
    ledger = str(played.folder / "watched.db")
    command = [sys.executable, "-m", "hansard", "import", "--watch", "--db", ledger]
    return processes.background(command, env=env, cwd=Path(__file__).parents[2])


def _checked(name: str, bench: Bench) -> Faults:
    try:
        return PROMISES[name](bench)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def _cell(name: str, faults: Faults) -> str:
    for fault in faults:
        _tell(f"  {name}: {fault}")
    return "fails" if faults else "ok"


def _others(release: Release) -> list[Release]:
    """The newest release of every other agent that sessions can be handed to."""
    newest = {one.agent: one for one in releases() if AGENTS[one.agent].format in TARGETS}
    found = [one for agent, one in newest.items() if agent != release.agent]
    for one in found:
        install(one)
    return found


def _tell(line: str) -> None:
    print(line, flush=True)


def _table(table: dict[str, dict[str, str]]) -> str:
    names = list(dict.fromkeys(name for row in table.values() for name in row))
    width = max(map(len, table), default=0)
    lines = [" " * width + "  " + "  ".join(f"{name:<10}" for name in names)]
    for agent, row in table.items():
        lines.append(f"{agent:<{width}}  " + "  ".join(f"{row.get(name, '-'):<10}" for name in names))
    return "\n".join(line.rstrip() for line in lines)


if __name__ == "__main__":
    sys.exit(main())
