"""What the OpenAPI says is so: random requests, right and wrong, get only the answers it lists, and never a 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from litestar.testing import TestClient
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

import hansard
from hansard.model import Message, TextPart, ToolCallPart
from hansard.model.conversation import PendingCall
from hansard.server import create_app
from hansard.workspace import Author, Workspace
from tests.server.live import BEARER, LiveServer

CONFIG = schemathesis.Config.from_dict(
    {"generation": {"mode": "all", "allow-x00": True}, "phases": {"coverage": {"enabled": True}}}
)
PARTS = 6  # in which the operations are asked, so that each is far from the time limit of a test


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A live server with an agent, and a ledger that has something of everything."""
    db = tmp_path_factory.mktemp("openapi") / "ledger.db"
    with hansard.open(str(db)) as ledger:
        for key in ("t", "gone"):
            ledger.create_thread(key, title="Tea")
            ledger.append(key, Message(id="m", role="user", parts=[TextPart(text="Which tea?")]))
        with ledger.begin_run("t", id="r") as run:
            run.stage(Message(id="a", role="assistant", parts=[ToolCallPart(tool_call_id="c", tool_name="brew")]))
            run.commit(pending=[PendingCall(tool_call_id="c", kind="external")])
        ledger.forget("gone")
        (db.parent / "project").mkdir()
        with Workspace(ledger, db.parent / "project") as files:
            files.snapshot()
            with files.tool(Author(thread_id="t", message_id="a"), "tea.txt"):
                (db.parent / "project" / "tea.txt").write_text("Assam")
    with LiveServer(db, delay=0) as server:
        schema = schemathesis.openapi.from_url(f"{server.url}/schema/openapi.json", config=CONFIG, headers=BEARER)
        schema.hook(map_path_parameters)
        yield schema


def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Half of what is asked for is there: random ids alone would only ever be answered with 404."""
    there = {
        "name": "r",
        "thread_id": "t",
        "message_id": "m",
        "run_id": "r",
        "workspace": 1,
        "snapshot": 1,
        "number": 0,
    }
    if not path_parameters:
        return path_parameters
    return {key: there[key] if len(str(value)) % 2 else value for key, value in path_parameters.items()}


@pytest.mark.parametrize("part", range(PARTS))
def test_only_documented_answers_are_given(api: Any, part: int) -> None:
    operations = [found.ok() for found in api.get_all_operations()]
    assert len(operations) > 25
    for operation in operations[part::PARTS]:
        check(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
        if operation.body or operation.query:  # nothing is wrong with what only names a thing
            check(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))


def check(cases: Any) -> None:
    @given(case=cases)
    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def ask(case: Any) -> None:
        case.call_and_validate(excluded_checks=[positive_data_acceptance])  # a random format is no format

    ask()


def test_what_is_said_of_a_forgotten_thread_is_documented() -> None:
    words = {"role": "user", "content": "hi"}
    asked = {
        "/api/threads": {"id": "t"},
        "/api/import": {"format": "anthropic", "document": {"messages": [words]}, "threadId": "t"},
    }
    with hansard.open(":memory:") as ledger, TestClient(create_app(ledger), base_url="http://127.0.0.1") as client:
        ledger.create_thread("t")
        ledger.forget("t")
        paths = client.get("/schema/openapi.json").json()["paths"]
        for path, body in asked.items():
            answer = client.post(path, json=body)
            assert answer.status_code == 404, path
            assert "forgotten" in answer.json()["error"]
            assert "404" in paths[path]["post"]["responses"], path
