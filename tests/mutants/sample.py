"""Which mutants are tried, and by which tests: areas, a seeded sample, the tests that reach a change."""

from __future__ import annotations

import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePath

from tests.mutants.operators import Mutant, mutants
from tests.mutants.reached import FOLDER, ROOT, Reached

SOURCES = FOLDER / "sources.json"  # of the coverage run

TIME = 120.0  # measured seconds of the tests that are given to one mutant; more are never run within its limit
_STREAM = ("stream", "emit")


def area(file: PurePath) -> str:
    """The area of a source file: its folder; decoders and emitters are streams, coding agents' files sessions."""
    folder, *rest = file.relative_to("src/hansard").parts
    if folder == "formats" and rest[0] == "coding_agents":
        return "sessions"
    if folder == "formats" and any(part.partition(".")[0].split("_")[0] in _STREAM for part in rest):
        return "streams"
    return folder


AREAS = ("model", "formats", "streams", "ledger", "workspace", "server", "sessions")


def sources() -> Iterator[str]:
    for path in sorted((ROOT / "src/hansard").rglob("*")):
        migration = path.suffix == ".sql" and (path.name[:4].isdigit() or path.name == "schema.sql")
        if path.suffix in (".py", ".sql") and not migration:
            yield str(path.relative_to(ROOT))


def checksums() -> dict[str, str]:
    return {file: hashlib.sha256((ROOT / file).read_bytes()).hexdigest() for file in sources()}


def sample(name: str, count: int, seed: int) -> list[Mutant]:
    """Mutants of an area: each kind in turn, at random within it, at most one in a line."""
    by_kind: dict[str, list[Mutant]] = defaultdict(list)
    for file in sources():
        if area(PurePath(file)) == name:
            for mutant in mutants(ROOT, file):
                by_kind[mutant.kind].append(mutant)
    chance = random.Random(f"{seed} {name}")
    for kind in sorted(by_kind):
        chance.shuffle(by_kind[kind])
    kinds = sorted(by_kind)
    chance.shuffle(kinds)
    found: dict[tuple[str, int], Mutant] = {}
    while len(found) < count and any(by_kind.values()):
        for kind in kinds:
            if by_kind[kind] and len(found) < count:
                mutant = by_kind[kind].pop()
                if _compiles(mutant):
                    found.setdefault((mutant.file, mutant.line), mutant)
    return list(found.values())


def _compiles(mutant: Mutant) -> bool:
    try:
        text = mutant.apply((ROOT / mutant.file).read_text("utf-8"))
        return mutant.file.endswith(".sql") or bool(compile(text, mutant.file, "exec"))
    except SyntaxError:
        return False


def tests_of(mutant: Mutant, reached: Reached) -> list[str]:
    """The tests that reach the change: own folder first, fastest first; no more than the limit has time for."""
    if mutant.file.endswith(".sql"):
        found = {test for name in _changed_statements(mutant) for test in reached.by_statement[name]}
    else:
        lines = reached.lines(mutant.file)
        found = {test for line in mutant.reached_by for test in lines.get(line, ())}
        if mutant.names:
            found |= _naming(mutant, reached)
        elif not found:  # the statement begins above
            found = next((lines[line] for line in range(mutant.line, mutant.line - 12, -1) if lines.get(line)), set())

    def distance(test: str) -> tuple[int, float]:
        own, near = PurePath(mutant.file).parts[2:-1], PurePath(test.partition("::")[0]).parts[1:-1]
        shared = next((i for i, (a, b) in enumerate(zip(own, near, strict=False)) if a != b), min(len(own), len(near)))
        return -shared, reached.seconds[test]

    chosen, seconds = [], 0.0
    for test in sorted(found, key=distance):
        if seconds < TIME:
            chosen.append(test)
            seconds += reached.seconds[test]
    return chosen


def _naming(mutant: Mutant, reached: Reached) -> set[str]:
    """The tests that use what a module assigns from elsewhere: lines of its folder, files of tests that name both."""
    found, name = set(), re.compile(rf"\b(?:{'|'.join(mutant.names)})\b")
    for path in (ROOT / mutant.file).parent.glob("*.py"):
        lines = reached.lines(str(path.relative_to(ROOT)))
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
            found |= lines.get(number, set()) if name.search(line) else set()
    for file in {test.partition("::")[0] for test in reached.seconds}:
        text = (ROOT / file).read_text("utf-8") if (ROOT / file).exists() else ""
        if name.search(text) and re.search(rf"\b{PurePath(mutant.file).stem}\b", text):
            found |= {test for test in reached.seconds if test.startswith(f"{file}::")}
    return found


def _changed_statements(mutant: Mutant) -> set[str]:
    """The statements that the changed line is of, as written or inserted by `{name}`."""
    texts = {}
    for path in (ROOT / "src/hansard/ledger/sql").rglob("*.sql"):
        _, *pieces = re.split(r"^-- name: (\w+)\n", path.read_text("utf-8"), flags=re.MULTILINE)
        texts.update(zip(pieces[::2], pieces[1::2], strict=True))
    head = (ROOT / mutant.file).read_bytes()[: mutant.begin].decode()
    names = {re.findall(r"^-- name: (\w+)$", head, re.MULTILINE)[-1]}
    while more := {n for n, text in texts.items() if any(f"{{{name}}}" in text for name in names)} - names:
        names |= more
    folder = PurePath(mutant.file).parent.name
    return {f"{dialect}:{name}" for dialect in ("sqlite", "postgres") if folder in ("sql", dialect) for name in names}
