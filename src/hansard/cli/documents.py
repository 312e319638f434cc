"""Files in and out: `-` is the standard stream, errors name the file, a file is written whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hansard.errors import HansardError


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Put the name of the file before what is said of it."""
    try:
        yield
    except HansardError as error:
        name = "standard input" if source == "-" else source
        raise HansardError(f"{name}: {error}") from None


def load(source: str) -> bytes:
    """The bytes of a file, or of standard input."""
    if source == "-":
        return sys.stdin.buffer.read()
    path = Path(source)
    if path.is_dir():
        raise HansardError(f"{source}: is a folder; name a file in it")
    return path.read_bytes()


def save(data: bytes, target: str | None) -> None:
    """Write to a file, whole or not at all, or to standard output."""
    if target in (None, "-"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    path = Path(str(target))
    if path.is_dir():
        raise HansardError(f"{target}: is a folder; name a file in it")
    if path.exists() and not path.is_file():  # a pipe or a device is written to, never replaced
        path.write_bytes(data)
        return
    path = path.resolve()  # a link stays a link
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with open(beside, "xb") as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def on_terminal() -> bool:
    """Is somebody looking? Then tables and colour are welcome."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
