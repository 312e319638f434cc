"""Many processes, cancelled calls, forked handles and a second SQLite library."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import sqlite3
import sys
from pathlib import Path

import pytest

import hansard
from hansard.errors import Conflict, ForkedHandle, StorageError
from tests.store.said import said, words

WRITERS, EACH = 8, 1000


def write(url: str, writer: int, shared: bool) -> None:
    with hansard.open(url) as ledger:
        thread = ledger.create_thread("shared" if shared else f"t{writer}").id
        for number in range(EACH):
            ledger.append(thread, said(f"{writer}-{number}"))


@pytest.mark.parametrize("shared", [False, True], ids=["own threads", "one thread"])
def test_eight_processes_lose_nothing(url: str, shared: bool) -> None:
    if url == ":memory:":
        pytest.skip("memory is one process's own")
    spawn = multiprocessing.get_context("spawn")
    going = [spawn.Process(target=write, args=(url, writer, shared)) for writer in range(WRITERS)]
    for process in going:
        process.start()
    for process in going:
        process.join()
    assert [process.exitcode for process in going] == [0] * WRITERS
    with hansard.open(url) as ledger:
        threads = ["shared"] if shared else [f"t{writer}" for writer in range(WRITERS)]
        said_now = [text for thread in threads for text in words(ledger.transcript(thread))]
        assert sorted(said_now) == sorted(f"{w}-{n}" for w in range(WRITERS) for n in range(EACH))
        for writer in range(WRITERS):
            own = [text for text in said_now if text.startswith(f"{writer}-")]
            assert own == [f"{writer}-{number}" for number in range(EACH)]


def test_fresh_files_may_be_opened_by_many_at_once(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    for start in range(3):
        going = [spawn.Process(target=start_up, args=(str(tmp_path / f"{start}.db"),)) for _ in range(WRITERS)]
        for process in going:
            process.start()
        for process in going:
            process.join()
        assert [process.exitcode for process in going] == [0] * WRITERS


def start_up(url: str) -> None:
    with hansard.open(url) as ledger:
        ledger.append(ledger.create_thread().id, said("hi"))


def test_a_cancelled_call_is_done_or_not_done_and_the_ledger_goes_on(url: str) -> None:
    rng = random.Random(3)

    async def main() -> None:
        with hansard.open(url) as ledger:
            thread = (await ledger.aio.create_thread()).id
            answered: set[str] = set()

            async def append(key: str) -> None:
                await ledger.aio.append(thread, said(key, id=key))
                answered.add(key)

            for round_ in range(40):
                tasks = [asyncio.create_task(append(f"{round_}-{i}")) for i in range(10)]
                await asyncio.sleep(rng.uniform(0, 0.004))
                for task in tasks:
                    if rng.random() < 0.5:
                        task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            await ledger.aio.append(thread, said("last", id="last"))
            kept = [message.id for message in await ledger.aio.transcript(thread)]
            assert len(kept) == len(set(kept))
            assert answered <= set(kept)
            for key in {f"{r}-{i}" for r in range(40) for i in range(10)}:
                await ledger.aio.append(thread, said(key, id=key))  # a retry is safe, whatever came of the first
            assert len(await ledger.aio.transcript(thread)) == 401

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_handle_that_came_through_a_fork_is_refused(tmp_path: Path) -> None:
    ledger = hansard.open(str(tmp_path / "ledger.db"))
    thread = ledger.create_thread().id
    pid = os.fork()
    if pid == 0:
        try:
            ledger.append(thread, said("child"))
        except ForkedHandle:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    ledger.append(thread, said("parent"))
    ledger.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files are open")
def test_a_second_sqlite_library_in_the_process_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    hansard.open(path).close()
    other = sqlite3.connect(path)
    other.execute("select 1 from thread").fetchall()
    with pytest.raises(StorageError, match="another SQLite library"):
        hansard.open(path)
    other.close()
    hansard.open(path).close()


def test_a_job_that_fails_leaves_the_others_of_its_commit_alone(tmp_path: Path) -> None:
    async def main() -> None:
        with hansard.open(str(tmp_path / "ledger.db")) as ledger:
            thread = (await ledger.aio.create_thread()).id
            await ledger.aio.append(thread, said("x", id="x"))
            calls = [ledger.aio.append(thread, said(f"{i}", id="x" if i % 3 == 0 else f"{i}")) for i in range(30)]
            done = await asyncio.gather(*calls, return_exceptions=True)
            assert [isinstance(one, Conflict) for one in done] == [i % 3 == 0 for i in range(30)]
            assert len(await ledger.aio.transcript(thread)) == 21

    asyncio.run(main())
