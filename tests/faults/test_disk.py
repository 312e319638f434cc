"""Disks that fail, one case each; `prove_sqlite_disk` tries every call."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from pathlib import Path

import pytest

import hansard
from hansard.errors import StorageError
from tests.faults.disk_layer import Call, Layer
from tests.faults.sqlite.failing_disk import FailingDisk, Fault
from tests.ledger.said import said

OLD = Path(__file__).parent.parent / "golden/ledgers/0001.db"
LARGE = "x" * 30_000


def test_a_full_disk_fails_a_whole_commit_of_many_and_none_of_them_is_there(tmp_path: Path) -> None:
    disk = FailingDisk()

    async def main() -> None:
        with Layer(tmp_path, before=disk), hansard.open(str(tmp_path / "ledger.db")) as ledger:
            ledger.create_thread("t")
            disk.arm(Fault(2, errno.ENOSPC, True))
            calls = [ledger.aio.append("t", said(f"{i}{LARGE}", id=str(i))) for i in range(20)]
            done = await asyncio.gather(*calls, return_exceptions=True)
            disk.disarm()
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


def test_a_ledger_that_could_not_be_opened_can_be_opened_later(tmp_path: Path) -> None:
    disk = FailingDisk()
    path = str(tmp_path / "ledger.db")
    with Layer(tmp_path, before=disk):
        disk.arm(Fault(60, errno.EIO, True))
        with pytest.raises(StorageError) as kept:  # the error is held: with it lives what it was raised from
            hansard.open(path)
        disk.disarm()
        hansard.open(path).close()
    assert "ledger.db" in str(kept.value)
