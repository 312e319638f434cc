"""Equivalent tools of the coding agents, and how each names its arguments.

    does          arguments                                    claude-code  codex           gemini-cli         sage
    shell         command workdir timeout (ms) background      Bash         exec_command    run_shell_command  bash
    read          path offset (first line is 1) limit          Read         -               read_file          Read
    write         path content                                 Write        apply_patch     write_file         Write
    edit          path old new all                             Edit         -               replace            Edit
    todo          todos: content status                        TodoWrite    update_plan     write_todos        TodoWrite
    ...        (pi: bash, read, write, edit; Copilot CLI: bash, view, create, edit; opencode, kilo: as pi)

A call is mapped only if the other tool does the same with these arguments: every field has a counterpart, or is a
remark that has no effect (`_REMARKS`), or has its default value (`_DEFAULTS`); those two are passed on under their own
names. Anything else does not match. A tool of an older release (`offered=False`) is understood, never written. A tool
that takes no relative paths (`absolute`) gets them below the working directory, if that is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET

Fields = dict[str, Any]


class Unmatched(Exception):
    """A call has no exact counterpart among the other agent's tools."""


class Spelling(NamedTuple):
    """How one agent spells a value: writer and reader."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


class Tool(NamedTuple):
    """One agent's tool: what it does, and its names of the arguments."""

    does: str
    name: str
    fields: dict[str, str]
    spellings: dict[str, Spelling] = {}
    offered: bool = True
    absolute: bool = False
    patch: bool = False


# -- spellings -----------------------------------------------------------------------------------------------------


def _shifted(by: int) -> Spelling:
    def shift(value: Any, by: int) -> int:
        if type(value) is not int or value + by < 0:
            raise Unmatched
        return value + by

    return Spelling(lambda value: shift(value, by), lambda value: shift(value, -by))


def _to_seconds(value: Any) -> int:
    if type(value) is not int or value % 1000:
        raise Unmatched
    return value // 1000


def _from_seconds(value: Any) -> int:
    if type(value) is not int:
        raise Unmatched
    return value * 1000


def _renamed(ours: str, theirs: str) -> Spelling:
    """A list of objects that differ in the name of one field."""

    def rename(old: str, new: str) -> Callable[[Any], Any]:
        def renamed(entries: Any) -> Any:
            if type(entries) is not list:
                raise Unmatched
            out = []
            for entry in entries:
                if type(entry) is not dict or type(entry.get(old)) is not str or (new != old and new in entry):
                    raise Unmatched
                out.append({new if key == old else key: value for key, value in entry.items()})
            return out

        return renamed

    return Spelling(rename(ours, theirs), rename(theirs, ours))


def _from_argv(value: Any) -> str:
    """The command of `bash -lc command`."""
    if type(value) is list and len(value) == 3 and value[0] in ("bash", "zsh", "sh") and value[1] in ("-lc", "-c"):
        if type(value[2]) is str:
            return value[2]
    raise Unmatched


def _never(value: Any) -> Any:
    raise Unmatched


_SECONDS = Spelling(_to_seconds, _from_seconds)
_FROM_ZERO = _shifted(-1)
_ARGV = Spelling(_never, _from_argv)

# -- the tools -----------------------------------------------------------------------------------------------------

_PATH = {"path": "file_path"}
_READ = {**_PATH, "offset": "offset", "limit": "limit"}
_EDIT = {**_PATH, "old": "old_string", "new": "new_string"}
_GREP = {key: key for key in ("pattern", "path", "glob", "type", "output_mode", "-A", "-B", "-C", "-i", "-n")}
_GREP |= {"multiline": "multiline", "head_limit": "head_limit"}
_GLOB = {"pattern": "pattern", "path": "path"}
_TASK = {"prompt": "prompt", "subagent": "subagent_type", "model": "model", "background": "run_in_background"}
_TODOS = {"todos": "todos"}
_MANY = {"path": "file_path", "edits": "edits"}

TOOLS: dict[str, tuple[Tool, ...]] = {
    "claude-code": (
        Tool("shell", "Bash", {"command": "command", "timeout": "timeout", "background": "run_in_background"}),
        Tool("read", "Read", _READ, absolute=True),
        Tool("write", "Write", {**_PATH, "content": "content"}, absolute=True),
        Tool("edit", "Edit", {**_EDIT, "all": "replace_all"}, absolute=True),
        Tool("edits", "MultiEdit", _MANY, absolute=True),
        Tool("grep", "Grep", _GREP),
        Tool("glob", "Glob", _GLOB),
        Tool("list", "LS", {"path": "path"}, offered=False),
        Tool("todo", "TodoWrite", _TODOS, {"todos": _renamed("content", "content")}),
        Tool("fetch", "WebFetch", {"url": "url", "prompt": "prompt"}),
        Tool("search", "WebSearch", {"query": "query"}),
        Tool("agent", "Task", _TASK),
        Tool("agent", "Agent", _TASK, offered=False),
    ),
    "codex": (
        Tool("shell", "exec_command", {"command": "cmd", "workdir": "workdir"}),
        Tool("shell", "shell_command", {"command": "command", "workdir": "workdir", "timeout": "timeout_ms"}),
        Tool(
            "shell",
            "shell",
            {"command": "command", "workdir": "workdir", "timeout": "timeout_ms"},
            {"command": _ARGV},
            offered=False,
        ),
        Tool("read", "read_file", _READ, offered=False),
        Tool("list", "list_dir", {"path": "dir_path"}, offered=False),
        Tool("write", "apply_patch", {}, patch=True),
        Tool("todo", "update_plan", {"todos": "plan"}, {"todos": _renamed("content", "step")}),
    ),
    "gemini-cli": (
        Tool(
            "shell",
            "run_shell_command",
            {"command": "command", "workdir": "dir_path", "background": "is_background"},
        ),
        Tool("shell", "run_shell_command", {"command": "command", "workdir": "directory"}, offered=False),
        Tool("read", "read_file", _READ, {"offset": _FROM_ZERO}),
        Tool("read", "read_file", {**_READ, "path": "absolute_path"}, {"offset": _FROM_ZERO}, offered=False),
        Tool("write", "write_file", {**_PATH, "content": "content"}),
        Tool("edit", "replace", {**_EDIT, "all": "allow_multiple"}),
        Tool("glob", "glob", {"pattern": "pattern", "path": "dir_path"}),
        Tool("glob", "glob", _GLOB, offered=False),
        Tool("list", "list_directory", {"path": "dir_path"}),
        Tool("list", "list_directory", {"path": "path"}, offered=False),
        Tool("todo", "write_todos", _TODOS, {"todos": _renamed("content", "description")}),
        Tool("search", "google_web_search", {"query": "query"}),
        Tool("grep in gemini's way", "grep_search", {}, offered=False),
        Tool("grep in gemini's way", "search_file_content", {}, offered=False),
        Tool("fetch in gemini's way", "web_fetch", {}, offered=False),
    ),
    "cline": (Tool("edit", "editor", {"path": "path", "old": "old_text", "new": "new_text"}, absolute=True),),
    "mini-swe-agent": (Tool("shell", "bash", {"command": "command"}),),
    "continue": (
        Tool("shell", "Bash", {"command": "command"}),
        Tool("read", "Read", {"path": "filepath"}, absolute=True),
        Tool("write", "Write", {"path": "filepath", "content": "content"}, absolute=True),
        Tool("edit", "Edit", {**_EDIT, "all": "replace_all"}, absolute=True),
        Tool("edits", "MultiEdit", _MANY, absolute=True),
    ),
    "sage": (
        Tool("shell", "bash", {"command": "command", "background": "run_in_background"}),
        # Counts lines from 0, and nothing else distinguishes its calls from Claude Code's: no offset is safe to map.
        Tool("read", "Read", {**_PATH, "limit": "limit"}),
        Tool("write", "Write", {**_PATH, "content": "content"}),
        Tool("edit", "Edit", {**_EDIT, "all": "replace_all"}),
        Tool("edits", "MultiEdit", _MANY),
        Tool("grep", "Grep", _GREP),
        Tool("glob", "Glob", _GLOB),
        Tool("todo", "TodoWrite", _TODOS, {"todos": _renamed("content", "content")}),
        Tool("agent", "Task", _TASK),
    ),
    "pi": (
        Tool("shell", "bash", {"command": "command", "timeout": "timeout"}, {"timeout": _SECONDS}),
        Tool("read", "read", {"path": "path", "offset": "offset", "limit": "limit"}),
        Tool("write", "write", {"path": "path", "content": "content"}),
        Tool("edit", "edit", {"path": "path", "old": "oldText", "new": "newText"}),
        Tool("glob", "find", _GLOB, offered=False),
        Tool("list", "ls", {"path": "path"}, offered=False),
    ),
    "copilot-cli": (
        Tool("shell", "bash", {"command": "command"}),
        Tool("read", "view", {"path": "path"}, absolute=True),
        Tool("write", "create", {"path": "path", "content": "file_text"}, absolute=True),
        Tool("edit", "edit", {"path": "path", "old": "old_str", "new": "new_str"}, absolute=True),
    ),
    "opencode": (
        Tool("shell", "bash", {"command": "command", "timeout": "timeout", "workdir": "workdir"}),
        Tool("read", "read", {"path": "filePath", "offset": "offset", "limit": "limit"}),
        Tool("write", "write", {"path": "filePath", "content": "content"}),
        Tool("edit", "edit", {"path": "filePath", "old": "oldString", "new": "newString", "all": "replaceAll"}),
        Tool("glob", "glob", _GLOB),
        Tool("todo", "todowrite", _TODOS, {"todos": _renamed("content", "content")}, offered=False),
    ),
    "qwen-code": (
        Tool(
            "shell", "run_shell_command", {"command": "command", "workdir": "directory", "background": "is_background"}
        ),
        Tool("read", "read_file", _READ, {"offset": _FROM_ZERO}, absolute=True),
        Tool("write", "write_file", {**_PATH, "content": "content"}, absolute=True),
        Tool("edit", "edit", {**_EDIT, "all": "replace_all"}, absolute=True),
        Tool("glob", "glob", _GLOB),
        Tool("todo", "todo_write", _TODOS, {"todos": _renamed("content", "content")}),
        Tool("agent", "agent", {"prompt": "prompt", "subagent": "subagent_type"}),
    ),
}
TOOLS["openclaw"] = (
    Tool("shell", "exec", {"command": "command", "workdir": "workdir", "timeout": "timeout"}, {"timeout": _SECONDS}),
    Tool("read", "read", {"path": "path", "offset": "offset", "limit": "limit"}),
    Tool("write", "write", {"path": "path", "content": "content"}),
)
TOOLS["kilo"] = TOOLS["opencode"]
AGENTS = tuple(TOOLS)
_REMARKS = frozenset(
    {"description", "justification", "explanation", "instruction", "yield_time_ms", "max_output_tokens"}
)
_DEFAULTS: Fields = {"all": False, "background": False, "-n": True}
_NAMES: dict[str, str] = {
    "replace_all": "all",
    "replaceAll": "all",
    "allow_multiple": "all",
    "run_in_background": "background",
}
_NAMES |= {"is_background": "background", "workdir": "workdir", "dir_path": "workdir", "directory": "workdir"}

# -- calls ---------------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A call independent of agents: what it does, its arguments in order, and which of them pass on unmapped."""

    does: str
    given: Fields
    unmapped: frozenset[str] = frozenset()


def knows(agent: str, name: Any) -> bool:
    """Whether this is the name of one of the agent's tools."""
    return any(tool.name == name for tool in TOOLS[agent])


def understood(agent: str, name: Any, given: Any, cwd: Any) -> Call | None:
    """A call of one of the agent's tools; None if any of its arguments is not understood."""
    for tool in TOOLS[agent]:
        if tool.name == name:
            try:
                return _read_patch(tool, given) if tool.patch else _read(tool, given, cwd)
            except Unmatched:
                continue
    return None


def _read(tool: Tool, given: Any, cwd: Any) -> Call:
    """The call that arguments mean for a tool; a default the tool has no field for was passed on unmapped."""
    if type(given) is not dict or not tool.fields:
        raise Unmatched
    ours = {theirs: our for our, theirs in tool.fields.items()}
    found: Fields = {}
    unmapped: set[str] = set()
    for key, value in given.items():
        if key in ours:
            spelling = tool.spellings.get(ours[key])
            found[ours[key]] = spelling.read(value) if spelling is not None else value
        elif key in _REMARKS or _is_default(_NAMES.get(key) or key, value, value if cwd is UNSET else cwd):
            found[f"={key}"] = value
            unmapped.add(f"={key}")
        else:
            raise Unmatched
    return Call(tool.does, found, frozenset(unmapped))


def _is_default(field: str, value: Any, cwd: Any) -> bool:
    """Whether a field has its default value."""
    if field == "workdir":
        return type(value) is str and value == cwd
    return field in _DEFAULTS and value is _DEFAULTS[field]


def call_for(agent: str, call: Call, source: str, name: Any, cwd: Any) -> tuple[Tool, Any] | None:
    """The agent's own tool that does this, and its arguments."""
    theirs = next((tool.fields for tool in TOOLS[source] if tool.name == name), {})
    for tool in TOOLS[agent]:
        if tool.does != call.does or not tool.offered:
            continue
        meant = _absolute(call, cwd) if tool.absolute else call
        try:
            given = _write_patch(meant) if tool.patch else _write(tool, meant, theirs, cwd)
        except Unmatched:
            continue
        again = understood(agent, tool.name, given, cwd)
        if again is not None and all(_same(key, again, meant, tool) for key in again.given.keys() - again.unmapped):
            return tool, given
    return None


def _absolute(call: Call, cwd: Any) -> Call:
    """The call with a relative path as one below the working directory."""
    path = call.given.get("path")
    if type(path) is not str or type(cwd) is not str or not path or path.startswith(("/", "~")) or path[1:3] == ":\\":
        return call
    return call._replace(given={**call.given, "path": f"{cwd.rstrip('/')}/{path.removeprefix('./')}"})


def _same(key: str, again: Call, call: Call, tool: Tool) -> bool:
    passed_on = "=" + tool.fields.get(key, key)
    return bool(again.given[key] == call.given.get(key, call.given.get(passed_on)))


def _write(tool: Tool, call: Call, theirs: dict[str, str], cwd: Any) -> Fields:
    out: Fields = {}
    for key, value in call.given.items():
        if key in call.unmapped:
            name, spelled = key[1:], value
        elif key in tool.fields:
            spelling = tool.spellings.get(key)
            name, spelled = tool.fields[key], spelling.write(value) if spelling is not None else value
        elif key in theirs and _is_default(key, value, cwd):
            name, spelled = theirs[key], value
        else:
            raise Unmatched
        if name in out:
            raise Unmatched
        out[name] = spelled
    return out


# -- Codex writes a file by a patch that adds it -------------------------------------------------------------------

_BEGIN, _ADD, _END = "*** Begin Patch\n", "*** Add File: ", "*** End Patch\n"


def _write_patch(call: Call) -> str:
    """A patch has the path first: arguments in another order would not round-trip."""
    path, content = call.given.get("path"), call.given.get("content")
    if type(path) is not str or type(content) is not str or call.unmapped or [*call.given] != ["path", "content"]:
        raise Unmatched
    if not path or path != path.strip() or "\n" in path or "\r" in content or (content and not content.endswith("\n")):
        raise Unmatched
    return f"{_BEGIN}{_ADD}{path}\n" + "".join(f"+{line}\n" for line in content.split("\n")[:-1]) + _END


def _read_patch(tool: Tool, given: Any) -> Call:
    text = given.get("input") if type(given) is dict and len(given) == 1 else given
    if type(text) is not str or not text.startswith(_BEGIN + _ADD):
        raise Unmatched
    path, _, rest = text[len(_BEGIN + _ADD) :].partition("\n")
    content = "".join(line[1:] + "\n" for line in rest.split("\n")[:-1] if line.startswith("+"))
    call = Call(tool.does, {"path": path, "content": content})
    if _write_patch(call) != text.removesuffix("\n") + "\n":
        raise Unmatched
    return call
