"""The files that threads were imported from are verified, copied and forgotten with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hansard
from hansard import Ledger
from hansard.sessions.discovery import Session
from hansard.sessions.exporter import session_files
from hansard.sessions.importer import import_session
from tests.conftest import GOLDEN
from tests.ledger.maintenance.test_prune import count

FILE = GOLDEN / "claude-code" / "prompt_and_answer.jsonl"


def test_a_backup_holds_the_files(ledger: Ledger, tmp_path: Path) -> None:
    done = import_session(ledger, Session(FILE, "claude-code"))
    ledger.backup(str(tmp_path / "copy.db"))
    with hansard.open(str(tmp_path / "copy.db")) as copy:
        assert copy.verify() == []
        files = session_files(copy, done.thread_id, done.format)
        assert files is not None
        assert files[FILE.name] == FILE.read_bytes()


def test_the_files_of_a_forgotten_thread_are_forgotten(ledger: Ledger) -> None:
    done = import_session(ledger, Session(FILE, "claude-code"))
    ledger.forget(done.thread_id)
    assert (count(ledger, "source"), count(ledger, "source_chunk")) == (0, 0)
    assert ledger.verify() == []


def test_a_changed_file_is_named(tmp_path: Path) -> None:
    for change in (
        "update source set hash = x'00'",
        "delete from source_chunk",
        "update source_chunk set at = at + 1",
        "update source_chunk set data = x'0041'",
    ):
        with hansard.open(":memory:") as ledger:
            done = import_session(ledger, Session(FILE, "claude-code"))
            assert ledger.verify() == []
            driver: Any = ledger._driver
            driver._writer.execute(change)
            (problem,) = ledger.verify()
            assert (problem.thread_id, problem.what) == (done.thread_id, "its bytes do not match its hash")
