"""An old conversation is not today's because it is read today: lists are in the order of what was said last."""

from __future__ import annotations

import json
from pathlib import Path

import hansard
from hansard import Conversation, Ledger, Message
from hansard.model import TextPart
from hansard.sessions.discovery import Session
from hansard.sessions.importer import import_session


def dated(key: str, *times: str) -> Conversation:
    messages = [
        Message(role="user", id=f"{key}{i}", parts=[TextPart(text=f"{key}{i}")], created_at=time)
        for i, time in enumerate(times)
    ]
    return Conversation(id=key, messages=messages)


def test_a_thread_is_as_old_as_its_last_message(ledger: Ledger) -> None:
    ledger.import_conversation(dated("new", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"))
    ledger.import_conversation(dated("old", "2025-01-01T00:00:00Z"))
    assert [thread.id for thread in ledger.threads().items] == ["new", "old"]
    assert ledger.thread("new").updated_at.startswith("2026-03-02")
    ledger.import_conversation(dated("old", "2025-01-01T00:00:00Z", "2026-04-01T00:00:00Z"))
    assert [thread.id for thread in ledger.threads().items] == ["old", "new"]


def test_what_is_dated_in_the_time_to_come_is_of_now(ledger: Ledger) -> None:
    made = ledger.create_thread("now").updated_at
    ledger.import_conversation(dated("later", "2999-01-01T00:00:00Z"))
    assert made[:4] <= ledger.thread("later").updated_at[:4] < "2999"


def test_a_session_file_is_as_old_as_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "5e551000-0000-4000-8000-000000000001.jsonl"
    lines = [
        {
            "type": "user",
            "uuid": f"00000000-0000-4000-8000-00000000000{i}",
            "parentUuid": None if i == 1 else f"00000000-0000-4000-8000-00000000000{i - 1}",
            "sessionId": "5e551000-0000-4000-8000-000000000001",
            "cwd": "/x",
            "userType": "external",
            "timestamp": f"2025-05-0{i}T10:00:00.000Z",
            "message": {"role": "user", "content": f"say {i}"},
        }
        for i in (1, 2)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        thread = import_session(ledger, Session(path, "")).thread_id
        assert ledger.thread(thread).updated_at.startswith("2025-05-02T10:00:00")


def test_a_session_without_any_date_is_as_old_as_its_import(tmp_path: Path, ledger: Ledger) -> None:
    """Not of 1970, which would hide it behind everything else."""
    before = ledger.create_thread("before").updated_at
    path = tmp_path / "5e551000-0000-4000-8000-000000000001.jsonl"
    said = {"role": "user", "content": "say"}
    line = {"type": "user", "uuid": "a", "parentUuid": None, "sessionId": path.stem, "cwd": "/x", "message": said}
    title = {"type": "custom-title", "customTitle": "Nothing said yet", "sessionId": path.stem}
    for text in (json.dumps(title) + "\n", json.dumps(title) + "\n" + json.dumps(line) + "\n"):
        path.write_text(text)
        thread = import_session(ledger, Session(path, "claude-code")).thread_id
        assert ledger.thread(thread).updated_at >= before
        assert [one.id for one in ledger.threads().items] == [thread, "before"]
