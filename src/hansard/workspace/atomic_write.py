"""Write a file for a tool atomically, and only over the content that the tool has read.

The new file is staged in the root and swapped in by one rename. If the file swapped out is not the one the tool has
read, because another process changed it, it is swapped back and the tool gets a `Conflict`.
"""

from __future__ import annotations

import os

from hansard.errors import Conflict
from hansard.ledger.backends.driver import Driver
from hansard.ledger.ids import clock, new_id
from hansard.workspace import rooted_fs, snapshots
from hansard.workspace.apply import Step
from hansard.workspace.entries import Change, Entry, file_entry, parents, same
from hansard.workspace.ignore import SLOTS
from hansard.workspace.rooted_fs import Root
from hansard.workspace.snapshots import OUTSIDE, SnapshotWriter

_STAGED = f"{SLOTS}put-"
_NEW = 0o644


def put(root: Root, path: bytes, data: bytes, found: Entry | None, step: Step) -> None:
    """Write a file over the entry `found`; the caller records the path and holds the lock."""
    new = file_entry(data, _NEW if found is None else found.mode)
    staged = f"{_STAGED}{new_id()}".encode()
    try:
        rooted_fs.write(root.fd, staged, new, data)
        step("staged")
        for above in parents(path):
            with root.folder(above) as (fd, name):
                try:
                    os.mkdir(name, dir_fd=fd)
                except FileExistsError:
                    continue
        step("folders made")
        _swap(root, staged, path, found, new, step)
    finally:
        _remove(root, staged, {new.hash} | ({found.hash} if found is not None else set()))


def _swap(root: Root, staged: bytes, path: bytes, found: Entry | None, new: Entry, step: Step) -> None:
    try:
        with root.folder(path) as (fd, name):
            if found is None:
                rooted_fs.move(root.fd, staged, fd, name)
            elif rooted_fs.try_exchange(root.fd, staged, fd, name):
                step("swapped")
                _check_replaced(root, staged, fd, name, path, found, new)
            elif same(rooted_fs.read_entry(fd, name)[0], found):
                os.rename(staged, name, src_dir_fd=root.fd, dst_dir_fd=fd)
            else:
                raise _changed(path)
            os.fsync(fd)
    except (FileExistsError, FileNotFoundError):
        raise _changed(path) from None


def _check_replaced(root: Root, staged: bytes, fd: int, name: bytes, path: bytes, found: Entry, new: Entry) -> None:
    """Swap back and raise if the replaced file is not the one the tool has read."""
    if same(rooted_fs.read_entry(root.fd, staged)[0], found):
        return
    rooted_fs.exchange(root.fd, staged, fd, name)
    if not same(rooted_fs.read_entry(root.fd, staged)[0], new):  # changed again: the newest stays
        rooted_fs.exchange(root.fd, staged, fd, name)
    raise _changed(path)


def _changed(path: bytes) -> Conflict:
    return Conflict(f"{os.fsdecode(path)!r} was changed by another process just now and was not written; read it again")


def _remove(root: Root, staged: bytes, ours: set[bytes]) -> None:
    """Delete the staged file if its content is known; else the next start stores and deletes it."""
    entry, _ = rooted_fs.read_entry(root.fd, staged)
    if entry is not None and entry.hash in ours:
        os.unlink(staged, dir_fd=root.fd)


def sweep(driver: Driver, root: Root, workspace: int) -> None:
    """Delete files staged by tools that died; unknown contents are stored in the ledger first."""
    for name in os.listdir(root.fd):
        if not name.startswith(_STAGED):
            continue
        raw = os.fsencode(name)
        entry, data = rooted_fs.read_entry(root.fd, raw)
        if entry is None or not entry.held:
            continue
        if not driver.read(lambda tx, entry=entry: snapshots.has_content(tx, entry.hash)):  # type: ignore[misc]
            writer = SnapshotWriter(driver, workspace, OUTSIDE, "late", clock())
            writer.keep(entry.hash, data)
            changes = [Change(raw, None, entry)]
            driver.write(lambda tx, writer=writer, changes=changes: writer.finish(tx, changes))  # type: ignore[misc]
        os.unlink(raw, dir_fd=root.fd)
