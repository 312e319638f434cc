"""Atomic file replacement: after a crash there is the old file or the new one, never a part of it.

The bytes go to a temporary file with a random name in the same folder, which is synced and then renamed; the folder is
synced last.
"""

from __future__ import annotations

import os


def write_whole(path: str, data: bytes, *, mode: int = 0o666, replace: bool = True) -> None:
    """Write a file atomically. `replace` keeps the mode of an existing file; without, an existing file is an error."""
    beside = name_beside(path)
    try:
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        try:
            if replace and os.path.exists(path):
                os.chmod(beside, os.stat(path).st_mode & 0o777)  # permissions stay
            view = memoryview(data)
            while view:
                view = view[os.write(file, view) :]
            os.fsync(file)
        finally:
            os.close(file)
        take_name(beside, path, replace=replace)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise


def name_beside(path: str) -> str:
    """A new random name in the same folder."""
    return os.path.join(os.path.dirname(path), f".hansard.{os.urandom(6).hex()}")


def take_name(beside: str, path: str, *, replace: bool = True) -> None:
    """Give a synced file its final name, durably."""
    if replace:
        os.replace(beside, path)
    else:
        os.link(beside, path)  # unlike a rename it fails if the name exists
        os.unlink(beside)
    sync_folder(os.path.dirname(path) or ".")


def make_folders(path: str, mode: int = 0o777) -> None:
    """Create a folder and its parents, durably."""
    above = os.path.dirname(path)
    if os.path.isdir(path) or above == path:
        return
    make_folders(above, mode)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    sync_folder(above or ".")


def sync_folder(path: str) -> None:
    """Make the names in a folder durable (not on Windows)."""
    if os.name == "nt":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
