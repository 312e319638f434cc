"""One file put in place by a tool: whole or not at all, and only over what the tool has seen.

The new file is written beside the others, under a name of ours, and swapped in by one rename. What comes out is looked
at: if somebody changed the file meanwhile, theirs goes back and the tool is told.
"""

from __future__ import annotations

import os

from hansard.errors import Conflict
from hansard.ledger.backends.driver import Driver
from hansard.ledger.ids import clock, new_id
from hansard.workspace import rooted_fs as beneath
from hansard.workspace import snapshots as records
from hansard.workspace.apply import Step
from hansard.workspace.entries import Change, Entry, file_entry, parents, same
from hansard.workspace.ignore import SLOTS
from hansard.workspace.rooted_fs import Root
from hansard.workspace.snapshots import OUTSIDE, Filing

_BESIDE = f"{SLOTS}put-"
_NEW = 0o644


def put(root: Root, path: bytes, data: bytes, found: Entry | None, step: Step) -> None:
    """Write a file where `found` stands. The caller has begun to record the path, and holds the lock."""
    new = file_entry(data, _NEW if found is None else found.mode)
    beside = f"{_BESIDE}{new_id()}".encode()
    try:
        beneath.write(root.fd, beside, new, data)
        step("staged")
        for above in parents(path):
            with root.folder(above) as (fd, name):
                try:
                    os.mkdir(name, dir_fd=fd)
                except FileExistsError:
                    continue
        step("folders made")
        _swap(root, beside, path, found, new, step)
    finally:
        _remove(root, beside, {new.hash} | ({found.hash} if found is not None else set()))


def _swap(root: Root, beside: bytes, path: bytes, found: Entry | None, new: Entry, step: Step) -> None:
    try:
        with root.folder(path) as (fd, name):
            if found is None:
                beneath.move(root.fd, beside, fd, name)
            elif beneath.exchanged_at_once(root.fd, beside, fd, name):
                step("swapped")
                _look_back(root, beside, fd, name, path, found, new)
            elif same(beneath.look(fd, name)[0], found):
                os.rename(beside, name, src_dir_fd=root.fd, dst_dir_fd=fd)
            else:
                raise _changed(path)
            os.fsync(fd)
    except (FileExistsError, FileNotFoundError):
        raise _changed(path) from None


def _look_back(root: Root, beside: bytes, fd: int, name: bytes, path: bytes, found: Entry, new: Entry) -> None:
    """Whether what came out is what the tool has seen."""
    if same(beneath.look(root.fd, beside)[0], found):
        return
    beneath.exchange(root.fd, beside, fd, name)
    if not same(beneath.look(root.fd, beside)[0], new):  # changed once more: the newest stays
        beneath.exchange(root.fd, beside, fd, name)
    raise _changed(path)


def _changed(path: bytes) -> Conflict:
    return Conflict(
        f"{os.fsdecode(path)!r} was changed by somebody else just now and is as they left it; read it again"
    )


def _remove(root: Root, beside: bytes, ours: set[bytes]) -> None:
    """What is beside goes, if it is what we wrote or what the ledger holds; else the next start takes care of it."""
    entry, _ = beneath.look(root.fd, beside)
    if entry is not None and entry.hash in ours:
        os.unlink(beside, dir_fd=root.fd)


def sweep(driver: Driver, root: Root, workspace: int) -> None:
    """Take away what tools that died left beside the files; what nobody else holds goes into the ledger first."""
    for name in os.listdir(root.fd):
        if not name.startswith(_BESIDE):
            continue
        raw = os.fsencode(name)
        entry, data = beneath.look(root.fd, raw)
        if entry is None or not entry.held:
            continue
        if not driver.read(lambda tx, entry=entry: records.has_content(tx, entry.hash)):  # type: ignore[misc]
            filing = Filing(driver, workspace, OUTSIDE, "late", clock())
            filing.keep(entry.hash, data)
            changes = [Change(raw, None, entry)]
            driver.write(lambda tx, filing=filing, changes=changes: filing.finish(tx, changes))  # type: ignore[misc]
        os.unlink(raw, dir_fd=root.fd)
