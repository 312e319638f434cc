"""Undo and redo: the same bytes, modes and links again, nobody else's edit touched."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard import Ledger
from hansard.errors import Conflict, HansardError
from hansard.model import Message, TextPart
from hansard.model.conversation import Todo
from hansard.workspace import Author, Workspace
from hansard.workspace.todos import todos_at
from tests.workspace.trees import edits, say, tree, turn

_BEFORE = st.lists(edits, max_size=8)
_TURNS = st.lists(st.lists(edits, max_size=6), min_size=1, max_size=3)


@given(before=_BEFORE, turns=_TURNS)
def test_undo_then_redo_is_the_same_in_bytes_modes_and_links(before, turns) -> None:
    with tempfile.TemporaryDirectory() as folder, hansard.open(":memory:") as ledger:
        root = os.fsencode(folder)
        for edit in before:
            edit(root)
        thread = ledger.create_thread().id
        states = []
        with Workspace(ledger, folder) as files:
            files.snapshot()
            for changes in turns:
                states.append((tree(folder), ledger.thread(thread).head))
                ledger.append(thread, say("user"))
                answer = ledger.append(thread, say("assistant")).id
                with files.window(Author(thread_id=thread, message_id=answer)):
                    for edit in changes:
                        edit(root)
            states.append((tree(folder), ledger.thread(thread).head))
            for i in reversed(range(len(turns))):
                done = files.undo(thread)
                assert done.conflicts == []
                assert (tree(folder), ledger.thread(thread).head) == states[i]
            for i in range(len(turns)):
                assert files.redo(thread).conflicts == []
                assert (tree(folder), ledger.thread(thread).head) == states[i + 1]
            assert files.snapshot().changes == []
            files.undo(thread, len(turns))
            assert (tree(folder), ledger.thread(thread).head) == states[0]
            files.redo(thread)
            assert (tree(folder), ledger.thread(thread).head) == states[-1]
        assert ledger.verify() == []


@pytest.fixture
def files(ledger: Ledger, tmp_path: Path):
    root = tmp_path / "project"
    root.mkdir()
    with Workspace(ledger, root) as workspace:
        yield workspace


def edit(files: Workspace, thread: str, name: str, text: str) -> None:
    """A tool of a thread writes a file."""
    ledger = files.ledger
    ledger.append(thread, say("user"))
    answer = ledger.append(thread, say("assistant")).id
    with files.tool(Author(thread_id=thread, message_id=answer, agent_id="coder"), name):
        path = Path(files.root.path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_undo_moves_the_head_and_the_todo_list_with_the_files(ledger: Ledger, files: Workspace) -> None:
    thread = ledger.create_thread().id
    root = Path(files.root.path)
    ledger.append(thread, Message(role="user", parts=[TextPart(text="q")], todos=[Todo(content="first")]))
    first = ledger.append(thread, say("assistant")).id
    ledger.append(thread, say("user"))
    last = ledger.append(
        thread, Message(role="assistant", parts=[TextPart(text="a")], todos=[Todo(content="second")])
    ).id
    with files.tool(Author(thread_id=thread, message_id=last), "src/new.py"):
        (root / "src").mkdir()
        (root / "src/new.py").write_text("x")
    done = files.undo(thread)
    assert ledger.thread(thread).head == first == done.to_head
    assert not (root / "src").exists()
    assert [todo.content for todo in todos_at(ledger, thread, done.to_head)] == ["first"]
    done = files.redo(thread)
    assert ledger.thread(thread).head == last
    assert (root / "src/new.py").read_text() == "x"
    assert [todo.content for todo in todos_at(ledger, thread, done.to_head)] == ["second"]


def test_a_new_message_ends_redo_and_the_sibling_stays_with_its_files(ledger: Ledger, files: Workspace) -> None:
    thread = ledger.create_thread().id
    path = Path(files.root.path, "a")
    edit(files, thread, "a", "one")
    edit(files, thread, "a", "two")
    old = ledger.thread(thread).head
    files.undo(thread)
    edit(files, thread, "a", "three")
    with pytest.raises(Conflict, match="messages were added after the undo"):
        files.redo(thread)
    assert path.read_text() == "three"
    files.undo(thread, to=old)
    assert (path.read_text(), ledger.thread(thread).head) == ("two", old)
    assert len(ledger.branches(thread)) == 2


def test_scopes_leave_the_other_alone(ledger: Ledger, files: Workspace) -> None:
    thread = ledger.create_thread().id
    path = Path(files.root.path, "a")
    edit(files, thread, "a", "one")
    edit(files, thread, "a", "two")
    head = ledger.thread(thread).head
    files.undo(thread, scope="files")
    assert (path.read_text(), ledger.thread(thread).head) == ("one", head)
    files.redo(thread)
    files.undo(thread, scope="conversation")
    assert path.read_text() == "two"
    assert ledger.thread(thread).head != head
    files.redo(thread)
    assert (path.read_text(), ledger.thread(thread).head) == ("two", head)
    with pytest.raises(HansardError, match="unknown scope"):
        files.undo(thread, scope="all")


def test_an_edit_made_since_is_merged_or_kept_and_named(ledger: Ledger, files: Workspace) -> None:
    thread = ledger.create_thread().id
    path = Path(files.root.path, "a")
    path.write_text("one\ntwo\nthree\nfour\nfive\n")
    edit(files, thread, "a", "ONE\ntwo\nthree\nfour\nfive\n")
    path.write_text("ONE\ntwo\nthree\nfour\nMINE\n")
    done = files.undo(thread)
    assert path.read_text() == "one\ntwo\nthree\nfour\nMINE\n"
    assert [item.action for item in done.files.touched] == ["merge"]
    files.redo(thread)
    assert path.read_text() == "ONE\ntwo\nthree\nfour\nMINE\n"
    path.write_text("MINE\n")
    done = files.undo(thread)
    assert path.read_text() == "MINE\n"
    assert done.conflicts == [("a", "was changed since, and the changes do not merge")]


def test_a_file_that_is_not_ours_keeps_its_folder(ledger: Ledger, files: Workspace) -> None:
    thread = ledger.create_thread().id
    root = Path(files.root.path)
    edit(files, thread, "new/a", "x")
    (root / "new/mine").write_text("y")
    done = files.undo(thread)
    assert sorted(tree(root)) == [b"new", b"new/mine"]
    assert [path for path, _ in done.conflicts] == ["new"]


def test_two_threads_in_one_tree_do_not_undo_each_other(ledger: Ledger, files: Workspace) -> None:
    root = Path(files.root.path)
    (root / "shared").write_text("1\n2\n3\n4\n5\n6\n")
    files.snapshot()
    one, two = ledger.create_thread().id, ledger.create_thread().id
    edit(files, one, "one", "1")
    edit(files, two, "two", "2")
    edit(files, one, "shared", "ONE\n2\n3\n4\n5\n6\n")
    edit(files, two, "shared", "ONE\n2\n3\n4\n5\nTWO\n")
    edit(files, one, "one", "11")
    edit(files, two, "two", "22")
    files.undo(one, 3)
    assert (root / "shared").read_text() == "1\n2\n3\n4\n5\nTWO\n"
    assert (root / "two").read_text() == "22"
    assert not (root / "one").exists()
    files.undo(two, 3)
    assert sorted(tree(root)) == [b"shared"]
    assert (root / "shared").read_text() == "1\n2\n3\n4\n5\n6\n"
    files.redo(one)
    assert (root / "shared").read_text() == "ONE\n2\n3\n4\n5\n6\n"


def test_what_happens_in_two_windows_at_once_is_nobodys(ledger: Ledger, files: Workspace) -> None:
    root = Path(files.root.path)
    one, two = ledger.create_thread().id, ledger.create_thread().id
    turn(ledger, one), turn(ledger, two)
    with files.window(Author(thread_id=one)):
        (root / "ones").write_text("1")
        with files.window(Author(thread_id=two)):
            (root / "somebodys").write_text("x")
        (root / "ones too").write_text("1")
    files.undo(one), files.undo(two)
    assert sorted(tree(root)) == [b"somebodys"]
    assert [one.source for one in files.snapshots() if one.author.thread_id is None] == ["shared"]


def test_what_was_done_outside_is_not_undone(ledger: Ledger, files: Workspace) -> None:
    root = Path(files.root.path)
    files.snapshot()
    thread = ledger.create_thread().id
    (root / "mine").write_text("x")
    turn(ledger, thread)
    with files.window(Author(thread_id=thread)):
        (root / "theirs").write_text("y")
    (root / "later").write_text("z")
    files.snapshot()
    files.undo(thread)
    assert sorted(tree(root)) == [b"later", b"mine"]


def test_nothing_to_undo_is_said(ledger: Ledger, files: Workspace) -> None:
    thread = ledger.create_thread().id
    with pytest.raises(HansardError, match="nothing to undo"):
        files.undo(thread)
    turn(ledger, thread)
    with pytest.raises(HansardError, match="cannot undo 2 turns: this branch has 1"):
        files.undo(thread, 2)
    with pytest.raises(HansardError, match="nothing to redo"):
        files.redo(thread)
