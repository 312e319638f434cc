"""The commands for sessions, as a user has them: agents' folders in a home, one ledger."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hansard
from hansard.formats import get
from hansard.sessions import discovery
from tests.ledger.said import said, words

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with sessions of four agents in their usual places."""
    places = {
        "claude-code": ".claude/projects/-work/{stem}.jsonl",
        "codex": ".codex/sessions/2026/01/02/rollout-{stem}.jsonl",
        "gemini-cli": ".gemini/tmp/abc/chats/session-{stem}.jsonl",
        "pi": ".pi/agent/sessions/--work--/{stem}.jsonl",
    }
    for name, place in places.items():
        for path in sorted((GOLDEN / name).glob("*.jsonl"))[:3]:
            target = tmp_path / place.format(stem=path.stem)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    return tmp_path


def hansard_(home: Path, *arguments: str, code: int = 0, stdin: bytes = b"", told: bool = False) -> str:
    """What a command prints, or with `told` what it says on stderr."""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_HOME")}
    done = subprocess.run(
        [sys.executable, "-m", "hansard", *arguments],
        env={**environment, "HOME": str(home), "HANSARD_DB": str(home / "ledger.db")},
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return (done.stderr if told else done.stdout).decode("utf-8", "surrogateescape")


def test_import_without_a_path_finds_the_sessions_of_every_agent(home: Path) -> None:
    first = hansard_(home, "import")
    for name in ("Claude Code: 3 sessions", "Codex: 3 sessions", "Gemini CLI: 3 sessions", "pi: 3 sessions"):
        assert name in first
    again = json.loads(hansard_(home, "import", "--json"))
    assert [row["added"] for row in again] == [0] * 12
    assert json.loads(hansard_(home, "stats", "--json"))["threads"] == len({row["threadId"] for row in again})


def test_sub_agents_of_gemini_and_older_files_of_copilot_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gemini, copilot = tmp_path / "g/.gemini/tmp", tmp_path / "c/session-state"
    wanted = ["abc/chats/session-1.jsonl", "abc/chats/7f3c/9d1e.jsonl"]
    for name in [*wanted, "abc/logs.json", "abc/chats/notes.json"]:
        (gemini / name).parent.mkdir(parents=True, exist_ok=True)
        (gemini / name).write_text("{}")
    for name in ("1.jsonl", "2/events.jsonl", "2/files/other.jsonl"):
        (copilot / name).parent.mkdir(parents=True, exist_ok=True)
        (copilot / name).write_text("{}")
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path / "g"))
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "c"))
    found = {agent.format: {one.path for one in sessions} for agent, sessions in discovery.found()}
    assert found["gemini-cli"] == {gemini / name for name in wanted}
    assert found["copilot-cli"] == {copilot / "1.jsonl", copilot / "2/events.jsonl"}


def test_export_gives_the_file_back_and_a_folder_can_be_imported(home: Path) -> None:
    folder = home / ".claude/projects/-work"
    for extra in sorted(folder.iterdir())[1:]:  # they are states of one session
        extra.unlink()
    rows = json.loads(hansard_(home, "import", str(folder), "--json"))
    assert len(rows) == 1
    for row in rows:
        out = home / "out.jsonl"
        hansard_(home, "export", row["threadId"], "--to", "claude-code", "-o", str(out))
        assert out.read_bytes() == Path(row["path"]).read_bytes()


def test_sessions_that_are_all_called_the_same_are_exported_side_by_side(home: Path) -> None:
    folder = home / ".copilot/session-state"
    first = (GOLDEN / "copilot-cli" / "tools.jsonl").read_bytes()
    told = [first, first.replace(b"b0000000-", b"c0000000-")]
    for i, data in enumerate(told):
        (folder / f"s{i}").mkdir(parents=True)
        (folder / f"s{i}" / "events.jsonl").write_bytes(data)
    rows = json.loads(hansard_(home, "import", str(folder), "--json"))
    assert len({row["threadId"] for row in rows}) == 2
    out = home / "out"
    out.mkdir()
    hansard_(home, "export", *(row["threadId"] for row in rows), "--to", "copilot-cli", "-o", str(out))
    assert {path.read_bytes() for path in out.rglob("*.jsonl")} == set(told)


def test_ids_that_are_listed_are_read_again_whatever_they_are(home: Path) -> None:
    ids = ["two words", "\ud800x", "plain"]
    with hansard.open(str(home / "ledger.db")) as ledger:
        for key in ids:
            ledger.create_thread(key)
            ledger.append(key, said(f"in {key!r}"))
    listed = hansard_(home, "threads", "--ids", "--oldest").encode("utf-8", "surrogateescape")
    assert listed.decode("utf-8", "surrogatepass").split("\n")[:-1] == ids
    written = hansard_(home, "export", "-", "--to", "hansard", stdin=listed)
    assert all(f"in {key!r}"[1:-1] in written for key in ids[::2])


def test_nothing_to_export_is_said(home: Path) -> None:
    hansard.open(str(home / "ledger.db")).close()
    assert hansard_(home, "export", "--all", "--to", "markdown", code=1) == ""
    assert hansard_(home, "export", "-", "--to", "hansard", stdin=b"\n", code=1) == ""


def test_an_output_that_cannot_be_written_is_not_the_inputs_fault(home: Path) -> None:
    source = home / "a.json"
    source.write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    out = str(home / "none" / "b.json")
    told = hansard_(home, "convert", str(source), "--from", "anthropic", "--to", "gemini", "-o", out, code=2, told=True)
    assert f"\nhansard: {out}: " in f"\n{told}"


def test_a_thread_is_handed_over_to_every_agent(home: Path) -> None:
    path = GOLDEN / "claude-code" / sorted(p.name for p in (GOLDEN / "claude-code").glob("*.jsonl"))[0]
    (row,) = json.loads(hansard_(home, "import", str(path), "--json"))
    with hansard.open(str(home / "ledger.db")) as ledger:
        said = words(ledger.transcript(row["threadId"]))
    for to in ("codex", "copilot-cli", "gemini-cli", "sage", "pi"):
        done = json.loads(hansard_(home, "handover", row["threadId"], "--to", to, "--cwd", "/work/x", "--json"))
        placed = Path(done["path"])
        assert placed.is_relative_to(home)
        text = " ".join(words(get(to).read(placed.read_bytes()).messages))
        assert all(one in text for one in said)
        hansard_(home, "handover", row["threadId"], "--to", to, "--cwd", "/work/x", code=2)
        placed.unlink()
        plain = hansard_(home, "handover", row["threadId"], "--to", to, "--cwd", "/work/x").splitlines()
        assert len(plain) == 2
        assert Path(plain[0]).is_relative_to(home)
        assert plain[1] == f"continue with: {done['resume'].replace(done['path'], plain[0])}"
    found = json.loads(hansard_(home, "import", "--json"))
    assert not [one for one in found if "error" in one]
    hansard_(home, "handover", row["threadId"], "--to", "cobol", code=2)


def test_tokens_are_counted_by_day_model_and_project(home: Path) -> None:
    hansard_(home, "import")
    table = home / "prices.toml"
    table.write_text('["claude"]\ninput = 3\noutput = 15\n["gpt"]\ninput = 1\noutput = 4\n["gemini"]\noutput = 2\n')
    for by in ("day", "model", "project"):
        rows = json.loads(hansard_(home, "stats", "--by", by, "--prices", str(table), "--json"))
        assert rows
        assert sum(row["outputTokens"] for row in rows) > 0
        assert "out" in hansard_(home, "stats", "--by", by)
    table.write_text("[x]\ninput = 'much'\n")
    assert hansard_(home, "stats", "--by", "day", "--prices", str(table), code=2) == ""


def test_watch_imports_what_is_said_meanwhile(home: Path) -> None:
    path = home / ".claude/projects/-work/live.jsonl"
    lines = (GOLDEN / "claude-code").glob("*.jsonl")
    source = max(lines, key=lambda one: one.read_bytes().count(b"\n")).read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(source[:2]))
    environment = {**os.environ, "HOME": str(home), "HANSARD_DB": str(home / "ledger.db")}
    watching = subprocess.Popen(
        [sys.executable, "-u", "-m", "hansard", "import", str(path), "--watch"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        assert "live.jsonl" in watching.stdout.readline()
        with open(path, "ab") as file:
            file.write(b"".join(source[2:]))
        assert "7 messages" in watching.stdout.readline()
    finally:
        watching.terminate()
        watching.wait()


def project(folder: Path) -> dict[str, bytes]:
    """A Claude Code project with a sub-agent, a workflow and its journal, and files of Gemini CLI and Copilot CLI."""

    def line(**fields: object) -> bytes:
        return json.dumps({"sessionId": "5e551000-0000-4000-8000-00000000000a", **fields}).encode() + b"\n"

    def said(uuid: str, parent: str | None, role: str, text: str) -> bytes:
        return line(uuid=uuid, parentUuid=parent, type=role, message={"role": role, "content": text})

    main = "projects/-work/5e551000-0000-4000-8000-00000000000a"
    gemini = b'{"sessionId":"9e551000-0000-4000-8000-00000000000c"}\n{"id":"m","type":"user","content":"Hi."}\n'
    agent = b'{"sessionId":"9e551000-0000-4000-8000-00000000000c"}\n{"id":"a","type":"user","content":"Count."}\n'
    start = {"sessionId": "c0551000-0000-4000-8000-00000000000d", "copilotVersion": "1"}
    copilot = json.dumps({"type": "session.start", "data": start, "id": "i", "timestamp": "", "parentId": None})
    chats = ".gemini/tmp/work/chats"
    files = {
        f"{main}.jsonl": said("1", None, "user", "Go.") + said("2", "1", "assistant", "Gone."),
        f"{main}/subagents/agent-a1.jsonl": line(
            uuid="3", parentUuid=None, type="user", isSidechain=True, agentId="a1", message={"content": "Count."}
        ),
        f"{main}/subagents/agent-a1.meta.json": b'{"agentType":"general"}',
        f"{main}/subagents/workflows/w/journal.jsonl": b'{"type":"started","agentId":"a1"}\n',
        f"{main}/workflows/w.json": b'{"name":"w"}',
        "todos/5e551000-0000-4000-8000-00000000000a-agent-1.json": b"[]",
        f"{chats}/session-2026-01-01T10-00-9e551000.jsonl": gemini,
        f"{chats}/9e551000-0000-4000-8000-00000000000c/a.jsonl": agent,
        "state/c0551000/events.jsonl": copilot.encode() + b"\n",
        "state/c0551000/workspace.yaml": b"cwd: /work\n",
        "chats/hello.json": b'{"messages":[{"role":"user","content":"Hello."}]}',
    }
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return files


def test_a_copied_folder_is_grouped_as_by_discovery_and_comes_back_whole(tmp_path: Path) -> None:
    files = project(tmp_path / "backup")
    rows = json.loads(hansard_(tmp_path, "import", str(tmp_path / "backup"), "--json"))
    assert {"5e551000", "9e551000", "c0551000"} < {row["threadId"][:8] for row in rows}
    assert {row["added"] for row in json.loads(hansard_(tmp_path, "import", str(tmp_path / "backup"), "--json"))} == {0}
    hansard_(tmp_path, "export", "--all", "-o", str(tmp_path / "out"))
    back = {path.relative_to(tmp_path / "out").as_posix(): path.read_bytes() for path in walked(tmp_path / "out")}
    assert back == files


def test_all_threads_in_one_format_are_its_files_and_the_others_converted(tmp_path: Path) -> None:
    files = project(tmp_path / "backup")
    hansard_(tmp_path, "import", str(tmp_path / "backup"))
    hansard_(tmp_path, "export", "--all", "--to", "claude-code", "-o", str(tmp_path / "out"))
    back = {path.relative_to(tmp_path / "out").as_posix(): path.read_bytes() for path in walked(tmp_path / "out")}
    own = {name.removeprefix("projects/-work/"): data for name, data in files.items() if name.startswith("projects/")}
    assert own.items() <= back.items()
    converted = [hansard.read(back[name], "claude-code") for name in back.keys() - own.keys()]
    assert sorted(words(one.messages)[0] for one in converted if one.messages) == ["Hello.", "Hi."]


def test_a_session_that_is_named_brings_its_sub_agents(tmp_path: Path) -> None:
    project(tmp_path / "backup")
    (main,) = (tmp_path / "backup" / "projects" / "-work").glob("*.jsonl")
    (row,) = json.loads(hansard_(tmp_path, "import", str(main), "--json"))
    assert row["added"] == 3


def walked(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("data", "code", "told"),
    [
        (b"\x1f\x8b\x08rest", 2, "gzip"),
        (b"PK\x03\x04rest", 2, "zip archive"),
        (b"SQLite format 3\x00rest", 2, "file: the SQLite database cannot be read: file is not a database"),
        (b'{"kind":"a"}\n{"kind":"b"}\n', 2, "these 2 JSON lines fit no format"),
        (b'{"messages":[]}', 2, "no message"),
        (
            b'{"id":"T-1","messages":[{"role":"user","messageId":0,"content":[{"type":"text","text":"hi"}]}]}',
            2,
            "no format",
        ),
        (b'{"conversations":[{"id":"a","title":"b"}]}', 2, "no format"),
        (
            b'{"role":"user","content":"a","message_id":"1"}\n{"role":"user","content":"b","message_id":"2"}\n',
            2,
            "fit no",
        ),
        (b'{"messages":[{"role":"user","content":"hi"}]}', 0, "1 message"),
    ],
)
def test_what_a_file_is_and_is_not_is_said(data: bytes, code: int, told: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert told in hansard_(tmp_path, "import", str(path), code=code, told=bool(code))


def test_a_database_that_is_no_agents_is_named_as_one(tmp_path: Path) -> None:
    hansard.open(str(tmp_path / "notes.db")).close()
    told = hansard_(tmp_path, "import", str(tmp_path / "notes.db"), code=2, told=True)
    assert "notes.db: the data is a SQLite database of an unknown kind" in told


def test_nothing_at_all_is_exit_1_and_nothing_new_is_not(tmp_path: Path) -> None:
    assert ".codex/sessions" in hansard_(tmp_path, "import", code=1, told=True)
    (tmp_path / "empty").mkdir()
    assert "no sessions" in hansard_(tmp_path, "import", str(tmp_path / "empty"), code=1, told=True)
    project(tmp_path / ".claude")
    hansard_(tmp_path, "import")
    assert "nothing new" in hansard_(tmp_path, "import")
    assert "~/.claude/projects/-work/5e551000" in hansard_(tmp_path, "import")
