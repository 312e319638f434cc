"""A forgotten thread is gone from every table and from the bytes of the file; its tombstone says that it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import Conversation, Ledger
from hansard.errors import NotFound, StorageError
from hansard.ledger.maintenance import erasure
from hansard.model import Snapshot
from tests.ledger.maintenance.test_prune import count
from tests.ledger.said import said, transcript

TABLES = ("message", "segment", "run", "run_chunk", "snapshot", "feed", "blob", "blob_use")
LONG = "a very long confession " * 400


def confess(ledger: Ledger, key: str, word: str) -> None:
    """A thread that says a word everywhere: titles, metadata, messages, runs, branches, blobs, snapshots."""
    files = [Snapshot(message_id="s", files={"file": word})]
    talk = Conversation(id=key, title=f"{word}title", messages=[said(f"{word}first", id="s")], snapshots=files)
    ledger.import_conversation(talk)
    ledger.update_thread(key, title=f"{word}again", metadata={"note": f"{word}meta"})
    for i in range(40):
        ledger.append(key, said(f"{word}{i}", id=f"{word}{i}"))
    ledger.append(key, said(f"{word} {LONG}"))
    run = ledger.begin_run(key, fork_from=f"{word}3", metadata={"why": f"{word}run"})
    run.stage(said(f"{word}staged"))
    run.fail(f"{word}error")
    other = ledger.begin_run(key, fork_from=f"{word}7")
    other.stage(said(f"{word}answer"))
    other.commit()
    ledger.prune()


def test_only_a_tombstone_is_left(ledger: Ledger) -> None:
    confess(ledger, "t", "secret")
    before = ledger.thread("t")
    stone = ledger.forget("t")
    assert (stone.id, stone.messages, stone.wiped) == ("t", before.messages, True)
    assert len(stone.head_hash) == 64
    assert {table: count(ledger, table) for table in TABLES} == dict.fromkeys(TABLES, 0)
    for action in (ledger.thread, ledger.transcript, ledger.export_conversation, ledger.create_thread):
        with pytest.raises(NotFound, match="was forgotten"):
            action("t")
    with pytest.raises(NotFound, match="was forgotten"):
        ledger.append("t", said("again"))
    with pytest.raises(NotFound, match="was forgotten"):
        ledger.import_conversation(Conversation(id="t", messages=[said("again")]))
    assert ledger.forget("t") == ledger.tombstone("t") == stone
    assert ledger.threads().items == []
    assert ledger.verify() == []
    with pytest.raises(NotFound, match="no thread 'nobody'"):
        ledger.forget("nobody")
    with pytest.raises(NotFound):
        ledger.tombstone("nobody")


def test_other_threads_keep_what_they_share(ledger: Ledger) -> None:
    confess(ledger, "t", "secret")
    ledger.create_thread("u")
    ledger.append("u", said(f"secret {LONG}"))
    ledger.forget("t")
    assert transcript(ledger, "u") == [f"secret {LONG}"]
    assert (count(ledger, "blob"), count(ledger, "blob_use"), count(ledger, "message")) == (1, 1, 1)
    assert ledger.verify() == []


def test_no_byte_of_it_is_left_in_the_files(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with hansard.open(str(path)) as ledger:
        driver: Any = ledger._driver
        confess(ledger, "kept", "innocent")
        confess(ledger, "t", "zyzzyva")
        confess(ledger, "kept2", "harmless")
        if hasattr(ledger, "search"):
            assert ledger.search("zyzzyvafirst").items
        rows = driver._writer.execute("select body from message where id like 'zyzzyva%'").fetchall()
        rows += driver._writer.execute(
            "select data from blob where hash in (select hash from blob_use join thread using (thread) where id = 't')"
        ).fetchall()
        rows += driver._writer.execute("select body from thread where id = 't'").fetchall()
        rows += driver._writer.execute(
            "select run.body from run join thread using (thread) where thread.id = 't'"
        ).fetchall()
        needles = [bytes(body)[8:] for (body,) in rows] + [b"zyzzyva", "zyzzyva".encode("utf-16-le")]
        assert all(len(needle) > 6 for needle in needles)
        assert any(needle in data for needle in needles for data in contents(path))
        ledger.forget("t")
        assert [needle for needle in needles for data in contents(path) if needle in data] == []
        assert ledger.verify() == []
    assert [needle for needle in needles for data in contents(path) if needle in data] == []


def contents(path: Path) -> list[bytes]:
    return [file.read_bytes() for file in path.parent.glob(f"{path.name}*")]


def test_a_reader_of_an_old_snapshot_is_named_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hansard.ledger.backends.sqlite._WIPE", 50)
    path = str(tmp_path / "ledger.db")
    with hansard.open(path) as ledger, hansard.open(path) as reader:
        confess(ledger, "t", "zyzzyva")

        def look(tx: Any) -> bool:
            assert tx.one("thread", id="t")
            return ledger.forget("t").wiped

        assert reader._driver.read(look) is False
        assert ledger.forget("t").wiped is True


def test_the_index_is_tidied_in_steps_between_which_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "PAGES", 1)
    path = tmp_path / "ledger.db"
    with hansard.open(str(path)) as ledger, hansard.open(str(path)) as other:
        ledger.create_thread("t")
        ledger.append("t", said("zyzzyvafirst"))
        for i in range(30):  # so many that FTS5 leaves one deleted row where it is
            ledger.create_thread(f"t{i}")
            words = [" ".join(f"w{(i * 7919 + j * 104_729 + k * 31) % 50_000}" for k in range(60)) for j in range(20)]
            ledger.append(f"t{i}", [said("tea"), *map(said, words)])
        assert ledger.search("zyzzyvafirst").items
        step, between = erasure._purge_step, []

        def tidy(tx: Any, pages: int) -> int | None:
            between.append(pages)
            return step(tx, pages)

        def lost(tx: Any, pages: int) -> int | None:
            if len(between) == 2:
                raise StorageError("the power is gone")
            return tidy(tx, pages)

        monkeypatch.setattr(erasure, "_purge_step", lost)
        with pytest.raises(StorageError, match="power"):
            ledger.forget("t")
        other.append("t0", said("meanwhile"))
        other.search("meanwhile")  # a new piece of the index, while old ones are being put together
        monkeypatch.setattr(erasure, "_purge_step", tidy)
        assert ledger.forget("t").wiped
        assert len(between) > 4
        assert [data for data in contents(path) if b"zyzzyva" in data] == []
        assert [hit.thread_id for hit in other.search("meanwhile").items] == ["t0"]
        assert len(other.search("tea", limit=100).items) == 30
        assert ledger.verify() == []
