"""A file in the way of an undo (no permission, a name too long, gone since): said with its path and the way out."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import Ledger
from hansard.cli import run
from hansard.errors import Conflict, HansardError, StorageError
from hansard.workspace import Author, Undo, Workspace, plan, rooted_fs
from hansard.workspace.entries import file_entry
from tests.workspace.trees import turn

CODES = {
    errno.EACCES: Conflict,
    errno.EPERM: Conflict,
    errno.EISDIR: Conflict,
    errno.ETXTBSY: Conflict,
    errno.EIO: StorageError,
}


def refuse(monkeypatch: pytest.MonkeyPatch, code: int, of: bytes) -> None:
    """Reading a file fails; root is asked no permissions, so the system's answer is played."""
    whole = rooted_fs.read

    def read(fd: int, name: Any) -> Any:
        if os.fsencode(name) == of:
            raise OSError(code, os.strerror(code), name)
        return whole(fd, name)

    monkeypatch.setattr(rooted_fs, "read", read)


def worked(ledger: Ledger, root: Path) -> None:
    """A thread that changed docs/tea.txt."""
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "tea.txt").write_text("old\n")
    thread = ledger.create_thread("t").id
    with Workspace(ledger, root) as files:
        files.snapshot()
        turn(ledger, thread)
        with files.tool(Author(thread_id=thread), "docs/tea.txt"):
            (root / "docs" / "tea.txt").write_text("new\n")


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.__getitem__)
def test_a_file_that_cannot_be_read_is_named_with_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    with hansard.open(":memory:") as ledger:
        worked(ledger, tmp_path / "project")
        with Workspace(ledger, tmp_path / "project") as files:
            refuse(monkeypatch, code, b"tea.txt")
            back = lambda: files.restore("docs/tea.txt", entry=None)  # noqa: E731
            for action in (lambda: files.plan(Undo("t")), lambda: files.undo("t"), back):
                with pytest.raises(CODES[code], match=rf"^docs/tea.txt: {os.strerror(code)}; nothing was changed; "):
                    action()
            monkeypatch.undo()
            assert files.undo("t").conflicts == []
    assert (tmp_path / "project" / "docs" / "tea.txt").read_text() == "old\n"


def test_the_command_says_it_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, db = tmp_path / "project", str(tmp_path / "ledger.db")
    with hansard.open(db) as ledger:
        worked(ledger, root)
    refuse(monkeypatch, errno.EACCES, b"tea.txt")
    for arguments in (["undo"], ["undo", "--dry-run"]):
        assert run([*arguments, "--db", db, "--root", str(root)]) == 2
        said = capsys.readouterr().err
        assert said.startswith("hansard: docs/tea.txt: Permission denied; nothing was changed")
        assert said.count("\n") == 1


def test_a_folder_that_vanishes_while_it_is_looked_at_is_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    with hansard.open(":memory:") as ledger, Workspace(ledger, root) as files:
        files.snapshot()
        turn(ledger, ledger.create_thread("t").id)
        with files.tool(Author(thread_id="t"), "made/x"):
            (root / "made").mkdir()
            (root / "made" / "x").write_text("x")
        needed = plan._add_parent_folders

        def gone(*given: Any) -> None:
            needed(*given)
            shutil.rmtree(root / "made")

        monkeypatch.setattr(plan, "_add_parent_folders", gone)
        with pytest.raises(Conflict, match=r"^made: No such file or directory"):
            files.plan(Undo("t"))


def test_a_name_that_is_too_long_here_keeps_nothing_else_from_going_back(tmp_path: Path) -> None:
    root, name = tmp_path / "project", b"n" * 300
    with hansard.open(":memory:") as ledger:
        worked(ledger, root)
        with Workspace(ledger, root) as files:
            with pytest.raises(HansardError, match="too long"):
                files.track(Author(thread_id="t"), name)
            long, short = file_entry(b"x", 0o644), file_entry(b"y", 0o644)
            made = plan.plan_files(files.root, {name: [(None, long)], b"new": [(None, short)]}, lambda _: b"y", 1 << 20)
            assert [(item.path, item.action) for item in made.items] == [(b"new", "write"), (name, "keep")]
            assert "too long" in made.conflicts[0].why
