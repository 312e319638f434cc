"""Apply a plan to files atomically: after a crash the tree is entirely in the old or entirely in the new state.

    1  intent: the ledger stores the current and the new contents, and the operation in the state `intent`
    2  staging: new contents are written to slots, a folder below the root, with their modes, and synced
    3  swapping: names are swapped with slots; a file that changed since the plan is swapped back and kept
    4  done: one transaction marks the operation `done` and moves the head
    5  cleaning: slots are deleted, each after the ledger has stored its content; the state becomes `over`

An operation found in the state `intent` is rolled back by swapping again, which needs no disk space. The states and
the name of the slots' folder are stored: they stay.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

from msgspec.structs import replace

from hansard.errors import HansardError
from hansard.ledger.backends.driver import Driver, Tx
from hansard.ledger.ids import clock, new_id
from hansard.model.digits import whole_number
from hansard.workspace import rooted_fs, snapshots
from hansard.workspace.entries import FOLDER, Change, Entry, packed, same
from hansard.workspace.ignore import SLOTS
from hansard.workspace.plan import FilePlan
from hansard.workspace.rooted_fs import Root
from hansard.workspace.snapshots import OUTSIDE, AppliedOperation, Author, Item, Operation, SnapshotWriter

_NEW_FOLDER = 0o700  # mode of a new folder until its content is complete
Step = Callable[[str], None]  # called with the name of each step; fault tests stop there
Complete = Callable[[Tx, Operation], None]  # changes more rows in the transaction that marks the operation done


def no_step(name: str) -> None:
    """Do nothing at a step."""


class Apply:
    """Runs and recovers the operations of a workspace; the caller holds the root's lock."""

    def __init__(self, driver: Driver, root: Root, workspace: int, step: Step = no_step) -> None:
        self._driver, self._root, self._workspace, self._step = driver, root, workspace, step

    # -- forward -----------------------------------------------------------------------------------------------------

    def run(
        self, kind: str, author: Author, plan: FilePlan, operation: Operation, complete: Complete
    ) -> AppliedOperation:
        """Run an operation; if this raises, the files are unchanged."""
        items = [Item(item.path, item.found, item.wanted) for item in plan.touched]
        conflicts = [(item.path, item.why) for item in plan.conflicts]
        slots = f"{SLOTS}{new_id()}" if items else ""
        operation = replace(operation, slots=slots, items=items, conflicts=conflicts)
        at = clock()
        number, snap = self._record_intent(kind, author, plan, operation, at)
        self._step("intended")
        applied = AppliedOperation(
            number=number, thread_id=author.thread_id, kind=kind, state="intent", snap=snap, at=at, operation=operation
        )
        try:
            operation = self._swap_in(applied, plan)
            self._step("swapped")
            completed = replace(applied, state="done", operation=operation)

            def job(tx: Tx) -> None:
                changes = [Change(item.path, item.found, item.wrote) for item in operation.items]
                tx.run("finish_workspace_snapshot", snap=snap, state=1, partial=0, body=packed(changes))
                snapshots.set_operation(tx, number, "done" if slots else "over", operation)
                complete(tx, operation)

            self._driver.write(job)
        except (OSError, HansardError) as error:
            if isinstance(error, OSError) or not self._was_committed(number):
                self._roll_back_after(applied, error)
                raise (rooted_fs.as_hansard_error(error) if isinstance(error, OSError) else error) from None
        try:
            self._step("done")
            return self.clean(completed) if slots else replace(completed, state="over")
        except (OSError, HansardError):  # done; the next start deletes the slots
            return completed

    def _was_committed(self, number: int) -> bool:
        """Whether the transaction went through, though its connection broke; raises if the ledger cannot be read."""
        return self._driver.read(
            lambda tx: all(
                applied.number != number or applied.state == "done"
                for applied in snapshots.unfinished_operations(tx, self._workspace)
            )
        )

    def _roll_back_after(self, applied: AppliedOperation, error: Exception) -> None:
        try:
            self._roll_back(applied)
        except (OSError, HansardError) as second:
            raise HansardError(
                f"{error}; rolling back failed too ({second}): the next command in this workspace completes it"
            ) from None

    def _record_intent(
        self, kind: str, author: Author, plan: FilePlan, operation: Operation, at: int
    ) -> tuple[int, int]:
        writer = SnapshotWriter(self._driver, self._workspace, author, kind, at)
        changes = [Change(item.path, item.found, item.wrote) for item in operation.items]
        for item in operation.items:
            for entry in (item.found, item.wrote):
                if entry is not None and entry.held:
                    writer.keep(entry.hash, plan.contents[entry.hash])

        def job(tx: Tx) -> tuple[int, int]:
            snap = writer.finish(tx, changes, state=snapshots.BEING_WRITTEN)
            return snapshots.add_operation(tx, self._workspace, author, kind, snap, at, operation), snap

        return self._driver.write(job)

    def _swap_in(self, applied: AppliedOperation, plan: FilePlan) -> Operation:
        operation = applied.operation
        if not operation.slots:
            return operation
        self._step("slots")
        os.mkdir(operation.slots, 0o700, dir_fd=self._root.fd)
        slots = os.open(operation.slots, rooted_fs.OPEN_FOLDER, dir_fd=self._root.fd)
        try:
            for i, item in enumerate(operation.items):
                if item.wrote is not None and item.wrote.held:
                    self._step(f"stage {i}")
                    owner = self._root.owner(item.path)
                    rooted_fs.write(slots, b"%d" % i, item.wrote, plan.contents[item.wrote.hash], owner)
            self._step("sync slots")
            os.fsync(slots)
            os.fsync(self._root.fd)
            swapper = _Swapper(self._root, slots, self._step)
            conflicts = swapper.run([(i, item.path, item.found, item.wrote) for i, item in enumerate(operation.items)])
        finally:
            os.close(slots)
        if conflicts:
            kept = {operation.items[i].path: why for i, why in conflicts.items()}
            operation = replace(
                operation,
                items=[
                    item if i not in conflicts else Item(item.path, item.found, item.found)
                    for i, item in enumerate(operation.items)
                ],
                conflicts=[*operation.conflicts, *kept.items()],
            )
        return operation

    # -- backward ----------------------------------------------------------------------------------------------------

    def recover(self) -> list[str]:
        """Roll back or complete interrupted operations; returns a line for each, to be shown to the user."""
        messages: list[str] = []
        for applied in self._driver.read(lambda tx: snapshots.unfinished_operations(tx, self._workspace)):
            if applied.state == "done":
                self.clean(applied)
                continue
            kept = self._roll_back(applied)
            messages.append(f"an interrupted {applied.kind} was rolled back")
            messages += [f"{os.fsdecode(path)}: {why}" for path, why in kept]
        for one in self._driver.read(lambda tx: snapshots.unfinished_snapshots(tx, self._workspace)):
            if one.process is None:  # an interrupted scan: the next one finds the same changes
                self._driver.write(lambda tx, snap=one.number: snapshots.drop_snapshot(tx, snap))  # type: ignore[misc]
        return messages

    def _roll_back(self, applied: AppliedOperation) -> list[tuple[bytes, str]]:
        """Restore the files as before an intent; returns the paths changed since, which are kept."""
        operation = applied.operation
        kept: list[tuple[bytes, str]] = []
        try:
            slots = os.open(operation.slots, rooted_fs.OPEN_FOLDER, dir_fd=self._root.fd) if operation.slots else -1
        except FileNotFoundError:  # interrupted before staging
            slots = -1
        if slots >= 0:
            try:
                swaps: list[tuple[int, bytes, Entry | None, Entry | None]] = []
                for i, item in enumerate(operation.items):
                    self._finish_exchange(slots, i, item.path)
                    now, _ = self._root.read_entry(item.path)
                    if same(now, item.found):
                        continue
                    halfway = now is None and (_folder(item.found) != _folder(item.wrote))
                    made = now is not None and now.kind == FOLDER and now.mode == _NEW_FOLDER
                    unfinished_operations = made and (_folder(item.wrote) or _folder(item.found))
                    if not same(now, item.wrote) and not halfway and not unfinished_operations:
                        kept.append((item.path, "was changed by another process since and is kept"))
                        continue
                    self._restage(slots, b"%d" % i, item.found)
                    swaps.append((i, item.path, now, item.found))
                found = _Swapper(self._root, slots, self._step).run(swaps)
                kept += [(operation.items[i].path, why) for i, why in found.items()]
            finally:
                os.close(slots)
        self._sweep(applied)

        def job(tx: Tx) -> None:
            snapshots.set_operation(tx, applied.number, "back", operation)
            snapshots.drop_snapshot(tx, applied.snap)

        self._driver.write(job)
        return kept

    def _finish_exchange(self, slots: int, i: int, path: bytes) -> None:
        """Complete a swap in two renames that was interrupted between them."""
        slot = b"%d" % i
        if rooted_fs.read_entry(slots, slot + rooted_fs.ASIDE)[0] is None:
            return
        if self._root.read_entry(path, 0)[0] is None:
            with self._root.folder(path) as (fd, name):
                rooted_fs.move(slots, slot + rooted_fs.ASIDE, fd, name)
        elif rooted_fs.read_entry(slots, slot)[0] is None:
            rooted_fs.move(slots, slot + rooted_fs.ASIDE, slots, slot)

    def _restage(self, slots: int, slot: bytes, entry: Entry | None) -> None:
        """Make sure that the slot holds the old entry, from the ledger if the swap did not leave it there."""
        if entry is None or not entry.held:
            return
        there, _ = rooted_fs.read_entry(slots, slot)
        if same(there, entry):
            return
        data = self._driver.read(lambda tx: snapshots.content(tx, entry.hash))
        if there is not None:
            os.unlink(slot, dir_fd=slots)  # staged, but never swapped in
        rooted_fs.write(slots, slot, entry, data)

    # -- the slots ---------------------------------------------------------------------------------------------------

    def clean(self, applied: AppliedOperation) -> AppliedOperation:
        """Delete the slots of a completed operation."""
        self._step("clean")
        self._sweep(applied)
        self._step("cleaned")
        self._driver.write(lambda tx: snapshots.set_operation(tx, applied.number, "over", applied.operation))
        return replace(applied, state="over")

    def _sweep(self, applied: AppliedOperation) -> None:
        operation = applied.operation
        if not operation.slots:
            return
        try:
            slots = os.open(operation.slots, rooted_fs.OPEN_FOLDER, dir_fd=self._root.fd)
        except FileNotFoundError:
            return
        try:
            ours = {(entry.kind, entry.hash) for item in operation.items for entry in (item.found, item.wrote) if entry}
            for name in os.listdir(slots):
                slot = os.fsencode(name)
                entry, data = rooted_fs.read_entry(slots, slot)
                number = whole_number(name.removesuffix(rooted_fs.ASIDE.decode()))
                if entry is not None and (entry.kind, entry.hash) not in ours and number is not None:
                    self._save(applied, number, entry, data)
                self._step(f"sweep {name}")
                os.unlink(slot, dir_fd=slots)
        finally:
            os.close(slots)
        os.rmdir(operation.slots, dir_fd=self._root.fd)
        os.fsync(self._root.fd)  # before the state `over`, after which no start looks for slots

    def _save(self, applied: AppliedOperation, number: int, entry: Entry, data: bytes) -> None:
        """Store what another process wrote into a file after it was swapped out."""
        if number >= len(applied.operation.items):
            return
        wrote = applied.operation.items[number].wrote
        if applied.state == "intent" and wrote is not None and wrote.held:
            if self._driver.read(lambda tx: snapshots.content(tx, wrote.hash)).startswith(data):
                return  # a partially staged slot
        writer = SnapshotWriter(self._driver, self._workspace, OUTSIDE, "late", clock())
        writer.keep(entry.hash, data)
        changes = [Change(applied.operation.items[number].path, applied.operation.items[number].found, entry)]
        self._driver.write(lambda tx: writer.finish(tx, changes))


def _folder(entry: Entry | None) -> bool:
    return entry is not None and entry.kind == FOLDER


class _Swapper:
    """Swaps paths with slots, in an order in which files and folders can replace one another."""

    def __init__(self, root: Root, slots: int, step: Step) -> None:
        self._root, self._slots, self._step = root, slots, step
        self._touched: set[bytes] = set()

    def run(self, swaps: list[tuple[int, bytes, Entry | None, Entry | None]]) -> dict[int, str]:
        """Run swaps of (slot, path, current entry, new entry); returns the slots not swapped, each with the reason."""
        kept: dict[int, str] = {}
        deepest = sorted(swaps, key=lambda swap: -swap[1].count(b"/"))
        for i, path, old, new in swaps:
            if old is not None and old.held and not (new is not None and new.held):
                self._try(kept, i, path, lambda i=i, path=path, old=old: self._take(i, path, old))  # type: ignore[misc]
        for i, path, old, new in deepest:
            if _folder(old) and not _folder(new):
                self._try(kept, i, path, lambda path=path: self._remove(path))  # type: ignore[misc]
        for i, path, old, new in reversed(deepest):
            if i not in kept and _folder(new) and new is not None and not _folder(old):
                self._try(kept, i, path, lambda path=path: self._make(path))  # type: ignore[misc]
        for i, path, old, new in swaps:
            if i not in kept and new is not None and new.held:
                self._try(kept, i, path, lambda i=i, path=path, old=old, new=new: self._put(i, path, old, new))  # type: ignore[misc]
        for i, path, _, new in deepest:
            if i not in kept and _folder(new) and new is not None and new.mode is not None:
                self._try(kept, i, path, lambda path=path, mode=new.mode: self._chmod(path, mode))  # type: ignore[misc]
        self._step("sync folders")
        for folder in sorted(self._touched):
            self._sync(folder)
        os.fsync(self._slots)
        return kept

    def _try(self, kept: dict[int, str], i: int, path: bytes, action: Callable[[], str | None]) -> None:
        self._step(f"swap {i}")
        try:
            why = action()
        except OSError as error:
            if error.errno not in (
                errno.ENOENT,
                errno.EEXIST,
                errno.ENOTDIR,
                errno.ELOOP,
                errno.ENOTEMPTY,
                errno.EISDIR,
            ):
                raise
            why = f"changed during the operation ({error.strerror})"
        if why is not None:
            kept[i] = why
        self._touched.add(path.rpartition(b"/")[0])

    def _put(self, i: int, path: bytes, old: Entry | None, new: Entry) -> str | None:
        """Move a file or link from its slot to its path, and the current one into the slot."""
        slot = b"%d" % i
        with self._root.folder(path) as (fd, name):
            if old is None or old.kind == FOLDER:
                rooted_fs.move(self._slots, slot, fd, name)
                return None
            rooted_fs.exchange(self._slots, slot, fd, name)
            found, _ = rooted_fs.read_entry(self._slots, slot)
            if same(found, old):
                return None
            rooted_fs.exchange(self._slots, slot, fd, name)
            back, _ = rooted_fs.read_entry(self._slots, slot)
            if not same(back, new):  # changed again: the newest stays, the previous one is stored later
                rooted_fs.exchange(self._slots, slot, fd, name)
        return "was changed by another process just now and is kept"

    def _take(self, i: int, path: bytes, old: Entry) -> str | None:
        """Move a file or link from its path into its slot."""
        slot = b"%d" % i
        with self._root.folder(path) as (fd, name):
            rooted_fs.move(fd, name, self._slots, slot)
            found, _ = rooted_fs.read_entry(self._slots, slot)
            if same(found, old):
                return None
            rooted_fs.move(self._slots, slot, fd, name)
        return "was changed by another process just now and is kept"

    def _remove(self, path: bytes) -> None:
        with self._root.folder(path) as (fd, name):
            os.rmdir(name, dir_fd=fd)

    def _make(self, path: bytes) -> None:
        with self._root.folder(path) as (fd, name):
            os.mkdir(name, _NEW_FOLDER, dir_fd=fd)

    def _chmod(self, path: bytes, mode: int) -> None:
        with self._root.folder(path) as (fd, name):
            folder = os.open(name, rooted_fs.OPEN_FOLDER, dir_fd=fd)
            try:
                if stat.S_IMODE(os.fstat(folder).st_mode) != mode:
                    os.fchmod(folder, mode)
            finally:
                os.close(folder)

    def _sync(self, path: bytes) -> None:
        try:
            if not path:
                os.fsync(self._root.fd)
                return
            with self._root.folder(path) as (fd, name):
                folder = os.open(name, rooted_fs.OPEN_FOLDER, dir_fd=fd)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
