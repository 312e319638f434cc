"""Disk full and I/O errors: the call says so, what was acknowledged stays, writing goes on without a restart."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import hansard
from hansard import Conversation, Ledger
from hansard.errors import StorageError
from tests.faults.disk_layer import Call, Layer
from tests.faults.faulty_disk import Fault, FaultyDisk
from tests.store.said import said, words

OLD = Path(__file__).parent.parent / "golden/ledgers/0001.db"
LARGE = "x" * 30_000


@pytest.fixture
def fault() -> Iterator[Fault]:
    found = Fault()
    disk = FaultyDisk("faulty", found)
    yield found
    disk.unregister()


def append(ledger: Ledger, key: str) -> None:
    ledger.append("t", said(key + LARGE, id=key))


def commit(ledger: Ledger, key: str) -> None:
    run = ledger.begin_run("t", id=f"run-{key}")
    ledger.stage("t", run.id, said(key + LARGE, id=key))
    ledger.commit("t", run.id)


def sync(ledger: Ledger, key: str) -> None:
    ledger.sync("t", Conversation(messages=[*ledger.transcript("t"), said(key, id=key)]))


@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError], ids=["io", "full"])
@pytest.mark.parametrize("sticky", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("action", [append, commit, sync])
def test_a_failing_disk_loses_nothing_acknowledged(
    tmp_path: Path, fault: Fault, error: type[apsw.Error], sticky: bool, action: Callable[[Ledger, str], None]
) -> None:
    with hansard.open(str(tmp_path / "ledger.db"), vfs="faulty") as ledger:
        ledger.create_thread("t")
        ledger.append("t", said("first", id="first"))
        kept, failed = ["first"], 0
        for n in range(40):
            fault.arm(n, error, sticky=sticky)
            try:
                action(ledger, f"k{n}")
                kept.append(f"k{n}")
            except StorageError:
                failed += 1
            fault.disarm()
            now = [message.id for message in ledger.transcript("t")]
            assert [key for key in kept if key not in now] == []
            assert set(now) - set(kept) <= {f"k{n}"}, "only the call that failed may have been written"
            kept = [str(key) for key in now]
        assert failed >= 3, "the disk never failed: the test looks away"
        ledger.append("t", said("last"))
        assert words(ledger.transcript("t"))[-1] == "last"
        assert ledger.verify() == []
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        assert [message.id for message in ledger.transcript("t")][: len(kept)] == kept


def test_a_full_disk_fails_a_whole_commit_of_many_and_none_of_them_is_there(tmp_path: Path, fault: Fault) -> None:
    async def main() -> None:
        with hansard.open(str(tmp_path / "ledger.db"), vfs="faulty") as ledger:
            ledger.create_thread("t")
            fault.arm(2, apsw.FullError, sticky=True)
            calls = [ledger.aio.append("t", said(f"{i}{LARGE}", id=str(i))) for i in range(20)]
            done = await asyncio.gather(*calls, return_exceptions=True)
            fault.disarm()
            failed = {str(i) for i, one in enumerate(done) if isinstance(one, StorageError)}
            assert failed
            assert {message.id for message in ledger.transcript("t")} == {str(i) for i in range(20)} - failed
            await ledger.aio.append("t", said("after"))

    asyncio.run(main())


def test_a_ledger_whose_making_was_cut_off_opens(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    shutil.copy(OLD, path)

    def die(call: Call) -> None:
        if call.kind == "write" and call.path == str(path):
            os._exit(9)  # the rollback journal is there, and the file has to be rolled back

    child = os.fork()
    if child == 0:
        with Layer(tmp_path, before=die):
            hansard.open(str(path))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert os.path.getsize(f"{path}-journal")
    with hansard.open(str(path)) as ledger:
        assert ledger.verify() == []
