"""A disk that is really full, and a system that cannot swap two names at once: the tree is still whole."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import hansard
from hansard.errors import HansardError
from hansard.workspace import Author, Workspace, rooted_fs
from tests.workspace.test_faults import in_child, prepared, steps_of, undo, whole
from tests.workspace.trees import tree, turn

SIZE = 3 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of three megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)], capture_output=True)
    if made.returncode:
        pytest.skip("no small disk could be mounted, so none is filled; root is needed for it")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path, leave: int) -> Path:
    """A file that takes all room but so many bytes."""
    path = disk / "filler"
    stat = os.statvfs(disk)
    path.write_bytes(b"\1" * max(0, stat.f_bavail * stat.f_frsize - leave))
    return path


@pytest.mark.parametrize("leave", [0, 4096, 8192, 12288, 16384, 20480, 32768, 65536, 131072, 400_000])
@pytest.mark.parametrize("ledger_too", [False, True], ids=["files", "files and ledger"])
def test_on_a_disk_that_is_really_full_an_undo_is_whole_or_not_at_all(
    tmp_path: Path, small_disk: Path, leave: int, ledger_too: bool
) -> None:
    root = small_disk / "project"
    root.mkdir()
    for i in range(6):
        (root / f"old{i}").write_bytes(os.urandom(30_000))
    before = tree(root)
    db = str((small_disk if ledger_too else tmp_path) / "ledger.db")
    with hansard.open(db) as ledger, Workspace(ledger, root) as files:
        files.snapshot()
        thread = ledger.create_thread("t").id
        turn(ledger, thread)
        with files.window(Author(thread_id=thread)):
            for i in range(6):
                (root / f"old{i}").write_bytes(b"%d" % i)
        after = tree(root)
        filler = fill(small_disk, leave)
        try:
            files.undo(thread)
            undone = True
        except HansardError:
            undone = False
        filler.unlink()
    with hansard.open(db) as ledger, Workspace(ledger, root) as files:
        head = ledger.thread("t").head
        assert (tree(root), head is None) == ((before, True) if undone else (after, False))
        if not undone:
            files.undo("t")
        assert tree(root) == before
        files.redo("t")
        assert tree(root) == after
        assert ledger.verify() == []


@pytest.fixture
def no_swap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without renameat2."""
    monkeypatch.setattr(rooted_fs, "_renameat2", None)


@pytest.mark.usefixtures("no_swap")
def test_without_swapping_at_once_the_tree_is_whole_when_killed_before_any_rename(tmp_path: Path) -> None:
    rename = os.rename
    ends = []
    for number in range(100):
        thread, before, after = prepared(tmp_path)

        def die(number: int = number, thread: str = thread) -> None:
            left = iter(range(number))

            def renamed(*args: object, **more: object) -> None:
                if next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                rename(*args, **more)  # type: ignore[arg-type]

            os.rename = renamed  # type: ignore[assignment]
            undo(tmp_path, thread, lambda name: None)

        killed = in_child(die) == signal.SIGKILL
        ends.append(whole(tmp_path, thread, before, after))
        if not killed:
            break
    assert len(ends) > 10
    assert set(ends) == {"before", "after"}


@pytest.mark.usefixtures("no_swap")
def test_without_swapping_at_once_the_tree_is_whole_when_killed_at_any_step(tmp_path: Path) -> None:
    for number in range(len(steps_of(tmp_path))):
        thread, before, after = prepared(tmp_path)
        left = iter(range(number))

        def step(name: str, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(lambda thread=thread, step=step: undo(tmp_path, thread, step)) == signal.SIGKILL  # type: ignore[misc]
        whole(tmp_path, thread, before, after)
