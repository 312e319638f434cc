"""File access confined to a root: every folder of a path is opened relative to its parent, and links are not followed.

If another process replaces a folder by a link during an operation, it fails and writes nothing outside the root. FIFOs,
devices and sockets are never opened. A replaced file is swapped out, so that its content can be checked.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hansard.errors import Conflict, HansardError, StorageError
from hansard.workspace.entries import FILE, FOLDER, LARGE, LINK, OTHER, Entry, Refused, check_path, content_hash

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # never through a link
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
_NOREPLACE, _EXCHANGE = 1, 2
ASIDE = b".aside"  # suffix of a slot during a swap in two renames
_LOCK_TIMEOUT = 30  # seconds


class Root:
    """The open root folder of a workspace; one process at a time holds its `lock`."""

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
        """Hold the lock, on a descriptor of its own: the system releases it when the process ends."""
        fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            until, wait = time.monotonic() + _LOCK_TIMEOUT, 0.001
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise Conflict(
                            f"{self.path}: locked by another process for {_LOCK_TIMEOUT} s; try again"
                        ) from None
                    time.sleep(wait)
                    wait = min(wait * 2, 0.1)
            yield
        finally:
            os.close(fd)

    def owner(self, path: bytes) -> tuple[int, int] | None:
        """Owner and group of what is at a path, else of the folder above it; None if neither is there."""
        try:
            with self.folder(path) as (fd, name):
                try:
                    found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except FileNotFoundError:
                    found = os.fstat(fd)
        except (OSError, Refused):
            return None
        return found.st_uid, found.st_gid

    @contextmanager
    def folder(self, path: bytes) -> Iterator[tuple[int, bytes]]:
        """The open parent folder of a path, and the name in it; an OSError names the path from the root."""
        *folders, name = check_path(path).split(b"/")
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

    def read_entry(self, path: bytes, most: int | None = None) -> tuple[Entry | None, bytes]:
        """The entry at a path and its content; None if a parent is a link or not a folder."""
        try:
            with self.folder(path) as (fd, name):
                return read_entry(fd, name, most)
        except OSError as error:
            if error.errno in _GONE:
                return None, b""
            if error.errno == errno.ENAMETOOLONG:
                raise Refused(f"{error.filename!r}: a name is too long for this file system; shorten it") from None
            raise


def read_entry(fd: int, name: bytes, most: int | None = None) -> tuple[Entry | None, bytes]:
    """The entry of a name in an open folder, and its content."""
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
            if error.errno not in (errno.ELOOP, errno.EINVAL):  # it changed its kind just now
                raise
    return Entry(OTHER), b""


def read(fd: int, name: bytes | str) -> tuple[Entry, bytes]:
    """The entry and content of a regular file."""
    file = os.open(name, _READ, dir_fd=fd)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            return Entry(OTHER), b""
        data = os.read(file, found.st_size + 1)
        if len(data) != found.st_size:  # a short read, or the file is growing
            pieces = [data]
            while piece := os.read(file, 1 << 20):
                pieces.append(piece)
            data = b"".join(pieces)
    finally:
        os.close(file)
    return Entry(FILE, stat.S_IMODE(found.st_mode), content_hash(data), len(data)), data


def write(fd: int, name: bytes, entry: Entry, data: bytes, owner: tuple[int, int] | None = None) -> None:
    """Create a file or link with its mode and owner, and sync it; the name must be free.

    Where the owner cannot be given, the file has none of the bits that lend its owner's rights.
    """
    if entry.kind == LINK:
        os.symlink(data, name, dir_fd=fd)
        if owner is not None:
            with suppress(PermissionError):
                os.chown(name, *owner, dir_fd=fd, follow_symlinks=False)
        return
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=fd)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]
        mode = 0o644 if entry.mode is None else entry.mode
        made = os.fstat(file)
        if owner is not None and owner != (made.st_uid, made.st_gid):
            try:
                os.fchown(file, *owner)
            except PermissionError:
                mode &= 0o777
        os.fchmod(file, mode)
        os.fsync(file)
    finally:
        os.close(file)


def exchange(one: int, name: bytes, two: int, other: bytes) -> None:
    """Swap two names, atomically where the system supports it."""
    if not try_exchange(one, name, two, other):
        _plain_rename(one, name, two, other, _EXCHANGE)


def try_exchange(one: int, name: bytes, two: int, other: bytes) -> bool:
    """Swap two names atomically; False if the system or file system does not support it."""
    return _rename(one, name, two, other, _EXCHANGE)


def move(one: int, name: bytes, two: int, other: bytes) -> None:
    """Rename to a name that must be free."""
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
    """Without renameat2: swap through a third name, or rename after a check."""
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
    """The real path of a folder that may be a workspace: not `/`, the home folder or a folder above it."""
    real = os.path.realpath(path)
    home = os.path.realpath(os.path.expanduser("~"))
    if real == os.path.dirname(real) or home == real or home.startswith(real.rstrip("/") + "/"):
        raise Refused(
            f"{real} cannot be a workspace: it is the root, the home folder or above it; name a project's folder"
        )
    if not os.path.isdir(real):
        raise Refused(f"{real} is not a folder; name the folder of a project")
    return real


def relative(root: str, path: str | bytes) -> bytes:
    """A path relative to the root; an absolute path must be below it."""
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:  # a lone surrogate
        raise Refused(f"{path!r} is not a valid file name; give a name the file system can store") from None
    if raw.startswith(b"/"):
        start = os.fsencode(root).rstrip(b"/") + b"/"
        whole = os.path.normpath(raw) if b".." not in raw.split(b"/") else raw
        if not whole.startswith(start):
            folder = os.path.realpath(os.path.dirname(whole))
            whole = os.path.join(folder, os.path.basename(whole))
        if not whole.startswith(start):
            raise Refused(f"{os.fsdecode(raw)!r} is not below {root}; name a path in it")
        raw = whole[len(start) :]
    return check_path(b"/".join(part for part in raw.split(b"/") if part not in (b"", b".")))


@contextmanager
def translate_os_errors() -> Iterator[None]:
    """Turn OSErrors into Hansard's errors, as a context manager or decorator around all-or-nothing changes."""
    try:
        yield
    except OSError as error:
        raise as_hansard_error(error) from None


def as_hansard_error(error: OSError) -> HansardError:
    """An OSError as StorageError (disk full or failing) or Conflict (a file in the way)."""
    where = os.fsdecode(error.filename) if error.filename is not None else "the workspace"
    if error.errno in _DISK:
        return StorageError(
            f"{where}: {error.strerror}; nothing was changed; free disk space or repair the disk, then try again"
        )
    return Conflict(f"{where}: {error.strerror}; nothing was changed; make it readable and writable, then try again")
