"""What a look at a folder finds, what it leaves out, and which folders and paths are refused."""

from __future__ import annotations

import os
import random
import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import Ledger
from hansard.errors import HansardError
from hansard.workspace import Author, Limits, Refused, Workspace, snapshots
from hansard.workspace.merge import merge
from tests.workspace.trees import say, tree, turn


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def names(taken) -> list[str]:
    return [os.fsdecode(change.path) for change in taken.changes]


@pytest.mark.parametrize("path", ["/", "~", "~/..", "/nowhere/at/all"])
def test_roots_that_are_too_much_are_refused(ledger: Ledger, path: str) -> None:
    with pytest.raises(Refused):
        Workspace(ledger, os.path.expanduser(path))


def test_a_link_to_the_home_folder_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    os.symlink(os.path.expanduser("~"), tmp_path / "here")
    with pytest.raises(Refused):
        Workspace(ledger, tmp_path / "here")


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd", "", ".git/config", "sub/.GIT/hooks/x", "a\0b"])
def test_paths_that_leave_the_root_are_refused(ledger: Ledger, root: Path, path: str) -> None:
    thread = ledger.create_thread().id
    with Workspace(ledger, root) as files:
        with pytest.raises(Refused):
            files.track(Author(thread_id=thread), path)
        with pytest.raises(Refused):
            files.restore(path, entry=None)


def test_only_what_changed_is_read(ledger: Ledger, root: Path) -> None:
    for i in range(20):
        (root / f"f{i}").write_text(str(i))
        os.utime(root / f"f{i}", ns=(1, 1))
    with Workspace(ledger, root) as files:
        first = files.snapshot()
        assert (first.first, first.files, first.changes) == (True, 20, [])
        (root / "f3").write_text("x")
        (root / "f4").unlink()
        (root / "f5").chmod(0o600)
        assert names(files.snapshot()) == ["f3", "f4", "f5"]
        again = files.snapshot()
        assert (again.number, again.changes) == (None, [])


def test_a_file_of_the_same_size_and_time_is_seen_to_change(ledger: Ledger, root: Path) -> None:
    path = root / "a"
    path.write_text("one")
    with Workspace(ledger, root) as files:
        files.snapshot()
        for text in ("two", "six", "ten"):
            path.write_text(text)
            os.utime(path, ns=(1, 1))
            assert names(files.snapshot()) == ["a"], text


def test_ignored_is_what_git_ignores_and_what_nobody_wants(ledger: Ledger, root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n!keep.log\n/build/\n")
    (root / "sub").mkdir()
    (root / "sub/.gitignore").write_text("!again.log\nsecret\n")
    (root / ".hansardignore").write_text("big\n")
    for name in (
        "x.log",
        "keep.log",
        "build/x",
        "sub/again.log",
        "sub/secret",
        "sub/build/x",
        "big",
        ".git/config",
        "node_modules/m/x.js",
        "a.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    with Workspace(ledger, root) as files:
        files.snapshot()
        (base,) = files.snapshots()
        seen = [os.fsdecode(one.path) for one in base.changes if one.after is not None and one.after.kind == "file"]
    assert sorted(seen) == sorted(
        [".gitignore", ".hansardignore", "a.py", "keep.log", "sub/.gitignore", "sub/again.log", "sub/build/x"]
    )


def test_rules_that_change_neither_delete_nor_make_files(ledger: Ledger, root: Path) -> None:
    thread = ledger.create_thread().id
    (root / ".gitignore").write_text("mine\nout/\n")
    (root / "mine").write_text("precious")
    (root / "out").mkdir()
    (root / "out/x").write_text("precious too")
    (root / "seen").write_text("s")
    with Workspace(ledger, root) as files:
        files.snapshot()
        turn(ledger, thread)
        with files.window(Author(thread_id=thread)):
            (root / ".gitignore").write_text("seen\n")
        assert [os.fsdecode(c.path) for s in files.snapshots(thread) for c in s.changes] == [".gitignore"]
        files.undo(thread)
    assert (root / "mine").read_text() == "precious"
    assert (root / "out/x").read_text() == "precious too"
    assert (root / "seen").read_text() == "s"
    assert (root / ".gitignore").read_text() == "mine\nout/\n"


def test_a_file_that_is_ignored_no_longer_is_followed_from_then_on(ledger: Ledger, root: Path) -> None:
    (root / ".gitignore").write_text("mine\n")
    (root / "mine").write_text("one")
    with Workspace(ledger, root) as files:
        files.snapshot()
        (root / ".gitignore").write_text("")
        files.snapshot()
        (root / "mine").write_text("two")
        changed = [os.fsdecode(change.path) for change in files.snapshot().changes]
    assert changed == ["mine"]


def test_limits_are_said_and_what_was_not_seen_is_no_change(ledger: Ledger, root: Path) -> None:
    for folder in "abcd":
        (root / folder).mkdir()
        for i in range(5):
            (root / folder / str(i)).write_text(f"{folder}{i}")
    with Workspace(ledger, root, limits=Limits(files=8)) as files:
        taken = files.snapshot()
        assert taken.partial == ["more than 8 files"]
    with Workspace(ledger, root) as files:
        taken = files.snapshot()
        assert (taken.partial, taken.changes) == ([], [])
    with Workspace(ledger, root, limits=Limits(files=8)) as files:
        again = files.snapshot()
        assert (again.number, again.changes) == (None, [])
        assert again.partial == ["more than 8 files"], "said each time, also when nothing is recorded"
    (root / "large").write_bytes(b"x" * 5000)
    with Workspace(ledger, root, limits=Limits(file_size=1000)) as files:
        taken = files.snapshot()
        assert taken.partial == ["large: 5000 bytes exceed the limits, content not stored"]
        thread = ledger.create_thread().id
        turn(ledger, thread)
        with files.window(Author(thread_id=thread)):
            (root / "large").unlink()
        done = files.undo(thread)
        assert done.conflicts == [("large", "the earlier content is not stored")]


def test_contents_are_written_ahead_and_not_held_until_the_end(
    ledger: Ledger, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the first look at a large project needs as much memory as its files."""
    monkeypatch.setattr(snapshots, "_FLUSH", 1000)
    for i in range(6):
        (root / f"f{i}").write_bytes(random.Random(i).randbytes(600))
    with Workspace(ledger, root) as files:
        write, held = files.driver.write, []

        def noting(job: Any) -> Any:
            held.append(sum(len(small) for _, small in getattr(getattr(job, "__self__", None), "_blobs", {}).values()))
            return write(job)

        monkeypatch.setattr(files.driver, "write", noting)
        assert files.snapshot().files == 6
        assert [size for size in held if size] == [pytest.approx(1200, abs=100)] * 3
    assert ledger.verify() == []


def test_a_look_that_is_cut_off_at_once_forgets_nothing(ledger: Ledger, root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub/a").write_text("one")
    (root / "b").write_text("one")
    with Workspace(ledger, root) as files:
        files.snapshot()
    with Workspace(ledger, root, limits=Limits(files=0)) as files:
        assert files.snapshot().partial
    (root / "sub/a").write_text("two")
    with Workspace(ledger, root) as files:
        (change,) = files.snapshot().changes
        assert change.before is not None
        assert (change.path, files.content(change.before)) == (b"sub/a", b"one")


def test_devices_fifos_and_sockets_are_carried_but_never_opened(ledger: Ledger, root: Path) -> None:
    os.mkfifo(root / "fifo")
    server = socket.socket(socket.AF_UNIX)
    folder = os.open(root, os.O_RDONLY)
    server.bind(f"/proc/self/fd/{folder}/socket")  # the address of a socket is short, wherever the tests run
    os.close(folder)
    if os.geteuid() == 0:
        os.mknod(root / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    (root / "file").write_text("x")
    thread = ledger.create_thread().id
    with Workspace(ledger, root) as files:
        files.snapshot()
        before = tree(root)
        turn(ledger, thread)
        with files.window(Author(thread_id=thread)):
            (root / "file").unlink()
            os.mkfifo(root / "file")
            os.mkfifo(root / "another")
        done = files.undo(thread)
        assert sorted(done.conflicts) == [
            ("another", "its content is not stored, so it is not replaced"),
            ("file", "its content is not stored, so it is not replaced"),
        ]
    server.close()
    assert set(before) < set(tree(root))


def test_the_ledger_below_the_root_is_left_out(tmp_path: Path) -> None:
    import hansard

    root = tmp_path / "project"
    root.mkdir()
    (root / "a").write_text("x")
    with hansard.open(str(root / "ledger.db")) as ledger, Workspace(ledger, root) as files:
        files.snapshot()
        assert [one.path for one in files.snapshots()[0].changes] == [b"a"]
        assert files.snapshot().changes == []


def test_a_tool_that_touches_what_somebody_changed_before_owns_only_its_own(ledger: Ledger, root: Path) -> None:
    (root / "a").write_text("1\n2\n3\n4\n")
    thread = ledger.create_thread().id
    with Workspace(ledger, root) as files:
        files.snapshot()
        (root / "a").write_text("1\n2\n3\nmine\n")
        turn(ledger, thread)
        with files.tool(Author(thread_id=thread), str(root / "a")):
            (root / "a").write_text("THEIRS\n2\n3\nmine\n")
        outside = [one for one in files.snapshots() if one.author.thread_id is None and one.source == "scan"]
        assert len(outside) == 1
        files.undo(thread)
    assert (root / "a").read_text() == "1\n2\n3\nmine\n"


def test_forgetting_a_thread_takes_what_it_did_to_files_along(ledger: Ledger, root: Path) -> None:
    thread = ledger.create_thread().id
    with Workspace(ledger, root) as files:
        files.snapshot()
        turn(ledger, thread)
        with files.window(Author(thread_id=thread)):
            (root / "secret").write_text("words of the thread")
        with files.window(Author(thread_id=thread)):
            (root / "secret").unlink()
        assert ledger.stats().blobs == 1
        ledger.forget(thread)
        assert ledger.stats().blobs == 0
        assert ledger.verify() == []
        assert files.snapshots() == []
        assert files.snapshot().changes == []


def test_pruning_keeps_what_can_still_be_undone_or_redone(ledger: Ledger, root: Path) -> None:
    thread = ledger.create_thread().id
    asked = ledger.append(thread, say("user")).id
    with Workspace(ledger, root) as files:
        files.snapshot()
        with ledger.begin_run(thread) as run:
            answer = run.stage(say("assistant"))[0].id
        with files.tool(Author(thread_id=thread, message_id=answer), "a"):
            (root / "a").write_text("first answer")
        files.undo(thread, to=asked, scope="both")
        with ledger.begin_run(thread, fork_from=asked) as run:
            run.stage(say("assistant", "other"))
        ledger.prune()
        assert [one.source for one in files.snapshots(thread)] == ["undo"]
        assert ledger.verify() == []
        with pytest.raises(HansardError):
            files.redo(thread)


def test_a_merge_says_both_or_nothing() -> None:
    base = b"".join(b"%d\n" % i for i in range(9))
    assert merge(base, base.replace(b"1\n", b"one\n"), base.replace(b"7\n", b"")) == base.replace(
        b"1\n", b"one\n"
    ).replace(b"7\n", b"")
    assert merge(base, base + b"end\n", b"start\n" + base) == b"start\n" + base + b"end\n"
    assert merge(base, base.replace(b"3\n", b"x\n"), base.replace(b"3\n", b"y\n")) is None
    assert merge(base, base.replace(b"3\n", b"x\n"), base.replace(b"4\n", b"y\n")) is None
    assert merge(base, b"\0" + base, base[:-2]) is None
    assert merge(base, base.replace(b"3\n", b"x\n"), base.replace(b"3\n", b"x\n")) == base.replace(b"3\n", b"x\n")


@pytest.mark.parametrize("odd", [b"\xff\n", b"\0\n"], ids=["not UTF-8", "NUL"])
@pytest.mark.parametrize("where", range(3))
def test_what_is_not_text_is_not_merged(odd: bytes, where: int) -> None:
    base, ours, theirs = b"1\n2\n3\n", b"one\n2\n3\n", b"1\n2\nthree\n"
    texts = [text + odd if i == where else text for i, text in enumerate((base, ours, theirs))]
    assert merge(base, ours, theirs) == b"one\n2\nthree\n"
    assert merge(*texts) is None


_SOME = st.sets(st.integers(0, 9))


@given(ours=_SOME, theirs=_SOME)
def test_lines_of_one_side_are_changed_and_neighbours_are_a_conflict(ours: set[int], theirs: set[int]) -> None:
    lines = [b"%d\n" % i for i in range(10)]

    def changed(chosen: set[int]) -> list[bytes]:
        return [b"new %d\n" % i if i in chosen else line for i, line in enumerate(lines)]

    def blocks(chosen: set[int]) -> list[tuple[int, int]]:
        """From the first line of neighbours that are changed to the line after the last."""
        begins = sorted(i for i in chosen if i - 1 not in chosen)
        return [(i, next(j for j in range(i, 11) if j not in chosen)) for i in begins]

    both = merge(b"".join(lines), b"".join(changed(ours)), b"".join(changed(theirs)))
    pairs = [(a, b) for a in blocks(ours) for b in blocks(theirs) if a != b]
    if theirs and ours and ours != theirs and any(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs):
        assert both is None
    else:
        assert both == b"".join(changed(ours | theirs))
