"""`make mutants`: a seeded sample of small defects, judged by the tests that reach them; a table, and the survivors."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.util
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tests.mutants import judge
from tests.mutants.reached import FOLDER, ROOT, Reached
from tests.mutants.sample import AREAS, SOURCES, checksums, sample, tests_of

EQUIVALENT = Path(__file__).parent / "equivalent.json"


def run(name: str, chosen: argparse.Namespace, reached: Reached) -> list[dict[str, Any]]:
    planted = sample(name, chosen.count, chosen.seed)
    tests = [tests_of(mutant, reached) for mutant in planted]
    equivalent = json.loads(EQUIVALENT.read_text())
    control = sorted({test for found in tests for test in found[:8]})
    results = []
    context, given = multiprocessing.get_context("spawn"), (control, chosen.limit)
    with ProcessPoolExecutor(chosen.workers, context, judge.prepare, given) as pool:
        for mutant, verdict in zip(planted, pool.map(judge.judge, planted, tests), strict=True):
            diff = mutant.diff((ROOT / mutant.file).read_text("utf-8"))
            argument = next((e["why"] for e in equivalent if (e["file"], e["diff"]) == (mutant.file, diff)), "")
            result = "killed" if verdict.killed else "equivalent" if argument else "survived"
            results.append({
                "file": mutant.file, "line": mutant.line, "kind": mutant.kind, "diff": diff, "result": result,
                "why": argument if result == "equivalent" else verdict.why, "seconds": round(verdict.seconds, 1),
            })  # fmt: skip
            print(
                f"{result:10} {verdict.seconds:5.1f} s  {mutant.kind:18} {mutant.file}:{mutant.line}  {verdict.why}",
                flush=True,
            )
    return results


def table(found: dict[str, list[dict[str, Any]]]) -> tuple[str, dict[str, float]]:
    lines = [
        "| area | mutants | killed | survived | of these cut off | equivalent | killed, % |",
        "|---|---|---|---|---|---|---|",
    ]
    rates = {}
    for name, results in [*found.items(), ("total", [one for area in found.values() for one in area])]:
        killed, survived, same = (
            sum(r["result"] == kind for r in results) for kind in ("killed", "survived", "equivalent")
        )
        cut = sum(r["result"] == "survived" and r["why"] == "cut off" for r in results)
        rates[name] = 100 * killed / max(killed + survived, 1)
        lines.append(f"| {name} | {len(results)} | {killed} | {survived} | {cut} | {same} | {rates[name]:.0f} |")
    return "\n".join(lines), rates


def main() -> None:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--area", action="append", help=f"one or more of {', '.join(AREAS)}, agent, cli (default: the first seven)"
    )
    parser.add_argument("--count", type=int, default=30, help="mutants in each area")
    parser.add_argument("--limit", type=float, default=judge.LIMIT, help="seconds of CPU time for one mutant")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--floor", type=float, default=0.0, help="fail if less than this percentage is killed in an area"
    )
    chosen = parser.parse_args()
    reached = Reached.load()
    known = json.loads(SOURCES.read_text())
    changed = [file for file, checksum in checksums().items() if known.get(file) != checksum]
    if changed:
        sys.exit(f"changed since `make coverage`, so its lines are others; run it again: {', '.join(changed)}")
    file = FOLDER / f"mutants-{chosen.seed}.json"
    found = json.loads(file.read_text()) if file.exists() else {}
    for name in chosen.area or AREAS:
        print(f"-- {name}", flush=True)
        found[name] = run(name, chosen, reached)
        file.write_text(json.dumps(found, indent=1))
    text, rates = table({name: found[name] for name in (*AREAS, *found) if name in found})
    print("\n" + text)
    for results in found.values():
        for one in results:
            if one["result"] != "killed":
                print(f"\n{one['result']}: {one['file']}:{one['line']} ({one['kind']}) {one['why']}\n{one['diff']}")
    low = [name for name in chosen.area or AREAS if rates[name] < chosen.floor]
    if low:
        sys.exit(f"fewer than {chosen.floor:.0f} % are killed in {', '.join(low)}")


if __name__ == "__main__":
    main()
