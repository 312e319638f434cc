"""Backups of Sage sessions: found where a snapshot names them, and nowhere outside the project and the session.

A `backupPath` is relative to the project (the parent of `.sage`), else to the session's folder; an absolute one must be
below one of them, or below the workspace. In a session folder that was copied elsewhere, `.sage/` means the folder that
holds `sessions/`, and the last resort is the file of that name in the session's `backups/`. Links are not followed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from hansard.workspace.entries import FILE, LARGE
from hansard.workspace.rooted_fs import OPEN_FOLDER, read_entry


class Backups:
    """The backups that snapshots of one session name."""

    def __init__(self, folder: str | None, root: str, limit: int) -> None:
        self.limit = limit
        self._bases: list[str] = []
        self._sage = self._copied = None
        self._session = os.path.realpath(folder) if folder is not None else None
        if self._session is not None:
            self._sage = _above(self._session, ".sage")
            if self._sage is None and os.path.basename(os.path.dirname(self._session)) == "sessions":
                self._copied = os.path.dirname(os.path.dirname(self._session))
            if self._sage is not None and os.path.dirname(self._sage) != os.path.realpath(os.path.expanduser("~")):
                self._bases.append(os.path.dirname(self._sage))  # of the home folder only its .sage
            self._bases.append(self._session)
        self._bases.append(os.path.realpath(root))

    def read(self, told: str) -> bytes | str:
        """The content of a backup, or what is wrong with it."""
        places = list(self._places(told))
        if not places:
            return "lies outside the project and the session's folder"
        problem = "is missing"
        for base, inside in places:
            try:
                return read_below(base, inside, self.limit)
            except OSError as error:
                if error.errno == errno.EFBIG:
                    return f"is larger than the limit of {self.limit} bytes"
                if error.errno != errno.ENOENT:
                    problem = "is not a readable file (links are not followed)"
            except ValueError:
                return "is not a valid file name"
        return problem

    def _places(self, told: str) -> Iterator[tuple[str, str]]:
        """The folders and paths below them to look at, in order."""
        path = os.path.normpath(told)
        if os.path.isabs(path):
            for base in [*self._bases, *([self._sage] if self._sage else [])]:
                if path.startswith(base.rstrip("/") + "/"):
                    yield base, path[len(base.rstrip("/")) + 1 :]
        elif path != ".." and not path.startswith("../"):
            inside = path.removeprefix(".sage/")
            for sage in (self._sage, self._copied):
                if sage is not None and inside != path:
                    yield sage, inside
            for base in self._bases:
                yield base, path
        else:
            return
        if self._session is not None:
            yield self._session, os.path.join("backups", os.path.basename(path))


def _above(path: str, name: str) -> str | None:
    """The nearest folder of this name at or above a path."""
    while os.path.basename(path) != name:
        path, below = os.path.dirname(path), path
        if path == below:
            return None
    return path


def read_below(base: str, path: str, limit: int) -> bytes:
    """A regular file below a folder, opened folder by folder without following links."""
    *folders, name = path.split("/")
    fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            below = os.open(part, OPEN_FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        entry, data = read_entry(fd, os.fsencode(name), limit)
    finally:
        os.close(fd)
    if entry is None or entry.kind != FILE:
        code = errno.ENOENT if entry is None else errno.EFBIG if entry.kind == LARGE else errno.EINVAL
        raise OSError(code, os.strerror(code))
    return data
