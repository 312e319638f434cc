"""What an undo of an imported session cannot take back: changes that no record of the session describes.

Shell commands may change any file; the transcript has only their text. A file that was written as a whole may have
existed before. Commands that can only read are listed too, but change nothing.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from hansard.formats.coding_agents.edits import Edit
from hansard.model.conversation import Message
from hansard.model.parts import ToolCallPart

_SHELLS = frozenset(
    {"Bash", "bash", "exec", "exec_command", "shell_command", "shell", "local_shell", "run_shell_command"}
)
_MANY = "run_commands"  # Cline's: a list of commands
_READING = """
ls cat head tail grep egrep fgrep rg pwd echo printf wc uniq diff cmp stat file which type true false test [ cd du df
date tree sleep basename dirname realpath readlink whoami id uname nproc md5sum sha256sum cut tr
"""
_GIT_READING = "status log diff show ls-files blame rev-parse describe shortlog grep cat-file"
_SEPARATORS = frozenset({"|", "||", "&&", ";", "&", "\n"})
_NO_FILE = re.compile(r"\d*>+&\d|\d*>+\s*/dev/null|&>\s*/dev/null")


class Left(Struct, frozen=True, kw_only=True):
    """Something an undo leaves: a shell command with the paths it names, or a file whose past nothing recorded.

    `reads` is a command that only reads: it is listed, and leaves nothing.
    """

    kind: str
    text: str
    paths: list[str] = []
    message_id: str = ""
    reads: bool = False


def commands(messages: Iterable[Message]) -> Iterator[Left]:
    """The shell commands that these messages ran."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart) and (command := _command(part)) is not None:
                text = " ".join(command.split())
                reads = only_reads(command)
                key = message.id if isinstance(message.id, str) else ""
                paths = [] if reads else named_paths(command)
                yield Left(kind="shell", text=text, paths=paths, message_id=key, reads=reads)


def unsure(edits: Iterable[Edit]) -> Iterator[Left]:
    """The files that were written as a whole, where the session does not say what was there before."""
    for edit in edits:
        if edit.unsure:
            why = "nothing recorded whether it existed before it was written"
            yield Left(kind="file", text=why, paths=[edit.path], message_id=edit.message_id)


def _command(part: ToolCallPart) -> str | None:
    """The command of a call, if it runs one."""
    given: Any = part.input if isinstance(part.input, dict) else {}
    action = given.get("action") if isinstance(given.get("action"), dict) else given
    if part.tool_name == _MANY and isinstance(many := given.get("commands"), list):
        return "\n".join(str(one.get("command") if isinstance(one, dict) else one) for one in many)
    if part.tool_name not in _SHELLS:
        return None
    command = action.get("command", action.get("cmd"))
    if isinstance(command, list) and all(isinstance(one, str) for one in command):
        shell = len(command) == 3 and command[1] in ("-c", "-lc")
        return str(command[2]) if shell else shlex.join(command)
    return command if isinstance(command, str) else None


def _words(command: str) -> list[str] | None:
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return None


def only_reads(command: str) -> bool:
    """Whether a command is known to change no file.

    >>> only_reads("ls -la && git status"), only_reads("ls > out.txt"), only_reads("make")
    (True, False, False)
    """
    bare = _NO_FILE.sub(" ", command)
    words = _words(bare)
    if words is None or re.search(r"[`>]|\$\(|<\(", bare):
        return False
    first = True
    for i, word in enumerate(words):
        if word in _SEPARATORS:
            first = True
        elif first:
            first = False
            git = (
                word == "git" and i + 1 < len(words) and words[i + 1] in _GIT_READING.split() and "--output" not in bare
            )
            if word not in _READING.split() and not git:
                return False
    return True


def named_paths(command: str) -> list[str]:
    """The words of a command that may be paths of files.

    >>> named_paths("printf x > logo.bin; sleep 9; mv 'tea.txt' cup/")
    ['x', 'logo.bin', 'tea.txt', 'cup/']
    """
    found: list[str] = []
    start = True
    for word in _words(command) or command.split():
        if word in _SEPARATORS or re.fullmatch(r"[<>|&;()]+", word):
            start = word in _SEPARATORS
            continue
        if (
            not start
            and not word.startswith("-")
            and not word.isdigit()
            and len(word) < 256
            and _like_a_path(word)
            and word not in found
        ):
            found.append(word)
        start = False
    return found


def _like_a_path(word: str) -> bool:
    name = os.path.basename(word.rstrip("/"))
    return "/" in word or re.fullmatch(r"[\w-]+|[\w .+@~-]*\.\w{1,8}", name) is not None
