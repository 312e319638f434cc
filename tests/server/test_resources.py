"""Over HTTP with `resourceId`: what belongs to another resource does not exist, whatever the path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from litestar.testing import TestClient

import hansard
from hansard.agent import Agent, ScriptedModel
from hansard.server import create_app

ASK: Any = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Tea?"}]}]}


@pytest.fixture
def client() -> Iterator[TestClient[Any]]:
    with hansard.open(":memory:") as ledger:
        agent = Agent(ScriptedModel(["Assam."]), ledger=ledger, name="waiter")
        with TestClient(create_app(ledger, [agent]), base_url="http://127.0.0.1") as opened:
            yield opened


def paths(client: TestClient[Any], run: str) -> list[str]:
    """Every path that reads what an id names."""
    ids = {"thread_id": "c1", "name": run, "message_id": "u1", "run_id": run}
    ids |= {"number": "0", "workspace": "0", "snapshot": "1"}
    paths = [route.path for route in client.app.routes if "GET" in getattr(route, "methods", ())]
    named = [path for path in paths if "{thread_id" in path or "{name:path}" in path]
    return sorted(re.sub(r"\{(\w+):\w+\}", lambda found: ids[found[1]], path).replace("//", "/") for path in named)


def test_every_read_by_id_is_for_the_owner_only(client: TestClient[Any]) -> None:
    asked = client.post("/api/chat", params={"resourceId": "ann"}, json=ASK)
    assert '"finishReason":"stop"' in asked.text
    run = asked.headers["x-workflow-run-id"]
    read = paths(client, run)
    assert {"/api/chat/c1", "/api/threads/c1", f"/api/threads/c1/runs/{run}", f"/streams/{run}"} <= set(read)
    assert len(read) > 12
    for path in read:
        refused = client.get(path, params={"resourceId": "bob"})
        assert refused.status_code == 404, path
        if "/api/threads/" in path:
            unknown = client.get(path.replace("/c1", "/c2"), params={"resourceId": "bob"})
            assert unknown.text == refused.text.replace("c1", "c2"), "a stranger learns that it exists"
        if "files" not in path and "workspaces/" not in path:  # there are none
            assert client.get(path, params={"resourceId": "ann"}).status_code in (200, 204), path


def test_a_stranger_changes_nothing(client: TestClient[Any]) -> None:
    bob = {"resourceId": "bob"}
    client.post("/api/chat", params={"resourceId": "ann"}, json=ASK)
    before = client.get("/api/threads/c1/messages").text
    refused = [
        client.post("/api/chat", params=bob, json=ASK),
        client.post("/api/chat/c1/stop", params=bob),
        client.patch("/api/threads/c1", params=bob, json={"title": "Mine"}),
        client.delete("/api/threads/c1", params=bob),
        client.post("/api/threads/c1/messages", params=bob, json={"messages": []}),
    ]
    assert [one.status_code for one in refused] == [404] * len(refused)
    assert client.get("/api/threads/c1/messages").text == before
    assert client.get("/api/chat/new", params=bob).json() == []


def test_a_run_of_another_resource_is_one_that_does_not_exist(client: TestClient[Any]) -> None:
    run = client.post("/api/chat", params={"resourceId": "ann"}, json=ASK).headers["x-workflow-run-id"]
    for name in (run, "none"):
        found = client.get(f"/api/chat/{name}/stream", params={"resourceId": "bob", "startIndex": "0"})
        assert (found.status_code, found.text) == (204, "")
    assert client.get(f"/api/chat/{run}/stream", params={"resourceId": "ann", "startIndex": "0"}).status_code == 200
