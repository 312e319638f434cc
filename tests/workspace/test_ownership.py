"""Owners, special bits and aliases of `.git`: what undo must not hand out."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hansard import Ledger
from hansard.workspace import Author, Refused, Workspace
from hansard.workspace.entries import check_path
from tests.workspace.trees import say


def undone(ledger: Ledger, root: Path, change: Callable[[Path], object]) -> Path:
    """A setuid file that a tool changed, after the undo."""
    path = root / "tool"
    path.write_bytes(b"old")
    path.chmod(0o4755)
    if os.getuid() == 0:
        os.chown(path, 1234, 1234)
        path.chmod(0o4755)
    thread = ledger.create_thread().id
    ledger.append(thread, say("user"))
    with Workspace(ledger, root) as files:
        with files.tool(Author(thread_id=thread), "tool"):
            change(path)
        files.undo(thread)
    return path


def test_a_restored_file_has_no_special_bits_unless_its_content_is_unchanged(ledger: Ledger, tmp_path: Path) -> None:
    path = undone(ledger, tmp_path, lambda path: path.write_bytes(b"new"))
    assert path.read_bytes() == b"old"
    assert path.stat().st_mode & 0o7777 == 0o755


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_a_restored_file_belongs_to_the_owner_of_what_it_replaces(ledger: Ledger, tmp_path: Path) -> None:
    assert undone(ledger, tmp_path, lambda path: path.write_bytes(b"new")).stat().st_uid in (0, 1234)
    found = (tmp_path / "tool").stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7000) == (1234, 1234, 0)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
def test_a_file_that_was_deleted_belongs_to_the_owner_of_its_folder(ledger: Ledger, tmp_path: Path) -> None:
    os.chown(tmp_path, 1235, 1235)
    found = undone(ledger, tmp_path, lambda path: path.unlink()).stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (1235, 1235, 0o755)


@pytest.mark.parametrize("name", [".git.", ".git ", "GIT~1", ".g\u200bit", ".GIT", "git~2", ".git::$INDEX_ALLOCATION"])
def test_aliases_of_git_are_refused(name: str) -> None:
    with pytest.raises(Refused):
        check_path(f"{name}/config".encode())
