"""A workspace: a folder of the user's whose files are kept with the conversation that changes them.

with ledger, hansard.workspace.Workspace(ledger, "project") as files:
    with files.tool(By(thread_id=..., message_id=...), "src/main.py"):
        ...                                 # what a tool does to the paths it names
    with files.window(By(thread_id=...)):
        ...                                 # what a shell does to whatever it likes
    files.undo(thread_id)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import HansardError
from hansard.ledger.backends.driver import Driver, Tx, unsafe
from hansard.ledger.ids import clock
from hansard.ledger.ledger import Ledger
from hansard.workspace import active_writers as at_work
from hansard.workspace import atomic_write as placing
from hansard.workspace import scan
from hansard.workspace import snapshots as records
from hansard.workspace.apply import Apply, Step, no_step
from hansard.workspace.entries import FOLDER, Change, Entry, parents, same
from hansard.workspace.rooted_fs import Root, relative, told
from hansard.workspace.scan import Limits
from hansard.workspace.snapshots import OUTSIDE, By, Filing, Snapshot


class Taken(Struct, frozen=True, kw_only=True):
    """What a snapshot found: its number (None if nothing had changed), the changes, and why it may not be all."""

    number: int | None
    changes: list[Change]
    partial: list[str] = []
    files: int = 0
    first: bool = False


class Workspace:
    """Open on a ledger and a folder; what was cut off before is put right first (`told` says so)."""

    def __init__(
        self,
        ledger: Ledger,
        root: str | os.PathLike[str],
        *,
        limits: Limits | None = None,
        step: Step = no_step,
        create: bool = True,
    ) -> None:
        self.ledger, self.limits = ledger, limits or Limits()
        self.driver: Driver = ledger._driver
        self.root = Root(root)
        self.step = step
        self.told: list[str] = []
        self._looked: tuple[bytes, scan.Index] = (b"", {})
        path = self.root.path
        found = self.driver.read(lambda tx: records.find_workspace(tx, path))
        if found is None:
            if not create:
                self.root.close()
                raise HansardError(f"{path} is not tracked; `hansard snapshot` in it begins")
            found = self.driver.write(lambda tx: records.make_workspace(tx, path))
        self.number: int = found
        if self._unfinished():
            with told(), self.root.lock():
                self._recover()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.root.close()

    def apply(self) -> Apply:
        return Apply(self.driver, self.root, self.number, self.step)

    def _unfinished(self) -> bool:
        def job(tx: Tx) -> bool:
            return bool(records.being_written(tx, self.number)) or bool(records.unfinished(tx, self.number))

        return self.driver.read(job) or bool(at_work.whose(self.driver, self.number).left)

    def _recover(self) -> None:
        """Put right what was cut off, with the lock held."""
        half_done = self.driver.read(lambda tx: bool(records.unfinished(tx, self.number)))
        self.told = self.apply().recover()
        if half_done:
            self._blind()
        for one in at_work.tools(self.driver, self.number)[1]:
            filing = Filing(self.driver, self.number, one.by, "tool", one.at, snap=one.number)
            names = [change.path for change in one.changes]
            before = {change.path: change.before for change in one.changes}
            taken = self._track(one.by, filing, before, self._look(names, filing))
            self.told.append(f"a tool was cut off; what it had changed is recorded: {_counted(taken)}")
        placing.sweep(self.driver, self.root, self.number)
        if at_work.whose(self.driver, self.number).left:
            self.told.append(f"a shell was cut off; what it had changed is recorded: {_counted(self._look_around())}")

    def _look_around(self, closing: int | None = None) -> Taken:
        return self._snapshot(OUTSIDE, "scan", closing)

    def _blind(self) -> None:
        """After something was cut off nobody is sure: every file is read again at the next look."""
        index = self.index()
        for folder in index.values():
            folder.files = {name: replace(one, mtime=0, ctime=0, inode=0) for name, one in folder.files.items()}
        if index:
            self.driver.write(
                lambda tx: tx.run("set_workspace_files", workspace=self.number, files=scan.write_index(index))
            )

    # -- looking -----------------------------------------------------------------------------------------------------

    def index(self) -> scan.Index:
        """All that was there at the last look; the caller's own to change."""
        return scan.read_index(self._index_data())

    def _index_data(self) -> bytes | None:
        row = self.driver.read(lambda tx: tx.one("workspace_files", workspace=self.number))
        return None if row is None or row[0] is None else bytes(row[0])

    def _last_look(self) -> scan.Index:
        """The same, not to be changed: nobody but us has looked since, more often than not."""
        data = self._index_data()
        return self._looked[1] if data is not None and data == self._looked[0] else scan.read_index(data)

    def snapshot(self, by: By = OUTSIDE, source: str = "scan") -> Taken:
        """Look at all files; what changed since the last look is recorded as whoever's it is."""
        with told(), self.root.lock():
            return self._snapshot(self.at_head(by), source)

    def _snapshot(self, by: By, source: str, closing: int | None = None) -> Taken:
        index = self._last_look()
        first = not index
        known = at_work.whose(self.driver, self.number)
        if by.thread_id is None or known.left:
            by, source = known.by, known.source
        filing = Filing(self.driver, self.number, OUTSIDE if first else by, "base" if first else source, clock())
        found = scan.Scan(self.root, index, filing.keep, self.limits, self._own()).run()
        busy = at_work.busy(self.driver, self.number)
        for path, before in busy.items():
            if scan.known(found.index, path) != before:
                scan.put(found.index, path, before)
        changes = [one for one in found.changes if one.path not in busy]
        if first:
            changes = [Change(path, None, entry) for path, entry in sorted(scan.everything(found.index))]
        grown = found.index != index
        closed = known.left if closing is None else [*known.left, closing]
        if not changes and not grown and filing.empty and not closed:
            return Taken(number=None, changes=[], partial=found.partial, files=found.files)
        files = scan.write_index(found.index) if grown else None

        def job(tx: Tx) -> int | None:
            snap = None
            if changes or not filing.empty:
                snap = filing.finish(tx, changes, partial=bool(found.partial))
            if files is not None:
                tx.run("set_workspace_files", workspace=self.number, files=files)
            at_work.close_windows(tx, closed)
            return snap

        snap = self.driver.write(job)
        if files is not None:
            self._looked = (files, found.index)
        told = [] if first else changes
        return Taken(number=snap, changes=told, partial=found.partial, files=found.files, first=first)

    def _own(self) -> frozenset[str]:
        """The ledger's own files, should they lie below the root."""
        path = getattr(self.driver, "path", "")
        start = self.root.path.rstrip("/") + "/"
        real = os.path.realpath(path) if path and path != ":memory:" else ""
        if not real.startswith(start):
            return frozenset()
        return frozenset(real[len(start) :] + end for end in ("", "-wal", "-shm", "-journal"))

    def at_head(self, by: By) -> By:
        """A thread's change without a message is made at its head."""
        if by.thread_id is None or by.message_id is not None:
            return by
        return replace(by, message_id=self.ledger.thread(by.thread_id).head)

    # -- tools -------------------------------------------------------------------------------------------------------

    @contextmanager
    def tool(self, by: By, *paths: str | bytes, alone: bool = False) -> Iterator[None]:
        """Around a tool that says which paths it touches; what is there before is durable when it begins.

        `alone`: nobody else looks at these files or changes them through a ledger meanwhile, for tools that are quick.
        """
        names = self._named(paths)
        filing = Filing(self.driver, self.number, by, "tool", clock())
        with self.root.lock():
            filing.by = self.at_head(by)
            before = self._look(names, filing)
            filing.begin(os.getpid(), [Change(name, entry, entry) for name, entry in before.items()])
            if alone:
                with self._told_after(by, filing, before):
                    yield
                return
        try:
            yield
        finally:
            with self.root.lock(), self._told_after(by, filing, before):
                pass

    @contextmanager
    def _told_after(self, by: By, filing: Filing, before: dict[bytes, Entry | None]) -> Iterator[None]:
        """Behind it, what a tool did is recorded, also if it failed."""
        try:
            self.step("tool begun")
            yield
        finally:
            self.step("tool ended")
            self._track(self.at_head(by), filing, before, self._look(list(before), filing))

    def track(self, by: By, *paths: str | bytes) -> Taken:
        """Paths that a tool has touched: what changed there since the last look."""
        names = self._named(paths)
        with told(), self.root.lock():
            by = self.at_head(by)
            index = self.index()
            filing = Filing(self.driver, self.number, by, "tool", clock())
            return self._track(by, filing, {name: scan.known(index, name) for name in names}, self._look(names, filing))

    def _named(self, paths: tuple[str | bytes, ...]) -> list[bytes]:
        found = [relative(self.root.path, path) for path in paths]
        return sorted({name for path in found for name in (*parents(path), path)})

    def _look(self, names: list[bytes], filing: Filing) -> dict[bytes, Entry | None]:
        seen: dict[bytes, Entry | None] = {}
        for name in names:
            entry, data = self.root.look(name, self.limits.file_size)
            if entry is not None and entry.held:
                filing.keep(entry.hash, data)
            seen[name] = entry
        return seen

    def _track(
        self, by: By, filing: Filing, before: dict[bytes, Entry | None], after: dict[bytes, Entry | None]
    ) -> Taken:
        """What a tool changed is its thread's; what the index did not know before it is somebody else's."""
        index = self.index()
        changes = [Change(name, before[name], after[name]) for name in sorted(after) if before[name] != after[name]]
        changes = [one for one in changes if not (_folder(one.before) and _folder(one.after))]
        outside: list[Change] = []
        for one in changes:
            known = scan.known(index, one.path)
            if known is not None and not same(known, one.before):
                outside.append(Change(one.path, known, one.before))
        for one in changes:
            scan.put(index, one.path, one.after)
        if not changes:
            if filing.begun:
                self.driver.write(filing.drop)
            return Taken(number=None, changes=[])

        def job(tx: Tx) -> int:
            if outside:
                at = clock()
                snap = records.add_snapshot(tx, self.number, OUTSIDE, "scan", at, outside, state=records.IN_FILES)
                records.use(tx, snap, [Change(one.path, None, one.before) for one in outside])
            snap = filing.finish(tx, changes)
            if index:
                tx.run("set_workspace_files", workspace=self.number, files=scan.write_index(index))
            return snap

        filing.by = by
        return Taken(number=self.driver.write(job), changes=changes)

    @contextmanager
    def window(self, by: By) -> Iterator[None]:
        """Around a tool that does not say what it touches: all files are looked at before and after.

        What changed while no other thread had a window open is this thread's; the rest is nobody's.
        """
        with self.root.lock():
            self._look_around()
            number = at_work.open_window(self.driver, self.number, self.at_head(by))
        try:
            self.step("window open")
            yield
        finally:
            self.step("window ends")
            with self.root.lock():
                self._look_around(closing=number)

    # -- what is recorded ----------------------------------------------------------------------------------------------

    def snapshots(self, thread_id: str | None = None) -> list[Snapshot]:
        """All that is recorded, oldest first; of one thread, if one is named."""
        if thread_id is not None:
            return self.driver.read(lambda tx: records.snapshots_of(tx, self.number, thread_id))
        return self.driver.read(lambda tx: records.snapshots(tx, self.number))

    def content(self, entry: Entry) -> bytes:
        """What a file or link held."""
        return self.driver.read(lambda tx: records.content(tx, entry.hash))

    def last_thread(self) -> str | None:
        """The thread that changed something here last."""
        row = self.driver.read(lambda tx: tx.one("last_workspace_thread", workspace=self.number))
        return None if row is None else unsafe(row[0])

    # -- back and forward ----------------------------------------------------------------------------------------------

    def undo(self, thread_id: str, turns: int = 1, **options: Any) -> Any:
        """See `hansard.workspace.undo`."""
        from hansard.workspace import undo

        return undo.undo(self, thread_id, turns, **options)

    def redo(self, thread_id: str, **options: Any) -> Any:
        """See `hansard.workspace.undo`."""
        from hansard.workspace import undo

        return undo.redo(self, thread_id, **options)

    def restore(self, path: str | bytes, **options: Any) -> Any:
        """See `hansard.workspace.undo`."""
        from hansard.workspace import undo

        return undo.restore(self, path, **options)


def _folder(entry: Entry | None) -> bool:
    return entry is not None and entry.kind == FOLDER


def _counted(taken: Taken) -> str:
    return f"{len(taken.changes)} paths" if len(taken.changes) != 1 else "1 path"
