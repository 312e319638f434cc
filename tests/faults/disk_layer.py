"""A layer between Hansard and the disk: every call that changes something below a folder is told of, before and after.

SQLite's calls come through a VFS that is made the default one, Python's through `os` and `open`. Whoever is told
before may raise an OSError instead of the call (`failing_disk`); whoever is told after may write the call down
(`power`). Linux only: it tells which path a descriptor stands for.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple

import apsw

from hansard.workspace import rooted_fs

_EXCHANGE = 2
_UMASK = os.umask(0o077)
os.umask(_UMASK)
_SHORT_LIVED = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL


class Call(NamedTuple):
    """create write truncate sync mode | rename exchange link unlink | mkdir rmdir symlink, and sync of a folder."""

    kind: str
    path: str
    to: str = ""
    offset: int = 0
    data: bytes = b""


Told = Callable[[Call], None]


def _nobody(call: Call) -> None:
    """Nobody is told."""


class Layer:
    """Between everything in this process and the disk, while it is entered; only paths below `folder` count."""

    def __init__(self, folder: str | os.PathLike[str], *, before: Told = _nobody, after: Told = _nobody) -> None:
        self.folder = os.path.realpath(folder)
        self.before, self.after = before, after
        self._real: list[tuple[Any, str, Any]] = []

    def below(self, path: str) -> bool:
        return path == self.folder or path.startswith(self.folder + "/")

    def __enter__(self) -> Layer:
        self._vfs = _Vfs(self)
        calls = _Calls(self)
        for name in calls.names:
            self._put(os, name, getattr(calls, name))
        self._put(builtins, "open", calls.open_file)
        self._put(io, "open", calls.open_file)
        self._put(rooted_fs, "_rename", calls.rename_at)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._real:
            module, name, real = self._real.pop()
            setattr(module, name, real)
        self._vfs.unregister()

    def _put(self, module: Any, name: str, ours: Any) -> None:
        self._real.append((module, name, getattr(module, name)))
        setattr(module, name, ours)


# -- SQLite ------------------------------------------------------------------------------------------------------------


class _Vfs(apsw.VFS):
    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        super().__init__(f"layer-{uuid.uuid4().hex}", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> Any:
        return _File(self.layer, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:
        if not self.layer.below(name):
            super().xDelete(name, sync)
            return
        call = Call("unlink", name)
        _tell_sqlite(self.layer, call)
        super().xDelete(name, sync)
        self.layer.after(call)
        if sync:
            self.layer.after(Call("sync", os.path.dirname(name)))


def _tell_sqlite(layer: Layer, call: Call) -> None:
    try:
        layer.before(call)
    except OSError as error:
        full = error.errno == errno.ENOSPC and call.kind == "write"
        raise (apsw.FullError if full else apsw.IOError)("told to fail") from None


class _File(apsw.VFSFile):
    def __init__(self, layer: Layer, name: Any, flags: list[int]) -> None:
        self.layer = layer
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.path = path if path and layer.below(path) else None
        new = self.path is not None and not os.path.exists(self.path) and bool(flags[0] & apsw.SQLITE_OPEN_CREATE)
        if new and self.path is not None:
            _tell_sqlite(layer, Call("create", self.path))
        super().__init__("unix", name, flags)
        # SQLite syncs the folder, too, the first time it syncs a log it has just made
        self.folder_due = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & _SHORT_LIVED)
        if new and self.path is not None:
            layer.after(Call("create", self.path))

    def xLock(self, level: int) -> None:
        try:
            super().xLock(level)
        except apsw.IOError:  # a file that was opened for reading cannot be; SQLite passes over it, apsw does not
            raise apsw.BusyError("cannot be locked") from None

    def xRead(self, amount: int, offset: int) -> bytes:
        if self.path is not None:
            _tell_sqlite(self.layer, Call("read", self.path))
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        if self.path is None:
            super().xWrite(data, offset)
            return
        call = Call("write", self.path, offset=offset, data=bytes(data))
        try:
            _tell_sqlite(self.layer, call)
        except apsw.Error:
            super().xWrite(call.data[: len(call.data) // 2], offset)  # a write that fails may have begun
            raise
        super().xWrite(data, offset)
        self.layer.after(call)

    def xTruncate(self, size: int) -> None:
        self._do(Call("truncate", self.path or "", offset=size), lambda: super(_File, self).xTruncate(size))

    def xSync(self, flags: int) -> None:
        self._do(Call("sync", self.path or ""), lambda: super(_File, self).xSync(flags))
        if self.path is not None and self.folder_due:
            self.folder_due = False
            self.layer.after(Call("sync", os.path.dirname(self.path)))

    def _do(self, call: Call, action: Callable[[], None]) -> None:
        if self.path is not None:
            _tell_sqlite(self.layer, call)
        action()
        if self.path is not None:
            self.layer.after(call)


# -- Python ------------------------------------------------------------------------------------------------------------


class _Raw(io.RawIOBase):
    """A file whose writes go through `os.write`, so that they are told of."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def write(self, data: Any) -> int:
        return os.write(self._fd, data)

    def close(self) -> None:
        if not self.closed:
            os.close(self._fd)
        super().close()


class _Calls:
    """What `os` does, told of."""

    names = ("open", "write", "fsync", "rename", "replace", "unlink", "remove", "mkdir", "rmdir", "symlink")
    names += ("fchmod", "chmod", "truncate", "ftruncate", "link")

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.real = {name: getattr(os, name) for name in self.names}
        self.real_open, self.real_rename_at = builtins.open, rooted_fs._rename

    def _path(self, path: Any, fd: int | None = None) -> str:
        """The path a name in an open folder, or a descriptor, stands for."""
        if isinstance(path, int):
            return os.readlink(f"/proc/self/fd/{path}")
        name = os.fsdecode(path)
        above = os.getcwd() if fd is None else os.readlink(f"/proc/self/fd/{fd}")
        whole = os.path.normpath(os.path.join(above, name))
        return os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))

    def _do(self, call: Call, action: Callable[[], Any]) -> Any:
        if not self.layer.below(call.path) and not (call.to and self.layer.below(call.to)):
            return action()
        self.layer.before(call)
        found = action()
        self.layer.after(call)
        return found

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        name = self._path(path, dir_fd)
        new = bool(flags & os.O_CREAT) and not os.path.lexists(name)
        action = lambda: self.real["open"](path, flags, mode, dir_fd=dir_fd)  # noqa: E731
        if new:
            fd: int = self._do(Call("create", name, offset=mode & ~_UMASK), action)
        else:
            if not flags & os.O_DIRECTORY and self.layer.below(name):
                self.layer.before(Call("read", name))
            fd = action()
        if flags & os.O_TRUNC and not new and self.layer.below(name):
            self.layer.after(Call("truncate", name))
        return fd

    def write(self, fd: int, data: Any) -> int:
        name = self._path(fd)
        if not self.layer.below(name):
            return self.real["write"](fd, data)  # type: ignore[no-any-return]
        at, given = os.lseek(fd, 0, os.SEEK_CUR), bytes(data)
        try:
            self.layer.before(Call("write", name, offset=at, data=given))
        except OSError:
            self.real["write"](fd, given[: len(given) // 2])  # a write that fails may have begun
            raise
        count: int = self.real["write"](fd, data)
        self.layer.after(Call("write", name, offset=at, data=given[:count]))
        return count

    def fsync(self, fd: int) -> None:
        fd = fd if isinstance(fd, int) else fd.fileno()
        self._do(Call("sync", self._path(fd)), lambda: self.real["fsync"](fd))

    def rename(self, old: Any, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        call = Call("rename", self._path(old, src_dir_fd), self._path(new, dst_dir_fd))
        self._do(call, lambda: self.real["rename"](old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd))

    replace = rename

    def rename_at(self, one: int, name: bytes, two: int, other: bytes, flag: int) -> bool:
        kind = "exchange" if flag == _EXCHANGE else "rename"
        call = Call(kind, self._path(name, one), self._path(other, two))
        ours = self.layer.below(call.path) or self.layer.below(call.to)
        if ours:
            self.layer.before(call)
        done = self.real_rename_at(one, name, two, other, flag)
        if ours and done:  # else the system cannot, and it goes through `os.rename`
            self.layer.after(call)
        return done

    def link(self, old: Any, new: Any, **named: Any) -> None:
        call = Call("link", self._path(old), self._path(new))
        self._do(call, lambda: self.real["link"](old, new, **named))

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._do(Call("unlink", self._path(path, dir_fd)), lambda: self.real["unlink"](path, dir_fd=dir_fd))

    remove = unlink

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        call = Call("mkdir", self._path(path, dir_fd), offset=mode & ~_UMASK)
        self._do(call, lambda: self.real["mkdir"](path, mode, dir_fd=dir_fd))

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._do(Call("rmdir", self._path(path, dir_fd)), lambda: self.real["rmdir"](path, dir_fd=dir_fd))

    def symlink(self, target: Any, path: Any, target_is_directory: bool = False, *, dir_fd: int | None = None) -> None:
        call = Call("symlink", self._path(path, dir_fd), data=os.fsencode(target))
        self._do(call, lambda: self.real["symlink"](target, path, dir_fd=dir_fd))

    def fchmod(self, fd: int, mode: int) -> None:
        self._do(Call("mode", self._path(fd), offset=mode), lambda: self.real["fchmod"](fd, mode))

    def chmod(self, path: Any, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        call = Call("mode", self._path(path, dir_fd), offset=mode)
        self._do(call, lambda: self.real["chmod"](path, mode, dir_fd=dir_fd, follow_symlinks=follow_symlinks))

    def ftruncate(self, fd: int, size: int) -> None:
        self._do(Call("truncate", self._path(fd), offset=size), lambda: self.real["ftruncate"](fd, size))

    def truncate(self, path: Any, size: int) -> None:
        self._do(Call("truncate", self._path(path), offset=size), lambda: self.real["truncate"](path, size))

    def open_file(self, file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        """`open` for writing bytes goes through `os`; all else is as it was."""
        if "b" not in mode or not set(mode) & set("wxa") or "+" in mode or not self.layer.below(self._path(file)):
            return self.real_open(file, mode, *rest, **named)
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        flags |= {"w": os.O_TRUNC, "x": os.O_EXCL, "a": os.O_APPEND}[mode.replace("b", "")]
        fd = file if isinstance(file, int) else os.open(file, flags, 0o666)
        return io.BufferedWriter(_Raw(fd))
