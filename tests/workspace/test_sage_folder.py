"""Threads exported as Sage session folders: byte for byte, complete, migrated, and undone again from there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import UNSET

import hansard
from hansard import formats
from hansard.formats.coding_agents.sage.complete import completed, migrated, prepared
from hansard.model import Conversation, Message, RawPart, TextPart, Thinking, Todo, exact_json
from hansard.sessions import discovery
from hansard.sessions.importer import import_session
from hansard.workspace import Author, Workspace
from hansard.workspace.sage.folder import session_folder
from hansard.workspace.sage.snapshots import read_snapshots
from tests.conftest import GOLDEN
from tests.strategies import conversations
from tests.workspace.sage_project import SESSION, Project, line, sha256, snapshot, weather
from tests.workspace.test_sage import Shell, root, shell
from tests.workspace.trees import say

__all__ = ["root", "shell"]
OLDER = b"""{"role":"system","content":"Be brief.","timestamp":"2025-11-01T10:00:00Z"}
{"role":"user","content":"ls","timestamp":"2025-11-01T10:00:01Z"}
{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"bash","arguments":{"command":"ls"}}]}
{"role":"tool","content":"","tool_results":[{"tool_call_id":"c1","tool_name":"bash","content":"a","success":true,"error":null}]}
"""
REQUIRED = ("type", "uuid", "timestamp", "sessionId", "version", "context", "todos", "isSidechain")


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def records(data: bytes) -> list[Any]:
    return [json.loads(one) for one in data.splitlines()]


@pytest.mark.parametrize("inline", [False, True], ids=["snapshots.jsonl", "inside messages.jsonl"])
@pytest.mark.parametrize("made", [False, True], ids=["new folder", "existing folder"])
def test_a_folder_comes_back_byte_for_byte(root: Path, shell: Shell, inline: bool, made: bool) -> None:
    project = weather(root, inline=inline)
    project.backups["old"] = {"backupPath": ".sage/backups/old.backup", "originalHash": sha256(b"old")}
    (root / ".sage" / "backups").mkdir()
    (root / ".sage" / "backups" / "old.backup").write_bytes(b"old")
    (root / ".sage" / "backups" / "of another session").write_bytes(b"other")
    project.write()
    (project.session / "messages.jsonl").write_bytes((project.session / "messages.jsonl").read_bytes().rstrip(b"\n"))
    before = tree(root / ".sage")
    shell("import", ".sage")
    out = root.parent / "out"
    if made:
        out.mkdir()
    told = shell("export", SESSION, "--to", "sage", "-o", str(out))
    assert told == f"{out}/sessions/{SESSION}: {len(before) - 2} files\n"
    assert {**tree(out), "config.json": before["config.json"]} == {
        name: data for name, data in before.items() if "another" not in name
    }


def test_an_exported_folder_is_undone_like_the_first(root: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    project = weather(root)
    shell("import", ".sage")
    shell("undo", "--thread", SESSION)
    shell("redo")
    shell("export", SESSION, "--to", "sage", "-o", str(root.parent / "copy" / ".sage"))
    moved = root.parent / "copy"
    for name, data in project.content().items():
        (moved / name).parent.mkdir(parents=True, exist_ok=True)
        (moved / name).write_bytes(data)
    shutil.rmtree(root)
    monkeypatch.chdir(moved)
    shell.db = str(root.parent / "second.db")
    shell("import")
    shell("undo", "--thread", SESSION)
    assert {name: data for name, data in tree(moved).items() if ".sage" not in name} == project.before


def test_later_messages_and_changes_are_appended(root: Path, shell: Shell) -> None:
    project = weather(root)
    before = tree(root / ".sage")
    shell("import", ".sage")
    with hansard.open(shell.db) as ledger, Workspace(ledger, root) as files:
        ledger.append(SESSION, Message(role="user", parts=[TextPart(text="More")], thinking=Thinking(level="low")))
        answer = ledger.append(SESSION, say("assistant"))
        with files.tool(Author(thread_id=SESSION, message_id=answer.id), "new.txt"):
            (root / "new.txt").write_bytes(b"\xff")
        with files.tool(Author(thread_id=SESSION, message_id=answer.id), "new.txt"):
            (root / "new.txt").write_bytes(b"\xfe")
    out = root.parent / "out" / ".sage"
    shell("export", SESSION, "--to", "sage", "-o", str(out))
    after = tree(out)
    place = f"sessions/{SESSION}"
    assert after[f"{place}/messages.jsonl"].startswith(before[f"{place}/messages.jsonl"])
    *_, result, asked, answered = records(after[f"{place}/messages.jsonl"])
    assert [one["parentUuid"] for one in (asked, answered)] == [result["uuid"], asked["uuid"]]
    assert asked["thinkingMetadata"] == {"level": "low", "disabled": False, "triggers": []}
    assert [todo["status"] for todo in answered["todos"]] == ["completed", "in_progress"]
    assert all(key in answered for key in REQUIRED)
    assert after[f"{place}/snapshots.jsonl"].startswith(before[f"{place}/snapshots.jsonl"])
    *_, created, changed = records(after[f"{place}/snapshots.jsonl"])
    assert created["snapshot"]["trackedFiles"]["new.txt"]["state"] == "created"
    assert changed["snapshot"]["fileBackups"]["new.txt"]["originalHash"] == sha256(b"\xff")
    meta = json.loads(after[f"{place}/metadata.json"])
    assert meta["title"] == "Weather"
    assert meta["updatedAt"] > "2026"
    assert {name for name in before if name not in after} == {"config.json"}
    # and the whole is undone from there
    project.before["new.txt"] = b"\xfe"
    shutil.rmtree(root / ".sage")
    shutil.move(out, root / ".sage")
    shell.db = str(root.parent / "second.db")
    shell("import")
    shell("undo", "--thread", SESSION)
    assert not (root / "new.txt").exists()
    assert (root / "weather_app" / "app.js").read_bytes() == b"new\n"


def test_a_thread_from_elsewhere_is_complete(root: Path, shell: Shell) -> None:
    data = json.dumps(
        {
            "id": "elsewhere",
            "title": "Tea",
            "messages": [
                {"role": "user", "parts": [{"type": "text", "text": "Tea?"}], "thinking": {"level": "high"}},
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "text", "text": "On it."},
                        {
                            "type": "tool-call",
                            "toolCallId": "t",
                            "toolName": "TodoWrite",
                            "input": {"todos": [{"content": "Boil", "status": "pending", "activeForm": "Boiling"}]},
                        },
                    ],
                },
                {"role": "tool", "parts": [{"type": "tool-result", "toolCallId": "t", "toolName": "TodoWrite"}]},
                {"role": "assistant", "parts": [{"type": "text", "text": "Done."}]},
            ],
        }
    )
    (root / "talk.json").write_text(data)
    shell("import", "talk.json")
    with hansard.open(shell.db) as ledger:
        ledger.fork(ledger.thread("elsewhere").id, ledger.transcript("elsewhere")[2].id)
        ledger.append("elsewhere", say("assistant", "Another way."))
    shell("export", "elsewhere", "--to", "sage", "-o", "out")
    folder = root / "out" / "sessions" / "elsewhere"
    assert sorted(path.name for path in folder.iterdir()) == [
        "backups",
        "messages.jsonl",
        "metadata.json",
        "snapshots.jsonl",
    ]
    user, answer, result, left, last = records((folder / "messages.jsonl").read_bytes())
    assert all(key in one for one in (user, answer, result, left, last) for key in REQUIRED)
    chain = [one["parentUuid"] for one in (user, answer, result, left, last)]
    assert chain == [None, user["uuid"], answer["uuid"], result["uuid"], result["uuid"]]
    assert len({one["uuid"] for one in (user, answer, result, left, last)}) == 5
    assert user["context"] == {"cwd": str(root), "platform": "linux"} or user["context"]["cwd"] == str(root)
    assert user["thinkingMetadata"] == {"level": "high", "disabled": False, "triggers": []}
    todo = {"content": "Boil", "status": "pending", "activeForm": "Boiling"}
    assert [one["todos"] for one in (user, answer, result, left, last)] == [[], [todo], [todo], [todo], [todo]]
    assert [one["isSidechain"] for one in (user, answer, result, left, last)] == [False, False, False, True, False]
    meta = json.loads((folder / "metadata.json").read_text())
    assert (meta["id"], meta["title"], meta["firstPrompt"], meta["messageCount"]) == ("elsewhere", "Tea", "Tea?", 5)
    shell.db = str(root.parent / "second.db")
    shell("import", "out")
    with hansard.open(shell.db) as ledger:
        assert ledger.thread("elsewhere").title == "Tea"
        assert [part.text for one in ledger.transcript("elsewhere") for part in one.parts if type(part) is TextPart][
            -1
        ] == "Another way."


def test_an_id_that_is_no_folder_name_stays_inside(root: Path, shell: Shell) -> None:
    for i, name in enumerate(("../outside", "a/b", "..", "x" * 300)):
        with hansard.open(shell.db) as ledger:
            ledger.sync(name, Conversation(id=name, messages=[say("user")]))
        shell("export", name, "--to", "sage", "-o", str(root / "out"))
        assert len(list((root / "out" / "sessions").iterdir())) == i + 1
    assert [path.name for path in root.parent.iterdir() if "outside" in path.name] == []


def test_out_is_a_file_by_its_name_and_a_folder_otherwise(root: Path, shell: Shell) -> None:
    weather(root)
    shell("import", ".sage")
    shell("export", SESSION, "--to", "sage", "-o", "one.jsonl")
    both = [
        (root / ".sage" / "sessions" / SESSION / name).read_bytes() for name in ("messages.jsonl", "snapshots.jsonl")
    ]
    assert (root / "one.jsonl").read_bytes() == b"".join(both)
    (root / "file").write_text("")
    shell("export", SESSION, "--to", "sage", "-o", "file/below", code=2)
    assert "file/below" in shell.err


# -- migration -------------------------------------------------------------------------------------------------------


def test_both_generations_are_read_and_to_sage_migrates(root: Path, shell: Shell) -> None:
    (root / "older.jsonl").write_bytes(OLDER)
    shell("convert", "older.jsonl", "--to", "sage", "-o", "new.jsonl")
    system, user, answer, result = found = records((root / "new.jsonl").read_bytes())
    assert [one["type"] for one in found] == ["system", "user", "assistant", "tool_result"]
    assert [one["parentUuid"] for one in found] == [None, *(one["uuid"] for one in found[:-1])]
    assert (system["message"]["content"], user["message"]["content"]) == ("Be brief.", "ls")
    assert answer["message"]["toolCalls"] == [{"id": "c1", "name": "bash", "arguments": {"command": "ls"}}]
    assert result["toolResults"][0]["content"] == "a"
    assert all(key in user for key in REQUIRED)
    assert hansard.convert((root / "new.jsonl").read_bytes(), "sage").json == (root / "new.jsonl").read_bytes()
    assert formats.write(formats.read(OLDER), "sage").json == OLDER  # kept, unless asked for
    shell("import", "older.jsonl")
    (thread,) = shell.threads()
    shell("export", thread, "--to", "sage", "-o", "out/")
    (exported,) = (root / "out").rglob("messages.jsonl")
    assert [one["type"] for one in records(exported.read_bytes())] == [one["type"] for one in found]
    shell("export", thread, "--to", "sage", "-o", "again.jsonl")
    assert (root / "again.jsonl").read_bytes() == OLDER  # a file comes back as it was


def test_snapshots_among_older_messages_survive_their_migration(root: Path, shell: Shell) -> None:
    project = Project(root, inline=True).created("a").write()
    path = project.session / "messages.jsonl"
    path.write_bytes(OLDER.splitlines(keepends=True)[1] + path.read_bytes())
    shell("import", ".sage")
    shell("export", SESSION, "--to", "sage", "-o", str(root.parent / "out"))
    folder = root.parent / "out" / "sessions" / SESSION
    assert records((folder / "snapshots.jsonl").read_bytes()) == [snapshot(project.files, {})]
    assert "file_history_snapshot" not in (folder / "messages.jsonl").read_text()


@given(conversations)
@example(Conversation(messages=[Message(role="event", parts=[RawPart(format="claude-code", value={"type": "x"})])]))
def test_a_law_of_complete_messages(conversation: Conversation) -> None:
    """Whatever the conversation, each record has the fields of an EnhancedMessage, and says what was said before."""
    aim = {"cwd": "/work", "platform": "linux", "at": "2026-01-01T00:00:00Z"}
    complete, notes = prepared(conversation, lambda message: True, **aim)
    written = formats.write(complete, "sage")
    plain = formats.write(conversation, "sage")
    found = [json.loads(one) for one in written.json.splitlines() if one.startswith(b'{"type"')]
    uuids = [one["uuid"] for one in found if "uuid" in one]
    for one in found:
        if one["type"] in ("user", "assistant", "tool_result", "system"):
            assert set(REQUIRED) <= one.keys()
            assert {"cwd", "platform"} <= one["context"].keys()
            assert one["parentUuid"] is None or isinstance(one["parentUuid"], str)
    assert len(uuids) == len(found)
    again = formats.read(written.json, "sage")
    assert list(map(said, again.messages)) == list(map(said, formats.read(plain.json, "sage").messages))
    assert len(notes) <= len(plain.losses)


def said(message: Message) -> Any:
    return message.role, exact_json.encode(message.parts)


@pytest.mark.parametrize("path", sorted((GOLDEN / "sage").iterdir()), ids=lambda path: path.name)
def test_a_law_of_migration(path: Path) -> None:
    """Migrated documents say the same, in the current shape, and stay as they are when migrated again."""
    before = formats.read(path.read_bytes(), "sage")
    once = hansard.convert(path.read_bytes(), "sage", "sage")
    after = formats.read(once.json, "sage")
    assert migrated(after) is after
    assert [[type(p) for p in one.parts] for one in after.messages] == [
        [type(p) for p in one.parts] for one in before.messages
    ]
    assert (migrated(before) is before) == (once.json == path.read_bytes())


@given(st.lists(st.sampled_from(["user", "assistant", "tool"]), min_size=1, max_size=6))
def test_a_law_of_older_messages(roles: list[str]) -> None:
    lines = [line({"role": role, "content": f"{role} {i}"}) for i, role in enumerate(roles)]
    found = records(hansard.convert(b"".join(lines), "sage", "sage").json)
    assert [one["message"]["content"] for one in found] == [f"{role} {i}" for i, role in enumerate(roles)]
    assert [one["parentUuid"] for one in found] == [None, *(one["uuid"] for one in found[:-1])]
    assert all(key in one for one in found for key in REQUIRED if key != "timestamp")


def test_todos_are_carried_along_their_branch() -> None:
    todos = [Todo(content="a", status="pending", active_form="doing a")]
    messages = [
        Message(role="user", parts=[], id="u", parent_message_id=None),
        Message(role="assistant", parts=[], id="a", parent_message_id="u", todos=todos),
        Message(role="assistant", parts=[], id="b", parent_message_id="u"),
        Message(role="user", parts=[], id="c", parent_message_id="a"),
    ]
    complete = completed(Conversation(messages=messages))
    assert [one.todos for one in complete.messages] == [[], todos, [], todos]
    assert [one.sidechain for one in complete.messages] == [False, False, True, False]
    assert all(one.thinking is UNSET for one in complete.messages)


def test_a_session_folder_of_a_thread_with_files_elsewhere(root: Path, shell: Shell) -> None:
    other = root.parent / "other"
    other.mkdir()
    with hansard.open(shell.db) as ledger:
        thread = ledger.create_thread("t").id
        answer = ledger.append(thread, say("assistant"))
        for folder in (root, other):
            author = Author(thread_id=thread, message_id=answer.id)
            with Workspace(ledger, folder) as files, files.tool(author, "f"):
                (folder / "f").write_bytes(b"1")
        made = session_folder(ledger, thread, cwd="/nowhere")
    names = [list(one["snapshot"]["trackedFiles"]) for one in records(made.files["sessions/t/snapshots.jsonl"])]
    assert sorted(names) == [[f"{root}/f"], ["f"]]  # relative to the folder changed last
    assert records(made.files["sessions/t/messages.jsonl"])[0]["context"]["cwd"] == str(other)


def test_every_backend_keeps_the_folder(ledger: hansard.Ledger, tmp_path: Path) -> None:
    project = weather(tmp_path)
    before = tree(project.session)
    session = discovery.sage_session(project.session / "messages.jsonl")
    done = import_session(ledger, session)
    assert (done.thread_id, done.added) == (SESSION, 3)
    assert not import_session(ledger, session).changed
    made = session_folder(ledger, SESSION, cwd="/work")
    assert made.files == {f"sessions/{SESSION}/{name}": data for name, data in before.items()}
    assert ledger.thread(SESSION).title == "Weather"
    with Workspace(ledger, tmp_path) as files:
        read_snapshots(files, SESSION)
        files.undo(SESSION)
        assert project.content() == project.before
    assert not list(ledger.verify())
