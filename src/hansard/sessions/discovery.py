"""Where coding agents keep their sessions, and which files belong to one session."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hansard.formats.coding_agents.claude_code.folder import sessions as claude_sessions
from hansard.formats.coding_agents.qwen_code import sniff as is_qwen
from hansard.formats.coding_agents.sage import folder as sage_folder
from hansard.sessions import databases, sage


class Session(NamedTuple):
    """A session on disk: its file, its format, files of its sub-agents; its folder where only its place says so.

    `beside` are files that belong to it and hold no messages: they are kept with it.
    """

    path: Path
    format: str
    parts: tuple[Path, ...] = ()
    cwd: str | None = None
    beside: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path, *self.parts, *self.beside)


class Agent(NamedTuple):
    """A coding agent: its name, its format, its default folder, and how sessions are found in it.

    `edits` says what its sessions record of changes of the user's files.
    """

    name: str
    format: str
    folder: Callable[[], Path]
    find: Callable[[Path], Iterator[Session]]
    edits: str = "contents before and after"


def _home(variable: str, *parts: str, below: int = 1) -> Callable[[], Path]:
    """A folder below the home directory; if an environment variable is set, its last `below` parts below that."""

    def folder() -> Path:
        given = os.environ.get(variable) if variable else None
        return Path(given).expanduser().joinpath(*parts[-below:]) if given else Path.home().joinpath(*parts)

    return folder


def walk(folder: Path, *endings: str) -> Iterator[Path]:
    """The files below a folder with one of these endings, in order; symbolic links are not followed."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from walk(Path(entry.path), *endings)
        elif entry.is_file(follow_symlinks=False) and entry.name.endswith(endings):
            yield Path(entry.path)


def claude_project(folder: Path) -> Iterator[Session]:
    """The sessions of one Claude Code project, each with its sub-agents' files, workflows and to-do lists."""
    names = {path.relative_to(folder).as_posix(): path for path in walk(folder, "") if _of_project(path, folder)}
    listed = [name for name in names if "/" not in name or Path(name).name.startswith("agent-")]
    grouped = claude_sessions(listed)
    agent_files = [name for name in grouped if Path(name).name.startswith("agent-") and not grouped[name]]
    owner = {Path(name).stem: name for name in grouped if name not in agent_files}
    for name in agent_files:  # older releases: sub-agents' files are beside the sessions, and name theirs
        given = _session_id(names[name])
        if given in owner:
            grouped[owner[given]].append(name)
            del grouped[name]
    parts = {part for found in grouped.values() for part in found}
    beside: dict[str, list[Path]] = {}
    for name, path in names.items():
        if "/" in name and name not in parts:
            beside.setdefault(name.partition("/")[0], []).append(path)
    for key, path in _lists(folder):
        beside.setdefault(key, []).append(path)
    for name, found in grouped.items():
        more = beside.get(Path(name).stem, ()) if "/" not in name else ()
        yield Session(names[name], "claude-code", tuple(names[part] for part in found), None, tuple(more))


def _of_project(path: Path, folder: Path) -> bool:
    """Whether a file is a session's, or in the folder of a session or of its sub-agents."""
    name = path.relative_to(folder)
    if len(name.parts) == 1:
        return path.suffix == ".jsonl"
    return (folder / f"{name.parts[0]}.jsonl").exists() or (name.parts[1] == "subagents" and path.suffix == ".jsonl")


def _lists(project: Path) -> Iterator[tuple[str, Path]]:
    """The to-do lists of Claude Code's sessions, which are beside its projects, by session id."""
    if project.parent.name == "projects":
        root = project.parent.parent
        yield from ((path.name[:36], path) for path in walk(root / "todos", ".json"))
        yield from ((path.parent.name, path) for path in walk(root / "tasks", ".json"))


def _session_id(path: Path) -> str:
    """The session id in the first line of a file."""
    import msgspec

    try:
        with open(path, "rb") as file:
            first = msgspec.json.decode(file.readline(1 << 20))
    except (OSError, msgspec.DecodeError):
        return ""
    given = first.get("sessionId") if isinstance(first, dict) else None
    return given if isinstance(given, str) else ""


def _claude(folder: Path) -> Iterator[Session]:
    try:
        projects = sorted(Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for project in projects:
        yield from claude_project(project)


def _files(format_: str, *endings: str, named: str = "") -> Callable[[Path], Iterator[Session]]:
    def find(folder: Path) -> Iterator[Session]:
        for path in walk(folder, *endings):
            if path.name.startswith(named):
                yield Session(path, format_)

    return find


def _gemini(folder: Path) -> Iterator[Session]:
    """Files named `session-...`; those of sub-agents have any name, in a folder named as the id of their session.

    A resumed session may have a second file, whose name begins the same way: sub-agents go with the first.
    """
    below: dict[tuple[Path, str], list[Path]] = {}
    sessions: list[Path] = []
    for path in walk(folder, ".json", ".jsonl"):
        if path.name.startswith("session-"):
            sessions.append(path)
        elif path.parent.parent.name == "chats":
            below.setdefault((path.parent.parent, path.parent.name[:8]), []).append(path)
    for path in sessions:
        parts = below.pop((path.parent, path.stem.rpartition("-")[2]), [])
        yield Session(path, "gemini-cli", tuple(parts), _gemini_folder(path.parent.parent))
    for parts in below.values():
        yield from (Session(path, "gemini-cli", (), _gemini_folder(path.parents[2])) for path in parts)


def _gemini_folder(project: Path) -> str | None:
    """The folder that a project of Gemini CLI is about: in `.project_root`, else in `projects.json` by its name."""
    import msgspec

    try:
        return (project / ".project_root").read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        pass
    try:
        listed = msgspec.json.decode((project.parent.parent / "projects.json").read_bytes())["projects"]
        return next((root for root, name in listed.items() if name == project.name), None)
    except (OSError, msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return None


def _data(name: str) -> Callable[[], Path]:
    """A program's folder for data, on every system: below XDG_DATA_HOME, or `~/.local/share`."""

    def folder() -> Path:
        given = os.environ.get("XDG_DATA_HOME")
        return (Path(given).expanduser() if given else Path.home() / ".local" / "share") / name

    return folder


def _qwen() -> Path:
    """The projects of Qwen Code, below the first of two variables that is set."""
    variable = next((one for one in ("QWEN_RUNTIME_DIR", "QWEN_HOME") if os.environ.get(one)), "QWEN_HOME")
    return _home(variable, ".qwen", "projects")()


def _chats(folder: Path) -> Iterator[Session]:
    """The files in the folders `chats` of Qwen Code's projects."""
    yield from (Session(path, "qwen-code") for path in walk(folder, ".jsonl") if path.parent.name == "chats")


def _cline_folder() -> Path:
    """The sessions of Cline, by the first of its three variables that is set."""
    for variable, parts in (("CLINE_SESSION_DATA_DIR", ()), ("CLINE_DATA_DIR", ("sessions",))):
        if given := os.environ.get(variable):
            return Path(given).expanduser().joinpath(*parts)
    return _home("CLINE_DIR", ".cline", "data", "sessions", below=2)()


def _cline(folder: Path) -> Iterator[Session]:
    """A folder for each session: its messages, those of its sub-agents, and what is known of it."""
    for main in sorted(folder.glob(f"*/*{_CLINE}")):
        if main.name == f"{main.parent.name}{_CLINE}":
            yield _cline_session(main.parent)


_CLINE = ".messages.json"


def _cline_session(folder: Path) -> Session:
    main, about = folder / f"{folder.name}{_CLINE}", folder / f"{folder.name}.json"
    parts = [path for path in sorted(folder.glob(f"*{_CLINE}")) if path != main]
    return Session(main, "cline", tuple(parts), _field(about, "cwd"), (about,) if about.is_file() else ())


def _field(path: Path, name: str) -> str | None:
    """A text in a file of JSON, if it is there."""
    import msgspec

    try:
        value = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _mini() -> Path:
    """The folder of mini-swe-agent's settings, where it writes if it is not told otherwise."""
    if given := os.environ.get("MSWEA_GLOBAL_CONFIG_DIR"):
        return Path(given).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "mini-swe-agent"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "mini-swe-agent" / "mini-swe-agent"
    return _home("XDG_CONFIG_HOME", ".config", "mini-swe-agent")()


def _continue(folder: Path) -> Iterator[Session]:
    """A document for each session; the index of them is none."""
    paths = sorted(path for path in folder.glob("*.json") if path.name != "sessions.json" and path.is_file())
    yield from (Session(path, "continue") for path in paths)


def _opencode(name: str, variable: str) -> Callable[[Path], Iterator[Session]]:
    """The databases of OpenCode or of a descendant, and the files of releases before there was one.

    `variable` names another database. Sessions that the database has taken over from files are read from it.
    """

    def find(folder: Path) -> Iterator[Session]:
        databases = sorted(path for path in folder.glob(f"{name}*.db") if path.is_file())
        given = os.environ.get(variable)
        if given and given != ":memory:" and (other := folder / Path(given).expanduser()).is_file():
            databases = [other]
        yield from (Session(path, name) for path in databases)
        if not databases and any((folder / "storage").glob("session/*/*.json")):
            yield Session(folder / "storage", name)

    return find


def _openclaw_home() -> Path:
    given = os.environ.get("OPENCLAW_STATE_DIR")
    home = Path(os.environ.get("OPENCLAW_HOME") or Path.home()).expanduser()
    return (Path(given).expanduser() if given else home / ".openclaw") / "agents"


def _openclaw(folder: Path) -> Iterator[Session]:
    """A database for each of its agents."""
    for path in sorted(folder.glob("*/agent/openclaw-agent.sqlite")):
        yield Session(path, "openclaw")


def _copilot(folder: Path) -> Iterator[Session]:
    """A folder for each session; in older releases, a file for each."""
    for path in walk(folder, ".jsonl"):
        if path.name == "events.jsonl":
            yield _copilot_session(path)
        elif path.parent == folder:
            yield Session(path, "copilot-cli")


def _copilot_session(events: Path) -> Session:
    beside = [path for path in walk(events.parent, ".yaml", ".md", ".json") if "backups" not in path.parts]
    return Session(events, "copilot-cli", beside=tuple(beside))


def _sage(folder: Path) -> Iterator[Session]:
    for path in walk(folder, sage_folder.MESSAGES):
        if path.name == sage_folder.MESSAGES and sage_folder.BACKUPS not in path.relative_to(folder).parts[1:-1]:
            yield sage_session(path)


def sage_session(main: Path) -> Session:
    """The session of a `messages.jsonl` with its snapshots, metadata and backups."""
    return Session(main, "sage", sage.files_of(main))


def _sage_project() -> Path:
    """The sessions of the project that the current folder is in."""
    here = Path.cwd()
    home = Path.home().resolve()
    for folder in (here, *here.parents):
        if (found := folder / ".sage" / "sessions").is_dir() and folder.resolve() != home:
            return found
    return here / ".sage" / "sessions"


AGENTS = (
    Agent("Claude Code", "claude-code", _home("CLAUDE_CONFIG_DIR", ".claude", "projects"), _claude),
    Agent(
        "Codex",
        "codex",
        _home("CODEX_HOME", ".codex", "sessions"),
        _files("codex", ".jsonl", ".jsonl.zst", named="rollout-"),
    ),
    Agent(
        "Codex (archived)",
        "codex",
        _home("CODEX_HOME", ".codex", "archived_sessions"),
        _files("codex", ".jsonl", ".jsonl.zst", named="rollout-"),
    ),
    Agent(
        "Gemini CLI",
        "gemini-cli",
        _home("GEMINI_CLI_HOME", ".gemini", "tmp", below=2),
        _gemini,
    ),
    Agent("Cline", "cline", _cline_folder, _cline, "texts of edits"),
    Agent(
        "mini-swe-agent",
        "mini-swe-agent",
        _mini,
        _files("mini-swe-agent", ".traj.json"),
        "nothing: it has only a shell",
    ),
    Agent("Continue", "continue", _home("CONTINUE_GLOBAL_DIR", ".continue", "sessions"), _continue, "differences"),
    Agent("Sage", "sage", _home("", ".sage", "sessions"), _sage),
    Agent("pi", "pi", _home("PI_CODING_AGENT_DIR", ".pi", "agent", "sessions"), _files("pi", ".jsonl")),
    Agent("Copilot CLI", "copilot-cli", _home("COPILOT_HOME", ".copilot", "session-state"), _copilot),
    Agent("OpenCode", "opencode", _data("opencode"), _opencode("opencode", "OPENCODE_DB"), "contents, and differences"),
    Agent("Kilo", "kilo", _data("kilo"), _opencode("kilo", "KILO_DB"), "contents, and differences"),
    Agent("OpenClaw", "openclaw", _openclaw_home, _openclaw, "contents, and differences"),
    Agent("Qwen Code", "qwen-code", _qwen, _chats, "contents before and after; of sub-agents their calls"),
)


IN_PROJECTS = (Agent("Sage (project)", "sage", _sage_project, _sage),)  # in the folder where the user works


def found(wanted: str | None = None) -> Iterator[tuple[Agent, list[Session]]]:
    """Every agent with its sessions, or the one of that name or format; of agents in projects, only those there."""
    for agent in (*AGENTS, *IN_PROJECTS):
        folder = agent.folder()
        if not _is_named(agent, wanted):
            continue
        if folder.is_dir():
            yield agent, list(agent.find(folder))
        elif agent not in IN_PROJECTS:
            yield agent, []


def _is_named(agent: Agent, wanted: str | None) -> bool:
    own = (agent.name.lower(), agent.name.lower().partition(" (")[0], agent.format)
    return wanted is None or wanted.lower() in own


def of_file(path: Path, format_: str) -> Session:
    """The session that a file given by name belongs to: its own, or the one it is a part of."""
    main = sage.main_file(path) if format_ in ("", "sage") else None
    if main is not None:
        return sage_session(main)
    found: Iterator[Session] = iter(())
    if format_ in ("", "claude-code") and path.suffix == ".jsonl" and (path.with_suffix("") / "subagents").is_dir():
        found = claude_project(path.parent)
    elif format_ in ("", "gemini-cli") and path.parent.name == "chats":
        found = _gemini(path.parent)
    elif format_ in ("", "copilot-cli") and path.name == "events.jsonl":
        found = iter([_copilot_session(path)] if (path.parent / "workspace.yaml").is_file() else ())
    elif format_ in ("", "cline") and (path.parent / f"{path.parent.name}{_CLINE}").is_file():
        session = _cline_session(path.parent)  # for files of sub-agents too
        return session if path in (session.path, *session.parts) else Session(path, format_)
    return next((one for one in found if one.path == path), Session(path, format_))


def in_folder(folder: Path) -> list[Session]:
    """The sessions in any folder: an agent's own, a Claude Code project, Sage's, or plain files."""
    resolved = folder.resolve()
    for agent in AGENTS:
        if agent.folder().exists() and resolved == agent.folder().resolve():
            return list(agent.find(folder))
    sessions: list[Session] = []
    settings: set[Path] = set()
    for path in walk(folder, sage_folder.MESSAGES):
        if (main := sage.main_file(path)) is not None:
            sessions.append(sage_session(main))
            settings |= sage.shared_files(main)
    taken = {path for session in sessions for path in session.files} | settings
    return sessions + list(_below(folder, taken))


def _below(folder: Path, taken: set[Path]) -> Iterator[Session]:
    """The sessions in a folder and below it, grouped as discovery does; other files each as one."""
    found: list[Session] = []
    if _looks_like_claude(folder, taken):
        found = list(claude_project(folder))
    elif folder.name == "chats":
        found = list(_gemini(folder))
    elif (folder / "events.jsonl").is_file() and (folder / "workspace.yaml").is_file():
        found = [_copilot_session(folder / "events.jsonl")]
    elif (folder / f"{folder.name}{_CLINE}").is_file():
        found = [_cline_session(folder)]
    found = [one for one in found if one.path not in taken]
    yield from found
    taken = taken.union(*(one.files for one in found))
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _below(path, taken)
        elif entry.is_file(follow_symlinks=False) and path.name.endswith(_ENDINGS) and path not in taken:
            yield Session(path, "")
        elif entry.is_file(follow_symlinks=False) and path.suffix in _DATABASES and path not in taken:
            if (name := databases.kind(path)) is not None:
                yield Session(path, name)


_ENDINGS = (".jsonl", ".json", ".jsonl.zst")
_DATABASES = (".db", ".sqlite")


def _looks_like_claude(folder: Path, taken: set[Path]) -> bool:
    """Whether a file directly in the folder that is not taken begins like Claude Code's."""
    for path in [path for path in sorted(folder.glob("*.jsonl")) if path not in taken][:20]:
        try:
            with open(path, "rb") as file:
                head = file.read(1 << 16)
        except OSError:
            continue
        if b'"sessionId"' in head and b'"parentUuid"' in head and not is_qwen(head):
            return True
    return False
