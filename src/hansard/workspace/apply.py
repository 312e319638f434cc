"""Putting a plan into the files so that the tree is entirely before or entirely after, whatever happens on the way.

    1  the ledger takes what is there now and what will be there, and the intent: from here on nothing can be lost
    2  everything new is written into slots, a folder of our own below the root, with its mode, and synced
    3  names are swapped with the slots; what comes out is looked at, and put back if somebody changed it meanwhile
    4  the ledger says done, and moves the head, in one transaction
    5  the slots go, each only when the ledger holds what is in it

An intent that is found without its done is taken back by swapping again, which needs no room on the disk.
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
from hansard.workspace import rooted_fs as beneath
from hansard.workspace import snapshots as records
from hansard.workspace.entries import FOLDER, Change, Entry, packed, same
from hansard.workspace.ignore import SLOTS
from hansard.workspace.plan import Plan
from hansard.workspace.rooted_fs import Root
from hansard.workspace.snapshots import OUTSIDE, By, Deed, Done, Filing, Item

_MADE = 0o700  # a folder until all is in it; its own mode comes last
Step = Callable[[str], None]
Settle = Callable[[Tx, int, Deed], None]  # what belongs into the transaction that says done


def no_step(name: str) -> None:
    """Nobody watches."""


class Apply:
    """One undo, redo or restore of a workspace; the root's lock is held by whoever calls."""

    def __init__(self, driver: Driver, root: Root, workspace: int, step: Step = no_step) -> None:
        self._driver, self._root, self._workspace, self._step = driver, root, workspace, step

    # -- forward -----------------------------------------------------------------------------------------------------

    def run(self, kind: str, by: By, plan: Plan, deed: Deed, settle: Settle) -> Done:
        """All of it. When this raises, the files are as they were."""
        items = [Item(item.path, item.found, item.wanted) for item in plan.touched]
        conflicts = [(item.path, item.why) for item in plan.conflicts]
        slots = f"{SLOTS}{new_id()}" if items else ""
        deed = replace(deed, slots=slots, items=items, conflicts=conflicts)
        at = clock()
        number, snap = self._intend(kind, by, plan, deed, at)
        self._step("intended")
        done = Done(number=number, thread_id=by.thread_id, kind=kind, state="intent", snap=snap, at=at, deed=deed)
        try:
            deed = self._swap_in(done, plan)
            self._step("swapped")
            settled = replace(done, state="done", deed=deed)

            def job(tx: Tx) -> None:
                changes = [Change(item.path, item.found, item.wrote) for item in deed.items]
                tx.run("finish_workspace_snapshot", snap=snap, state=1, partial=0, body=packed(changes))
                records.set_deed(tx, number, "done" if slots else "over", deed)
                settle(tx, snap, deed)

            self._driver.write(job)
        except (OSError, HansardError) as error:
            if isinstance(error, OSError) or not self._was_settled(number):
                self._undo_intent(done, error)
                raise (beneath.strange(error) if isinstance(error, OSError) else error) from None
        try:
            self._step("done")
            return self.clean(settled) if slots else replace(settled, state="over")
        except (OSError, HansardError):  # it is done; the next start takes the slots away
            return settled

    def _was_settled(self, number: int) -> bool:
        """A connection that broke while it said done may have said it; whoever cannot be asked leaves the intent."""
        return self._driver.read(
            lambda tx: all(
                done.number != number or done.state == "done" for done in records.unfinished(tx, self._workspace)
            )
        )

    def _undo_intent(self, done: Done, error: Exception) -> None:
        try:
            self._take_back(done)
        except (OSError, HansardError) as second:
            raise HansardError(
                f"{error}; taking it back failed too ({second}): the next command in this workspace finishes that"
            ) from None

    def _intend(self, kind: str, by: By, plan: Plan, deed: Deed, at: int) -> tuple[int, int]:
        filing = Filing(self._driver, self._workspace, by, kind, at)
        changes = [Change(item.path, item.found, item.wrote) for item in deed.items]
        for item in deed.items:
            for entry in (item.found, item.wrote):
                if entry is not None and entry.held:
                    filing.keep(entry.hash, plan.contents[entry.hash])

        def job(tx: Tx) -> tuple[int, int]:
            snap = filing.finish(tx, changes, state=records.BEING_WRITTEN)
            return records.add_deed(tx, self._workspace, by, kind, snap, at, deed), snap

        return self._driver.write(job)

    def _swap_in(self, done: Done, plan: Plan) -> Deed:
        deed = done.deed
        if not deed.slots:
            return deed
        self._step("slots")
        os.mkdir(deed.slots, 0o700, dir_fd=self._root.fd)
        slots = os.open(deed.slots, beneath.OPEN_FOLDER, dir_fd=self._root.fd)
        try:
            for i, item in enumerate(deed.items):
                if item.wrote is not None and item.wrote.held:
                    self._step(f"stage {i}")
                    beneath.write(slots, b"%d" % i, item.wrote, plan.contents[item.wrote.hash])
            self._step("sync slots")
            os.fsync(slots)
            os.fsync(self._root.fd)
            turn = _Turn(self._root, slots, self._step)
            conflicts = turn.run([(i, item.path, item.found, item.wrote) for i, item in enumerate(deed.items)])
        finally:
            os.close(slots)
        if conflicts:
            kept = {deed.items[i].path: why for i, why in conflicts.items()}
            deed = replace(
                deed,
                items=[
                    item if i not in conflicts else Item(item.path, item.found, item.found)
                    for i, item in enumerate(deed.items)
                ],
                conflicts=[*deed.conflicts, *kept.items()],
            )
        return deed

    # -- backward ----------------------------------------------------------------------------------------------------

    def recover(self) -> list[str]:
        """Put right what was cut off before; what was done is said in words."""
        told: list[str] = []
        for done in self._driver.read(lambda tx: records.unfinished(tx, self._workspace)):
            if done.state == "done":
                self.clean(done)
                continue
            kept = self._take_back(done)
            told.append(f"an unfinished {done.kind} was taken back")
            told += [f"{os.fsdecode(path)}: {why}" for path, why in kept]
        for one in self._driver.read(lambda tx: records.being_written(tx, self._workspace)):
            if one.process is None:  # a look that was cut off: the next one finds the same
                self._driver.write(lambda tx, snap=one.number: records.drop_snapshot(tx, snap))  # type: ignore[misc]
        return told

    def _take_back(self, done: Done) -> list[tuple[bytes, str]]:
        """The files as they were before an intent; what somebody changed since is kept and named."""
        deed = done.deed
        kept: list[tuple[bytes, str]] = []
        try:
            slots = os.open(deed.slots, beneath.OPEN_FOLDER, dir_fd=self._root.fd) if deed.slots else -1
        except FileNotFoundError:  # it never came to that
            slots = -1
        if slots >= 0:
            try:
                turns: list[tuple[int, bytes, Entry | None, Entry | None]] = []
                for i, item in enumerate(deed.items):
                    self._rejoin(slots, i, item.path)
                    now, _ = self._root.look(item.path)
                    if same(now, item.found):
                        continue
                    halfway = now is None and (_folder(item.found) != _folder(item.wrote))
                    made = now is not None and now.kind == FOLDER and now.mode == _MADE
                    unfinished = made and (_folder(item.wrote) or _folder(item.found))
                    if not same(now, item.wrote) and not halfway and not unfinished:
                        kept.append((item.path, "was changed since by somebody else and is kept"))
                        continue
                    self._refill(slots, b"%d" % i, item.found)
                    turns.append((i, item.path, now, item.found))
                found = _Turn(self._root, slots, self._step).run(turns)
                kept += [(deed.items[i].path, why) for i, why in found.items()]
            finally:
                os.close(slots)
        self._sweep(done)

        def job(tx: Tx) -> None:
            records.set_deed(tx, done.number, "back", deed)
            records.drop_snapshot(tx, done.snap)

        self._driver.write(job)
        return kept

    def _rejoin(self, slots: int, i: int, path: bytes) -> None:
        """A swap in two steps, cut off between them: what was aside goes back, or where it was on its way to."""
        slot = b"%d" % i
        if beneath.look(slots, slot + beneath.ASIDE)[0] is None:
            return
        if self._root.look(path, 0)[0] is None:
            with self._root.folder(path) as (fd, name):
                beneath.move(slots, slot + beneath.ASIDE, fd, name)
        elif beneath.look(slots, slot)[0] is None:
            beneath.move(slots, slot + beneath.ASIDE, slots, slot)

    def _refill(self, slots: int, slot: bytes, entry: Entry | None) -> None:
        """What a swap put into the slot is what goes back; if it is not there, the ledger has it."""
        if entry is None or not entry.held:
            return
        there, _ = beneath.look(slots, slot)
        if same(there, entry):
            return
        data = self._driver.read(lambda tx: records.content(tx, entry.hash))
        if there is not None:
            os.unlink(slot, dir_fd=slots)  # what we staged and did not put in place
        beneath.write(slots, slot, entry, data)

    # -- the slots ---------------------------------------------------------------------------------------------------

    def clean(self, done: Done) -> Done:
        """Take the slots away after a done."""
        self._step("clean")
        self._sweep(done)
        self._step("cleaned")
        self._driver.write(lambda tx: records.set_deed(tx, done.number, "over", done.deed))
        return replace(done, state="over")

    def _sweep(self, done: Done) -> None:
        deed = done.deed
        if not deed.slots:
            return
        try:
            slots = os.open(deed.slots, beneath.OPEN_FOLDER, dir_fd=self._root.fd)
        except FileNotFoundError:
            return
        try:
            ours = {(entry.kind, entry.hash) for item in deed.items for entry in (item.found, item.wrote) if entry}
            for name in os.listdir(slots):
                slot = os.fsencode(name)
                entry, data = beneath.look(slots, slot)
                number = whole_number(name.removesuffix(beneath.ASIDE.decode()))
                if entry is not None and (entry.kind, entry.hash) not in ours and number is not None:
                    self._save(done, number, entry, data)
                self._step(f"sweep {name}")
                os.unlink(slot, dir_fd=slots)
        finally:
            os.close(slots)
        os.rmdir(deed.slots, dir_fd=self._root.fd)
        os.fsync(self._root.fd)  # before the ledger says that it is over: nobody would look for them again

    def _save(self, done: Done, number: int, entry: Entry, data: bytes) -> None:
        """Somebody wrote on into a file that had been swapped out: the ledger takes those bytes too."""
        if number >= len(done.deed.items):
            return
        wrote = done.deed.items[number].wrote
        if done.state == "intent" and wrote is not None and wrote.held:
            if self._driver.read(lambda tx: records.content(tx, wrote.hash)).startswith(data):
                return  # the beginning of a slot that was never whole
        filing = Filing(self._driver, self._workspace, OUTSIDE, "late", clock())
        filing.keep(entry.hash, data)
        changes = [Change(done.deed.items[number].path, done.deed.items[number].found, entry)]
        self._driver.write(lambda tx: filing.finish(tx, changes))


def _folder(entry: Entry | None) -> bool:
    return entry is not None and entry.kind == FOLDER


class _Turn:
    """Swapping paths with slots, in the order in which folders and files can give way to one another."""

    def __init__(self, root: Root, slots: int, step: Step) -> None:
        self._root, self._slots, self._step = root, slots, step
        self._touched: set[bytes] = set()

    def run(self, turns: list[tuple[int, bytes, Entry | None, Entry | None]]) -> dict[int, str]:
        """Every (slot, path, what is there, what is to be there). What could not be done, and why."""
        kept: dict[int, str] = {}
        deepest = sorted(turns, key=lambda turn: -turn[1].count(b"/"))
        for i, path, old, new in turns:
            if old is not None and old.held and not (new is not None and new.held):
                self._try(kept, i, path, lambda i=i, path=path, old=old: self._take(i, path, old))  # type: ignore[misc]
        for i, path, old, new in deepest:
            if _folder(old) and not _folder(new):
                self._try(kept, i, path, lambda path=path: self._remove(path))  # type: ignore[misc]
        for i, path, old, new in reversed(deepest):
            if i not in kept and _folder(new) and new is not None and not _folder(old):
                self._try(kept, i, path, lambda path=path: self._make(path))  # type: ignore[misc]
        for i, path, old, new in turns:
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
            why = f"changed while this was going on ({error.strerror})"
        if why is not None:
            kept[i] = why
        self._touched.add(path.rpartition(b"/")[0])

    def _put(self, i: int, path: bytes, old: Entry | None, new: Entry) -> str | None:
        """A file or link from its slot; what was there goes into the slot."""
        slot = b"%d" % i
        with self._root.folder(path) as (fd, name):
            if old is None or old.kind == FOLDER:
                beneath.move(self._slots, slot, fd, name)
                return None
            beneath.exchange(self._slots, slot, fd, name)
            found, _ = beneath.look(self._slots, slot)
            if same(found, old):
                return None
            beneath.exchange(self._slots, slot, fd, name)
            back, _ = beneath.look(self._slots, slot)
            if not same(back, new):  # changed once more: the newest stays in place, the one before it is saved
                beneath.exchange(self._slots, slot, fd, name)
        return "was changed by somebody else just now and is kept"

    def _take(self, i: int, path: bytes, old: Entry) -> str | None:
        """A file or link out of the way, into its slot."""
        slot = b"%d" % i
        with self._root.folder(path) as (fd, name):
            beneath.move(fd, name, self._slots, slot)
            found, _ = beneath.look(self._slots, slot)
            if same(found, old):
                return None
            beneath.move(self._slots, slot, fd, name)
        return "was changed by somebody else just now and is kept"

    def _remove(self, path: bytes) -> None:
        with self._root.folder(path) as (fd, name):
            os.rmdir(name, dir_fd=fd)

    def _make(self, path: bytes) -> None:
        with self._root.folder(path) as (fd, name):
            os.mkdir(name, _MADE, dir_fd=fd)

    def _chmod(self, path: bytes, mode: int) -> None:
        with self._root.folder(path) as (fd, name):
            folder = os.open(name, beneath.OPEN_FOLDER, dir_fd=fd)
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
                folder = os.open(name, beneath.OPEN_FOLDER, dir_fd=fd)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
