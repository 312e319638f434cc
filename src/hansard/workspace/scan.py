"""A scan of all files below a root: what changed since the last scan, reading only files whose times or size differ.

A path that was not scanned before, or was ignored, does not count as a change, since its earlier state is unknown. What
a limit excludes keeps its known state, and the scan is partial. The index is stored: the field order of `Known` and
`Folder` stays.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from hansard.gc_pause import gc_pause
from hansard.ledger import bodies
from hansard.workspace import ignore, rooted_fs
from hansard.workspace.entries import FOLDER, LARGE, LINK, OTHER, Change, Entry, content_hash

_CLOCK_TICK = 50_000_000  # ns; a file changed this recently can change again with equal times: it is read again
Keep = Callable[[bytes, bytes], None]  # stores a content under its hash


class Limits(Struct, frozen=True, kw_only=True):
    """Limits of a scan: files, bytes read, bytes of one file, seconds."""

    files: int = 200_000
    size: int = 2 << 30
    file_size: int = 128 << 20
    seconds: float = 120.0


class Known(Struct, frozen=True, array_like=True, gc=False):
    """An entry of the last scan, with the times and inode that show it is unchanged."""

    kind: str
    mode: int | None
    hash: bytes
    size: int
    mtime: int
    ctime: int
    inode: int

    @property
    def entry(self) -> Entry:
        return Entry(self.kind, self.mode, self.hash, self.size)


class Folder(Struct, array_like=True):
    """The entries of a folder, the ignored names, and a hash of the ignore rules."""

    rules: bytes
    ignored: list[bytes]
    files: dict[bytes, Known]


Index = dict[bytes, Folder]
_index = msgspec.msgpack.Decoder(Index)


def read_index(data: bytes | None) -> Index:
    return {} if data is None else _index.decode(bodies.unseal(data))


def write_index(index: Index) -> bytes:
    return bodies.seal(msgspec.msgpack.encode(index), bodies.compress_fast)


def entry_at(index: Index, path: bytes) -> Entry | None:
    """The entry of the last scan at a path."""
    above, _, name = path.rpartition(b"/")
    folder = index.get(above)
    found = folder.files.get(name) if folder is not None else None
    return None if found is None else found.entry


def put(index: Index, path: bytes, entry: Entry | None) -> None:
    """Set the entry at a path; the next scan reads the file again."""
    above, _, name = path.rpartition(b"/")
    folder = index.get(above)
    if folder is None:
        return
    if entry is None:
        folder.files.pop(name, None)
        index.pop(path, None)
    elif name not in folder.ignored:
        folder.files[name] = Known(entry.kind, entry.mode, entry.hash, entry.size, 0, 0, 0)
        if entry.kind == FOLDER and path not in index:
            index[path] = Folder(b"", [], {})
        elif entry.kind != FOLDER:
            index.pop(path, None)


class Scan:
    """A scan; `changes` are sorted by path, `partial` lists the reasons why files were left out."""

    def __init__(self, root: rooted_fs.Root, index: Index, keep: Keep, limits: Limits, own: frozenset[str]) -> None:
        self._root, self._old, self._keep, self._limits, self._own = root, index, keep, limits, own
        self.index: Index = {}
        self.changes: list[Change] = []
        self.partial: list[str] = []
        self.files = self.bytes = 0
        self._until = time.monotonic() + limits.seconds
        self._held: set[bytes] = set()
        self._device = os.fstat(root.fd).st_dev

    def run(self) -> Scan:
        fd = os.dup(self._root.fd)
        try:
            with gc_pause():
                self._folder(fd, "", ignore.start(), fresh=False)
        finally:
            os.close(fd)
        self.changes.sort(key=lambda change: change.path)
        return self

    def _stop(self, reason: str) -> bool:
        if reason not in self.partial:
            self.partial.append(reason)
        return True

    def _over(self) -> bool:
        if self.files >= self._limits.files:
            return self._stop(f"more than {self._limits.files} files")
        if time.monotonic() > self._until:
            return self._stop(f"more than {self._limits.seconds:g} seconds")
        return False

    def _keep_known(self, path: bytes) -> None:
        """Keep the known state of a folder that is not scanned."""
        start = path + b"/" if path else b""
        for name, folder in self._old.items():
            if name == path or name.startswith(start):
                self.index[name] = folder

    def _folder(self, fd: int, prefix: str, rules: ignore.Rules, *, fresh: bool) -> None:
        """Scan a folder; `fresh`: it is new since the last scan, and so is all in it."""
        path = prefix[:-1].encode("utf-8", "surrogateescape")
        old = self._old.get(path)
        if self._over():
            self._keep_known(path)
            return
        try:
            with os.scandir(fd) as listing:
                entries = list(listing)
        except OSError as error:
            self._stop(f"{prefix or '.'}: {error.strerror}")
            self._keep_known(path)
            return
        names = {entry.name for entry in entries}
        if not names.isdisjoint(ignore.FILES):
            rules = ignore.below(rules, prefix, fd, names)
        same_rules = old is not None and old.rules == rules.key
        before = old.files if old is not None else {}
        left_out = set(old.ignored) if old is not None else set()
        folder = self.index[path] = Folder(rules.key, [], {})
        new = fresh or old is not None
        now = time.time_ns() - _CLOCK_TICK
        files = folder.files
        for entry in entries:
            name = entry.name
            raw = name.encode("utf-8", "surrogateescape")
            was = before.get(raw)
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._stop(f"{prefix}{name}: {error.strerror}")
                continue
            mode = found.st_mode
            if was is None or not same_rules:
                if ignore.always(name) or (same_rules and raw in left_out) or prefix + name in self._own:
                    folder.ignored.append(raw)
                    continue
                if rules.ignores(prefix + name, stat.S_ISDIR(mode)):
                    folder.ignored.append(raw)
                    continue
            elif (
                was.ctime == found.st_ctime_ns
                and was.mtime == found.st_mtime_ns
                and was.size == found.st_size
                and was.inode == found.st_ino
            ):
                files[raw] = was
                continue
            here = new and raw not in left_out  # known to be absent at the last scan
            if stat.S_ISDIR(mode):
                self._enter(fd, prefix, name, raw, found, was, rules, here, folder)
                continue
            one = self._read(fd, prefix, name, found, was, now)
            if one is None:
                if was is not None:
                    folder.files[raw] = was
                continue
            folder.files[raw] = one
            self._changed(prefix, raw, was, one, here)
        self.files += len(files)
        for raw, was in before.items():
            if raw not in folder.files and raw not in folder.ignored:
                self._gone(path, raw, was)

    def _enter(
        self,
        fd: int,
        prefix: str,
        name: str,
        raw: bytes,
        found: os.stat_result,
        was: Known | None,
        rules: ignore.Rules,
        here: bool,
        folder: Folder,
    ) -> None:
        path = (prefix + name).encode("utf-8", "surrogateescape")
        if found.st_dev != self._device:
            self._stop(f"{prefix}{name}: another file system")
            folder.ignored.append(raw)
            return
        mode = stat.S_IMODE(found.st_mode)
        kept = was is not None and was.kind == FOLDER and was.mode == mode
        one = was if was is not None and kept else Known(FOLDER, mode, b"", 0, 0, 0, 0)
        try:
            below = os.open(name, rooted_fs.OPEN_FOLDER, dir_fd=fd)
        except OSError as error:
            self._stop(f"{prefix}{name}: {error.strerror}")
            if was is not None:
                folder.files[raw] = was
                self._keep_known(path)
            return
        folder.files[raw] = one
        self.files -= 1  # folders are not counted as files
        if not kept:
            self._changed(prefix, raw, was, one, here)
        try:
            self._folder(below, f"{prefix}{name}/", rules, fresh=here and (was is None or was.kind != FOLDER))
        finally:
            os.close(below)

    def _changed(self, prefix: str, raw: bytes, was: Known | None, one: Known, here: bool) -> None:
        before = None if was is None else was.entry
        if before != one.entry and (was is not None or here):
            path = prefix.encode("utf-8", "surrogateescape") + raw
            if was is not None and was.kind == FOLDER and one.kind != FOLDER:
                self._gone_below(path)
            self.changes.append(Change(path, before, one.entry))

    def _gone(self, above: bytes, raw: bytes, was: Known) -> None:
        path = above + b"/" + raw if above else raw
        if was.kind == FOLDER:
            self._gone_below(path)
        self.changes.append(Change(path, was.entry, None))

    def _gone_below(self, path: bytes) -> None:
        folder = self._old.get(path)
        if folder is not None:
            for raw, was in folder.files.items():
                self._gone(path, raw, was)

    def _read(
        self, fd: int, prefix: str, name: str, found: os.stat_result, was: Known | None, now: int
    ) -> Known | None:
        """The current entry of a file or link; None if it cannot be read."""
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISLNK(found.st_mode):
            try:
                data = os.readlink(name, dir_fd=fd).encode("utf-8", "surrogateescape")
            except OSError:
                return None
            entry = Entry(LINK, None, content_hash(data), len(data))
        elif not stat.S_ISREG(found.st_mode):
            return Known(OTHER, None, b"", found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        elif found.st_size > self._limits.file_size or self.bytes + found.st_size > self._limits.size:
            self._stop(f"{prefix}{name}: {found.st_size} bytes exceed the limits, content not stored")
            return Known(LARGE, mode, b"", found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        else:
            try:
                entry, data = rooted_fs.read(fd, name)
            except OSError as error:
                self._stop(f"{prefix}{name}: {error.strerror}")
                return None
            self.bytes += len(data)
        if entry.held and entry.hash not in self._held and (was is None or was.hash != entry.hash):
            self._held.add(entry.hash)
            self._keep(entry.hash, data)
        unchanging = max(found.st_mtime_ns, found.st_ctime_ns) < now and entry.size == found.st_size
        times = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino) if unchanging else (0, 0, 0)
        return Known(entry.kind, entry.mode, entry.hash, entry.size, *times)


def all_entries(index: Index) -> Iterator[tuple[bytes, Entry]]:
    """All paths of an index with their entries."""
    for above, folder in index.items():
        for name, one in folder.files.items():
            yield (above + b"/" + name if above else name), one.entry
