"""Run programs with a time limit, interrupt them, and end everything that they started."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_MARK = "HANSARD_LAB"
_OURS = uuid.uuid4().hex  # in the environment of every process of this run, however far it went into the background
_POLL = 0.05


class Done(NamedTuple):
    """How a program ended; `code` is negative for a signal."""

    code: int
    output: str


def environment(**more: str) -> dict[str, str]:
    """The environment of a program: ours, without settings of agents and proxies, and with the mark."""
    ours = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TZ", "TERM", "TMPDIR")
    kept = {key: os.environ[key] for key in ours if key in os.environ}
    return {"LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1,localhost", **kept, **more, _MARK: _OURS}


def run(
    command: list[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    seconds: float = 180,
    interrupt: Callable[[], bool] | None = None,
) -> Done:
    """Run a program to its end, or until `interrupt` is true: then it gets the signal of Ctrl-C."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            deadline, interrupted = time.monotonic() + seconds, False
            while process.poll() is None and time.monotonic() < deadline:
                if interrupt is not None and not interrupted and interrupt():
                    interrupted, deadline = True, min(deadline, time.monotonic() + 20)
                    process.send_signal(signal.SIGINT)
                time.sleep(_POLL)
            late = process.poll() is None
        finally:
            end_group(process)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    return Done(process.returncode, text + (f"\n(ended after {seconds} s)" if late and interrupt is None else ""))


@contextmanager
def background(command: list[str], *, env: Mapping[str, str], cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs meanwhile; it is interrupted at the end."""
    process = subprocess.Popen(
        command, env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            pass
        end_group(process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a program and the group of processes that it leads."""
    for one in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, one)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def ours() -> list[int]:
    """The processes of this run that are still there, by the mark in their environment (Linux only)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*") if Path("/proc/self/environ").exists() else ():
        try:
            marked = f"{_MARK}={_OURS}".encode() in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if marked and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def end_all() -> list[int]:
    """End all processes of this run; returns those that had to be ended."""
    left = ours()
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return left
