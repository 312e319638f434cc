"""Files as they were at a message or a snapshot, what a message did to them, and how that is shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hansard import Ledger
from hansard.errors import NotFound
from hansard.workspace import Author, Workspace
from hansard.workspace.entries import FILE, FOLDER, LINK, Change, Entry, content_hash, file_entry
from hansard.workspace.history import (
    State,
    at_message,
    at_snapshot,
    changes_of,
    changes_since,
    describe,
    diff,
    unified_diff,
)
from tests.workspace.trees import say, turn


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a").write_text("one\n")
    (folder / "still").write_text("still\n")
    return folder


@pytest.fixture
def files(ledger: Ledger, root: Path) -> Iterator[Workspace]:
    with Workspace(ledger, root) as opened:
        opened.snapshot()
        yield opened


def texts(files: Workspace, state: State) -> dict[str, str | None]:
    """What every known file held."""
    return {
        os.fsdecode(path): None if entry is None else files.content(entry).decode()
        for path, entry in state.files.items()
        if entry is None or entry.kind == FILE
    }


def edit(files: Workspace, thread: str, **changed: str | None) -> str:
    """A turn whose tool writes these files, None takes one away; the message."""
    answer = turn(files.ledger, thread)
    with files.tool(Author(thread_id=thread, message_id=answer), *changed):
        for name, text in changed.items():
            path = Path(files.root.path) / name
            path.unlink() if text is None else path.write_text(text)
    return answer


def test_files_are_known_as_they_were_at_every_message(files: Workspace) -> None:
    thread = files.ledger.create_thread().id
    asked = files.ledger.append(thread, say("user")).id
    assert isinstance(asked, str)
    first = edit(files, thread, a="two\n", b="new\n")
    second = edit(files, thread, a=None)
    base = {"a": "one\n", "b": None, "still": "still\n"}
    assert texts(files, at_message(files, thread, None)) == base
    assert texts(files, at_message(files, thread, asked)) == base
    assert texts(files, at_message(files, thread, first)) == {"a": "two\n", "b": "new\n", "still": "still\n"}
    assert texts(files, at_message(files, thread, second)) == {"a": None, "b": "new\n", "still": "still\n"}


def test_what_others_did_after_the_message_is_not_what_was_there(files: Workspace) -> None:
    ours, theirs = files.ledger.create_thread().id, files.ledger.create_thread().id
    first = edit(files, ours, a="two\n")
    edit(files, theirs, a="theirs\n", c="theirs\n")
    assert texts(files, at_message(files, ours, first)) == {"a": "two\n", "c": None, "still": "still\n"}
    last = edit(files, ours, b="x\n")
    assert texts(files, at_message(files, ours, last))["a"] == "theirs\n"


def test_of_a_branch_only_its_own_messages_count(files: Workspace) -> None:
    thread = files.ledger.create_thread().id
    first = edit(files, thread, a="two\n")
    edit(files, thread, a="three\n")
    files.ledger.checkout(thread, first)
    other = turn(files.ledger, thread)
    assert texts(files, at_message(files, thread, other))["a"] == "two\n"


def test_an_undo_is_not_what_a_message_did(files: Workspace) -> None:
    thread = files.ledger.create_thread().id
    first = edit(files, thread, a="two\n")
    files.undo(thread)
    assert (Path(files.root.path) / "a").read_text() == "one\n"
    assert texts(files, at_message(files, thread, first))["a"] == "two\n"
    assert [change.path for change in changes_of(files, thread, first)] == [b"a"]


def test_a_thread_that_changed_nothing_has_the_files_as_they_were_at_first(files: Workspace) -> None:
    other = files.ledger.create_thread().id
    edit(files, other, a="two\n")
    quiet = files.ledger.create_thread().id
    said = turn(files.ledger, quiet)
    assert texts(files, at_message(files, quiet, said)) == {"a": "one\n", "still": "still\n"}


def test_a_message_or_snapshot_that_is_not_there_is_named(files: Workspace) -> None:
    thread = files.ledger.create_thread().id
    with pytest.raises(NotFound, match="no message 'none' in thread"):
        at_message(files, thread, "none")
    with pytest.raises(NotFound, match="no snapshot 999"):
        at_snapshot(files, 999)
    with pytest.raises(NotFound, match="no recorded state of 'never'"):
        at_message(files, thread, None).entry(b"never")
    assert at_message(files, thread, None).entry(b"a") == file_entry(b"one\n", 0o644)


def test_files_are_known_as_they_were_before_and_after_a_snapshot(files: Workspace) -> None:
    thread = files.ledger.create_thread().id
    edit(files, thread, a="two\n")
    edit(files, thread, a="three\n", b="b\n")
    second, third = [one.number for one in files.snapshots() if one.source == "tool"]
    wanted = {(second, True): "one\n", (second, False): "two\n", (third, True): "two\n", (third, False): "three\n"}
    assert {
        (number, before): texts(files, at_snapshot(files, number, before=before))["a"] for number, before in wanted
    } == wanted
    assert at_snapshot(files, third, before=True).entry(b"b") is None


def test_several_edits_of_a_message_are_one_change_and_none_if_they_come_to_nothing(files: Workspace) -> None:
    thread = files.ledger.create_thread().id
    answer = turn(files.ledger, thread)
    by = Author(thread_id=thread, message_id=answer)
    for text in ("two\n", "three\n"):
        with files.tool(by, "a", "b", "still"):
            for name in ("a", "b", "still"):
                (Path(files.root.path) / name).write_text(text)
    with files.tool(by, "b", "still"):
        (Path(files.root.path) / "b").unlink()
        (Path(files.root.path) / "still").write_text("still\n")
    (change,) = changes_of(files, thread, answer)
    assert change == Change(b"a", file_entry(b"one\n", 0o644), file_entry(b"three\n", 0o644))
    assert changes_of(files, thread, "another") == []
    assert diff(files, change) == "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+three\n"


def test_what_differs_now_from_a_message_is_found_though_it_was_not_recorded(files: Workspace) -> None:
    thread = files.ledger.create_thread().id
    answer = edit(files, thread, a="two\n")
    assert changes_since(files, thread, answer) == []
    root = Path(files.root.path)
    (root / "a").write_text("by hand\n")
    (root / "still").unlink()
    (root / "unknown").write_text("never recorded")
    found = changes_since(files, thread, answer)
    assert [(change.path, describe(change)) for change in found] == [(b"a", "modified"), (b"still", "deleted")]
    assert diff(files, found[0]) == "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-two\n+by hand\n"
    (root / "a").write_text("and again\n")  # neither in the ledger nor in the file any more
    assert diff(files, found[0]) == "a: modified\n"


HELD = {content_hash(text): text for text in (b"a\nb\n", b"a\nc", b"\0", b"\xff", b"")}


def entry(text: bytes, mode: int | None = 0o644) -> Entry:
    return file_entry(text, mode)


ONE, TWO = entry(b"a\nb\n"), entry(b"a\nc")
LINKED, FOLDED = Entry(LINK, None, content_hash(b"a\nb\n"), 4), Entry(FOLDER, 0o755)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (ONE, TWO, "--- a/n\n+++ b/n\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"),
        (None, ONE, "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n"),
        (ONE, None, "--- a/n\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"),
        (ONE, entry(b"a\nb\n", 0o755), "n: mode 644 to 755\n"),
        (entry(b"a\nb\n", None), entry(b"a\nb\n", 0o755), "n: modified\n"),  # nobody knows the mode it had
        (
            ONE,
            entry(b"a\nc", 0o600),
            "n: mode 644 to 600\n--- a/n\n+++ b/n\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n",
        ),
        (None, entry(b""), "n: created\n"),
        (entry(b""), None, "n: deleted\n"),
        (ONE, entry(b"\0"), "n: modified\n"),
        (entry(b"\xff"), ONE, "n: modified\n"),
        (ONE, entry(b"not held"), "n: modified\n"),
        (ONE, LINKED, "n: modified (file to link)\n"),
        (None, LINKED, "n: created (link)\n"),
        (FOLDED, None, "n: deleted (dir)\n"),
    ],
)
def test_a_change_is_shown_as_a_diff_or_in_words(before: Entry | None, after: Entry | None, shown: str) -> None:
    assert unified_diff(Change(b"n", before, after), lambda one: HELD.get(one.hash)) == shown
