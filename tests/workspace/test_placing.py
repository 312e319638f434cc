"""A file that a tool puts in place: whole, only over what the tool has seen, and nothing is left beside it.

What another program does meanwhile is done from the steps that the code itself announces.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hansard import Ledger
from hansard.errors import Conflict
from hansard.workspace import Workspace, rooted_fs
from hansard.workspace.apply import no_step
from hansard.workspace.atomic_write import put, sweep
from hansard.workspace.entries import Entry
from hansard.workspace.rooted_fs import Root
from tests.workspace.trees import tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def root(folder: Path) -> Iterator[Root]:
    opened = Root(folder)
    yield opened
    opened.close()


@pytest.fixture(params=["swaps at once", "cannot swap"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file system that swaps two names at once, and one that cannot (some FUSE, NFS)."""
    if request.param == "cannot swap":
        monkeypatch.setattr(rooted_fs, "_renameat2", None)
    return str(request.param)


def seen(root: Root, path: bytes) -> Entry | None:
    return root.read_entry(path)[0]


class Meanwhile:
    """Another program, which does something when a step is announced."""

    def __init__(self, when: str, path: Path, text: str | None) -> None:
        self.when, self.path, self.text, self.steps = when, path, text, list[str]()

    def __call__(self, name: str) -> None:
        self.steps.append(name)
        if name == self.when and self.text is None:
            self.path.unlink()
        elif name == self.when:
            self.path.write_text(str(self.text))


def test_a_new_file_is_whole_and_so_are_the_folders_above_it(system: str, folder: Path, root: Root) -> None:
    steps: list[str] = []
    put(root, b"a/b/c.txt", b"words\n", None, steps.append)
    assert (folder / "a/b/c.txt").read_bytes() == b"words\n"
    assert (folder / "a/b/c.txt").stat().st_mode & 0o777 == 0o644
    assert steps == ["staged", "folders made"]
    put(root, b"a/b/d.txt", b"", None, no_step)
    assert sorted(tree(folder)) == [b"a", b"a/b", b"a/b/c.txt", b"a/b/d.txt"]


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o444])
def test_a_file_that_is_replaced_keeps_its_mode(system: str, mode: int, folder: Path, root: Root) -> None:
    (folder / "a").write_text("one")
    (folder / "a").chmod(mode)
    put(root, b"a", b"two", seen(root, b"a"), no_step)
    assert tree(folder) == {b"a": ("file", mode, b"two")}


@pytest.mark.parametrize(("when", "text"), [("staged", "theirs"), ("folders made", "theirs"), ("folders made", None)])
def test_what_somebody_changed_meanwhile_stays_as_they_left_it(
    system: str, when: str, text: str | None, folder: Path, root: Root
) -> None:
    (folder / "a").write_text("one")
    with pytest.raises(Conflict, match="'a' was changed by another process just now"):
        put(root, b"a", b"mine", seen(root, b"a"), Meanwhile(when, folder / "a", text))
    assert {path: one[2] for path, one in tree(folder).items()} == ({b"a": b"theirs"} if text else {})


def test_a_file_that_appeared_meanwhile_is_not_replaced(system: str, folder: Path, root: Root) -> None:
    with pytest.raises(Conflict, match="read it again"):
        put(root, b"a", b"mine", None, Meanwhile("folders made", folder / "a", "theirs"))
    assert [one[2] for one in tree(folder).values()] == [b"theirs"]


def test_a_folder_that_went_meanwhile_is_not_made_again(system: str, folder: Path, root: Root) -> None:
    (folder / "d").mkdir()

    def gone(step: str) -> None:
        if step == "folders made":
            (folder / "d").rmdir()

    with pytest.raises(Conflict):
        put(root, b"d/a", b"mine", None, gone)
    assert tree(folder) == {}


def test_a_file_changed_before_and_after_the_swap_is_the_newest_one(folder: Path, root: Root) -> None:
    """Theirs came out at the swap, and a still newer one was written over ours: that one stays."""
    (folder / "a").write_text("one")

    def twice(step: str) -> None:
        if step == "folders made":
            (folder / "a").write_text("theirs")
        if step == "swapped":
            assert (folder / "a").read_text() == "mine"
            (folder / "a").write_text("newest")

    with pytest.raises(Conflict):
        put(root, b"a", b"mine", seen(root, b"a"), twice)
    assert (folder / "a").read_text() == "newest"
    left = [path for path in tree(folder) if path != b"a"]
    assert [(folder / os.fsdecode(path)).read_text() for path in left] == ["theirs"]  # for the next start to record


def test_a_change_of_the_mode_alone_is_a_change(folder: Path, root: Root) -> None:
    (folder / "a").write_text("one")
    found = seen(root, b"a")
    (folder / "a").chmod(0o700)
    with pytest.raises(Conflict):
        put(root, b"a", b"two", found, no_step)
    assert tree(folder) == {b"a": ("file", 0o700, b"one")}


def test_a_tool_that_failed_leaves_nothing_beside(folder: Path, root: Root) -> None:
    def fails(step: str) -> None:
        if step == "staged":
            raise RuntimeError

    with pytest.raises(RuntimeError):
        put(root, b"a", b"mine", None, fails)
    assert tree(folder) == {}


def test_what_tools_that_died_left_is_recorded_and_taken_away(ledger: Ledger, folder: Path) -> None:
    """Killed between the swap and the end: what only the file beside holds is in the ledger before it goes."""
    (folder / "a").write_text("known")
    with Workspace(ledger, folder) as files:
        files.snapshot()
        (folder / ".hansard-put-known").write_text("known")
        (folder / ".hansard-put-own").write_text("nobody else has this")
        (folder / ".hansard-put-folder").mkdir()
        (folder / ".hansard-undo").write_text("not of a tool")
        sweep(files.driver, files.root, files.number)
        assert sorted(tree(folder)) == [b".hansard-put-folder", b".hansard-undo", b"a"]
        (late,) = [one for one in files.snapshots() if one.source == "late"]
        (change,) = late.changes
        assert (change.path, change.before) == (b".hansard-put-own", None)
        assert change.after is not None
        assert files.content(change.after) == b"nobody else has this"
