"""Where agents keep their sessions: what is found there, and where a session that is handed over is put."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from hansard.errors import CannotWrite
from hansard.model import Context, Conversation, Message, TextPart
from hansard.sessions import databases, discovery
from hansard.sessions.discovery import AGENTS, Session, in_folder
from hansard.sessions.handover import TARGETS, handover

SESSION = "5e551000-0000-4000-8000-000000000001"
NOW = 1_784_164_544_946
# agent: its folder below the home, the variable that says otherwise, and what is below that
FOLDERS = {
    "Claude Code": (".claude/projects", "CLAUDE_CONFIG_DIR", "projects"),
    "Codex": (".codex/sessions", "CODEX_HOME", "sessions"),
    "Codex (archived)": (".codex/archived_sessions", "CODEX_HOME", "archived_sessions"),
    "Gemini CLI": (".gemini/tmp", "GEMINI_CLI_HOME", ".gemini/tmp"),
    "Cline": (".cline/data/sessions", "CLINE_DIR", "data/sessions"),
    "mini-swe-agent": (".config/mini-swe-agent", "MSWEA_GLOBAL_CONFIG_DIR", ""),
    "Continue": (".continue/sessions", "CONTINUE_GLOBAL_DIR", "sessions"),
    "Sage": (".sage/sessions", "", ""),
    "pi": (".pi/agent/sessions", "PI_CODING_AGENT_DIR", "sessions"),
    "Copilot CLI": (".copilot/session-state", "COPILOT_HOME", "session-state"),
    "OpenCode": (".local/share/opencode", "XDG_DATA_HOME", "opencode"),
    "Kilo": (".local/share/kilo", "XDG_DATA_HOME", "kilo"),
    "OpenClaw": (".openclaw/agents", "OPENCLAW_STATE_DIR", "agents"),
    "Qwen Code": (".qwen/projects", "QWEN_HOME", "projects"),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for _, variable, _ in FOLDERS.values():
        monkeypatch.delenv(variable or "none", raising=False)
    return tmp_path


def test_every_agent_is_looked_for_where_it_keeps_its_sessions(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {agent.name: agent.folder() for agent in AGENTS} == {name: home / told[0] for name, told in FOLDERS.items()}
    for _, variable, _ in FOLDERS.values():
        monkeypatch.setenv(variable or "none", "~/elsewhere")
    assert {agent.name: agent.folder() for agent in AGENTS} == {
        name: home / ("elsewhere/" + below if variable else usual) for name, (usual, variable, below) in FOLDERS.items()
    }


# agent: files in its folder that are sessions, and files that are not
FILES = {
    "Claude Code": (["-work/a.jsonl"], ["b.jsonl", "-work/c.json"]),
    "Codex": (["2026/01/02/rollout-a.jsonl", "rollout-b.jsonl.zst"], ["history.jsonl", "rollout-c.json"]),
    "Codex (archived)": (["rollout-a.jsonl"], ["a.jsonl"]),
    "Gemini CLI": (["p/chats/session-a.json", "p/chats/session-b.jsonl", "p/chats/x/sub.json"], ["p/logs.json"]),
    "Cline": (["1_a/1_a.messages.json"], ["1_b/1_c.messages.json", "d.messages.json", "1_e/1_e.json"]),
    "mini-swe-agent": (["last_mini_run.traj.json", "a/b.traj.json"], ["c.json"]),
    "Continue": (["a.json"], ["sessions.json", "b/c.json", "d.jsonl"]),
    "Sage": (["s/messages.jsonl"], ["s/other.jsonl"]),
    "pi": (["--work--/a.jsonl"], ["--work--/a.json"]),
    "Copilot CLI": (["s/events.jsonl", "old.jsonl"], ["s/other.jsonl"]),
    "OpenCode": (["opencode.db", "opencode-dev.db"], ["opencode.db-wal", "storage/session/p/s.json", "log/x.db"]),
    "Kilo": (["kilo.db", "kilo-dev.db"], ["kilo.db-wal", "storage/session_diff/s.json"]),
    "OpenClaw": (["main/agent/openclaw-agent.sqlite"], ["main/agent/other.sqlite", "main/openclaw-agent.sqlite"]),
    "Qwen Code": (["-work/chats/a.jsonl"], ["-work/b.jsonl", "-work/chats/c.json"]),
}


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_the_sessions_of_an_agent_are_found_and_nothing_else(agent: discovery.Agent, home: Path) -> None:
    sessions, others = FILES[agent.name]
    for name in (*sessions, *others):
        path = agent.folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
    assert sorted(agent.find(agent.folder())) == sorted(
        Session(agent.folder() / name, agent.format) for name in sessions
    )
    assert {one.name: len(found) for one, found in discovery.found() if found} == {agent.name: len(sessions)}
    assert in_folder(agent.folder()) == list(agent.find(agent.folder()))


def test_the_snapshots_of_sage_belong_to_its_session(home: Path) -> None:
    folder = home / ".sage" / "sessions" / "s"
    folder.mkdir(parents=True)
    (folder / "messages.jsonl").touch()
    (folder / "snapshots.jsonl").touch()
    (found,) = in_folder(folder.parent)
    assert found.parts == (folder / "snapshots.jsonl",)


@pytest.mark.parametrize(
    ("line", "claude"),
    [
        ({"sessionId": "s", "parentUuid": None}, True),
        ({"sessionId": "s"}, False),  # other agents name sessions so too
        ({"parentUuid": None}, False),
        ({}, False),
    ],
)
def test_a_folder_is_a_project_of_claude_code_if_a_file_in_it_has_both_its_marks(
    line: dict[str, str], claude: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(line) + "\n")
    assert in_folder(tmp_path) == [Session(path, "claude-code" if claude else "")]


def talk(cwd: str | None = None) -> Conversation:
    context = Context(cwd=cwd) if cwd is not None else None
    more = {"context": context} if context is not None else {}
    return Conversation(id=SESSION, messages=[Message(role="user", parts=[TextPart(text="hi")], **more)])


PROJECT = hashlib.sha256(b"/work/my.app_1").hexdigest()
PLACES = {
    "claude-code": (f".claude/projects/-work-my-app-1/{SESSION}.jsonl", f"claude --resume {SESSION}"),
    "codex": (f".codex/sessions/2026/07/16/rollout-2026-07-16T01-15-44-{SESSION}.jsonl", f"codex resume {SESSION}"),
    "copilot-cli": (f".copilot/session-state/{SESSION}/events.jsonl", f"copilot --resume={SESSION}"),
    "gemini-cli": (
        f".gemini/tmp/{PROJECT}/chats/session-2026-07-16T01-15-{SESSION[:8]}.jsonl",
        f"gemini --resume {SESSION}",
    ),
    "sage": (f".sage/sessions/{SESSION}/messages.jsonl", f"sage --resume {SESSION}"),
    "pi": (f".pi/agent/sessions/--work-my.app_1--/2026-07-16T01-15-44-946Z_{SESSION}.jsonl", "pi --session {path}"),
    "opencode": (".local/share/opencode/opencode.db", "opencode --session ses_fffffffffffeGKeu71QJepWGm4"),
    "kilo": (".local/share/kilo/kilo.db", "kilo --session ses_fffffffffffeGKeu71QJepWGm4"),
}


@pytest.mark.parametrize("to", TARGETS)
def test_a_session_is_put_where_the_agent_looks_for_it(to: str, home: Path) -> None:
    name, resume = PLACES[to]
    done = handover(talk(), to, cwd="/work/my.app_1", now=NOW)
    assert (done.path, done.resume) == (home / name, "cd /work/my.app_1 && " + resume.format(path=done.path))
    assert [session.path for session in in_folder(next(a.folder() for a in AGENTS if a.format == to))] == [done.path]
    assert (done.path.stat().st_mode & 0o777, done.path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with pytest.raises(CannotWrite, match="handed over before"):
        handover(talk(), to, cwd="/work/other", now=NOW + 3_600_000)


@pytest.mark.parametrize("to", ["opencode", "kilo"])
def test_a_session_in_a_database_is_listed_by_what_was_asked(to: str, home: Path) -> None:
    done = handover(talk(), to, cwd="/work/my.app_1", now=NOW)
    with databases.snapshot(done.path) as connection:
        assert connection.execute("select title from session").fetchall() == [("hi",)]


def test_a_session_that_begins_with_instructions_gets_its_folder(home: Path) -> None:
    system = Message(role="system", parts=[TextPart(text="Be brief.")])
    given = Conversation(id=SESSION, messages=[system, *talk().messages])
    done = handover(given, "gemini-cli", cwd="/work/my.app_1", now=NOW)
    assert json.loads(done.path.read_text().splitlines()[0])["projectHash"] == PROJECT


def test_a_session_whose_id_begins_as_another_is_no_second_one(home: Path) -> None:
    """Ids of one minute begin alike, and Gemini CLI names files by their first eight characters."""
    first = handover(talk(), "gemini-cli", cwd="/work", now=NOW)
    other = Conversation(id=SESSION[:-1] + "2", messages=talk().messages)
    assert handover(other, "gemini-cli", cwd="/work", now=NOW + 60_000).path != first.path


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/work/my.proj_x", "-work-my-proj-x"),
        ("/home/u/Проект 1", "-home-u--------1"),  # letters that are not ASCII are none to Claude Code
        ("/é/٣/x", "-----x"),
        ("/\U0001f600a", "---a"),  # two characters in JavaScript
    ],
)
def test_the_folder_of_a_project_is_named_as_claude_code_names_it(cwd: str, name: str, home: Path) -> None:
    assert handover(talk(), "claude-code", cwd=cwd, now=NOW).path.parent.name == name


def test_a_session_stands_in_the_folder_the_conversation_was_in_last(home: Path) -> None:
    first, last = talk("/first").messages[0], talk("/last").messages[0]
    both = Conversation(id=SESSION, messages=[first, last, talk("").messages[0], talk().messages[0]])
    assert handover(both, "claude-code", now=NOW).path.parent.name == "-last"


def test_nothing_is_handed_over_to_an_agent_that_is_not_known(home: Path) -> None:
    with pytest.raises(CannotWrite, match="'cobol' \\(choose from claude-code, codex"):
        handover(talk(), "cobol", now=NOW)
