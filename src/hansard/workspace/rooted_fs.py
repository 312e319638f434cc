"""Files below a root and nowhere else: every folder on the way is opened by its name in the one before, never a link.

Whoever swaps a folder for a link while we work makes us fail, not write elsewhere. FIFOs, devices and sockets are
never opened. Whatever is replaced or removed is first put aside, so that what was really there can be looked at.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hansard.errors import Conflict, HansardError, StorageError
from hansard.workspace.entries import FILE, FOLDER, LARGE, LINK, OTHER, Entry, Refused, checked, content_hash

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # never through a link
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
_NOREPLACE, _EXCHANGE = 1, 2
ASIDE = b".aside"  # behind the name of a slot: what is being swapped with it in two steps
_PATIENCE = 30  # seconds that somebody else may hold the lock


class Root:
    """An open folder that holds a workspace; `lock` is held by one process at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = allowed(path)
        try:
            self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise Refused(f"{self.path}: {error.strerror}; name a folder") from None

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held on a descriptor of its own: it goes with the process, however that ends."""
        fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            until, wait = time.monotonic() + _PATIENCE, 0.001
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise Conflict(
                            f"{self.path}: another process has been changing these files for {_PATIENCE} s; try again"
                        ) from None
                    time.sleep(wait)
                    wait = min(wait * 2, 0.1)
            yield
        finally:
            os.close(fd)

    @contextmanager
    def folder(self, path: bytes) -> Iterator[tuple[int, bytes]]:
        """The open folder that a path is in, and its name there. What goes wrong names the path from the root on."""
        *folders, name = checked(path).split(b"/")
        fd, at = os.dup(self.fd), b""
        try:
            for part in folders:
                at += b"/" + part
                below = os.open(part, OPEN_FOLDER, dir_fd=fd)
                os.close(fd)
                fd = below
            at = path
            yield fd, name
        except OSError as error:
            error.filename = os.fsdecode(at.lstrip(b"/"))
            raise
        finally:
            os.close(fd)

    def look(self, path: bytes, most: int | None = None) -> tuple[Entry | None, bytes]:
        """What stands at a path and what it holds; nothing where a folder on the way is none, or a link."""
        try:
            with self.folder(path) as (fd, name):
                return look(fd, name, most)
        except OSError as error:
            if error.errno in _GONE:
                return None, b""
            if error.errno == errno.ENAMETOOLONG:
                raise Refused(f"{error.filename!r}: a name in it is too long for this file system") from None
            raise


def look(fd: int, name: bytes, most: int | None = None) -> tuple[Entry | None, bytes]:
    """What a name in an open folder stands for, and what it holds."""
    for _ in range(8):
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                return Entry(FOLDER, stat.S_IMODE(found.st_mode)), b""
            if stat.S_ISLNK(found.st_mode):
                target = os.readlink(name, dir_fd=fd)
                return Entry(LINK, None, content_hash(target), len(target)), target
            if not stat.S_ISREG(found.st_mode):
                return Entry(OTHER), b""
            if most is not None and found.st_size > most:
                return Entry(LARGE, stat.S_IMODE(found.st_mode), b"", found.st_size), b""
            return read(fd, name)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return None, b""
            if error.errno not in (errno.ELOOP, errno.EINVAL):  # it became something else just now
                raise
    return Entry(OTHER), b""


def read(fd: int, name: bytes | str) -> tuple[Entry, bytes]:
    """A regular file: its entry and its bytes."""
    file = os.open(name, _READ, dir_fd=fd)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            return Entry(OTHER), b""
        data = os.read(file, found.st_size + 1)
        if len(data) != found.st_size:  # a short read, or it grows just now
            pieces = [data]
            while piece := os.read(file, 1 << 20):
                pieces.append(piece)
            data = b"".join(pieces)
    finally:
        os.close(file)
    return Entry(FILE, stat.S_IMODE(found.st_mode), content_hash(data), len(data)), data


def write(fd: int, name: bytes, entry: Entry, data: bytes) -> None:
    """A new file or link, whole and durable, with its mode; the name must be free."""
    if entry.kind == LINK:
        os.symlink(data, name, dir_fd=fd)
        return
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=fd)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        os.fchmod(file, 0o644 if entry.mode is None else entry.mode)
        os.fsync(file)
    finally:
        os.close(file)


def exchange(one: int, name: bytes, two: int, other: bytes) -> None:
    """Swap what two names stand for, at once where the system can."""
    if not exchanged_at_once(one, name, two, other):
        _plain_rename(one, name, two, other, _EXCHANGE)


def exchanged_at_once(one: int, name: bytes, two: int, other: bytes) -> bool:
    """The same, or False where the system or the file system cannot."""
    return _rename(one, name, two, other, _EXCHANGE)


def move(one: int, name: bytes, two: int, other: bytes) -> None:
    """Give something another name, which must be free."""
    if not _rename(one, name, two, other, _NOREPLACE):
        _plain_rename(one, name, two, other, _NOREPLACE)


try:
    _renameat2: Any = ctypes.CDLL(None, use_errno=True).renameat2
except (OSError, AttributeError):
    _renameat2 = None


def _rename(one: int, name: bytes, two: int, other: bytes, flag: int) -> bool:
    if _renameat2 is None:
        return False
    if _renameat2(one, ctypes.c_char_p(name), two, ctypes.c_char_p(other), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL):
        return False
    raise OSError(code, os.strerror(code), os.fsdecode(other))


def _plain_rename(one: int, name: bytes, two: int, other: bytes, flag: int) -> None:
    """Where the system cannot do it at once: by a third name, or by a look first."""
    if flag == _NOREPLACE:
        try:
            os.stat(other, dir_fd=two, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(name, other, src_dir_fd=one, dst_dir_fd=two)
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(other))
    aside = name + ASIDE
    os.rename(other, aside, src_dir_fd=two, dst_dir_fd=one)
    try:
        os.rename(name, other, src_dir_fd=one, dst_dir_fd=two)
    except OSError:
        os.rename(aside, other, src_dir_fd=one, dst_dir_fd=two)
        raise
    os.rename(aside, name, src_dir_fd=one, dst_dir_fd=one)


def allowed(path: str | os.PathLike[str]) -> str:
    """The real path of a folder that may be a workspace: not `/`, not the home folder, nothing above it."""
    real = os.path.realpath(path)
    home = os.path.realpath(os.path.expanduser("~"))
    if real == os.path.dirname(real) or home == real or home.startswith(real.rstrip("/") + "/"):
        raise Refused(f"{real} is too much for a workspace; name the folder of a project in it")
    if not os.path.isdir(real):
        raise Refused(f"{real} is not a folder; name the folder of a project")
    return real


def relative(root: str, path: str | bytes) -> bytes:
    """A path as it is named below a root; one that is given from `/` on must be below it."""
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:  # half a surrogate pair
        raise Refused(f"{path!r} is no name that a file can have") from None
    if raw.startswith(b"/"):
        start = os.fsencode(root).rstrip(b"/") + b"/"
        whole = os.path.normpath(raw) if b".." not in raw.split(b"/") else raw
        if not whole.startswith(start):
            folder = os.path.realpath(os.path.dirname(whole))
            whole = os.path.join(folder, os.path.basename(whole))
        if not whole.startswith(start):
            raise Refused(f"{os.fsdecode(raw)!r} is not below {root}; name a path in it")
        raw = whole[len(start) :]
    return checked(b"/".join(part for part in raw.split(b"/") if part not in (b"", b".")))


@contextmanager
def told() -> Iterator[None]:
    """Around what changes files entirely or not at all, as `with` or before a function: errors of ours come out."""
    try:
        yield
    except OSError as error:
        raise strange(error) from None


def strange(error: OSError) -> HansardError:
    """What the system said, as an error of ours: of the disk, or of a file that is in the way."""
    where = os.fsdecode(error.filename) if error.filename is not None else "the workspace"
    if error.errno in _DISK:
        return StorageError(f"{where}: {error.strerror}; nothing was changed, make room or mend it and try again")
    return Conflict(f"{where}: {error.strerror}; nothing was changed, see that it can be read and written, try again")
