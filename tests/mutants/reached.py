"""What each test reaches: lines of `src/hansard`, also those of the processes it starts, and named SQL statements.

As a pytest plugin (`-p tests.mutants.reached`, below `coverage run`) this writes to `.coverage-data/`, per process:
`lines.PID` (coverage data with one context per test), `tests.PID.json` (seconds and statements of each test). The arcs
of all tests together go the usual way; with a context per test they would be a hundred times as many.
"""

from __future__ import annotations

import copy
import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage, CoverageData

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".coverage-data"
_METHODS = ("all", "one", "run", "many")


class Recorder:
    """The plugin: notes at the end of each test what has been reached since the end of the one before."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._lines = CoverageData(str(FOLDER / f"lines.{os.getpid()}"))
        self._seen: dict[str, set[tuple[int, int]]] = defaultdict(set)
        self._now = ""
        self._statements: set[str] = set()
        self._tests: dict[str, dict[str, Any]] = defaultdict(
            lambda: {"seconds": 0.0, "statements": [], "failed": False}
        )
        self._watch_lines()
        self._watch_statements()

    def _watch_lines(self) -> None:
        original = CoverageData.add_arcs

        def add_arcs(data: CoverageData, found: dict[str, Collection[tuple[int, int]]]) -> None:
            self._lines.set_context(self._now)
            self._lines.add_lines({file: {n for arc in arcs for n in arc if n > 0} for file, arcs in found.items()})
            new = {file: set(arcs) - self._seen[file] for file, arcs in found.items()}
            for file, arcs in new.items():
                self._seen[file] |= arcs
            original(data, new)

        CoverageData.add_arcs = add_arcs  # type: ignore[method-assign,assignment]

    def _watch_statements(self) -> None:
        from hansard.ledger.backends import postgres, sqlite

        for dialect, transaction in (("sqlite", sqlite._Tx), ("postgres", postgres._Tx)):
            for method in _METHODS:
                setattr(transaction, method, self._noting(dialect, getattr(transaction, method)))

    def _noting(self, dialect: str, method: Any) -> Any:
        def noting(tx: object, name: str, /, *rows: Any, **values: Any) -> Any:
            self._statements.add(f"{dialect}:{name}")
            return method(tx, name, *rows, **values)

        return noting

    def _reach(self, test: str) -> None:
        """From here on what is reached, also by new processes, belongs to this test, or file of tests."""
        self._coverage.switch_context("")  # hands over what was collected
        self._now = test
        settings = copy.copy(self._coverage.config)
        settings.context = test
        os.environ["COVERAGE_PROCESS_CONFIG"] = settings.serialize()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._reach(item.nodeid)
        self._statements.clear()
        try:
            return (yield)
        finally:
            self._reach("")
            self._tests[item.nodeid]["statements"] = sorted(self._statements)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[Any]:
        """A process that a fixture starts for a whole file is reached by all tests of the file."""
        if fixturedef.scope not in ("module", "package"):
            return (yield)
        test = self._now
        self._reach(test.partition("::")[0])
        try:
            return (yield)
        finally:
            self._reach(test)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._tests[report.nodeid]["seconds"] += report.duration
        self._tests[report.nodeid]["failed"] |= report.failed

    def pytest_sessionfinish(self) -> None:
        self._reach("")
        self._lines.write()
        (FOLDER / f"tests.{os.getpid()}.json").write_text(json.dumps(self._tests))
        self._coverage.save()


def pytest_configure(config: pytest.Config) -> None:
    coverage = Coverage.current()
    hands_out = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if coverage is not None and not hands_out:
        config.pluginmanager.register(Recorder(coverage))


@dataclass
class Reached:
    """What the last `make coverage` found."""

    seconds: dict[str, float] = field(default_factory=dict)
    by_statement: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def load(cls) -> Reached:
        found = cls()
        files = sorted(FOLDER.glob("tests.*.json"))
        if not files:
            raise SystemExit("no coverage data; run make coverage first")
        for file in files:
            for test, facts in json.loads(file.read_text()).items():
                if facts["failed"]:
                    continue
                found.seconds[test] = facts["seconds"]
                for statement in facts["statements"]:
                    found.by_statement[statement].add(test)
        return found

    @cached_property
    def _data(self) -> list[CoverageData]:
        data = [CoverageData(str(file)) for file in [*FOLDER.glob("lines.*"), *FOLDER.glob("data")]]
        for part in data:
            part.read()
        return data

    @cached_property
    def _by_file(self) -> dict[str, dict[int, set[str]]]:
        return {}

    @cached_property
    def _of_file(self) -> dict[str, list[str]]:
        tests = defaultdict(list)
        for test in self.seconds:
            tests[test.partition("::")[0]].append(test)
        return tests

    def lines(self, file: str) -> dict[int, set[str]]:
        """The tests that reach each line of a file (its path below the root); not those that only import it."""
        if file not in self._by_file:
            found: dict[int, set[str]] = defaultdict(set)
            for data in self._data:
                for line, contexts in data.contexts_by_lineno(str(ROOT / file)).items():
                    for context in contexts:
                        found[line].update([context] if context in self.seconds else self._of_file.get(context, ()))
            self._by_file[file] = found
        return self._by_file[file]
