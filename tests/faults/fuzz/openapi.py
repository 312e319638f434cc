"""Requests that the OpenAPI document leads to (schemathesis), right and wrong, over a socket."""

from __future__ import annotations

from typing import Any

from tests.faults.harness import Outcome, Place, proof
from tests.server.live import BEARER, LiveServer


@proof(
    "fuzz: requests by the OpenAPI document",
    holds="only documented responses, and no internal server error",
    tries=20_000,
    sample=60,
    defects=("search is broken",),
)
def requests(tries: int, place: Place, defect: str | None) -> Outcome:
    import schemathesis
    from schemathesis import GenerationMode

    import hansard
    from tests.faults.fuzz.http import fill
    from tests.server.test_openapi import CONFIG

    db = place.folder / "ledger.db"
    with hansard.open(str(db)) as ledger:
        fill(ledger)
    failures: list[str] = []
    asked = routes = 0
    agent = "tests.faults.fuzz.faulty_agent:make" if defect else "tests.server.scripted:make"
    try:
        with LiveServer(db, delay=0, agent=agent) as server:
            schema = schemathesis.openapi.from_url(f"{server.url}/schema/openapi.json", config=CONFIG, headers=BEARER)
            schema.hook(map_path_parameters)
            found = [one.ok() for one in schema.get_all_operations()]
            operations = [one for one in found if defect is None or "search" in one.path]
            routes = len(operations)
            modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
            ways = [(one, mode) for one in operations for mode in modes if mode is modes[0] or one.body or one.query]
            while asked < tries and not failures:
                for operation, mode in ways:
                    count, problem = _ask(operation.as_strategy(generation_mode=mode), max(1, tries // len(ways) + 1))
                    asked += count
                    failures += [f"{operation.label}: {problem}"] if problem else []
    except AssertionError as error:  # it wrote a traceback
        failures.append(f"the server: {str(error).strip().splitlines()[-1]}")
    return Outcome(tries=asked, failures=failures, seen={"routes": routes})


def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Half of what is asked for is there: random ids alone would only ever be answered with 404."""
    there = {"thread_id": "t", "message_id": "m", "run_id": "r"}
    given = path_parameters or {}
    return {key: there.get(key, value) if len(str(value)) % 2 else value for key, value in given.items()}


def _ask(cases: Any, count: int) -> tuple[int, str]:
    """So many cases of one kind; how many they were, and what was wrong with one."""
    from hypothesis import HealthCheck, given, settings
    from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

    asked = 0

    @given(case=cases)
    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def ask(case: Any) -> None:
        nonlocal asked
        asked += 1
        # a random format is no format; the doors have tests of their own (`tests/server/test_routes.py`)
        case.call_and_validate(headers=BEARER, excluded_checks=[positive_data_acceptance, ignored_auth])

    try:
        ask()
    except BaseExceptionGroup as error:  # what schemathesis finds
        return asked, f"{type(error).__name__}: {' '.join(str(error.exceptions[0]).split())[:300]}"
    except Exception as error:
        return asked, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return asked, ""
