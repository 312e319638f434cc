"""Runs a shell command with limits on time and output, and ends all its processes.

The command and its children are one process group, which is killed when the command has ended, takes too long or is
stopped. A guard in the group reads a pipe of ours: if our process dies, the guard ends the group. A process that leaves
the group on purpose (`setsid`) is not found.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from threading import Event

from msgspec import Struct

_GUARDED = 'exec 3<&0 </dev/null; (cat <&3; kill -9 0) >/dev/null 2>&1 & exec 3<&-; exec "$0" -c "$1"'
_SHELL = shutil.which("bash") or "/bin/sh"
_TICK = 0.05


class Ran(Struct, frozen=True, kw_only=True):
    """Exit code and output of a command, and why it was killed if it was."""

    code: int | None
    output: str
    ended: str = ""


class _Words:
    """Keeps the beginning and the end of the output, and counts the bytes omitted between them."""

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._head, self._tail, self._size = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        self._size += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        del self._tail[: -self._half]

    def text(self) -> str:
        head, tail = (part.decode("utf-8", "replace") for part in (self._head, self._tail))
        left = self._size - len(self._head) - len(self._tail)
        return f"{head}\n[... {left:,} bytes omitted ...]\n{tail}" if left else head + tail


def run(command: str, folder: str, *, seconds: float, most: int, stopped: Event) -> Ran:
    """Run a command; blocks until all its processes have ended. `stopped` ends it from another thread."""
    words = _Words(most)
    process = subprocess.Popen(
        ["/bin/sh", "-c", _GUARDED, _SHELL, command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    out, ended, until = process.stdout.fileno(), "", time.monotonic() + seconds
    os.set_blocking(out, False)
    try:
        listening = True
        while process.poll() is None:
            if stopped.is_set() or time.monotonic() > until:
                ended = "stopped" if stopped.is_set() else f"killed: it took longer than {seconds:g} s"
                break
            if not listening:
                stopped.wait(_TICK)
            elif select.select([out], [], [], _TICK)[0]:
                listening = _take(out, words)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        while _take(out, words):
            pass
        process.stdout.close()
        process.stdin.close()
    return Ran(code=None if ended else code, output=words.text(), ended=ended)


def _take(out: int, words: _Words) -> bool:
    """Read what is available; False at the end."""
    try:
        data = os.read(out, 1 << 16)
    except BlockingIOError:
        return False
    words.add(data)
    return bool(data)
