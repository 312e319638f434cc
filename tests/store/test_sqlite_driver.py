"""What only the SQLite driver has to hold."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import hansard
from hansard.errors import ForkedHandle


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
