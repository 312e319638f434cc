"""What holds for each agent, as `make agents` saw it: tests/golden/lab/table.json, and the table in README.md.

python -m tests.lab.table writes README's table again.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from hansard.sessions.discovery import AGENTS as KNOWN
from hansard.sessions.handover import TARGETS
from tests.lab.agents import AGENTS
from tests.lab.install import releases

Row = dict[str, str]
ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "tests" / "golden" / "lab" / "table.json"
README = ROOT / "README.md"
_PLACE = re.compile(r"(<!-- agents: written by tests/lab/table.py -->\n).*?(<!-- end of agents -->)", re.DOTALL)
COLUMNS = {
    "import": ("import", "transcript", "usage", "watch"),
    "exact return": ("export",),
    "forks": ("fork",),
    "undo, redo": ("undo", "redo"),
    "hand-over": ("handover",),
}


def rows() -> dict[str, Row]:
    """The cells of every release, by its name."""
    return json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {}


def keep(new: dict[str, Row]) -> None:
    """Add the cells of a run; releases that are no longer run are left out. README follows."""
    known = rows()
    for name, row in new.items():
        known[name] = {**known.get(name, {}), **row}
    listed = [one.name for one in releases() if one.name in known]
    lines = [f"{json.dumps(name)}: {json.dumps(known[name])}" for name in listed]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    README.write_text(written(README.read_text("utf-8")), "utf-8")


def written(readme: str) -> str:
    """README with the table of agents."""
    return _PLACE.sub(lambda found: found[1] + table() + found[2], readme)


def table() -> str:
    """A line for each release: what was seen to hold, with reasons where an agent has no such thing."""
    lines = [f"| agent | {' | '.join(COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|"]
    for name, row in rows().items():
        agent, _, version = name.partition("@")
        kind = AGENTS[agent]
        title = next(one.name for one in KNOWN if one.format == kind.format)
        cells = [_cell([row.get(promise, "not run") for promise in promises]) for promises in COLUMNS.values()]
        if cells[-1] == "yes":
            cells[-1] = "from and to" if kind.format in TARGETS else "from"
        lines.append(f"| {title} {version} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(cells: list[str]) -> str:
    """What promises amount to: the worst of them; those that an agent has no means for do not count."""
    counted = [cell for cell in cells if cell != "cannot"]
    if not counted:
        return "-"
    return next((cell for cell in ("fails", "not run") if cell in counted), "yes")


if __name__ == "__main__":
    README.write_text(written(README.read_text("utf-8")), "utf-8")
