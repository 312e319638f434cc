"""Reading and writing files: `-` is the standard stream, errors name the file, a file is written whole or not at all.

No pathlib: importing it would take a twentieth of the time of a small conversion.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hansard.atomic_file import write_whole
from hansard.errors import HansardError


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Prefix the errors raised inside with the name of the file."""
    try:
        yield
    except HansardError as error:
        name = "standard input" if source == "-" else source
        raise HansardError(f"{name}: {error}") from None


def load(source: str) -> bytes:
    """The bytes of a file, or of standard input."""
    if source == "-":
        if sys.stdin is None:
            raise HansardError("standard input is closed; name a file, or pipe data into the command")
        return sys.stdin.buffer.read()
    if os.path.isdir(source):
        raise HansardError(f"{source}: is a folder; name a file in it")
    if os.path.exists(f"{source}-wal"):
        from pathlib import Path

        from hansard.sessions.databases import content

        return content(Path(source))  # of a database that is in use
    with open(source, "rb") as file:
        return file.read()


def save(data: bytes, target: str | None) -> None:
    """Write to a file, whole or not at all, or to standard output."""
    if target is None or target == "-":
        if sys.stdout is None:
            raise HansardError("standard output is closed; name a file with -o")
        sys.stdout.buffer.write(_for_terminal(data) if sys.stdout.isatty() else data)
        sys.stdout.buffer.flush()
        return
    if os.path.isdir(target):
        raise HansardError(f"{target}: is a folder; name a file in it")
    try:
        _save_file(data, target)
    except BrokenPipeError:
        raise
    except OSError as error:  # named by the target, not by a temporary file
        raise HansardError(f"{target}: {error.strerror}; nothing was written") from None


def _for_terminal(data: bytes) -> bytes:
    """A document with unsafe characters in JSON's own escapes, so that JSON keeps its meaning."""
    import json

    from hansard.cli.terminal import UNSAFE

    def escaped(found: re.Match[str]) -> str:
        return found[0] if found[0] in "\n\t" else json.dumps(found[0])[1:-1]

    return UNSAFE.sub(escaped, data.decode("utf-8", "surrogateescape")).encode("utf-8", "backslashreplace")


def _save_file(data: bytes, target: str) -> None:
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device is written to, never replaced
        with open(target, "wb") as device:
            device.write(data)
        return
    write_whole(os.path.realpath(target), data)  # a link stays a link
