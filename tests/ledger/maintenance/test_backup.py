"""A backup is the whole ledger at one moment, while others write; it opens as a ledger and says the same."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import hansard
from hansard import Ledger
from hansard.errors import StorageError
from hansard.ledger.maintenance import backup
from hansard.model import native
from tests.ledger.maintenance.test_verify import fill
from tests.ledger.said import said, transcript


def everything(ledger: Ledger) -> dict[str, bytes]:
    return {thread.id: native.encode(ledger.export_conversation(thread.id)) for thread in ledger.threads().items}


def test_a_backup_says_the_same(ledger: Ledger, tmp_path: Path) -> None:
    fill(ledger)
    run = ledger.begin_run("t")
    run.stage(said("still going on"))
    ledger.append(ledger.create_thread("odd \x00 \ud800").id, said("\x00\ud800", id="\x00"))
    seen: list[tuple[int, int]] = []
    ledger.backup(str(tmp_path / "copy.db"), lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    with hansard.open(str(tmp_path / "copy.db")) as copy:
        assert everything(copy) == everything(ledger)
        assert copy.verify() == []
        assert copy.runs("t") == ledger.runs("t")
        assert copy.tombstone("u") == ledger.tombstone("u")
        copy.append("t", said("and on"))
        assert transcript(copy, "t") == [*transcript(ledger, "t"), "and on"]
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0


def test_every_table_is_copied_or_made_anew(tmp_path: Path) -> None:
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        rows = ledger._driver._writer.execute(  # type: ignore[attr-defined]
            "select name from sqlite_schema where type = 'table' and name not like 'search\\_%' escape '\\'"
        ).fetchall()
    assert {name for (name,) in rows} == {*backup.OF_THREADS, *backup.OF_ALL, "blob", *backup.LEFT}


def test_a_backup_under_writers_is_one_moment(ledger: Ledger, tmp_path: Path) -> None:
    stop = threading.Event()
    names = [ledger.create_thread(f"t{i}").id for i in range(4)]
    for name in names:
        ledger.append(name, said(f"first {name}"))

    def talk(name: str) -> None:
        number = 0
        while not stop.is_set():
            with ledger.begin_run(name) as run:
                run.stage([said(f"{name} {number} {part}" * 40) for part in range(3)])
            number += 1

    writers = [threading.Thread(target=talk, args=(name,)) for name in names]
    for writer in writers:
        writer.start()
    try:
        for i in range(8):
            ledger.backup(str(tmp_path / f"{i}.db"))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    for i in range(8):
        with hansard.open(str(tmp_path / f"{i}.db")) as copy:
            assert copy.verify() == []
            for name in names:
                said_then, said_now = transcript(copy, name), transcript(ledger, name)
                assert said_now[: len(said_then)] == said_then
                assert len(said_then) % 3 == 1, "a run was copied in part"


def test_a_backup_replaces_an_older_one_only_when_it_is_whole(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "copy.db"
    path.write_bytes(b"the older one")

    def fail(done: int, total: int) -> None:
        raise KeyboardInterrupt

    fill(ledger)
    with pytest.raises(KeyboardInterrupt):
        ledger.backup(str(path), fail)
    assert path.read_bytes() == b"the older one"
    assert [found.name for found in tmp_path.glob("copy*")] == ["copy.db"]
    ledger.backup(str(path))
    with hansard.open(str(path)) as copy:
        assert copy.verify() == []


def test_a_ledger_is_not_its_own_backup(tmp_path: Path) -> None:
    with hansard.open(str(tmp_path / "ledger.db")) as ledger:
        with pytest.raises(StorageError, match="is the ledger itself"):
            ledger.backup(str(tmp_path / "ledger.db"))
        with pytest.raises(StorageError, match="is a folder"):
            ledger.backup(str(tmp_path))
        with pytest.raises(StorageError, match="No such file"):
            ledger.backup(str(tmp_path / "no" / "where.db"))
