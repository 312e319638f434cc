"""Messages over HTTP are those of the canonical schema: version included, in what is posted and in what is returned."""

from __future__ import annotations

from typing import Any

from litestar.testing import TestClient

import hansard
from hansard.cli import run
from hansard.server import create_app


def message(id: str, parent: str | None, **metadata: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": id}]
    told = {"id": id, "parentMessageId": parent, "role": "user", "parts": parts, "createdAt": "2026-01-02T03:04:05Z"}
    return {**told, "metadata": {"schemaVersion": 1, **metadata}}


def test_a_canonical_message_is_returned_and_exported_as_it_was_posted(ledger: hansard.Ledger) -> None:
    posted = [message("M1", None), message("M2", "M1", layer="stream"), message("M3", "M2", schemaVersion=9)]
    with TestClient(create_app(ledger), base_url="http://127.0.0.1") as client:
        client.post("/api/threads", json={"id": "t"})
        assert client.post("/api/threads/t/messages", json={"messages": posted}).json() == {"messages": posted}
        assert client.post("/api/threads/t/messages", json={"messages": posted}).status_code == 201  # again: no change
        assert client.get("/api/threads/t/messages", params={"newest": False}).json()["items"] == posted
        assert client.get("/api/threads/t/messages/M3").json() == posted[2]
        exported = client.get("/api/threads/t/export", params={"format": "hansard"}).json()
    assert exported["losses"] == []
    assert hansard.read(exported["text"]).messages == hansard.read(posted).messages
    assert [one.metadata for one in ledger.transcript("t")] == [None, {"layer": "stream"}, None]


def test_a_transcript_as_json_is_a_valid_document(tmp_path: Any, capsys: Any) -> None:
    db = str(tmp_path / "ledger.db")
    with hansard.open(db) as ledger:
        ledger.create_thread("t")
        ledger.append("t", hansard.Message.user("Hi"))
    assert run(["show", "t", "--json", "--db", db]) == 0
    (tmp_path / "shown.json").write_text(capsys.readouterr().out)
    assert run(["validate", str(tmp_path / "shown.json")]) == 0
    assert "no findings" in capsys.readouterr().out
