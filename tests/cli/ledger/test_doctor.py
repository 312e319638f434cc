"""`hansard doctor` on things that are really broken, each named with its way out; and on a healthy ledger, silence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import hansard
from hansard.cli.ledger.doctor import _extra, examine
from hansard.model import Message, TextPart


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A ledger with something in it."""
    url = str(tmp_path / "ledger.db")
    with hansard.open(url) as ledger:
        thread = ledger.create_thread("t")
        for i in range(200):
            ledger.append(thread.id, Message(role="user", parts=[TextPart(text=f"{i} " + os.urandom(400).hex())]))
    return url


def states(db: str, about: str) -> list[tuple[str, str]]:
    return [(finding.state, finding.found) for finding in examine(db) if finding.about == about]


def doctor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hansard", "doctor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_a_healthy_ledger_has_nothing_wrong(path: str, tmp_path: Path) -> None:
    done = doctor("--db", path, HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("no problems\n")
    for word in ("SQLite", "extra agent", "extra server", "schema", "full: journal_mode=wal", "quick check: ok"):
        assert word in done.stdout


def test_json_says_the_same(path: str) -> None:
    done = doctor("--db", path, "--json")
    found = json.loads(done.stdout)
    assert {"about", "found"} <= set(found[0])
    assert not [finding for finding in found if finding.get("state") == "wrong"]


def test_looking_changes_nothing(path: str, tmp_path: Path) -> None:
    before = Path(path).read_bytes()
    list(examine(path))
    list(examine(str(tmp_path / "none" / "ledger.db")))
    assert Path(path).read_bytes() == before
    assert not (tmp_path / "none").exists()


def test_no_ledger_yet_is_no_fault(tmp_path: Path) -> None:
    assert states(str(tmp_path / "new" / "a.db"), "ledger")[0][0] == "note"


def test_a_ledger_that_others_may_read(path: str) -> None:
    os.chmod(path, 0o644)
    assert states(path, "ledger")[0][0] == "wrong"
    done = doctor("--db", path)
    assert done.returncode == 1
    assert f"fix: chmod 600 {path}" in done.stdout


def test_pages_that_were_overwritten(path: str) -> None:
    with apsw.Connection(path) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xff" * 8192)
    wrong = [finding for finding in examine(path) if finding.state == "wrong"]
    assert [str(finding.way_out).partition(";")[0] for finding in wrong] == ["restore a backup"]


def test_a_file_that_is_cut_off(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2)
    assert any(finding.state == "wrong" for finding in examine(path))


@pytest.mark.parametrize("words", [b"", b"some words, and no database at all" * 50])
def test_a_file_that_is_no_ledger(tmp_path: Path, words: bytes) -> None:
    other = tmp_path / "notes.txt"
    other.write_bytes(words)
    other.chmod(0o600)
    wrong = [finding for finding in examine(str(other)) if finding.state == "wrong"]
    assert bool(wrong) is bool(words)


def test_another_programs_database(tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    connection = apsw.Connection(other)
    connection.execute("create table a (b)")
    connection.close()
    os.chmod(other, 0o600)
    assert any(state == "wrong" and "not a ledger" in found for state, found in states(other, "ledger"))


def change(path: str, sql: str) -> None:
    connection = apsw.Connection(path)
    connection.execute(sql)
    connection.close()


def test_a_ledger_of_a_newer_release(path: str) -> None:
    change(path, "insert into schema_migration values (9999, 'x')")
    found = [finding for finding in examine(path) if finding.state == "wrong"]
    assert [finding.way_out for finding in found] == ["pip install --upgrade hansard"]


def test_a_ledger_of_an_older_release(tmp_path: Path) -> None:
    old = sorted((Path(__file__).parent.parent.parent / "golden" / "ledgers").iterdir())[0]
    if old.suffix != ".db":
        pytest.skip("no ledger of an older release is kept as a file")
    copy = shutil.copy(old, tmp_path)
    assert states(str(copy), "schema")[0][0] == "note"


def test_a_run_that_died(path: str) -> None:
    with hansard.open(path) as ledger:
        ledger.begin_run("t", "waiter")
    assert states(path, "runs")[0][0] == "ok"
    change(path, "update run set lease_until = 1")
    assert states(path, "runs") == [("note", "1 stale run: the process died; its messages are kept")]


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert states(str(tmp_path / "file" / "ledger.db"), "folder")[0][0] == "wrong"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no file system without room on this machine")
def test_a_disk_without_room() -> None:
    assert states("/proc/self/ledger.db", "disk")[0][0] == "wrong"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert states(str(tmp_path / "ledger.db"), "folder")[0][0] == "wrong"


def test_an_address_that_is_none() -> None:
    assert states("mysql://here", "ledger")[0][0] == "wrong"


def test_an_extra_that_is_broken_and_one_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise ImportError('no pq wrapper available')")
    done = doctor("--db", str(tmp_path / "l.db"), PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "psycopg is installed, but cannot be imported: no pq wrapper available" in done.stdout
    assert _extra("agent", (("no_such_module", "no-such-package"),)).state == "note"


def test_found_agents_are_told(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "-home-me"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text('{"sessionId":"a","type":"user"}\n')
    done = doctor("--db", str(tmp_path / "l.db"), HOME=str(tmp_path), CLAUDE_CONFIG_DIR="")
    assert f"1 session in {tmp_path}/.claude/projects" in done.stdout


# -- PostgreSQL ----------------------------------------------------------------------------------------------------


def test_a_healthy_server(database: str) -> None:
    assert states(database, "schema") == [("note", "no ledger in this database yet; `hansard import` creates one")]
    with hansard.open(database) as ledger:
        ledger.create_thread("t")
        ledger.begin_run("t")
    assert states(database, "schema")[0][0] == "ok"
    assert states(database, "durability")[0] == ("ok", "full: fsync=on, full_page_writes=on, synchronous_commit=on")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("update run set lease_until = 1")
        connection.execute("insert into schema_migration values (9999, 'x')")
    assert [state for state, _ in states(database, "ledger")] == ["ok", "wrong"]


def test_a_server_that_forgets(database: str, change_setting: Callable[[str, str], None]) -> None:
    change_setting("synchronous_commit", "off")
    state, found = states(database, "durability")[0]
    assert state == "wrong"
    assert "synchronous_commit=off" in found


@pytest.fixture
def change_setting(database: str) -> Any:
    def change(name: str, value: str) -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            row = connection.execute("select current_database()").fetchone()
            assert row is not None
            connection.execute(f"alter database {row[0]} set {name} = {value}".encode())

    return change


def test_a_server_that_is_not_there() -> None:
    found = [finding for finding in examine("postgresql://me:secret@127.0.0.1:1/none") if finding.about == "ledger"]
    assert found[0].state == "wrong"
    assert "secret" not in found[0].found
