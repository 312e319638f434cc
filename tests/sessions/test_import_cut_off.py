"""An import that is cut off at any transaction and begun again ends as if nothing had happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import Ledger
from hansard.ledger import sources
from hansard.ledger.backends import sqlite
from hansard.sessions import importer
from hansard.sessions.discovery import Session
from hansard.sessions.exporter import session_files
from hansard.sessions.importer import import_session


def record(key: str, parent: str | None, **more: Any) -> str:
    said = {"role": "user", "content": key}
    about = {"parentUuid": parent, "isSidechain": False, "sessionId": "s", "cwd": "/", "version": "2.0.1"}
    about |= {"type": "user", "message": said, "uuid": key, "timestamp": "2026-01-01T00:00:00.000Z"}
    return json.dumps(about | more) + "\n"


def grown(folder: Path, count: int) -> Session:
    """A session of so many records, and one of a sub-agent."""
    path, part = folder / "s.jsonl", folder / "agent-1.jsonl"
    path.write_text("".join(record(str(i), str(i - 1) if i else None) for i in range(count)))
    part.write_text(record("x", None, isSidechain=True, agentId="1"))
    return Session(path, "claude-code", (part,))


class CutOff(Exception):
    pass


def import_until(ledger: Ledger, session: Session, transactions: int) -> bool:
    """Import, and stop before the transaction of that number; was it stopped?"""
    write, left = ledger._driver.write, iter(range(transactions))

    def stopping(job: Any) -> Any:
        if next(left, None) is None:
            raise CutOff
        return write(job)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger._driver, "write", stopping)
        try:
            import_session(ledger, session)
        except CutOff:
            return True
    return False


def test_an_import_cut_off_anywhere_is_finished_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "_BATCH_BYTES", 300)
    monkeypatch.setattr(sources, "PIECE", 300)  # so that a file takes several transactions
    for growing in (False, True):
        for transactions in range(40):
            with hansard.open(":memory:") as ledger:
                old, new = (grown(tmp_path, count).path.read_bytes() for count in (3, 7))
                if growing:
                    import_session(ledger, grown(tmp_path, 3))
                cut = import_until(ledger, grown(tmp_path, 7), transactions)
                assert ledger.verify() == [], transactions
                if growing:  # what was imported of a file before is still given back as it was
                    assert session_files(ledger, "s", "claude-code")["s.jsonl"] in (old, new), transactions
                session = grown(tmp_path, 9)  # the agent went on meanwhile
                import_session(ledger, session)
                assert [message.id for message in ledger.transcript("s")] == [str(i) for i in range(9)], transactions
                assert session_files(ledger, "s", "claude-code")["s.jsonl"] == session.path.read_bytes()
                assert ledger.verify() == []
            if not cut:
                break
        assert transactions > 4


def test_a_short_file_is_one_transaction(tmp_path: Path) -> None:
    session = grown(tmp_path, 7)
    with hansard.open(":memory:") as ledger:
        assert import_until(ledger, session, len(session.parts))
    with hansard.open(":memory:") as ledger:
        assert not import_until(ledger, session, 1 + len(session.parts))
        assert ledger.verify() == []


def test_a_thread_that_was_empty_is_not_asked_for_every_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    one = sqlite._Tx.one

    def asking(self: Any, name: str, /, **values: Any) -> Any:
        asked.append(name)
        return one(self, name, **values)

    monkeypatch.setattr(sqlite._Tx, "one", asking)
    with hansard.open(":memory:") as ledger:
        import_session(ledger, grown(tmp_path, 50))
        assert asked.count("place") < 5
        import_session(ledger, grown(tmp_path, 60))
        assert [message.id for message in ledger.transcript("s")] == [str(i) for i in range(60)]


def test_a_session_with_sub_agents_that_grows_is_shown_to_its_end(tmp_path: Path, ledger: Ledger) -> None:
    for count in (2, 3):
        import_session(ledger, grown(tmp_path, count))
        assert [message.id for message in ledger.transcript("s")] == [str(i) for i in range(count)]
