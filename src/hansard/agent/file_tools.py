"""File tools for agents: read, write, edit and shell in one folder; each change is attributed to its tool call.

    files = FileTools(ledger, "project")
    agent = Agent(model, ledger=ledger, toolsets=[files])       # or a pydantic_ai.Agent with a Recorder

The folder's workspace records each change with its thread, run, agent and message, so that `hansard undo` reverts it.
The file tools stay below the folder and follow no links. The shell has the user's rights; `approve=["shell"]` asks
before each command. Errors that the model can correct are returned to it as the result of its call.
"""

from __future__ import annotations

import asyncio
import errno
import mimetypes
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from hansard.agent.brief_help import BriefHelp
from hansard.agent.shell import Ran, run
from hansard.agent.tool_call_context import Call, current_call
from hansard.errors import Conflict, HansardError
from hansard.ledger.ledger import Ledger
from hansard.workspace import Author, Entry, Limits, Refused, Workspace
from hansard.workspace.atomic_write import put
from hansard.workspace.entries import FILE, FOLDER, LARGE, LINK, check_path

NAMES = ("read", "write", "edit", "shell")
_LINE = 2000  # characters shown of a line


class FileTools(FunctionToolset[Any], metaclass=BriefHelp):
    """`only`: tools to offer; `approve`: tools that need approval; `most`: maximum length of a result."""

    def __init__(
        self,
        ledger: Ledger,
        root: str | os.PathLike[str],
        *,
        only: Sequence[str] = NAMES,
        approve: Sequence[str] = (),
        seconds: float = 120.0,
        most: int = 30_000,
        limits: Limits | None = None,
    ) -> None:
        for name in (*only, *approve):
            if name not in NAMES:
                raise HansardError(f"unknown file tool {name!r}; choose from {', '.join(NAMES)}")
        self.workspace = Workspace(ledger, root, limits=limits)
        self._seconds, self._most = seconds, most
        self._shells = ThreadPoolExecutor(64, thread_name_prefix="hansard-shell")
        tools = [Tool(getattr(self, name), name=name, requires_approval=name in approve) for name in only]
        super().__init__(tools, id=f"files:{self.workspace.root.path}")

    def close(self) -> None:
        self._shells.shutdown()
        self.workspace.close()

    # -- the tools -------------------------------------------------------------------------------------------------

    def read(self, path: str, offset: int = 1, limit: int = 2000) -> str:
        """Read a text file or list a folder.

        Args:
            path: The path from the project's folder on, such as src/main.py; "." lists the project's folder.
            offset: The first line to read; lines are counted from 1.
            limit: How many lines to read.
        """
        with _told():
            if offset < 1 or limit < 1:
                raise ToolFailed("offset and limit begin at 1")
            if path in (".", "./", ""):
                return self._listed(self.workspace.root.fd, ".")
            name = self._name(path)
            found, data = self._look(name, path)
            if found.kind == FOLDER:
                with self.workspace.root.folder(name + b"/x") as (fd, _):
                    return self._listed(fd, path)
            text = _text(data)
            if text is None:
                kind = mimetypes.guess_type(path)[0] or "of unknown type"
                return f"{path} is a binary file ({kind}, {len(data):,} bytes); it is not shown."
            return self._lines(path, text, offset, limit)

    def write(self, path: str, content: str) -> str:
        """Create or replace a file. Missing folders are created.

        Args:
            path: The path from the project's folder on, such as src/main.py.
            content: The complete content of the file.
        """
        with _told():
            name, data = self._name(path), _encoded(content)
            with self.workspace.tool(self._by(), name, alone=True):
                found, _ = self._look(name, path, must=False)
                if found is not None and found.kind == FOLDER:
                    raise ToolFailed(f"{path} is a folder; name a file")
                put(self.workspace.root, name, data, found, self.workspace.step)
            verb = "created" if found is None else "wrote"
            return f"{verb} {path}: {_counted(content.count(chr(10)) + (content[-1:] not in ('', chr(10))), 'line')}"

    def edit(self, path: str, old_string: str, new_string: str, replace_all: bool = False) -> str:
        """Replace a text in a file. It must occur exactly once, with exact spaces and line ends.

        Args:
            path: The path from the project's folder on, such as src/main.py.
            old_string: The text as it is in the file, with enough context to be unique.
            new_string: The replacement.
            replace_all: Replace all occurrences.
        """
        with _told():
            name = self._name(path)
            if not old_string or old_string == new_string:
                raise ToolFailed("old_string is empty; use write" if not old_string else "both texts are the same")
            with self.workspace.tool(self._by(), name, alone=True):
                found, data = self._look(name, path)
                text = _text(data) if found.kind == FILE else None
                if text is None:
                    what = "a folder" if found.kind == FOLDER else "a binary file"
                    raise ToolFailed(f"{path} is {what}; edit changes text files only")
                old, new = _line_ends(text, old_string, new_string)
                places = [text.count("\n", 0, at) + 1 for at in _places(text, old)]
                if not places:
                    raise ToolFailed(f"old_string is not in {path}; read it again and copy it exactly")
                if len(places) > 1 and not replace_all:
                    lines = ", ".join(map(str, places[:10]))
                    raise ToolFailed(
                        f"old_string occurs {len(places)} times in {path}, at lines {lines}; add more context to "
                        "it, or use replace_all"
                    )
                put(self.workspace.root, name, _encoded(text.replace(old, new)), found, self.workspace.step)
            return f"edited {path} at line {', '.join(map(str, places[:10]))}"

    async def shell(self, command: str, timeout: float | None = None) -> str:
        """Run a command in a shell, in the project's folder. All its processes have ended when it returns.

        Args:
            command: The command, as for bash -c. It has no input.
            timeout: Seconds after which it is killed.
        """
        by, stopped = self._by(), threading.Event()
        seconds = self._seconds if timeout is None or timeout <= 0 else timeout
        work = asyncio.get_running_loop().run_in_executor(self._shells, self._ran, by, command, seconds, stopped)
        try:
            ran = await asyncio.shield(work)
        except asyncio.CancelledError:
            stopped.set()
            await asyncio.wait([work])  # its changes are recorded before the run ends
            raise
        output = ran.output.rstrip("\n") or "(no output)"
        note = f"[{ran.ended}]" if ran.ended else f"[exit code {ran.code}]" if ran.code else ""
        return f"{output}\n{note}" if note else output

    def _ran(self, by: Author, command: str, seconds: float, stopped: threading.Event) -> Ran:
        with self.workspace.window(by):
            return run(command, self.workspace.root.path, seconds=seconds, most=self._most, stopped=stopped)

    # -- attribution and paths ------------------------------------------------------------------------------------

    def _by(self) -> Author:
        call: Call = current_call()
        if call.ledger is not self.workspace.ledger:
            raise HansardError("the agent and its file tools use different ledgers; give both the same")
        return Author(thread_id=call.thread_id, run_id=call.run_id, agent_id=call.agent_id, message_id=call.message_id)

    def _name(self, path: str) -> bytes:
        """A path that a model named, as bytes below the root."""
        root = self.workspace.root.path
        if path.startswith("/"):
            inside = path[len(root) + 1 :] if path.startswith(root.rstrip("/") + "/") else "src/main.py"
            raise Refused(f"{path!r} begins with /; use a path relative to the project's folder: {inside!r}")
        parts = [part for part in path.split("/") if part not in ("", ".")]
        try:
            return check_path(os.fsencode("/".join(parts)))
        except UnicodeEncodeError:
            raise Refused(f"{path!r} is not a valid path") from None

    def _look(self, name: bytes, path: str, *, must: bool = True) -> tuple[Any, bytes]:
        """The entry at a path; `nothing` only if it may be missing."""
        root = self.workspace.root
        try:
            with root.folder(name) as _:
                found, data = root.read_entry(name, self.workspace.limits.file_size)
        except FileNotFoundError:
            found, data = None, b""
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            raise ToolFailed(f"a parent of {path} is a link or not a folder; use the real path") from None
        if found is None and must:
            raise ToolFailed(f"{path} does not exist; read its folder to list it")
        _refuse(found, data, path)
        return found, data

    # -- what is shown ---------------------------------------------------------------------------------------------

    def _listed(self, fd: int, path: str) -> str:
        with os.scandir(fd) as entries:
            names = sorted(one.name + ("/" if one.is_dir(follow_symlinks=False) else "") for one in entries)
        shown = "\n".join(name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name in names)
        return (
            f"{path} is a folder with {_counted(len(names), 'name')}:\n{shown[: self._most]}"
            if names
            else f"{path} is an empty folder."
        )

    def _lines(self, path: str, text: str, offset: int, limit: int) -> str:
        if not text:
            return f"{path} is an empty file."
        lines = text.split("\n")
        count = len(lines) - (lines[-1] == "")
        if offset > count:
            raise ToolFailed(f"{path} has {_counted(count, 'line')}; there is none at {offset}")
        shown: list[str] = []
        size = 0
        for line in lines[offset - 1 : min(count, offset - 1 + limit)]:
            shown.append(line if len(line) <= _LINE else f"{line[:_LINE]} [... {len(line) - _LINE:,} characters more]")
            size += len(shown[-1]) + 1
            if size > self._most and len(shown) > 1:
                shown.pop()
                break
        last = offset - 1 + len(shown)
        note = f"\n[lines {offset} to {last} of {count}; offset={last + 1} continues]" if last < count else ""
        return "\n".join(shown) + note


@contextmanager
def _told() -> Iterator[None]:
    """Return path errors to the model; ledger errors end the run."""
    try:
        yield
    except (Refused, Conflict) as error:
        raise ToolFailed(str(error)) from None
    except OSError as error:
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        raise ToolFailed(f"{where}{error.strerror or error}") from None


def _refuse(found: Entry | None, data: bytes, path: str) -> None:
    if found is None or found.kind in (FILE, FOLDER):
        return
    if found.kind == LINK:
        raise ToolFailed(f"{path} is a link to {os.fsdecode(data)!r}, which is not followed; name the file itself")
    if found.kind == LARGE:
        raise ToolFailed(f"{path} has {found.size:,} bytes, too many for this tool; use shell")
    raise ToolFailed(f"{path} is a device, FIFO or socket and cannot be opened")


def _text(data: bytes) -> str | None:
    """The text of a file; None for a binary file."""
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _encoded(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolFailed(f"character {error.start} of the text cannot be written: lone surrogate") from None


def _line_ends(text: str, old: str, new: str) -> tuple[str, str]:
    """Convert \\n, which models write, to the line end of the file."""
    if "\r\n" in text and "\r" not in old and old not in text:
        return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    return old, new


def _places(text: str, old: str) -> Iterator[int]:
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + 1)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")
