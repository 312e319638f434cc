"""Imported sessions: files rebuilt at any message, undone on disk, with what somebody outside changed named."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

import hansard
from hansard import Ledger, formats
from hansard.formats.coding_agents.edits import UNKNOWN, edits_of, replayed
from hansard.formats.coding_agents.unified_diff import apply_diff, reverse_diff
from hansard.workspace import Author, Workspace
from hansard.workspace.history import at_message, changes_of
from hansard.workspace.imported_edits import import_edits
from hansard.workspace.sage.folder import write_folder
from hansard.workspace.sage.snapshots import read_snapshots
from tests.workspace.trees import say, turn


def record(kind: str, uuid: str, parent: str | None, cwd: Path, content: Any, **more: Any) -> str:
    return json.dumps(
        {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(cwd),
            "sessionId": "s1",
            "version": "2.1.0",
            "type": kind,
            "message": {"role": kind, "content": content, **({"id": f"m{uuid}"} if kind == "assistant" else {})},
            "uuid": uuid,
            "timestamp": "2026-01-01T00:00:00.000Z",
            **more,
        }
    )


def edited(uuid: str, parent: str, cwd: Path, told: dict[str, Any]) -> list[str]:
    """A call of an editing tool and its result."""
    call = {"type": "tool_use", "id": f"toolu_{uuid}", "name": "Edit", "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{uuid}", "content": "done"}
    return [
        record("assistant", f"c{uuid}", parent, cwd, [call]),
        record("user", uuid, f"c{uuid}", cwd, [result], toolUseResult=told),
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def imported(ledger: Ledger, lines: list[str]) -> str:
    conversation = hansard.read("\n".join(lines).encode() + b"\n", "claude-code")
    return ledger.import_conversation(conversation, "s1").id


def session(root: Path) -> list[str]:
    path = str(root / "a.py")
    return [
        record("user", "u1", None, root, "make a.py"),
        *edited("e1", "u1", root, {"type": "create", "filePath": path, "content": "one\n-\ntwo\n-\nend\n"}),
        record("user", "u2", "e1", root, "change it"),
        *edited(
            "e2",
            "u2",
            root,
            {
                "filePath": path,
                "oldString": "one",
                "newString": "ONE",
                "originalFile": "one\n-\ntwo\n-\nend\n",
                "replaceAll": False,
            },
        ),
        *edited(
            "e3",
            "e2",
            root,
            {
                "filePath": path,
                "oldString": "end\n",
                "newString": "",
                "originalFile": "ONE\n-\ntwo and mine\n-\nend\n",
                "replaceAll": False,
            },
        ),
        *edited("e4", "e3", root, {"type": "create", "filePath": "/elsewhere/b.py", "content": "x"}),
    ]


def test_an_imported_session_is_undone_and_redone_on_disk(ledger: Ledger, root: Path) -> None:
    path = root / "a.py"
    path.write_text("ONE\n-\ntwo and mine\n-\n")
    path.chmod(0o755)
    thread = imported(ledger, session(root))
    with Workspace(ledger, root) as files:
        told = import_edits(files, thread)
        assert (told.edits, told.elsewhere, told.compared) == (3, 1, 2)
        assert told.outside == [(str(path), "e3")]
        assert import_edits(files, thread) == import_edits(files, thread)
        assert [one.author.thread_id for one in files.snapshots()] == [thread, thread, None, thread]
        assert len(files.snapshots()) == 4  # three messages, and what was changed outside between two of them
        files.undo(thread)
        assert path.read_text() == "one\n-\ntwo and mine\n-\nend\n"  # what was changed outside stays
        files.redo(thread)
        assert path.read_text() == "ONE\n-\ntwo and mine\n-\n"
        done = files.undo(thread, 2)  # it would have to go, but somebody wrote into it
        assert done.conflicts == [("a.py", "was changed since, so it is not deleted")]
        assert path.read_text() == "ONE\n-\ntwo and mine\n-\n"
        files.redo(thread)
        assert (path.read_text(), path.stat().st_mode & 0o777) == ("ONE\n-\ntwo and mine\n-\n", 0o755)


def test_files_are_known_at_every_message(ledger: Ledger, root: Path) -> None:
    thread = imported(ledger, session(root))
    with Workspace(ledger, root) as files:
        import_edits(files, thread)

        def at(message: str) -> bytes | None:
            entry = at_message(files, thread, message).entry(b"a.py")
            return None if entry is None else files.content(entry)

        assert at("u1") is None
        assert at("e1") == at("u2") == b"one\n-\ntwo\n-\nend\n"
        assert at("e2") == b"ONE\n-\ntwo\n-\nend\n"
        assert at("e3") == b"ONE\n-\ntwo and mine\n-\n"
        assert [change.path for change in changes_of(files, thread, "e2")] == [b"a.py"]


def test_a_project_that_was_moved_is_found_by_its_place(ledger: Ledger, root: Path) -> None:
    thread = imported(ledger, session(Path("/somebody/elses/project")))
    (root / "a.py").write_text("ONE\n-\ntwo and mine\n-\n")
    with Workspace(ledger, root) as files:
        told = import_edits(files, thread)
        assert (told.edits, told.elsewhere) == (3, 1)
        files.undo(thread)
        assert (root / "a.py").read_text() == "one\n-\ntwo and mine\n-\nend\n"


def test_a_session_that_grew_adds_only_what_is_new(ledger: Ledger, root: Path) -> None:
    lines = session(root)
    thread = imported(ledger, lines[:3])
    with Workspace(ledger, root) as files:
        import_edits(files, thread)
        assert len(files.snapshots()) == 1
        imported(ledger, lines)
        import_edits(files, thread)
        assert [one.author.message_id for one in files.snapshots(thread)] == ["e1", "e2", "e3"]


def test_claudes_own_backups_tell_what_stood_there(ledger: Ledger, root: Path, tmp_path: Path) -> None:
    path = root / "a.bin"
    name = hashlib.sha256(str(path).encode()).hexdigest()[:16] + "@v1"
    history = tmp_path / "file-history" / "s1"
    history.mkdir(parents=True)
    (history / name).write_bytes(b"before\n")
    backup = {"backupFileName": name, "version": 1, "backupTime": "2026-01-01T00:00:00.000Z"}
    snapshot = {
        "type": "file-history-snapshot",
        "messageId": "u1",
        "snapshot": {"messageId": "u1", "trackedFileBackups": {str(path): backup}, "timestamp": "2026-01-01T00:00:00Z"},
        "isSnapshotUpdate": False,
    }
    told = {"filePath": str(path), "oldString": "before", "newString": "after", "originalFile": None}
    lines = [record("user", "u1", None, root, "x"), json.dumps(snapshot), *edited("e1", "u1", root, told)]
    thread = imported(ledger, lines)
    path.write_bytes(b"after\n")
    with Workspace(ledger, root) as files:
        import_edits(files, thread, backups=str(history))
        files.undo(thread)
        assert path.read_bytes() == b"before\n"


def test_what_nobody_told_is_not_guessed(ledger: Ledger, root: Path) -> None:
    told = {"filePath": str(root / "a"), "oldString": "x", "newString": "y", "originalFile": None}
    thread = imported(ledger, [record("user", "u1", None, root, "x"), *edited("e1", "u1", root, told)])
    (root / "a").write_text("yy")
    with Workspace(ledger, root) as files:
        import_edits(files, thread)
        done = files.undo(thread)
        assert [path for path, _ in done.conflicts] == ["a"]
        assert (root / "a").read_text() == "yy"


def test_codex_patches_and_gemini_results_are_edits() -> None:
    base = b"a\nb\nc\nd\n"
    assert apply_diff(base, "@@ -2,2 +2,3 @@\n b\n-c\n+C\n+c2\n") == b"a\nb\nC\nc2\nd\n"
    assert apply_diff(b"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n") == b"a\nB\n"
    assert apply_diff(base, "@@ -2 +2 @@\n-x\n+y\n") is UNKNOWN
    part = hansard.model.ToolResultPart(
        tool_call_id="c",
        extra={
            "gemini-cli": {
                "resultDisplay": {"fileName": "a", "filePath": "/p/a", "originalContent": None, "newContent": "x"}
            },
            "codex": {"changes": {"/p/b": {"type": "add", "content": "y"}, "/p/c": {"type": "delete", "content": "z"}}},
        },
    )
    message = hansard.Message(role="tool", id="m", parts=[part])
    found = list(replayed(edits_of(hansard.Conversation(messages=[message]))))
    assert [(one.path, one.before, one.after) for one in found] == [
        ("/p/b", None, b"y"),
        ("/p/c", b"z", None),
        ("/p/a", None, b"x"),
    ]


def result(extra: dict[str, Any]) -> hansard.Conversation:
    part = hansard.model.ToolResultPart(tool_call_id="c", extra={} if "claude-code" in extra else extra)
    message = hansard.Message(role="tool", id="m", parts=[part], extra=extra if "claude-code" in extra else UNSET)
    return hansard.Conversation(messages=[message])


def contents(told: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(one.path, one.before, one.after) for one in replayed(edits_of(result(told)))]


OLD = "a a\nb\n"


@pytest.mark.parametrize(
    ("told", "before", "after"),
    [
        ({"type": "create", "content": "new"}, None, b"new"),
        ({"type": "update", "content": "new", "originalFile": OLD}, OLD.encode(), b"new"),
        ({"oldString": "a", "newString": "c", "originalFile": OLD}, OLD.encode(), b"c a\nb\n"),
        ({"oldString": "a", "newString": "c", "replaceAll": True, "originalFile": OLD}, OLD.encode(), b"c c\nb\n"),
        ({"oldString": "b", "newString": "", "originalFile": OLD}, OLD.encode(), b"a a\n"),
        ({"oldString": "b\n", "newString": "", "originalFile": OLD}, OLD.encode(), b"a a\n"),
        ({"oldString": "", "newString": "new"}, None, b"new"),
        ({"oldString": "gone", "newString": "c", "originalFile": OLD}, OLD.encode(), UNKNOWN),
        ({"oldString": "a", "newString": "c"}, UNKNOWN, UNKNOWN),
        (
            {
                "edits": [{"old_string": "a", "new_string": "c", "replace_all": True}, {"old_string": "b"}, None],
                "originalFileContents": OLD,
            },
            OLD.encode(),
            b"c c\n",
        ),
    ],
)
def test_claude_codes_records_of_an_edit(told: dict[str, Any], before: Any, after: Any) -> None:
    found = contents({"claude-code": {"toolUseResult": {"filePath": "/p/a", **told}}})
    assert found == [("/p/a", before, after)]


@pytest.mark.parametrize("told", ["text", {"filePath": 1, "content": "x", "type": "create"}, {"filePath": "/p/a"}])
def test_a_result_that_changed_no_file(told: Any) -> None:
    assert contents({"claude-code": {"toolUseResult": told}}) == []


def test_a_patch_of_codex_may_move_a_file() -> None:
    moves = {"type": "update", "unified_diff": "@@ -1 +1 @@\n-y\n+z\n", "move_path": "/p/c"}
    parts = [
        hansard.model.ToolResultPart(tool_call_id="c", extra={"codex": {"changes": change, **more}})
        for change, more in (
            ({"/p/b": {"type": "add", "content": "y\n"}}, {"status": "completed"}),
            ({"/p/b": {"type": "delete", "content": "y\n"}}, {"status": "failed"}),
            ({"/p/b": {"type": "delete", "content": "y\n"}}, {"status": "declined"}),
            ({"/p/b": moves, "/p/d": "no change", "/p/e": {"type": "update"}}, {}),
        )
    ]
    conversation = hansard.Conversation(messages=[hansard.Message(role="tool", id="m", parts=parts)])
    found = [(one.edit.moved_from, one.path, one.before, one.after) for one in replayed(edits_of(conversation))]
    assert found == [(None, "/p/b", None, b"y\n"), ("/p/b", "/p/c", b"y\n", b"z\n")]


_LINES = st.lists(st.text(alphabet="ab+-@ \r\x0c\x1c\u2028\\", max_size=4).map(lambda text: text + "\n"), max_size=6)


@given(before=_LINES, after=_LINES, context=st.integers(0, 3))
def test_a_diff_is_put_in_and_taken_out_whatever_stands_in_its_lines(
    before: list[str], after: list[str], context: int
) -> None:
    diff = "".join(list(difflib.unified_diff(before, after, n=context))[2:])
    old, new = "".join(before).encode(), "".join(after).encode()
    assert apply_diff(old, diff) == new
    assert apply_diff(new, reverse_diff(diff)) == old


def test_a_patch_is_taken_out_of_the_file_there_is(ledger: Ledger, root: Path) -> None:
    one = {"type": "update", "unified_diff": "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "move_path": None}
    two = {"type": "update", "unified_diff": "@@ -2,3 +2,2 @@\n b\n-c\n d\n", "move_path": None}
    parts = [
        hansard.model.ToolResultPart(tool_call_id=f"c{i}", extra={"codex": {"changes": {str(root / "f"): told}}})
        for i, told in enumerate((one, two))
    ]
    thread = ledger.create_thread().id
    ledger.append(thread, say("user"))
    ledger.append(thread, hansard.Message(role="tool", parts=parts[:1]))
    ledger.append(thread, say("user"))
    ledger.append(thread, hansard.Message(role="tool", parts=parts[1:]))
    (root / "f").write_text("A\nb\nd\ne\nmine\n")
    with Workspace(ledger, root) as files:
        import_edits(files, thread)
        files.undo(thread)
        assert (root / "f").read_text() == "A\nb\nc\nd\ne\nmine\n"
        files.undo(thread)
        assert (root / "f").read_text() == "a\nb\nc\nd\ne\nmine\n"
        files.redo(thread), files.redo(thread)
        assert (root / "f").read_text() == "A\nb\nd\ne\nmine\n"


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_only_a_file_is_taken_for_what_a_patch_left(ledger: Ledger, root: Path, kind: str) -> None:
    end = "\\ No newline at end of file\n"
    told = {"type": "update", "unified_diff": f"@@ -1 +1 @@\n-a\n{end}+A\n{end}", "move_path": None}
    part = hansard.model.ToolResultPart(tool_call_id="c", extra={"codex": {"changes": {str(root / "f"): told}}})
    thread = ledger.create_thread().id
    ledger.append(thread, say("user"))
    message = ledger.append(thread, hansard.Message(role="tool", parts=[part]))
    if kind == "file":
        (root / "f").write_text("A")
    elif kind == "link":
        os.symlink("A", root / "f")
    else:
        (root / "f").mkdir()
    with Workspace(ledger, root) as files:
        import_edits(files, thread)
        (change,) = changes_of(files, thread, str(message.id))
        assert change.before is not None
        assert change.before.held == (kind == "file")


def test_a_sage_folder_is_written_and_read_again(ledger: Ledger, root: Path, tmp_path: Path) -> None:
    thread = ledger.create_thread("one").id
    odd = os.fsdecode(b"\xff odd\n")
    (root / "text").write_text("one\n")
    (root / "image").write_bytes(b"\0\xff")
    with Workspace(ledger, root) as files:
        files.snapshot()
        answer = turn(ledger, thread)
        with files.window(Author(thread_id=thread)):
            (root / "text").write_text("two\n")
            (root / "image").unlink()
            (root / "new").mkdir(mode=0o755)
            (root / "new" / odd).write_bytes(b"x")
            os.symlink("text", root / "link")
        changes = changes_of(files, thread, answer)
        folder = tmp_path / "session"
        assert write_folder(files, thread, str(folder)) == 1
        assert len(list((folder / "backups").iterdir())) == 1
    snapshots = hansard.read((folder / "snapshots.jsonl").read_bytes(), "sage").snapshots
    again = ledger.create_thread("two").id
    with hansard.open(":memory:") as other:
        conversation = hansard.Conversation(
            messages=[hansard.Message(id=answer, role="assistant", parts=say("x").parts)], snapshots=snapshots
        )
        thread = other.import_conversation(conversation, again).id
        with Workspace(other, root) as files:
            assert read_snapshots(files, thread, str(folder)) == (1, [], [])
            assert changes_of(files, thread, answer) == changes
            assert read_snapshots(files, thread, str(folder)) == (0, [], [])


def test_the_corpus_is_rebuilt_as_it_was(corpus: Path) -> None:
    compared = equal = edits = 0
    for path in sorted((corpus / "sessions").rglob("*.jsonl")):
        if not path.relative_to(corpus / "sessions").parts[0].startswith("claude-code"):
            continue
        try:
            conversations = formats.read_all(path.read_bytes(), "claude-code")
        except hansard.HansardError:
            continue
        for conversation in conversations:
            for step in replayed(edits_of(conversation)):
                edits += 1
                compared += step.compared
                equal += step.compared and not step.outside
    print(f"{edits} edits; {equal} of {compared} found what the edits before them left ({equal / compared:.1%})")
    assert equal / compared > 0.9
