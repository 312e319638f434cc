"""Sessions in agents' databases: rows come back as they were, and what is beside them is neither read nor touched."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import hansard
from hansard import Ledger, formats
from hansard.cli import run
from hansard.formats.coding_agents import rows
from hansard.formats.coding_agents.opencode import schema
from hansard.ledger import sources
from hansard.sessions import databases
from hansard.sessions.discovery import Session
from hansard.sessions.exporter import as_database
from hansard.sessions.importer import import_found
from tests.conftest import GOLDEN
from tests.lab.agents import AGENTS

LAB = GOLDEN / "lab" / "opencode@1.18.33" / "home"
PLACE = Path(".local/share/opencode/opencode.db")
KEPT = ("project", "session", "message", "part", "todo", "event_sequence", "event", "session_input", "migration")
SECRET = "sk-planted-4242424242"
SECRETS = {
    "opencode": {"account", "control_account", "credential", "session_share"},
    "kilo": {"account", "control_account", "credential", "session_share"},
    "openclaw": {"auth_profile_store", "auth_profile_state", "conversations", "cache_entries"},
}
TIME = 1_780_000_000_000


def new_database(path: Path) -> apsw.Connection:
    """An empty database of OpenCode in WAL mode, open for writing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute("pragma journal_mode = wal").fetchall()
    connection.execute("pragma synchronous = off")
    connection.execute("begin")
    for _, statement in schema.tables():
        connection.execute(statement)
    for name in schema.migrations():
        connection.execute("insert into migration values (?, 1)", (name,))
    connection.execute(
        "insert into project (id, worktree, time_created, time_updated, sandboxes) values ('global', '/', 1, 2, '[]')"
    )
    connection.execute("commit")
    return connection


def add_session(connection: apsw.Connection, key: str, parent: str | None = None, **more: Any) -> None:
    row = {"id": key, "project_id": "global", "parent_id": parent, "slug": "s", "directory": "/w", "title": key}
    row |= {"version": "1.18.33", "time_created": TIME, "time_updated": TIME, **more}
    insert(connection, "session", row)


def add_prompt(connection: apsw.Connection, session: str, key: str, text: str, at: int) -> None:
    times = {"session_id": session, "time_created": TIME + at, "time_updated": TIME + at}
    said = rows._ENCODER.encode({"type": "text", "text": text}).decode()
    info = rows._ENCODER.encode({"role": "user", "time": {"created": TIME + at}}).decode()
    insert(connection, "message", {"id": key, **times, "data": info})
    insert(connection, "part", {"id": f"prt_{key}", "message_id": key, **times, "data": said})


def insert(connection: apsw.Connection, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    connection.execute(f"insert or replace into {table} ({', '.join(row)}) values ({marks})", tuple(row.values()))


def table(data: bytes | Path, name: str) -> list[str]:
    """The rows of a table with the kinds of their values."""
    connection = rows.connect(data) if isinstance(data, bytes) else apsw.Connection(str(data))
    try:
        columns = [row[1] for row in connection.execute(f"pragma table_info({name})")]
        shown = ", ".join(f"typeof({one}), hex({one})" for one in columns)
        return sorted(repr(row) for row in connection.execute(f"select {shown} from {name}"))
    finally:
        connection.close()


def look_of(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Every file of a folder: its bytes, and its times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.stat()
        found[str(path)] = (path.read_bytes() if path.is_file() else b"", stat.st_mtime_ns, stat.st_ctime_ns)
    return found


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with hansard.open(tmp_path / "ledger.db") as opened:
        yield opened


def imported(ledger: Ledger, path: Path, name: str = "opencode") -> list[str]:
    return [done.thread_id for done in import_found(ledger, Session(path, name))]


# -- laws ------------------------------------------------------------------------------------------------------------

values = st.one_of(
    st.none(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.binary(max_size=6),
)
sessions = st.lists(
    st.fixed_dictionaries(
        {
            "parent": st.integers(0, 3),
            "summary_diffs": values,
            "metadata": values,
            "cost": st.one_of(st.integers(0, 9), st.floats(0, 1e9)),
            "prompts": st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), max_size=3),
            "todo": st.lists(st.one_of(st.text("ab\x00é", max_size=3), st.just(b"\xff\x41")), max_size=2),
            "odd": st.lists(values, max_size=2),
        }
    ),
    min_size=1,
    max_size=4,
)


def fill(connection: apsw.Connection, generated: list[dict[str, Any]], suffix: str = "") -> None:
    connection.execute("begin")
    for i, one in enumerate(generated):
        key = f"ses_{i}"
        parent = f"ses_{i - one['parent']}" if 0 < one["parent"] <= i else None
        more = {name: one[name] for name in ("summary_diffs", "metadata", "cost")}
        add_session(connection, key, parent, **more)
        for n, text in enumerate(one["prompts"]):
            add_prompt(connection, key, f"msg_{i}_{n}", text + suffix, 10 * i + n)
        for n, content in enumerate(one["todo"]):
            cast = "cast(? as text)" if isinstance(content, bytes) else "?"
            connection.execute(f"insert or replace into todo values (?, {cast}, 'x', 'y', ?, 1, 1)", (key, content, n))
        for n, value in enumerate(one["odd"]):
            if value is not None:
                row = {"id": f"msg_{i}_odd_{n}", "session_id": key, "time_created": 1, "time_updated": 1, "data": value}
                insert(connection, "message", row)
        insert(connection, "event_sequence", {"aggregate_id": key, "seq": 1})
        insert(connection, "event", {"id": f"evt_{i}", "aggregate_id": key, "seq": 0, "type": "t", "data": "{}"})
    connection.execute("commit")


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(generated=sessions)
def test_rows_come_back_equal_beside_a_live_writer(
    generated: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Import after every change; a writer holds an open transaction, and rows that it did not commit are not there."""
    folder = tmp_path_factory.mktemp("law")
    path = folder / "agent" / "opencode.db"
    writer = new_database(path)
    with hansard.open(folder / "ledger.db") as ledger:
        for suffix in ("", " again"):
            fill(writer, generated, suffix)
            writer.execute("begin immediate")
            add_session(writer, "ses_uncommitted")
            before = look_of(path.parent)
            keys = imported(ledger, path)
            assert look_of(path.parent) == before
            writer.execute("rollback")
            data, files, _ = as_database(ledger, keys, "opencode", formats.contract.Target())
            assert data is not None
            assert not files
            for name in KEPT:
                assert table(data, name) == table(path, name), name
        writer.execute("delete from part where id in (select id from part limit 1)")
        writer.execute("update session set title = 'renamed'")
        data = as_database(ledger, imported(ledger, path), "opencode", formats.contract.Target())[0]
        assert data is not None
        for name in KEPT:
            assert table(data, name) == table(path, name), name
    writer.close()


@pytest.mark.parametrize("name", ["kilo", "openclaw"])
@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(changes=[(0, 3, "a"), (1, 0, None)])
@given(changes=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 999), st.none() | st.text("aé{", max_size=3))))
def test_changes_of_a_recorded_database_come_back(
    name: str, changes: list[tuple[int, int, str | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Rows of any kept table are deleted or get another text, while a writer has more that it did not commit."""
    folder, tables = tmp_path_factory.mktemp("changed"), formats.get(name).session.tables  # type: ignore[union-attr]
    assert tables is not None
    path = folder / "agent" / f"{name}.db"
    path.parent.mkdir()
    shutil.copy(next((GOLDEN / "lab").glob(f"{name}@*/{AGENTS[name].sessions.replace('.', 'home/.', 1)}")), path)
    with closing(apsw.Connection(str(path))) as writer, hansard.open(folder / "ledger.db") as ledger:
        writer.execute(
            "pragma journal_mode = wal; pragma synchronous = off; pragma ignore_check_constraints = on"
        ).fetchall()
        kept = [one for one in (*tables.owned, *tables.nested) if table(path, one)]
        imported(ledger, path, name)
        for number, (which, row, text) in enumerate(changes):
            changed = kept[which % len(kept)]
            ids = [one for (one,) in writer.execute(f"select rowid from {changed} order by rowid")]
            columns = writer.execute(f"pragma table_info({changed})").fetchall()
            free = [one[1] for one in columns if one[2].lower() == "text" and not one[5] and "session" not in one[1]]
            if ids and (text is None or not free):
                writer.execute(f"delete from {changed} where rowid = ?", (ids[row % len(ids)],))
            elif ids:
                value = rows._ENCODER.encode({"text": text, "number": number}).decode()
                writer.execute(f"update {changed} set {free[-1]} = ? where rowid = ?", (value, ids[row % len(ids)]))
        writer.execute("begin immediate")
        writer.execute(f"delete from {kept[0]}")
        before = look_of(path.parent)
        keys = imported(ledger, path, name)
        assert look_of(path.parent) == before
        writer.execute("rollback")
        data = as_database(ledger, keys, name, formats.contract.Target())[0]
        assert data is not None
        for one in (tables.sessions, *tables.shared, *kept):
            assert table(data, one) == table(path, one), one


def test_one_session_alone_has_its_rows_and_those_of_sessions_it_started(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "agent" / "opencode.db"
    writer = new_database(path)
    for key, parent in (("ses_a", None), ("ses_b", "ses_a"), ("ses_c", "ses_b"), ("ses_d", None)):
        add_session(writer, key, parent)
        add_prompt(writer, key, f"msg_{key}", f"prompt of {key}", 1)
    writer.execute("analyze")  # makes tables of SQLite's own
    writer.close()
    assert imported(ledger, path) == ["ses_a", "ses_d"]
    data = as_database(ledger, ["ses_a"], "opencode", formats.contract.Target())[0]
    assert data is not None
    with closing(rows.connect(data)) as found:
        assert [row[0] for row in found.execute("select id from session order by id")] == ["ses_a", "ses_b", "ses_c"]
        assert found.execute("select count(*) from part").fetchall() == [(3,)]


def test_sessions_of_an_unchanged_database_are_not_written_again(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "agent" / "opencode.db"
    writer = new_database(path)
    add_session(writer, "ses_a")
    add_session(writer, "ses_b", time_created=TIME + 5)
    add_prompt(writer, "ses_a", "msg_1", "tea", 1)
    imported(ledger, path)
    before = ledger._read(sources.every)
    writer.execute("update project set time_updated = 77")  # as each start of the agent does
    assert all(not done.changed for done in import_found(ledger, Session(path, "opencode"))[:1])
    after = ledger._read(sources.every)
    assert after[0].size == before[0].size
    assert after[1].size > before[1].size, "the newest session has the project as it is now"
    writer.close()


def test_an_unchanged_database_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> None:
    path = tmp_path / "agent" / "opencode.db"
    writer = new_database(path)
    add_session(writer, "ses_a")
    add_session(writer, "ses_b", time_created=TIME + 5)
    imported(ledger, path)
    opened: list[Path] = []
    open_ = databases.opened
    monkeypatch.setattr(databases, "opened", lambda path, tables: opened.append(path) or open_(path, tables))
    assert imported(ledger, path) == ["ses_a", "ses_b"]
    assert not opened
    add_prompt(writer, "ses_a", "msg_1", "tea", 1)
    assert imported(ledger, path) == ["ses_a", "ses_b"]
    assert imported(ledger, path) == ["ses_a", "ses_b"]
    assert opened == [path]
    writer.close()


# -- files of older releases -----------------------------------------------------------------------------------------


def test_files_of_an_older_release_come_back_and_their_session_goes_on_in_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    folder, db = tmp_path / "home" / PLACE.parent, str(tmp_path / "ledger.db")
    golden = rows.Kept.of((GOLDEN / "opencode" / "files_of_an_older_release.jsonl").read_bytes())
    files = {f"storage/{name}": data for name, data in golden.content().items()}

    def write(names: list[str]) -> None:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(files[name])

    write([name for name in files if "msg_82" not in name])
    assert run(["import", "--agent", "opencode", "--db", db]) == 0
    write(list(files))
    before = look_of(folder)
    for _ in range(2):
        assert run(["import", "--agent", "opencode", "--db", db]) == 0
    assert look_of(folder) == before
    assert run(["export", "--all", "-o", str(tmp_path / "out"), "--db", db]) == 0
    came = {str(path.relative_to(tmp_path / "out")): path.read_bytes() for path in (tmp_path / "out").rglob("*.json")}
    assert came == files
    writer = new_database(folder / "opencode.db")  # the next release takes them over, under the same ids
    add_session(writer, "ses_9")
    times = {"session_id": "ses_9", "time_created": TIME, "time_updated": TIME}
    for name, data in files.items():
        _, kind, above, own = name.removesuffix(".json").split("/")
        row = {"id": own, **times, "data": data.decode()}
        if kind in ("message", "part"):
            insert(writer, kind, row if kind == "message" else {**row, "message_id": above})
    add_prompt(writer, "ses_9", "msg_83", "Still there?", 3)
    writer.close()
    assert run(["import", "--agent", "opencode", "--db", db]) == 0
    with hansard.open(db) as ledger:
        (thread,) = ledger.threads().items
        texts = [part.text for message in ledger.transcript(thread.id) for part in message.parts]  # type: ignore[union-attr]
    assert texts == ["Hello?", "Yes.", "Still there?"]


# -- what is not touched ---------------------------------------------------------------------------------------------


def test_a_database_and_its_folder_are_untouched_with_and_without_a_writer(tmp_path: Path) -> None:
    """Names, bytes and times; also where nothing may be written."""
    path = tmp_path / "agent" / "opencode.db"
    writer = new_database(path)
    add_session(writer, "ses_a")
    add_prompt(writer, "ses_a", "msg_1", "tea", 1)
    with hansard.open(tmp_path / "ledger.db") as ledger:
        before = look_of(path.parent)
        assert imported(ledger, path) == ["ses_a"]
        assert look_of(path.parent) == before
        add_prompt(writer, "ses_a", "msg_2", "more tea", 2)
        shutil.copytree(path.parent, tmp_path / "left")  # as a killed agent leaves it, with a WAL
        writer.close()
        left = tmp_path / "left" / "opencode.db"
        for file in left.parent.iterdir():
            file.chmod(0o400)
        left.parent.chmod(0o500)
        before = look_of(left.parent)
        try:
            assert imported(ledger, left) == ["ses_a"]
            assert look_of(left.parent) == before
        finally:
            left.parent.chmod(0o700)
        assert [one.parts[0].text for one in ledger.export_conversation("ses_a").messages] == ["tea", "more tea"]  # type: ignore[union-attr]


@pytest.mark.parametrize("restarts", [1, databases._TRIES])
def test_a_wal_that_is_restarted_while_it_is_copied_is_copied_again(
    restarts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent" / "opencode.db"
    writer = new_database(path)
    copy, left = databases._copy, iter(range(restarts))

    def interrupted(source: str, target: str) -> None:
        copy(source, target)
        if source == str(path) and next(left, None) is not None:
            writer.execute("pragma wal_checkpoint(restart)").fetchall()
            writer.execute("update project set time_updated = time_updated + 1")

    monkeypatch.setattr(databases, "_copy", interrupted)
    if restarts == 1:
        with databases.snapshot(path) as found:
            assert found.execute("pragma integrity_check").fetchall() == [("ok",)]
            assert found.execute("select time_updated from project").fetchall() == [(3,)]
    else:
        with pytest.raises(databases.Busy, match="try again"), databases.snapshot(path):
            pass
    writer.close()


@pytest.mark.parametrize("name", ["opencode", "kilo", "openclaw"])
def test_tables_of_credentials_are_never_read(
    name: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A secret in each is neither in the ledger, nor in exports, nor in a backup; no statement reads such a table."""
    home, tables = tmp_path / "home", formats.get(name).session.tables  # type: ignore[union-attr]
    assert tables is not None
    recorded = next((GOLDEN / "lab").glob(f"{name}@*/home"))
    path = home / next(recorded.glob(AGENTS[name].sessions)).relative_to(recorded)
    path.parent.mkdir(parents=True)
    shutil.copy(recorded / path.relative_to(home), path)
    listed = {tables.sessions, *tables.owned, *tables.nested, *tables.copied, *tables.shared}
    with closing(apsw.Connection(str(path))) as writer:
        writer.execute("pragma foreign_keys = off")
        writer.execute("pragma ignore_check_constraints = on")
        found = writer.execute("pragma table_list").fetchall()
        names = {row[1] for row in found if row[2] == "table" and not row[1].startswith("sqlite_")}
        for table in names - listed:
            columns = [(row[1], row[2]) for row in writer.execute(f"pragma table_info({table})")]
            for (trigger,) in writer.execute("select name from sqlite_master where type = 'trigger'").fetchall():
                writer.execute(f"drop trigger {trigger}")
            given = tuple({"TEXT": SECRET, "BLOB": SECRET.encode()}.get(kind.upper(), 7) for _, kind in columns)
            writer.execute(f"insert or replace into {table} values ({', '.join('?' * len(given))})", given)
    assert SECRETS[name] <= names - listed
    assert SECRET.encode() in path.read_bytes()
    db, out = str(tmp_path / "ledger.db"), tmp_path / "out"
    read: set[str] = set()

    def note(action: int, one: str | None, two: str | None, database: str | None, trigger: str | None) -> int:
        if action == apsw.SQLITE_READ and one is not None:
            read.add(one)
        return apsw.SQLITE_OK

    with databases.snapshot(path) as connection:
        connection.authorizer = note
        for key in (database := rows.Database(connection, tables)).roots():
            list(database.lines(key))
    assert read & names <= listed
    commands = (
        ["import", str(path)],
        ["export", "--all", "-o", str(out)],
        ["export", "--all", "--to", name, "-o", str(tmp_path / "whole.db")],
        ["export", "--all", "--to", "hansard", "-o", str(tmp_path / "threads.json")],
        ["backup", str(tmp_path / "backup.db")],
    )
    for command in commands:
        assert run([*command, "--db", db]) == 0, capfdbinary.readouterr().err
    files = [one for one in tmp_path.rglob("*") if one.is_file() and home not in one.parents]
    assert len(files) >= 5
    for file in files:
        assert SECRET.encode() not in file.read_bytes(), file
    for one in (db, str(tmp_path / "backup.db")):
        with hansard.open(one) as ledger:
            kept = [b"".join(sources.content(ledger._driver, source)) for source in ledger._read(sources.every)]
            assert kept
            assert not [text for text in kept if SECRET.encode() in text]


# -- databases that cannot be read -----------------------------------------------------------------------------------


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 40] = os.urandom(4096 * 38)
    path.write_bytes(data)


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def half_migrated(path: Path) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("alter table session rename to session_old")
        writer.commit()


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("alter table message rename column data to body")
        writer.commit()


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("spoil", [damaged, torn, half_migrated, newer, empty])
def test_a_database_that_cannot_be_read_gets_one_line_and_harms_nothing(
    spoil: Any, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    path = home / PLACE
    path.parent.mkdir(parents=True)
    shutil.copy(LAB / PLACE, path)
    monkeypatch.setenv("HOME", str(home))
    db = str(tmp_path / "ledger.db")
    assert run(["import", "--agent", "opencode", "--db", db]) == 0
    with hansard.open(db) as ledger:
        threads = [ledger.export_conversation(one.id) for one in ledger.threads().items]
    spoil(path)
    before = look_of(path.parent)
    capfdbinary.readouterr()
    assert run(["import", "--agent", "opencode", "--db", db]) == 2
    problems = capfdbinary.readouterr().err.decode().splitlines()
    assert len(problems) == 1
    assert problems[0].startswith(f"hansard: {path}: ")
    assert "; " in problems[0]
    assert look_of(path.parent) == before
    with hansard.open(db) as ledger:
        assert [ledger.export_conversation(one.id) for one in ledger.threads().items] == threads


def test_a_locked_database_is_read(tmp_path: Path, ledger: Ledger) -> None:
    """Locks are for those who open the file; a copy of what is committed needs none."""
    path = tmp_path / "agent" / "opencode.db"
    writer = new_database(path)
    add_session(writer, "ses_a")
    writer.execute("pragma locking_mode = exclusive").fetchall()
    writer.execute("begin exclusive")
    add_session(writer, "ses_b")
    assert imported(ledger, path) == ["ses_a"]
    writer.execute("rollback")
    writer.close()
