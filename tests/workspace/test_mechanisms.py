"""One deterministic test for each mechanism that the fault tests of workspaces (`make prove`) rely on.

Syncs are counted, locks are seen held, and edits are made at exactly the moment in which they used to be lost.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard import Ledger
from hansard import atomic_file as whole_file
from hansard.errors import Conflict, HansardError
from hansard.workspace import Author, Refused, Workspace, atomic_write, rooted_fs
from hansard.workspace.entries import content_hash, file_entry
from hansard.workspace.ignore import SLOTS
from hansard.workspace.rooted_fs import Root
from tests.faults.disk_layer import Call, Layer
from tests.workspace.trees import tree, turn


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/a").write_text("before")
    return folder


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with hansard.open(str(tmp_path / "ledger.db")) as opened:
        yield opened


def changed(ledger: Ledger, root: Path) -> str:
    """A thread that changed `sub/a` and made `new/b`."""
    thread = ledger.create_thread().id
    with Workspace(ledger, root) as files:
        files.snapshot()
        turn(ledger, thread)
        with files.tool(Author(thread_id=thread), "sub/a", "new/b"):
            (root / "sub/a").write_text("after")
            (root / "new").mkdir()
            (root / "new/b").write_text("new")
    return thread


def locked(root: Path) -> bool:
    """Whether another process that does not wait is refused the lock."""
    fd = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


# -- the lock of the root ----------------------------------------------------------------------------------------------


def test_the_lock_of_a_root_is_held_by_one_process_at_a_time(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """Two at once would each take the other's swaps for somebody's edits, and keep half of both."""
    monkeypatch.setattr(rooted_fs, "_LOCK_TIMEOUT", 0)
    one, two = Root(root), Root(root)
    with one.lock():
        assert locked(root)
        with pytest.raises(Conflict, match="locked by another process"), two.lock():
            pass
    assert not locked(root)
    with two.lock():
        assert locked(root)
    one.close()
    two.close()


def test_the_lock_goes_when_what_it_protects_fails(root: Path) -> None:
    """An error must not leave the folder locked for the rest of the process."""
    one = Root(root)
    with pytest.raises(ValueError, match="no"), one.lock():
        raise ValueError("no")
    assert not locked(root)
    one.close()


def test_undo_redo_and_restore_hold_the_lock_from_the_first_step_to_the_last(ledger: Ledger, root: Path) -> None:
    """Another process that looked at the files in the middle would record half an undo as somebody's edit."""
    thread = changed(ledger, root)
    seen: list[tuple[str, bool]] = []
    with Workspace(ledger, root, step=lambda name: seen.append((name, locked(root)))) as files:
        for call in (
            lambda: files.undo(thread),
            lambda: files.redo(thread),
            lambda: files.restore("sub/a", entry=file_entry(b"before", 0o644)),
        ):
            seen.clear()
            call()
            assert {"intended", "sync folders", "swapped", "done", "cleaned"} <= {name for name, _ in seen}
            assert [name for name, held in seen if not held] == []
            assert not locked(root)


def test_a_tool_that_works_alone_holds_the_lock_and_others_hold_it_only_around_their_looks(
    ledger: Ledger, root: Path
) -> None:
    """`alone=True` promises that nobody looks meanwhile; a long tool must not keep everybody else waiting."""
    thread = changed(ledger, root)
    by = Author(thread_id=thread)
    seen: dict[str, bool] = {}
    with Workspace(ledger, root, step=lambda name: seen.__setitem__(name, locked(root))) as files:
        with files.tool(by, "sub/a", alone=True):
            assert locked(root)
        assert seen == {"tool begun": True, "tool ended": True}
        with files.tool(by, "sub/a"):
            assert not locked(root)
        with files.window(by):
            assert not locked(root)


def test_a_look_holds_the_lock_until_what_it_found_is_written_down(
    monkeypatch: pytest.MonkeyPatch, ledger: Ledger, root: Path
) -> None:
    """Also the looks before and after a tool or a shell: two at once would record one change twice."""
    thread = changed(ledger, root)
    held: list[bool] = []
    write = type(ledger._driver).write

    def watched(driver: Any, job: Any) -> Any:
        held.append(locked(root))
        return write(driver, job)

    with Workspace(ledger, root) as files:
        monkeypatch.setattr(type(ledger._driver), "write", watched)
        for look in (files.snapshot, lambda: files.track(Author(thread_id=thread), "sub/a")):
            (root / "sub/a").write_text(f"changed {len(held)}")
            look()
        for work in (files.tool(Author(thread_id=thread), "sub/a"), files.window(Author(thread_id=thread))):
            with work:
                (root / "sub/a").write_text(f"changed {len(held)}")
    assert len(held) >= 6
    assert all(held)


# -- power loss: what is synced, and in which order --------------------------------------------------------------------


def test_a_file_is_synced_when_all_of_it_and_its_mode_are_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else a power loss after an undo leaves an empty file under the name."""
    synced: list[tuple[int, int]] = []
    fsync, write = os.fsync, os.write

    def noted(fd: int) -> None:
        synced.append((os.fstat(fd).st_size, os.fstat(fd).st_mode & 0o777))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:1000]))  # the system may take less than all
    fd = os.open(tmp_path, os.O_RDONLY)
    rooted_fs.write(fd, b"a", file_entry(b"x" * 5000, 0o640), b"x" * 5000)
    os.close(fd)
    assert synced == [(5000, 0o640)]
    assert (tmp_path / "a").read_bytes() == b"x" * 5000


def test_an_undo_syncs_slots_before_the_swap_and_every_folder_after_it(ledger: Ledger, root: Path) -> None:
    """Before the ledger says done, and before the slots go: a power loss at any moment leaves one whole tree."""
    thread = changed(ledger, root)
    happened: list[tuple[str, str]] = []  # steps, and calls with the path below the root

    def after(call: Call) -> None:
        name = Path(call.path).relative_to(root)
        happened.append((call.kind, "slots" if str(name).startswith(SLOTS) and len(name.parts) == 1 else str(name)))

    watched = Workspace(ledger, root, step=lambda name: happened.append(("step", name)))
    with Layer(root, after=after), watched as files:
        files.undo(thread)
    steps = {name: at for at, (kind, name) in enumerate(happened) if kind == "step"}

    def synced(start: str, end: str) -> set[str]:
        return {name for kind, name in happened[steps[start] : steps[end]] if kind == "sync"}

    assert any(name.startswith(SLOTS) for name in synced("slots", "sync slots")), "the new files"
    assert synced("sync slots", "swap 0") == {"slots", "."}, "their names, and the name of the folder they are in"
    assert synced("sync folders", "swapped") >= {"sub", ".", "slots"}, "every folder in which a name was swapped"
    gone = happened.index(("rmdir", "slots"))
    assert ("sync", ".") in happened[gone : steps["cleaned"]], "that the slots are gone, before nobody looks for them"
    assert tree(root) == {b"sub": ("dir", 0o755, b""), b"sub/a": ("file", 0o644, b"before")}


def test_a_file_that_a_tool_puts_in_place_is_synced_and_so_is_its_folder(root: Path) -> None:
    """The tool was told that its edit is there."""
    calls: list[Call] = []
    opened = Root(root)
    found, _ = opened.read_entry(b"sub/a")
    with Layer(root, after=calls.append):
        atomic_write.put(opened, b"sub/a", b"put", found, lambda name: None)
    opened.close()
    kinds = [(call.kind, os.path.basename(call.path)) for call in calls]
    swap = next(at for at, (kind, _) in enumerate(kinds) if kind in ("exchange", "rename"))
    assert kinds[swap - 1][0] == "sync"
    assert ("sync", "sub") in kinds[swap:]
    assert (root / "sub/a").read_text() == "put"


@pytest.mark.parametrize("replace", [True, False])
def test_a_file_that_is_written_whole_is_synced_before_it_has_its_name_and_the_name_after(
    tmp_path: Path, replace: bool
) -> None:
    """Exports, handed over sessions: the old file or the new one, never an empty one."""
    calls: list[Call] = []
    target = tmp_path / "deep/folder/out.json"
    with Layer(tmp_path, after=calls.append):
        whole_file.make_folders(str(target.parent))
        whole_file.write_whole(str(target), b"all of it", replace=replace)
    kinds = [(call.kind, os.path.relpath(call.path, tmp_path)) for call in calls]
    assert [one for one in kinds if one[0] in ("mkdir", "sync")][:4] == [
        ("mkdir", "deep"),
        ("sync", "."),
        ("mkdir", "deep/folder"),
        ("sync", "deep"),
    ]
    named = next(at for at, call in enumerate(calls) if call.to == str(target))
    beside = kinds[named][1]
    assert [kind for kind, name in kinds[:named] if name == beside] == ["create", "write", "sync"]
    assert kinds[-1] == ("sync", "deep/folder")
    assert target.read_bytes() == b"all of it"
    assert os.listdir(target.parent) == ["out.json"]


# -- reading -----------------------------------------------------------------------------------------------------------


def test_a_file_that_the_system_gives_in_pieces_is_read_whole(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """A short read taken for the file: the ledger would hold its beginning, and undo would put back only that."""
    data = bytes(range(256)) * 20
    (root / "sub/a").write_bytes(data)
    read = os.read
    monkeypatch.setattr(os, "read", lambda fd, most: read(fd, min(most, 1000)))
    opened = Root(root)
    entry, found = opened.read_entry(b"sub/a")
    opened.close()
    assert found == data
    assert entry is not None
    assert (entry.size, entry.hash) == (len(data), content_hash(data))


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """A log that is being written: size and hash are those of the bytes that are kept."""
    fstat = os.fstat

    def grows_after(fd: int) -> os.stat_result:
        found = fstat(fd)
        with open(root / "sub/a", "a") as file:
            file.write(" and more")
        return found

    opened = Root(root)
    monkeypatch.setattr(os, "fstat", grows_after)
    entry, found = opened.read_entry(b"sub/a")
    monkeypatch.undo()
    opened.close()
    assert found == b"before and more"
    assert entry is not None
    assert entry.size == len(found)


# -- which folders may be a workspace ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["home/me", "home", ".", "home/me/../../home", "link"])
def test_the_home_folder_and_every_folder_above_it_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    """A look at all of `/home` would take everybody's files, keys included, into the ledger."""
    (tmp_path / "home/me/project").mkdir(parents=True)
    (tmp_path / "home/men").mkdir()
    os.symlink(tmp_path / "home", tmp_path / "link")
    monkeypatch.setenv("HOME", str(tmp_path / "home/me"))
    with pytest.raises(Refused, match="cannot be a workspace"):
        Root(tmp_path / path)
    for fine in ("home/me/project", "home/men"):
        Root(tmp_path / fine).close()


# -- edits in the middle -----------------------------------------------------------------------------------------------


def replace_file(path: Path, text: str) -> None:
    """As editors save: a new file under the name."""
    path.with_name("beside").write_text(text)
    os.replace(path.with_name("beside"), path)


def test_two_edits_between_the_swaps_of_an_undo_are_both_kept(
    monkeypatch: pytest.MonkeyPatch, ledger: Ledger, root: Path
) -> None:
    """An editor saves once before a file is swapped and once before the swap is taken back: the newest stays in place,
    the one before it is in the ledger."""
    thread = changed(ledger, root)
    edits = iter(["first edit", "second edit"])
    exchange = rooted_fs.exchange

    def exchanged(one: int, name: bytes, two: int, other: bytes) -> None:
        if other == b"a" and (text := next(edits, None)) is not None:
            replace_file(root / "sub/a", text)
        exchange(one, name, two, other)

    monkeypatch.setattr(rooted_fs, "exchange", exchanged)
    with Workspace(ledger, root) as files:
        done = files.undo(thread)
        assert [path for path, _ in done.conflicts] == ["sub/a"]
        assert (root / "sub/a").read_text() == "second edit"
        held = [change.after for one in files.snapshots() if one.source == "late" for change in one.changes]
        assert [files.content(entry) for entry in held if entry is not None] == [b"first edit"]
        assert not list(root.glob(f"{SLOTS}*"))


def test_two_edits_around_the_swap_of_a_tool_are_both_kept(root: Path) -> None:
    """The same for a file that a tool puts in place: the newest edit stays, and the one before it is not deleted."""
    edits = {"folders made": "first edit", "swapped": "second edit"}

    def step(name: str) -> None:
        if name in edits:
            replace_file(root / "sub/a", edits[name])

    opened = Root(root)
    found, _ = opened.read_entry(b"sub/a")
    with pytest.raises(Conflict, match="was changed by another process"):
        atomic_write.put(opened, b"sub/a", b"put", found, step)
    opened.close()
    assert (root / "sub/a").read_text() == "second edit"
    assert [path.read_text() for path in root.glob(f"{SLOTS}*")] == ["first edit"]


def test_a_folder_that_becomes_a_link_before_any_step_is_not_followed(ledger: Ledger, tmp_path: Path) -> None:
    """Somebody swaps a folder for a link to another one: an undo or a tool then writes nothing outside the root."""
    outside = tmp_path / "outside"
    root = tmp_path / "project"
    names: list[str] = []
    number = 0
    while number <= len(names):
        for folder in (root, outside):
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "sub").mkdir(parents=True)
            (folder / "sub/a").write_text("before")
        thread = changed(ledger, root)
        (outside / "sub/a").write_text("after")  # what the undo looks for below the root
        before, at = tree(outside), iter(range(number))
        names = []

        def step(name: str, at: Iterator[int] = at, names: list[str] = names) -> None:
            names.append(name)
            if next(at, None) is None and not (root / "sub").is_symlink():
                (root / "sub").rename(root / "aside")
                os.symlink(outside / "sub", root / "sub")

        with Workspace(ledger, root, step=step) as files:
            try:
                files.undo(thread)
            except HansardError:
                pass
        assert tree(outside) == before, names[number : number + 1]
        number += 1
    assert len(names) > 5


def test_a_path_through_a_link_is_neither_read_nor_written(root: Path, tmp_path: Path) -> None:
    """Each folder on the way is opened in the one before it, never through a link."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a").write_text("secret")
    os.symlink(tmp_path / "outside", root / "link")
    opened = Root(root)
    assert opened.read_entry(b"link/a") == (None, b"")
    with pytest.raises(OSError, match="link"), opened.folder(b"link/a"):
        pass
    opened.close()


# -- what a look knows -------------------------------------------------------------------------------------------------


def test_what_a_tool_did_is_not_found_again_by_the_next_look(ledger: Ledger, root: Path) -> None:
    """Found again it would be recorded as somebody else's, on top of the thread that did it."""
    thread = changed(ledger, root)
    with Workspace(ledger, root) as files:
        assert {change.path for one in files.snapshots(thread) for change in one.changes} == {
            b"sub/a",
            b"new",
            b"new/b",
        }
        again = files.snapshot()
        assert (again.number, again.changes) == (None, [])
        assert [one.source for one in files.snapshots()] == ["base", "tool"]
        with files.tool(Author(thread_id=thread), "sub/a"):
            (root / "sub/a").write_text("once more")
        assert files.snapshots()[-1].author.thread_id == thread
        assert all(one.author.thread_id == thread for one in files.snapshots() if one.source != "base")


def test_what_an_undo_did_is_not_found_again_by_the_next_look(ledger: Ledger, root: Path) -> None:
    """Found again it would be somebody's edit, and redo would keep it instead of putting the files back."""
    thread = changed(ledger, root)
    with Workspace(ledger, root) as files:
        files.undo(thread)
        assert files.snapshot().changes == []
        files.redo(thread)
        assert files.snapshot().changes == []
        assert (root / "sub/a").read_text() == "after"


# -- descriptors ---------------------------------------------------------------------------------------------------


def _open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="only Linux lists the descriptors of a process")
def test_a_workspace_that_is_closed_leaves_no_descriptor_open(ledger: Ledger, root: Path) -> None:
    """A server that tracks a project for weeks would run out of them."""

    def work() -> None:
        thread = ledger.create_thread().id
        with Workspace(ledger, root) as files:
            files.snapshot()
            turn(ledger, thread)
            with files.window(Author(thread_id=thread)):
                (root / "fresh").mkdir()
                (root / "fresh/new").write_text(thread)
                (root / "gone").unlink()
                os.symlink("fresh", root / "new link")
                (root / "text").write_text(thread)
            files.undo(thread)
            files.redo(thread)
            files.undo(thread)
            with pytest.raises(Refused):
                files.root.read_entry(b"../x", 10)

    (root / "gone").write_text("x")
    (root / "text").write_text("x")
    work()
    before = _open_descriptors()
    for _ in range(3):
        work()
    assert _open_descriptors() == before


def test_closing_twice_does_not_close_what_others_opened(root: Path) -> None:
    one = rooted_fs.Root(root)
    number = one.fd
    one.close()
    (root / "text").write_text("x")
    taken = os.open(root / "text", os.O_RDONLY)
    if taken != number:  # the number of what was closed is the next to be given
        os.dup2(taken, number)
        os.close(taken)
    one.close()
    assert os.fstat(number).st_size == 1
    os.close(number)
