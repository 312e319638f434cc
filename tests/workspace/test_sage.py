"""Undo and redo of imported Sage sessions at the command line: every shape, every hash, every way to import."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hansard
from hansard.cli import run
from hansard.errors import Conflict
from hansard.workspace import Workspace
from hansard.workspace.sage.snapshots import read_snapshots
from tests.workspace.sage_project import (
    ANSWER,
    SESSION,
    USER,
    Project,
    line,
    messages,
    sha256,
    snapshot,
    tracked,
    weather,
)

WAYS: dict[str, Callable[[Project], list[str]]] = {
    "discovery": lambda project: [],
    "session folder": lambda project: [str(project.session)],
    "sessions folder": lambda project: [str(project.session.parent)],
    ".sage folder": lambda project: [str(project.root / ".sage")],
    "project folder": lambda project: [str(project.root)],
    "messages.jsonl": lambda project: [str(project.session / "messages.jsonl")],
    "metadata.json": lambda project: [str(project.session / "metadata.json")],
}
SHAPES = {"snapshots.jsonl": False, "inside messages.jsonl": True}


class Shell:
    """Commands in the folder of a project."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self.capsys, self.err = root, capsys, ""
        self.db = str(root.parent / "ledger.db")

    def __call__(self, *arguments: str, code: int = 0) -> str:
        self.capsys.readouterr()
        done = run([*arguments, *([] if arguments[0] == "convert" else ["--db", self.db])])
        said = self.capsys.readouterr()
        self.err = said.err
        assert done == code, said.out + said.err
        return said.out

    def head(self) -> str | None:
        with hansard.open(self.db) as ledger:
            return ledger.thread(SESSION).head

    def threads(self) -> list[str]:
        return self("threads", "--ids").split()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def shell(root: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(root, capsys)


@pytest.mark.parametrize("inline", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_undo_and_redo_in_every_shape(
    root: Path, shell: Shell, way: Callable[[Project], list[str]], inline: bool
) -> None:
    project = weather(root, inline=inline)
    after = project.content()
    shell("import", *way(project))
    assert shell.threads() == [SESSION]
    assert "5 files would change" in shell("undo", "--thread", SESSION, "--dry-run")
    assert project.content() == after
    undone = json.loads(shell("undo", "--thread", SESSION, "--json"))
    assert project.content() == project.before
    assert (undone["to"], undone["todos"], undone["conflicts"]) == (None, [], [])
    redone = json.loads(shell("redo", "--json"))
    assert project.content() == after
    assert [todo["status"] for todo in redone["todos"]] == ["completed", "in_progress"]
    assert shell("import", *way(project)).rstrip().endswith("nothing new")


def test_undo_of_a_session_in_the_home_folder(tmp_path: Path, root: Path, shell: Shell) -> None:
    project = weather(root)
    after = project.content()
    shutil.move(root / ".sage", tmp_path / "home" / ".sage")
    shell("import")
    shell("undo", "--thread", SESSION)
    assert project.content() == project.before
    shell("redo")
    assert project.content() == after


def test_undo_from_standard_input_has_the_content_of_the_records(
    root: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(root, inline=True).created("a").modified("b", b"1", b"2").write()
    data = (project.session / "messages.jsonl").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    shell("import", "-")
    shell("undo", "--thread", SESSION)
    assert project.content() == {"b": b"1"}


def test_a_file_that_only_file_backups_names_is_restored(root: Path, shell: Shell) -> None:
    project = Project(root).backed_up("style.css", b"old\n", b"new\n").backed_up("gone.css", b"was\n").write()
    shell("import", ".sage")
    shell("undo", "--thread", SESSION)
    assert project.content() == {"style.css": b"old\n", "gone.css": b"was\n"}
    shell("redo")
    assert project.content() == {"style.css": b"new\n"}


# -- what is verified ------------------------------------------------------------------------------------------------


def _other_content(project: Project) -> None:
    (project.root / "weather_app" / "index.html").write_bytes(b"mine\n")


def _other_backup(project: Project) -> None:
    (project.session / "backups" / "logo.png.backup").write_bytes(b"\x89tampered")


def _no_backup(project: Project) -> None:
    (project.session / "backups" / "logo.png.backup").unlink()


def _linked_backup(project: Project) -> None:
    _no_backup(project)
    (project.root.parent / "secret").write_bytes(b"\x89old")
    os.symlink(project.root.parent / "secret", project.session / "backups" / "logo.png.backup")


def _linked_folder(project: Project) -> None:
    shutil.move(project.session / "backups", project.root.parent / "elsewhere")
    os.symlink(project.root.parent / "elsewhere", project.session / "backups")


def _fifo(project: Project) -> None:
    _no_backup(project)
    os.mkfifo(project.session / "backups" / "logo.png.backup")


BAD = {
    "a file whose contentHash differs": (_other_content, "weather_app/index.html", "is not the recorded one"),
    "a backup whose originalHash differs": (_other_backup, "logo.png", "does not match originalHash"),
    "a missing backup": (_no_backup, "logo.png", "is missing"),
    "a backup that is a link": (_linked_backup, "logo.png", "links are not followed"),
    "a backup in a linked folder": (_linked_folder, "logo.png", "links are not followed"),
    "a backup that is a FIFO": (_fifo, "logo.png", "is not a readable file"),
}


@pytest.mark.parametrize("first", [True, False], ids=["before the import", "after the import"])
@pytest.mark.parametrize(("damage", "name", "why"), BAD.values(), ids=BAD)
def test_bad_input_gets_one_message_and_changes_nothing(
    root: Path, shell: Shell, damage: Callable[[Project], None], name: str, why: str, first: bool
) -> None:
    project = weather(root)
    if first:
        damage(project)
    shell("import", str(project.session))
    if not first:
        damage(project)
    found, head = project.content(), shell.head()
    assert shell("undo", "--thread", SESSION, code=2) == ""
    assert shell.err.startswith(f"hansard: cannot undo: {name}: ")
    assert why in shell.err
    assert "nothing was changed" in shell.err
    assert shell.err.count("\n") == 1
    assert (project.content(), shell.head()) == (found, head)
    shell("undo", "--thread", SESSION, "--yes", code=1)  # the others are undone, this one is kept
    kept = {"logo.png", "weather_app/style.css"} if damage is _linked_folder else {name}
    assert project.content() == {**project.before, **{name: found[name] for name in kept}}


def test_a_backup_that_is_put_back_is_found(root: Path, shell: Shell) -> None:
    project = weather(root)
    kept = (project.session / "backups" / "logo.png.backup").read_bytes()
    _no_backup(project)
    shell("import", ".sage")
    shell("undo", "--thread", SESSION, code=2)
    (project.session / "backups" / "logo.png.backup").write_bytes(kept)
    shell("undo", "--thread", SESSION)
    assert project.content() == project.before


@pytest.mark.parametrize("told", ["abc123", "", "g" * 64, None, 5], ids=repr)
def test_a_hash_of_another_shape_is_unverifiable_and_goes_on_with_yes(root: Path, shell: Shell, told: Any) -> None:
    project = Project(root).created("index.html", contentHash=told)
    project.backed_up("style.css", b"old\n", b"new\n", originalHash=told).write()
    after = project.content()
    shell("import", ".sage")
    shell("undo", "--thread", SESSION, code=2)
    assert "index.html: cannot be verified" in shell.err
    assert "style.css: cannot be verified" in shell.err
    assert "nothing was changed; `--yes`" in shell.err
    assert project.content() == after
    assert "cannot be verified" in shell("undo", "--thread", SESSION, "--dry-run")
    shell("undo", "--thread", SESSION, "--yes")
    assert project.content() == {"style.css": b"old\n"}
    shell("redo")
    assert project.content() == after


def test_an_uppercase_hash_is_a_hash(root: Path, shell: Shell) -> None:
    project = Project(root).created("a", contentHash=sha256(b"<html>\n").upper())
    project.backed_up("b", b"1", b"2", originalHash=sha256(b"1").upper()).write()
    shell("import", ".sage")
    shell("undo", "--thread", SESSION)
    assert project.content() == {"b": b"1"}


PLACES = {
    "relative to the project": lambda project: ".sage/sessions/session-123/backups/a.backup",
    "elsewhere in the project": lambda project: "old/a.backup",
    "relative to the session": lambda project: "backups/a.backup",
    "absolute in the project": lambda project: str(project.root / "old" / "a.backup"),
    "absolute in the session": lambda project: str(project.session / "backups" / "a.backup"),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_backup_path_is_relative_to_the_project_or_the_session(
    root: Path, shell: Shell, place: Callable[[Project], str]
) -> None:
    project = Project(root).backed_up("a", b"old\n", b"new\n")
    (root / "old").mkdir()
    shutil.copy(project.session / "backups" / "a.backup", root / "old" / "a.backup")
    project.backups["a"]["backupPath"] = place(project)
    project.write()
    shell("import", ".sage")
    shell("undo", "--thread", SESSION)
    assert project.content() == {"a": b"old\n", "old/a.backup": b"old\n"}


OUTSIDE = ["../secret", "/{outside}/secret", ".sage/../../secret", "..", "", "a\0b", ".sage/sessions/../../../secret"]


@pytest.mark.parametrize("told", OUTSIDE)
def test_a_backup_is_never_read_outside(root: Path, shell: Shell, told: str) -> None:
    (root.parent / "secret").write_bytes(b"secret\n")
    project = Project(root).backed_up("a", b"secret\n", b"new\n")
    (project.session / "backups" / "a.backup").unlink()
    project.backups["a"]["backupPath"] = told.format(outside=str(root.parent)[1:])
    project.write()
    shell("import", ".sage")
    shell("undo", "--thread", SESSION, code=2)
    assert shell.err.startswith("hansard: cannot undo: a: its backup")
    assert project.content() == {"a": b"new\n"}


@pytest.mark.parametrize("told", ["../outside", "/{outside}/outside"])
def test_a_tracked_file_outside_the_workspace_is_named_and_left(root: Path, shell: Shell, told: str) -> None:
    name = told.format(outside=str(root.parent)[1:])
    project = Project(root).created("inside").created(name).write()
    shell("import", ".sage")
    shell("undo", "--thread", SESSION)
    assert f"{name} is not below {root}" in shell.err
    assert (root.parent / "outside").exists()
    assert project.content() == {}


def test_a_tracked_file_below_a_link_is_left(root: Path, shell: Shell) -> None:
    Project(root).created("linked/file", b"x").write()
    shutil.move(root / "linked", root.parent / "real")
    os.symlink(root.parent / "real", root / "linked")
    shell("import", ".sage")
    assert "0 files changed" in shell("undo", "--thread", SESSION)
    assert (root.parent / "real" / "file").read_bytes() == b"x"


# -- updates, several turns, unknown messages ------------------------------------------------------------------------


def test_an_update_replaces_the_snapshot_it_updates(root: Path, shell: Shell) -> None:
    project = Project(root).created("new", b"2").modified("b", b"1", b"2")
    stale = {"new": {**project.files["new"], "contentHash": sha256(b"1")}, "never": project.files["new"]}
    stale["b"] = tracked("modified", b"1", "0")  # undone too, it would give another content
    project.snapshots = [snapshot(stale, {}), snapshot(project.files, {}, update=True)]
    project.files = {}
    project.write()
    shell("import", ".sage")
    assert "2 files would change" in shell("undo", "--thread", SESSION, "--dry-run")
    shell("undo", "--thread", SESSION)
    assert project.content() == {"b": b"1"}


def test_an_update_that_comes_later_replaces_what_was_recorded(root: Path, shell: Shell) -> None:
    project = Project(root).created("a", b"1").write()
    shell("import", ".sage")
    shell("undo", "--thread", SESSION, "--dry-run")
    (root / "a").write_bytes(b"2")
    (root / "b").write_bytes(b"2")
    files = {"a": {**project.files["a"], "contentHash": sha256(b"2")}, "b": {**project.files["a"]}}
    files["b"]["contentHash"] = sha256(b"2")
    with open(project.session / "snapshots.jsonl", "ab") as file:
        file.write(line(snapshot(files, {}, update=True)))
    shell("import", ".sage")
    shell("undo", "--thread", SESSION)
    assert project.content() == {}


def test_each_turn_is_undone_alone_and_both_are_redone(root: Path, shell: Shell) -> None:
    project = Project(root)
    more = messages(root)
    for one in more:
        one["uuid"] += "b"
        one["parentUuid"] = one["parentUuid"] + "b" if one["parentUuid"] else None
    project.modified("a", b"1", b"2")
    first = snapshot(project.files, {})
    project.files = {}
    project.modified("a", b"2", b"3")
    project.snapshots = [first, snapshot(project.files, {}, message=f"{ANSWER}b")]
    project.files = {}
    project.write()
    more[0]["parentUuid"] = json.loads((project.session / "messages.jsonl").read_text().splitlines()[-1])["uuid"]
    with open(project.session / "messages.jsonl", "ab") as file:
        file.write(b"".join(map(line, more)))
    shell("import", ".sage")
    for content in (b"2", b"1"):
        shell("undo", "--thread", SESSION)
        assert project.content() == {"a": content}
    shell("redo")
    assert project.content() == {"a": b"2"}
    assert json.loads(shell("undo", "--to", f"{ANSWER}b", "--thread", SESSION, "--json"))["to"] == f"{ANSWER}b"
    assert project.content() == {"a": b"3"}


def test_snapshots_of_a_message_that_is_not_there_are_named(root: Path, shell: Shell) -> None:
    project = Project(root).created("a")
    project.snapshots = [snapshot(project.files, {}, message="nowhere")]
    project.files = {}
    project.write()
    shell("import", ".sage")
    shell("undo", "--thread", SESSION)
    assert "snapshots of message 'nowhere' are left out" in shell.err
    assert project.content() == {"a": b"<html>\n"}


def test_undo_in_a_folder_below_the_project_leaves_other_files(
    root: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(root).created("a").created("sub/b").write()
    (root / "sub" / "a").write_bytes(b"<html>\n")
    shell("import", ".sage")
    monkeypatch.chdir(root / "sub")
    shell("undo", "--thread", SESSION)
    assert project.content() == {"a": b"<html>\n", "sub/a": b"<html>\n"}


def test_only_the_conversation_can_be_undone_whatever_the_files_are(root: Path, shell: Shell) -> None:
    project = weather(root)
    _no_backup(project)
    shell("import", ".sage")
    shell("undo", "--thread", SESSION, "--scope", "conversation")
    assert shell.head() is None


def test_the_api_refuses_and_goes_on_as_the_command(root: Path, shell: Shell) -> None:
    project = Project(root).created("a", contentHash="abc123").write()
    shell("import", ".sage")
    with hansard.open(shell.db) as ledger, Workspace(ledger, root) as files:
        assert read_snapshots(files, SESSION) == (1, [], [])
        with pytest.raises(Conflict, match="cannot be verified"):
            files.undo(SESSION)
        assert files.undo(SESSION, unverified=True).conflicts == []
        assert project.content() == {}
        files.redo(SESSION)
        assert read_snapshots(files, SESSION).changed == 0
        assert ledger.thread(SESSION).head is not None


# -- import ----------------------------------------------------------------------------------------------------------


def test_metadata_gives_title_and_times_and_settings_stay_where_they_are(root: Path, shell: Shell) -> None:
    project = weather(root)
    shell("import", ".sage")
    with hansard.open(shell.db) as ledger:
        thread = ledger.thread(SESSION)
    assert thread.title == "Weather"
    assert (thread.created_at, thread.updated_at) == ("2025-12-21T01:30:00.000Z", "2025-12-21T02:00:00.000Z")
    assert b"secret" not in Path(shell.db).read_bytes()
    assert "config.json" not in shell.err
    assert (project.session / "metadata.json").exists()


@pytest.mark.parametrize("text", ["not json", "[1]", '{"title": 5, "createdAt": "yesterday"}', ""])
def test_metadata_that_cannot_be_read_is_kept_and_named(root: Path, shell: Shell, text: str) -> None:
    project = weather(root)
    (project.session / "metadata.json").write_text(text)
    shell("import", ".sage")
    assert ("metadata.json" in shell.err) == (not text.startswith("{"))
    shell("export", SESSION, "--to", "sage", "-o", str(root.parent / "out"))
    assert (root.parent / "out" / "sessions" / SESSION / "metadata.json").read_text() == text


@pytest.mark.parametrize("folder", [True, False])
def test_snapshots_alone_never_become_a_thread(root: Path, shell: Shell, folder: bool) -> None:
    project = weather(root)
    (project.session / "messages.jsonl").unlink()
    shell("import", str(project.session if folder else project.session / "snapshots.jsonl"), code=2)
    assert "only file snapshots, no messages" in shell.err
    assert shell("threads", "--ids") == ""


def test_a_session_without_ids_is_named_by_its_metadata_or_folder(root: Path, shell: Shell) -> None:
    folder = root / ".sage" / "sessions" / "older"
    folder.mkdir(parents=True)
    (folder / "messages.jsonl").write_text('{"role":"user","content":"ls","timestamp":"2025-11-01T10:00:01Z"}\n')
    shell("import", ".sage")
    assert shell.threads() == ["older"]


def test_a_session_that_grew_adds_only_what_is_new(root: Path, shell: Shell) -> None:
    project = weather(root, inline=True)
    shell("import", ".sage")
    more = {**messages(root)[0], "uuid": "more", "parentUuid": USER}
    with open(project.session / "messages.jsonl", "ab") as file:
        file.write(line(more))
    (project.session / "snapshots.jsonl").write_bytes(line(snapshot(project.files, {}, message="more")))
    assert "1 new, 3 known" in shell("import", ".sage")
    with hansard.open(shell.db) as ledger:
        assert len(ledger.export_conversation(SESSION).snapshots) == 2
    assert shell("import", ".sage").rstrip().endswith("nothing new")


# -- a law -----------------------------------------------------------------------------------------------------------

_NAMES = ["a", "b/c", "ü x", "b/d", "weird\n"]
_CONTENTS = st.sampled_from([b"", b"one\n", b"two\n", b"\xff\x00", "ü".encode()])
_STATES = st.sampled_from(["created", "modified", "deleted", "backup"])


@settings(max_examples=25)
@given(
    st.dictionaries(st.sampled_from(_NAMES), st.tuples(_STATES, _CONTENTS, _CONTENTS), min_size=1),
    st.booleans(),
    st.sampled_from(["messages.jsonl", "."]),
)
def test_a_law_of_undo_and_redo(
    tmp_path_factory: pytest.TempPathFactory,
    told: dict[str, tuple[str, bytes, bytes]],
    inline: bool,
    path: str,
) -> None:
    """Whatever a session did to files is undone to what was there and redone to what it left."""
    root = tmp_path_factory.mktemp("law") / "project"
    root.mkdir()
    project = Project(root, inline=inline)
    for name, (state, before, after) in told.items():
        text = b"\xff" not in before
        if state == "created":
            project.created(name, after)
        elif state == "modified":
            project.modified(name, before, after, inline=text)
        elif state == "deleted" and text:
            project.deleted(name, before)
        else:
            project.backed_up(name, before, after)
    project.write()
    left = project.content()
    db = str(root.parent / "ledger.db")
    assert run(["import", str(project.session / path), "--db", db]) == 0
    assert run(["undo", "--thread", SESSION, "--yes", "--root", str(root), "--db", db]) == 0
    assert project.content() == project.before
    assert run(["redo", "--root", str(root), "--db", db]) == 0
    assert project.content() == left
