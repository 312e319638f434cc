"""The fault tests' own PostgreSQL: which processes are stopped and let go on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from tests.faults.postgres.server import Postgres


def test_a_process_that_ends_while_it_is_listed_hides_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Else the frozen ones are not found again, and hang for ever."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    ended = psutil.Process(gone.pid)
    gone.wait()
    waits = [sys.executable, "-c", "print(flush=True); input()", "walreceiver"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()  # it has its own arguments now
        (tmp_path / "postmaster.pid").write_text(f"{os.getpid()}\n")
        monkeypatch.setattr(psutil.Process, "children", lambda *_, **__: [ended, psutil.Process(child.pid)])
        server: Any = SimpleNamespace(data=tmp_path)
        assert [one.pid for one in Postgres.processes(server, "walreceiver")] == [child.pid]
        assert [one.pid for one in Postgres.processes(server)] == [os.getpid(), gone.pid, child.pid]
        child.communicate(b"\n")
