"""The table of `make coverage`: lines and branches by folder; fails below 90 % of the lines without the demo."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import PurePath

from tests.mutants.reached import FOLDER
from tests.mutants.sample import SOURCES, checksums

FLOOR = 90.0


def main() -> None:
    files = json.loads((FOLDER / "report.json").read_text())["files"]
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for name, facts in files.items():
        if name.startswith("src/hansard/demo/"):
            continue
        folder = PurePath(name).parent.relative_to("src/hansard").parts
        found = facts["summary"]
        counts = found["covered_lines"], found["num_statements"], found["covered_branches"], found["num_branches"]
        for group in ("/".join(folder[:2]) or ".", "total"):
            sums[group] = [a + b for a, b in zip(sums[group], counts, strict=True)]
    print(f"{'folder':28} {'lines':>7} {'reached':>8} {'branches':>9} {'reached':>8}")
    for group in [*sorted(sums.keys() - {"total"}), "total"]:
        lines, of_lines, branches, of_branches = sums[group]
        shares = _share(lines, of_lines), _share(branches, of_branches)
        print(f"{group:28} {of_lines:7} {shares[0]:8.1f} {of_branches:9} {shares[1]:8.1f}")
    SOURCES.write_text(json.dumps(checksums()))
    reached = _share(*sums["total"][:2])
    if reached < FLOOR:
        sys.exit(f"the tests reach {reached:.1f} % of the lines; at least {FLOOR:.0f} % are required")


def _share(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


if __name__ == "__main__":
    main()
