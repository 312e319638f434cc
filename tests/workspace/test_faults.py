"""Apply is entirely before or entirely after: killed, out of room, or with somebody editing at every step."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import hansard
from hansard.errors import HansardError
from hansard.workspace import Author, Workspace
from hansard.workspace.entries import content_hash
from hansard.workspace.ignore import SLOTS
from tests.workspace.trees import say, tree, turn


def prepared(folder: Path) -> tuple[str, dict, dict]:
    """A tree in which one turn did a bit of everything; the thread, the tree before it and after."""
    root = folder / "project"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        (folder / name).unlink(missing_ok=True)
    root.mkdir()
    (root / "old").mkdir()
    (root / "old/kept.txt").write_text("kept")
    (root / "old/gone.bin").write_bytes(b"\0\1\xff")
    (root / "text").write_text("one\n")
    (root / "becomes a folder").write_text("file")
    (root / "becomes a file").mkdir()
    (root / "becomes a file/inside").write_text("inside")
    os.symlink("text", root / "link")
    with hansard.open(str(folder / "ledger.db")) as ledger, Workspace(ledger, root) as files:
        files.snapshot()
        before = tree(root)
        thread = ledger.create_thread("t").id
        ledger.append(thread, say("user", "begin"))
        turn(ledger, thread)
        with files.window(Author(thread_id=thread)):
            (root / "old/gone.bin").unlink()
            (root / "text").write_text("two\n")
            os.chmod(root / "text", 0o700)
            (root / "new/deep").mkdir(parents=True)
            (root / "new/deep/file").write_text("new")
            (root / "becomes a folder").unlink()
            (root / "becomes a folder").mkdir()
            (root / "becomes a folder/x").write_text("x")
            shutil.rmtree(root / "becomes a file")
            (root / "becomes a file").write_text("now a file")
            (root / "link").unlink()
            os.symlink("old", root / "link")
        return thread, before, tree(root)


def undo(folder: Path, thread: str, step: Callable[[str], None]) -> None:
    with hansard.open(str(folder / "ledger.db")) as ledger, Workspace(ledger, folder / "project", step=step) as files:
        files.undo(thread)


def steps_of(folder: Path) -> list[str]:
    """The steps an undo of the prepared tree takes."""
    thread, before, _ = prepared(folder)
    names: list[str] = []
    undo(folder, thread, names.append)
    assert tree(folder / "project") == before
    return names


def in_child(action: Callable[[], None]) -> int:
    """Run something in a process of its own; how it ended."""
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def whole(folder: Path, thread: str, before: dict, after: dict) -> str:
    """That the tree and the head are both before or both after, and that undo and redo go on from there."""
    with hansard.open(str(folder / "ledger.db")) as ledger, Workspace(ledger, folder / "project") as files:
        found, depth = tree(folder / "project"), len(ledger.transcript(thread))
        assert (found, depth) in ((before, 1), (after, 3))
        if depth == 1:
            files.redo(thread)
            assert tree(folder / "project") == after
        files.undo(thread)
        assert tree(folder / "project") == before
        assert ledger.verify() == []
        return "before" if depth == 3 else "after"


def test_killed_at_every_step_the_tree_is_whole(tmp_path: Path) -> None:
    ends = []
    for number in range(len(steps_of(tmp_path))):
        thread, before, after = prepared(tmp_path)
        left = iter(range(number))

        def step(name: str, left=left) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(lambda thread=thread, step=step: undo(tmp_path, thread, step)) == signal.SIGKILL
        ends.append(whole(tmp_path, thread, before, after))
    assert set(ends) == {"before", "after"}


def test_killed_at_every_step_of_taking_back_the_tree_is_whole(tmp_path: Path) -> None:
    at = steps_of(tmp_path).index("swapped")
    for number in range(at):
        thread, before, after = prepared(tmp_path)
        left, again = iter(range(at)), iter(range(number))

        def die(name: str, left=left) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        assert in_child(lambda thread=thread, die=die: undo(tmp_path, thread, die)) == signal.SIGKILL

        def reopen(again=again) -> None:
            def step(name: str) -> None:
                if next(again, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)

            with hansard.open(str(tmp_path / "ledger.db")) as ledger:
                Workspace(ledger, tmp_path / "project", step=step).close()

        in_child(reopen)
        assert whole(tmp_path, thread, before, after) == "before"


def test_what_was_in_the_slots_and_is_gone_is_taken_from_the_ledger(tmp_path: Path) -> None:
    at = steps_of(tmp_path).index("swapped")
    thread, before, after = prepared(tmp_path)
    left = iter(range(at))

    def die(name: str) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(lambda: undo(tmp_path, thread, die)) == signal.SIGKILL
    (slots,) = (tmp_path / "project").glob(f"{SLOTS}*")
    emptied = [path for path in slots.rglob("*") if path.is_file() or path.is_symlink()]
    for path in emptied:
        path.unlink()  # somebody tidied up
    assert emptied
    assert whole(tmp_path, thread, before, after) == "before"


def test_a_full_disk_at_every_step_leaves_the_tree_whole(tmp_path: Path) -> None:
    for number, name in enumerate(steps_of(tmp_path)):
        thread, before, after = prepared(tmp_path)
        left = iter(range(number))
        failed: list[str] = []

        def step(name: str, left=left, failed=failed) -> None:
            if next(left, None) is None and not failed:
                failed.append(name)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        try:
            undo(tmp_path, thread, step)
        except (HansardError, OSError):
            if name not in ("intended",):
                assert tree(tmp_path / "project") == after, name
        whole(tmp_path, thread, before, after)


def test_a_full_disk_that_stays_full_leaves_the_tree_whole(tmp_path: Path) -> None:
    for number in range(len(steps_of(tmp_path))):
        thread, before, after = prepared(tmp_path)
        left = iter(range(number))

        def step(name: str, left=left) -> None:
            if next(left, None) is None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        try:
            undo(tmp_path, thread, step)
        except (HansardError, OSError):
            pass
        whole(tmp_path, thread, before, after)


@pytest.mark.parametrize(
    "name", ["text", "old/gone.bin", "new/deep/file", "becomes a file", "becomes a folder/x", "link"]
)
@pytest.mark.parametrize("way", ["write", "replace"])
def test_an_edit_at_any_moment_is_never_lost(tmp_path: Path, name: str, way: str) -> None:
    steps = steps_of(tmp_path)
    for number in range(len(steps)):
        thread, _, _ = prepared(tmp_path)
        path = tmp_path / "project" / name
        data = f"edited at {number}".encode()
        left = iter(range(number))
        edited: list[Path] = []

        def step(step_name: str, left=left, edited=edited, path=path, data=data) -> None:
            if next(left, None) is None and not edited:
                edited.append(path)
                try:
                    if way == "replace":
                        beside = path.with_name("beside")
                        beside.write_bytes(data)
                        os.replace(beside, path)
                    else:
                        file = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT | os.O_NOFOLLOW)
                        os.write(file, data)
                        os.close(file)
                except OSError:
                    edited.append(path)  # there was no room for it just then

        undo(tmp_path, thread, step)
        if len(edited) != 1:
            continue
        here = path.is_file() and not path.is_symlink() and path.read_bytes() == data
        with hansard.open(str(tmp_path / "ledger.db")) as ledger:
            held = ledger._driver.read(lambda tx, data=data: tx.one("blob", hash=content_hash(data)))
        assert here or (held and number >= steps.index("done")), (steps[number], name)


def test_somebody_who_still_writes_into_a_replaced_file_is_saved(tmp_path: Path) -> None:
    thread, before, _ = prepared(tmp_path)
    file = os.open(tmp_path / "project/text", os.O_WRONLY | os.O_APPEND)

    def step(name: str) -> None:
        if name == "done":
            os.write(file, b"late\n")

    undo(tmp_path, thread, step)
    os.close(file)
    assert tree(tmp_path / "project") == before
    with hansard.open(str(tmp_path / "ledger.db")) as ledger, Workspace(ledger, tmp_path / "project") as files:
        (late,) = [one for one in files.snapshots() if one.source == "late"]
        assert files.content(late.changes[0].after) == b"two\nlate\n"
