"""How each agent runs offline: its settings, its commands, where its sessions are, and which of its tools does what.

An agent that is to be added is a class here and a table in versions.toml. `calls` turns one neutral step of the
scenario into calls of the agent's tools: (name, arguments) pairs, where free-form tools take a text.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from tests.lab import processes
from tests.lab.scenario import Reply, Step

Call = tuple[str, Any]


class Agent:
    """One agent in a HOME and a workspace; `url` is the provider's address."""

    name: ClassVar[str]
    format: ClassVar[str]
    model: ClassVar[str]
    sessions: ClassVar[str]  # its main session files below HOME
    kept: ClassVar[tuple[str, ...]]  # what of HOME belongs to the sessions
    cannot: ClassVar[dict[str, str]] = {}  # promise -> why the agent has no such thing
    compact: ClassVar[str] = ""  # the prompt that makes it compact its session, where there is one outside its terminal
    keeps_reasoning_count: ClassVar[bool] = True  # whether its sessions tell the tokens of reasoning apart
    tables: ClassVar[tuple[str, ...]] = ()  # of an agent with a database: those that hold its sessions
    rows_of_messages: ClassVar[str] = ""  # which of these tables has the messages, or their entries
    unrecorded: ClassVar[tuple[str, ...]] = ()  # tables whose rows are left out of the recording
    reads_before_edits = False  # whether it refuses an edit of a file that it has not read since it started
    forgets_interrupted_prompt = False  # whether it keeps nothing of a turn that was interrupted
    resumes = True  # whether a session can be continued from the command line; else each prompt is one of its own
    forgets_interrupted = False  # whether it keeps no tokens of an answer that was interrupted

    def __init__(self, program: Path, home: Path, workspace: Path, url: str) -> None:
        self.program, self.home, self.workspace, self.url = str(program), home, workspace, url

    # -- running ---------------------------------------------------------------------------------------------------

    def environment(self) -> dict[str, str]:
        raise NotImplementedError

    def prepare(self) -> None:
        """Write the settings that let it run offline."""

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        """The command line to start, resume or fork a session."""
        raise NotImplementedError

    def settings(self, path: str, content: Any) -> None:
        """Write a file below HOME, if it is not there yet."""
        file = self.home / path
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")

    # -- its sessions ----------------------------------------------------------------------------------------------

    def session_files(self) -> list[Path]:
        """Its session files, the one written last at the end."""
        return sorted(self.home.glob(self.sessions), key=lambda path: path.stat().st_mtime_ns)

    @staticmethod
    def when(table: str, row: tuple[Any, ...]) -> int:
        """Of an agent with a database: a number by which rows sort in the order in which they were written."""
        raise NotImplementedError

    def session_id(self, file: Path) -> str:
        found = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(file.relative_to(self.home)))
        return str(found[-1])

    # -- its tools -------------------------------------------------------------------------------------------------

    def replies(self, replies: list[Reply]) -> list[Reply]:
        """The replies, where an agent needs more of them than the scenario has."""
        out: list[Reply] = []
        seen: set[str] = set()
        for reply in replies:
            unread = [("read", step[1]) for step in reply if step[0] == "edit" and step[1] not in seen]
            seen |= {step[1] for step in reply if step[0] in ("read", "write", "edit")}
            out += [unread, reply] if unread and self.reads_before_edits else [reply]
        return out

    def calls(self, step: Step) -> list[Call]:
        """The calls that carry out a step."""
        does, *given = step
        return getattr(self, f"do_{does}")(*given)  # type: ignore[no-any-return]

    def path(self, path: str) -> str:
        return str(self.workspace / path)

    def do_shell(self, command: str) -> list[Call]:
        raise NotImplementedError

    def do_delete(self, path: str) -> list[Call]:
        return self.do_shell(f"rm {shlex.quote(path)}")

    def do_rename(self, old: str, new: str) -> list[Call]:
        return self.do_shell(f"mv {shlex.quote(old)} {shlex.quote(new)}")

    def do_finish(self, text: str) -> list[Call]:
        """How a sub-agent ends, where that takes a call; otherwise the text is its answer."""
        return []


class Codex(Agent):
    """Needs a provider of its own in config.toml. All changes of files are patches of whole lines."""

    name, format, model = "codex", "codex", "gpt-5.5"
    sessions = ".codex/sessions/*/*/*/rollout-*.jsonl"
    kept = (".codex/sessions/**/*.jsonl",)

    def environment(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": "sk-dummy"}

    def prepare(self) -> None:
        self.settings(
            ".codex/config.toml",
            f'model = "{self.model}"\nmodel_provider = "lab"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\ncheck_for_update_on_startup = false\n'
            f'[model_providers.lab]\nname = "lab"\nbase_url = "{self.url}/v1"\n'
            'env_key = "OPENAI_API_KEY"\nwire_api = "responses"\n',
        )

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        start = [self.program, "exec", "--skip-git-repo-check", "-m", self.model]
        return [*start, prompt] if how == "start" else [*start, how, session, prompt]

    def replies(self, replies: list[Reply]) -> list[Reply]:
        out = []
        for reply in replies:
            out.append(reply)
            if any(step[0] == "helper" for step in reply):
                out.append([("wait",)])
        return out

    def do_shell(self, command: str) -> list[Call]:
        wait = {"yield_time_ms": 30000} if "sleep" in command else {}  # otherwise it answers while the command runs
        return [("exec_command", {"cmd": command, **wait})]

    def do_read(self, path: str) -> list[Call]:
        return self.do_shell(f"cat {shlex.quote(path)}")

    def do_write(self, path: str, text: str) -> list[Call]:
        return self._patch(f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in text.splitlines()))

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        lines = self._lines(path)
        was = next((line for line in lines if old in line), old)
        now = was.replace(old, new)
        return self._patch(f"*** Update File: {path}\n@@\n-{was}\n+{now}\n")

    def do_delete(self, path: str) -> list[Call]:
        return self._patch(f"*** Delete File: {path}\n")

    def do_rename(self, old: str, new: str) -> list[Call]:
        first = self._lines(old)[0]
        return self._patch(f"*** Update File: {old}\n*** Move to: {new}\n@@\n-{first}\n+{first}!\n")

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        return [("multi_agent_v1.spawn_agent", {"message": prompt, "agent_type": "default"})]

    def do_wait(self) -> list[Call]:
        return [("multi_agent_v1.wait_agent", {"targets": ["$AGENT"], "timeout_ms": 30000})]

    def _lines(self, path: str) -> list[str]:
        """The lines of a file, since a patch names whole lines; one empty line if the file is gone."""
        file = Path(self.path(path))
        return file.read_bytes().decode().splitlines() if file.exists() else [""]

    def _patch(self, text: str) -> list[Call]:
        return [("apply_patch", f"*** Begin Patch\n{text}*** End Patch\n")]


class Claude(Agent):
    """Root may skip the permission questions only with IS_SANDBOX."""

    name, format, model = "claude", "claude-code", "claude-sonnet-4-5"
    compact = "/compact"
    sessions = ".claude/projects/*/*.jsonl"
    keeps_reasoning_count = False
    kept = (".claude/projects/**/*", ".claude/file-history/**/*", ".claude/tasks/**/*.json", ".claude/todos/*.json")

    def environment(self) -> dict[str, str]:
        quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING", "IS_SANDBOX")
        more = dict.fromkeys((*quiet, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"), "1")
        return {"ANTHROPIC_API_KEY": "sk-ant-dummy", "ANTHROPIC_BASE_URL": self.url, **more}

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        more = {"start": [], "resume": ["--resume", session], "fork": ["--resume", session, "--fork-session"]}[how]
        return [self.program, "-p", "--model", self.model, "--dangerously-skip-permissions", *more, prompt]

    def do_shell(self, command: str) -> list[Call]:
        return [("Bash", {"command": command, "description": f"Run {command.split()[0]}"})]

    def do_read(self, path: str) -> list[Call]:
        return [("Read", {"file_path": self.path(path)})]

    def do_write(self, path: str, text: str) -> list[Call]:
        return [("Write", {"file_path": self.path(path), "content": text})]

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        return [("Edit", {"file_path": self.path(path), "old_string": old, "new_string": new})]

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        return [("Agent", {"description": name, "prompt": prompt, "subagent_type": "general-purpose"})]


class Gemini(Agent):
    """The kind of login is chosen in its settings, otherwise it asks. A sub-agent ends with `complete_task`."""

    name, format, model = "gemini", "gemini-cli", "gemini-2.5-pro"
    sessions = ".gemini/tmp/*/chats/session-*.jsonl"
    kept = (".gemini/tmp/*/chats/**/*", ".gemini/tmp/*/.project_root", ".gemini/projects.json")
    cannot = {"fork": "Gemini CLI cannot fork a session from the command line"}

    def environment(self) -> dict[str, str]:
        return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": self.url}

    def prepare(self) -> None:
        login = {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}}
        quiet = {"privacy": {"usageStatisticsEnabled": False}, "general": {"disableAutoUpdate": True}}
        self.settings(".gemini/settings.json", {**login, **quiet})

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        more = ["--resume", session] if how == "resume" else []
        return [self.program, "--yolo", "--skip-trust", "-m", self.model, *more, "-p", prompt]

    def session_id(self, file: Path) -> str:
        with open(file, encoding="utf-8") as lines:
            return str(json.loads(lines.readline())["sessionId"])

    def do_shell(self, command: str) -> list[Call]:
        return [("run_shell_command", {"command": command, "description": f"Run {command.split()[0]}"})]

    def do_read(self, path: str) -> list[Call]:
        return [("read_file", {"file_path": self.path(path)})]

    def do_write(self, path: str, text: str) -> list[Call]:
        return [("write_file", {"file_path": self.path(path), "content": text})]

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        given = {"file_path": self.path(path), "old_string": old, "new_string": new}
        return [("replace", {"instruction": f"Replace {old} with {new}.", **given})]

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        return [("invoke_agent", {"agent_name": "generalist", "prompt": prompt})]

    def do_finish(self, text: str) -> list[Call]:
        return [("complete_task", {"result": {"response": text}})]


class Pi(Agent):
    """In models.json, `apiKey` is the name of a variable."""

    name, format, model = "pi", "pi", "gpt-5"
    sessions = ".pi/agent/sessions/*/*.jsonl"
    kept = (".pi/agent/sessions/**/*.jsonl",)
    keeps_reasoning_count = False

    def environment(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": "sk-dummy", "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}

    def prepare(self) -> None:
        model: dict[str, Any] = {"id": self.model, "name": self.model, "reasoning": True, "input": ["text"]}
        model |= {"contextWindow": 128000, "maxTokens": 8000}
        model["cost"] = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0}
        provider = {"baseUrl": f"{self.url}/v1", "api": "openai-completions", "apiKey": "OPENAI_API_KEY"}
        self.settings(".pi/agent/models.json", {"providers": {"lab": {**provider, "models": [model]}}})

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        more = {"start": [], "resume": ["--session", session], "fork": ["--fork", session]}[how]
        return [self.program, "-p", "--model", f"lab/{self.model}", *more, prompt]

    def do_shell(self, command: str) -> list[Call]:
        return [("bash", {"command": command})]

    def do_read(self, path: str) -> list[Call]:
        return [("read", {"path": self.path(path)})]

    def do_write(self, path: str, text: str) -> list[Call]:
        return [("write", {"path": self.path(path), "content": text})]

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        return [("edit", {"path": self.path(path), "edits": [{"oldText": old, "newText": new}]})]

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        return []  # it has no sub-agents


class Copilot(Agent):
    """Takes its provider from the environment. `create` does not make folders."""

    name, format, model = "copilot", "copilot-cli", "gpt-5"
    sessions = ".copilot/session-state/*/events.jsonl"
    kept = (".copilot/session-state/**/*",)
    cannot = {"fork": "Copilot CLI cannot fork a session from the command line"}

    def environment(self) -> dict[str, str]:
        provider = {"BASE_URL": f"{self.url}/v1", "TYPE": "openai", "API_KEY": "dummy", "WIRE_API": "completions"}
        given = {f"COPILOT_PROVIDER_{key}": value for key, value in provider.items()}
        return {"COPILOT_OFFLINE": "true", "COPILOT_MODEL": self.model, **given}

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        more = [f"--resume={session}"] if how == "resume" else []
        return [self.program, "--allow-all-tools", "--allow-all-paths", "--no-color", *more, "-p", prompt]

    def do_shell(self, command: str) -> list[Call]:
        return [("bash", {"command": command, "description": f"Run {command.split()[0]}"})]

    def do_read(self, path: str) -> list[Call]:
        return [("view", {"path": self.path(path)})]

    def do_write(self, path: str, text: str) -> list[Call]:
        return [("create", {"path": self.path(path), "file_text": text})]

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        return [("edit", {"path": self.path(path), "old_str": old, "new_str": new})]

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        given = {"name": name, "description": name, "prompt": prompt, "agent_type": "general-purpose"}
        return [("task", given)]


class OpenCode(Agent):
    """Keeps its sessions in a SQLite database. Offers `write` and `edit` to models not named `gpt-5...`."""

    name, format, model = "opencode", "opencode", "kimi-k2"
    sessions = ".local/share/opencode/opencode.db"
    kept = (".local/share/opencode/opencode.db",)
    tables = ("session", "message", "part", "todo", "event", "event_sequence", "project", "migration")
    rows_of_messages = "message"
    forgets_interrupted = True
    variable = "OPENCODE"

    @staticmethod
    def when(table: str, row: tuple[Any, ...]) -> int:
        """Ids of sessions count down, those of messages and parts count up."""
        mask = (1 << 48) - 1
        if table in ("message", "part"):
            return int(row[0][4:16], 16)
        if table == "session":
            return ~int(row[0][4:16], 16) & mask
        return 0 if table in ("project", "migration") else mask

    def environment(self) -> dict[str, str]:
        off = ("DISABLE_AUTOUPDATE", "DISABLE_LSP_DOWNLOAD", "DISABLE_MODELS_FETCH")
        return {f"{self.variable}_{one}": "1" for one in off}

    def prepare(self) -> None:
        limit = {"context": 128000, "output": 8000}
        model = {"name": self.model, "reasoning": True, "tool_call": True, "limit": limit}
        options = {"baseURL": f"{self.url}/v1", "apiKey": "dummy"}
        lab = {"npm": "@ai-sdk/openai-compatible", "name": "Lab", "options": options, "models": {self.model: model}}
        chosen = {"model": f"lab/{self.model}", "small_model": f"lab/{self.model}"}
        quiet = {"autoupdate": False, "share": "disabled", "permission": "allow"}
        self.settings(f".config/{self.name}/{self.name}.json", {**quiet, **chosen, "provider": {"lab": lab}})

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        more = {"start": [], "resume": ["--session", session], "fork": ["--session", session, "--fork"]}[how]
        return [self.program, "run", *more, prompt]

    def session_id(self, file: Path) -> str:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
            newest = "select id from session where parent_id is null order by time_created desc limit 1"
            return str(db.execute(newest).fetchone()[0])

    def do_shell(self, command: str) -> list[Call]:
        return [("bash", {"command": command, "description": f"Run {command.split()[0]}"})]

    def do_read(self, path: str) -> list[Call]:
        return [("read", {"filePath": self.path(path)})]

    def do_write(self, path: str, text: str) -> list[Call]:
        return [("write", {"filePath": self.path(path), "content": text})]

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        return [("edit", {"filePath": self.path(path), "oldString": old, "newString": new})]

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        return [("task", {"description": name, "prompt": prompt, "subagent_type": "general"})]


class Kilo(OpenCode):
    """A descendant of OpenCode, with its own folders and variables."""

    name, format, variable = "kilo", "kilo", "KILO"
    sessions = ".local/share/kilo/kilo.db"
    kept = (".local/share/kilo/kilo.db",)

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "KILO_TELEMETRY_LEVEL": "off"}

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        program, run, *more = super().command(how, prompt, session)
        return [program, run, "--auto", *more]


class Qwen(Agent):
    """A descendant of Gemini CLI that speaks Chat Completions; its files are chains of records as Claude Code's."""

    name, format, model = "qwen", "qwen-code", "qwen3-coder-plus"
    sessions = ".qwen/projects/*/chats/*.jsonl"
    kept = (".qwen/projects/**/*",)
    cannot = {"fork": "Qwen Code cannot fork a session from the command line"}
    reads_before_edits = True

    def environment(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": "sk-dummy", "OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_MODEL": self.model}

    def prepare(self) -> None:
        login = {"security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}}}
        quiet = {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
        self.settings(".qwen/settings.json", {**login, **quiet, "general": {"disableAutoUpdate": True}})

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        more = ["--resume", session] if how == "resume" else []
        return [self.program, "--yolo", "--auth-type", "openai", "-m", self.model, *more, "-p", prompt]

    def do_shell(self, command: str) -> list[Call]:
        given = {"command": command, "description": f"Run {command.split()[0]}"}
        return [("run_shell_command", {**given, "is_background": False})]

    def do_read(self, path: str) -> list[Call]:
        return [("read_file", {"file_path": self.path(path)})]

    def do_write(self, path: str, text: str) -> list[Call]:
        return [("write_file", {"file_path": self.path(path), "content": text})]

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        return [("edit", {"file_path": self.path(path), "old_string": old, "new_string": new})]

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        return [("agent", {"description": name, "prompt": prompt, "subagent_type": "general-purpose"})]


class OpenClaw(Agent):
    """Needs Node 24, which is installed beside it. The id of a session is the caller's choice."""

    name, format, model = "openclaw", "openclaw", "gpt-5"
    sessions = ".openclaw/agents/*/agent/openclaw-agent.sqlite"
    kept = (".openclaw/agents/*/agent/openclaw-agent.sqlite",)
    tables = ("schema_meta", "session_nodes", "session_windows", "transcript_events", "transcript_event_identities")
    tables += ("session_transcript_active_events", "session_transcript_index_state", "trajectory_runtime_events")
    rows_of_messages = "transcript_events"
    unrecorded = ("trajectory_runtime_events",)  # what the program tells the model, at length
    cannot: ClassVar[dict[str, str]] = {"fork": "OpenClaw cannot fork a session from the command line"}

    def environment(self) -> dict[str, str]:
        node = Path(self.program).parent  # before the one of this machine
        return {"PATH": f"{node}:{os.environ['PATH']}"}

    @staticmethod
    def when(table: str, row: tuple[Any, ...]) -> int:
        if table in ("transcript_events", "transcript_event_identities"):
            return int(row[3 if table == "transcript_events" else 6])
        return 0 if table in ("schema_meta", "session_nodes", "session_windows") else 1 << 60

    def prepare(self) -> None:
        model: dict[str, Any] = {"id": self.model, "name": self.model, "reasoning": True, "input": ["text"]}
        model |= {"contextWindow": 128000, "maxTokens": 8000}
        model["cost"] = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 0}
        provider = {"baseUrl": f"{self.url}/v1", "apiKey": "dummy", "api": "openai-completions", "models": [model]}
        agents = {"workspace": str(self.workspace), "skipBootstrap": True, "sandbox": {"mode": "off"}}
        settings = {"gateway": {"mode": "local"}, "update": {"checkOnStart": False}}
        settings |= {"agents": {"defaults": {**agents, "model": {"primary": f"lab/{self.model}"}}}}
        self.settings(
            ".openclaw/openclaw.json", {**settings, "models": {"mode": "merge", "providers": {"lab": provider}}}
        )

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        session = session or "0c1a0000-0000-4000-8000-000000000001"
        return [self.program, "agent", "--local", "--session-id", session, "--message", prompt]

    def session_id(self, file: Path) -> str:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
            newest = "select session_id from session_windows order by started_at desc limit 1"
            return str(db.execute(newest).fetchone()[0])

    def do_shell(self, command: str) -> list[Call]:
        return [("exec", {"command": command})]

    def do_read(self, path: str) -> list[Call]:
        return [("read", {"path": self.path(path)})]

    def do_write(self, path: str, text: str) -> list[Call]:
        return [("write", {"path": self.path(path), "content": text})]

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        return [("edit", {"path": self.path(path), "edits": [{"oldText": old, "newText": new}]})]

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        return []  # its sub-agents need its gateway, which `--local` does without


class Continue(Agent):
    """Speaks Responses for models named `gpt-5...`; resumes only the last session of its HOME."""

    name, format, model = "continue", "continue", "kimi-k2"
    sessions = ".continue/sessions/*-*.json"
    kept = (".continue/sessions/*.json",)
    cannot = {"fork": "a fork of Continue is a copy that names no parent"}
    forgets_interrupted = forgets_interrupted_prompt = True
    reads_before_edits = True

    def environment(self) -> dict[str, str]:
        return {"CONTINUE_TELEMETRY_ENABLED": "0", "CONTINUE_CLI_ENABLE_TELEMETRY": "0"}

    def prepare(self) -> None:
        lines = [
            *("name: lab", "version: 0.0.1", "schema: v1", "models:", f"  - name: {self.model}"),
            *("    provider: openai", f"    model: {self.model}", f"    apiBase: {self.url}/v1", "    apiKey: dummy"),
            *("    useResponsesApi: false", "    roles: [chat]", ""),
        ]
        self.settings(".continue/config.yaml", "\n".join(lines))

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        more = {"start": [], "resume": ["--resume"], "fork": ["--fork", session]}[how]
        return [self.program, "-p", "--auto", "--config", str(self.home / ".continue" / "config.yaml"), *more, prompt]

    def do_shell(self, command: str) -> list[Call]:
        return [("Bash", {"command": command})]

    def do_read(self, path: str) -> list[Call]:
        return [("Read", {"filepath": self.path(path)})]

    def do_write(self, path: str, text: str) -> list[Call]:
        return [("Write", {"filepath": self.path(path), "content": text})]

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        edits = [{"old_string": old, "new_string": new}]
        return [("MultiEdit", {"file_path": self.path(path), "edits": edits})]

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        return []  # it has no sub-agents


class Cline(Agent):
    """Cannot resume a session without a terminal: each prompt is a session of its own."""

    name, format, model = "cline", "cline", "kimi-k2"
    sessions = ".cline/data/sessions/*/*.messages.json"
    kept = (".cline/data/sessions/**/*.json",)
    cannot = {"fork": "Cline cannot fork a session from the command line"}
    keeps_reasoning_count = False
    resumes = False

    def environment(self) -> dict[str, str]:
        return {"CLINE_TELEMETRY_DISABLED": "1"}

    def prepare(self) -> None:
        given = ["--provider", "openai-compatible", "--apikey", "dummy", "--modelid", self.model]
        env = processes.environment(HOME=str(self.home), **self.environment())
        processes.run([self.program, "auth", *given, "--baseurl", f"{self.url}/v1"], env=env, cwd=self.workspace)

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        return [self.program, "--auto-approve", "true", "-P", "openai-compatible", "-m", self.model, prompt]

    def session_id(self, file: Path) -> str:
        return file.parent.name

    def do_shell(self, command: str) -> list[Call]:
        return [("run_commands", {"commands": [command]})]

    def do_read(self, path: str) -> list[Call]:
        return [("read_files", {"files": [{"path": self.path(path)}]})]

    def do_write(self, path: str, text: str) -> list[Call]:
        return [("editor", {"path": self.path(path), "new_text": text})]

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        return [("editor", {"path": self.path(path), "old_text": old, "new_text": new})]

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        return [("spawn_agent", {"systemPrompt": "You count.", "task": prompt})]


class Mini(Agent):
    """mini-swe-agent has one tool, the shell, and no sessions that go on: each prompt is one of its own."""

    name, format, model = "mini", "mini-swe-agent", "gpt-5"
    sessions = ".config/mini-swe-agent/*.traj.json"
    kept = (".config/mini-swe-agent/*.traj.json",)
    cannot = {
        "fork": "mini-swe-agent cannot fork a session",
        "interrupt": "whether it writes the file of an interrupted run depends on the moment",
    }
    resumes = False

    def environment(self) -> dict[str, str]:
        quiet = {"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_SILENT_STARTUP": "1"}
        return {
            **quiet,
            "OPENAI_API_KEY": "sk-dummy",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENAI_API_BASE": f"{self.url}/v1",
        }

    def command(self, how: str, prompt: str, session: str) -> list[str]:
        number = len(self.session_files()) + 1
        out = self.home / ".config" / "mini-swe-agent" / f"run-{number}.traj.json"
        out.parent.mkdir(parents=True, exist_ok=True)
        return [
            self.program,
            "-y",
            "--exit-immediately",
            "-m",
            f"openai/{self.model}",
            "-l",
            "0",
            "-t",
            prompt,
            "-o",
            str(out),
        ]

    def session_id(self, file: Path) -> str:
        return file.name.removesuffix(".traj.json")

    def do_shell(self, command: str) -> list[Call]:
        return [("bash", {"command": command})]

    def do_read(self, path: str) -> list[Call]:
        return self.do_shell(f"cat {shlex.quote(path)}")

    def do_write(self, path: str, text: str) -> list[Call]:
        return self.do_shell(f"cat > {shlex.quote(path)} <<'END'\n{text}END")

    def do_edit(self, path: str, old: str, new: str) -> list[Call]:
        name, change = shlex.quote(path), shlex.quote(f"s/{old}/{new}/")
        return self.do_shell(f"grep -q {shlex.quote(old)} {name} && sed -i {change} {name}")

    def do_helper(self, name: str, prompt: str) -> list[Call]:
        return []  # it has no sub-agents

    def replies(self, replies: list[Reply]) -> list[Reply]:
        """An answer without a call is an error to it: the last one comes with the command that ends a session."""
        return [*replies[:-1], [*replies[-1], ("shell", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")]]


AGENTS: dict[str, type[Agent]] = {
    one.name: one for one in (Codex, Claude, Gemini, Pi, Copilot, OpenCode, Kilo, Qwen, OpenClaw, Continue, Cline, Mini)
}
