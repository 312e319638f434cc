"""A disk with little room that can be given more: a real one where a tmpfs may be mounted, else one that says so."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.faults.disk_layer import Call, Layer


class SmallDisk(NamedTuple):
    folder: Path
    grow: Callable[[int], None]
    kind: str


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[SmallDisk]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        refused = subprocess.run(command, capture_output=True, check=False).returncode != 0
    except OSError:
        refused = True
    if refused:
        with _told_disk(folder, size) as disk:
            yield disk
        return
    try:
        yield SmallDisk(folder, lambda more: _remount(folder, more), "a tmpfs")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def _remount(folder: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


@contextmanager
def _told_disk(folder: Path, size: int) -> Iterator[SmallDisk]:
    room = [size]

    def before(call: Call) -> None:
        used = sum(one.stat().st_size for one in folder.iterdir())
        if call.kind == "write" and used + len(call.data) > room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), call.path)

    with Layer(folder, before=before):
        yield SmallDisk(folder, lambda more: room.__setitem__(0, more), "told to be full: none may be mounted here")
