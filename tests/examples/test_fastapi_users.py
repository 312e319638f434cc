"""`examples/fastapi_users.py`: over HTTP, the chats of another user do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "fastapi_users.py"
ANN, BOB = ({"authorization": f"Bearer token-of-{name}"} for name in ("ann", "bob"))
ASK: Any = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Tea, please."}]}]}


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setenv("HANSARD_DB", str(tmp_path / "chat.db"))
    spec = spec_from_file_location("fastapi_users", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    with TestClient(example.app) as opened:
        yield opened
    example.ledger.close()


def test_each_user_finds_their_own_chats_only(client: TestClient) -> None:
    assert client.post("/api/chat", json=ASK).status_code == 401
    assert '"finishReason":"stop"' in client.post("/api/chat", json=ASK, headers=ANN).text
    assert client.get("/api/chats", headers=ANN).json() == [{"id": "c1", "title": "Tea, please."}]
    assert client.get("/api/chats", headers=BOB).json() == []
    assert len(client.get("/api/chat/c1", headers=ANN).json()) == 2
    refused = [
        client.post("/api/chat", json=ASK, headers=BOB),
        client.get("/api/chat/c1", headers=BOB),
        client.get("/api/chat/c1/stream", headers=BOB),
        client.post("/api/chat/c1/stop", headers=BOB),
    ]
    assert [(one.status_code, one.json()) for one in refused] == [(404, {"error": "no thread 'c1'"})] * 4
    assert client.get("/api/chat/c1/stream", headers=ANN).status_code == 204
    assert client.get("/api/chat/new", headers=BOB).json() == []
