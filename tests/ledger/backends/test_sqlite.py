"""What only the SQLite driver has to hold."""

from __future__ import annotations

import itertools
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.errors import ForkedHandle, StorageError
from hansard.ledger.backends.sqlite import SqliteDriver
from tests.ledger.said import said


def test_a_handle_that_came_through_a_fork_is_refused_also_when_somebody_was_writing(tmp_path: Path) -> None:
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        driver: Any = ledger._driver
        with driver._lock:
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                try:
                    ledger.create_thread("child")
                except ForkedHandle:
                    os._exit(7)
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_a_reader_that_comes_back_while_the_ledger_closes_is_closed_too(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    ledger = hansard.open(path)
    driver: Any = ledger._driver

    class Late(list[Any]):
        def append(self, connection: Any) -> None:
            ledger.close()
            super().append(connection)

    driver._readers = Late()
    ledger.threads()
    with hansard.open(path) as again:  # a connection left open would be taken for another library's
        assert again.threads().items == []


def test_an_append_behind_a_known_head_reads_nothing_and_writes_four_pages(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with hansard.open(str(path)) as ledger:
        thread = ledger.create_thread().id
        ledger.append(thread, [said(str(i)) for i in range(3)])
        driver: Any = ledger._driver
        ran: list[str] = []
        driver._writer.exec_trace = lambda cursor, text, values: ran.append(text) or True
        sizes = []
        for i in range(20):
            ledger.append(thread, said(f"small {i}"))
            sizes.append(os.path.getsize(f"{path}-wal"))
    verbs = [re.sub("--.*\\n", "", text).split()[0] for text in ran]
    assert verbs == ["begin", "insert", "update", "commit"] * 20
    grown = sorted(after - before for before, after in itertools.pairwise(sizes))
    assert grown[len(grown) // 2] == 4 * (4096 + 24)  # the message, its two keys, the thread


def test_a_connection_whose_set_up_fails_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One left open would be taken for another library's at the next opening."""
    path = str(tmp_path / "ledger.db")

    def fail(self: SqliteDriver, connection: Any) -> None:
        connection.execute("select 1 from sqlite_schema").fetchall()
        raise StorageError("no")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteDriver, "_set_up", fail)
        with pytest.raises(StorageError, match="no") as kept:  # its traceback keeps the connection alive
            hansard.open(path)
    with hansard.open(path) as ledger:
        assert ledger.threads().items == []
    del kept
