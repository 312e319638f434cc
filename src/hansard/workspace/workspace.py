"""Workspace, the facade: a folder whose file changes are recorded in a ledger, with the messages that made them.

with ledger, hansard.workspace.Workspace(ledger, "project") as files:
    with files.tool(Author(thread_id=..., message_id=...), "src/main.py"):
        ...                                 # a tool changes the paths it names
    with files.window(Author(thread_id=...)):
        ...                                 # a shell changes any files
    files.undo(thread_id)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from hansard.errors import HansardError
from hansard.ledger.backends.driver import Driver, Tx, unsafe
from hansard.ledger.ids import clock
from hansard.ledger.ledger import Ledger
from hansard.workspace import active_writers, atomic_write, scan, snapshots
from hansard.workspace.apply import Apply, Step, no_step
from hansard.workspace.entries import FOLDER, Change, Entry, parents, same
from hansard.workspace.rooted_fs import Root, relative, translate_os_errors
from hansard.workspace.scan import Limits
from hansard.workspace.snapshots import OUTSIDE, Author, Snapshot, SnapshotWriter
from hansard.workspace.undo import Redo, Restore, Undo, UndoPlan, UndoResult, make_plan


class SnapshotResult(Struct, frozen=True, kw_only=True):
    """A new snapshot: number (None if nothing changed), changes, and the reasons why it is partial."""

    number: int | None
    changes: list[Change]
    partial: list[str] = []
    files: int = 0
    first: bool = False


class Workspace:
    """A folder opened with a ledger; interrupted operations and tools are recovered first.

    `recovered` has a line for each. `step` is called with the name of each step; fault tests stop there.
    """

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
        self.recovered: list[str] = []
        self._cached: tuple[bytes, scan.Index] = (b"", {})
        path = self.root.path
        found = self.driver.read(lambda tx: snapshots.find_workspace(tx, path))
        if found is None:
            if not create:
                self.root.close()
                raise HansardError(f"{path} is not tracked; run `hansard snapshot` in it to start")
            found = self.driver.write(lambda tx: snapshots.make_workspace(tx, path))
        self.number: int = found
        if self._interrupted():
            with translate_os_errors(), self.root.lock():
                self._recover()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder; the ledger stays open."""
        self.root.close()

    def apply(self) -> Apply:
        """The runner of plans for this workspace."""
        return Apply(self.driver, self.root, self.number, self.step)

    def _interrupted(self) -> bool:
        def job(tx: Tx) -> bool:
            return bool(
                snapshots.unfinished_snapshots(tx, self.number) or snapshots.unfinished_operations(tx, self.number)
            )

        return self.driver.read(job) or bool(active_writers.attribution(self.driver, self.number).ended)

    def _recover(self) -> None:
        """Recover what was interrupted; the caller holds the lock."""
        rolled_back = self.driver.read(lambda tx: bool(snapshots.unfinished_operations(tx, self.number)))
        self.recovered = self.apply().recover()
        if rolled_back:
            self._invalidate_index()
        for one in active_writers.running_tools(self.driver, self.number)[1]:
            writer = SnapshotWriter(self.driver, self.number, one.author, "tool", one.at, snap=one.number)
            names = [change.path for change in one.changes]
            before = {change.path: change.before for change in one.changes}
            result = self._track(one.author, writer, before, self._read_entries(names, writer))
            self.recovered.append(f"a tool was interrupted; its changes are recorded: {_counted(result)}")
        atomic_write.sweep(self.driver, self.root, self.number)
        if active_writers.attribution(self.driver, self.number).ended:
            self.recovered.append(f"a shell was interrupted; its changes are recorded: {_counted(self._scan())}")

    def _scan(self, closing: int | None = None) -> SnapshotResult:
        return self._snapshot(OUTSIDE, "scan", closing)

    def _invalidate_index(self) -> None:
        """Forget times and inodes, so that the next scan reads every file again."""
        index = self.index()
        for folder in index.values():
            folder.files = {name: replace(one, mtime=0, ctime=0, inode=0) for name, one in folder.files.items()}
        if index:
            self.driver.write(
                lambda tx: tx.run("set_workspace_files", workspace=self.number, files=scan.write_index(index))
            )

    # -- scanning ----------------------------------------------------------------------------------------------------

    def index(self) -> scan.Index:
        """The index of the last scan, as a copy."""
        return scan.read_index(self._index_data())

    def _index_data(self) -> bytes | None:
        row = self.driver.read(lambda tx: tx.one("workspace_files", workspace=self.number))
        return None if row is None or row[0] is None else bytes(row[0])

    def _last_index(self) -> scan.Index:
        """The same, cached and not to be modified."""
        data = self._index_data()
        return self._cached[1] if data is not None and data == self._cached[0] else scan.read_index(data)

    def snapshot(self, author: Author = OUTSIDE, source: str = "scan") -> SnapshotResult:
        """Scan all files and record what changed since the last scan, attributed to the author or to active writers."""
        with translate_os_errors(), self.root.lock():
            return self._snapshot(self.at_head(author), source)

    def _snapshot(self, author: Author, source: str, closing: int | None = None) -> SnapshotResult:
        index = self._last_index()
        first = not index
        known = active_writers.attribution(self.driver, self.number)
        if author.thread_id is None or known.ended:
            author, source = known.author, known.source
        writer = SnapshotWriter(
            self.driver, self.number, OUTSIDE if first else author, "base" if first else source, clock()
        )
        found = scan.Scan(self.root, index, writer.keep, self.limits, self._ledger_files()).run()
        busy = active_writers.paths_in_use(self.driver, self.number)
        for path, before in busy.items():
            if scan.entry_at(found.index, path) != before:
                scan.put(found.index, path, before)
        changes = [one for one in found.changes if one.path not in busy]
        if first:
            changes = [Change(path, None, entry) for path, entry in sorted(scan.all_entries(found.index))]
        grown = found.index != index
        closed = known.ended if closing is None else [*known.ended, closing]
        if not changes and not grown and writer.empty and not closed:
            return SnapshotResult(number=None, changes=[], partial=found.partial, files=found.files)
        files = scan.write_index(found.index) if grown else None

        def job(tx: Tx) -> int | None:
            snap = None
            if changes or not writer.empty:
                snap = writer.finish(tx, changes, partial=bool(found.partial))
            if files is not None:
                tx.run("set_workspace_files", workspace=self.number, files=files)
            active_writers.close_windows(tx, closed)
            return snap

        snap = self.driver.write(job)
        if files is not None:
            self._cached = (files, found.index)
        return SnapshotResult(
            number=snap, changes=[] if first else changes, partial=found.partial, files=found.files, first=first
        )

    def _ledger_files(self) -> frozenset[str]:
        """The ledger's own files, if they are below the root."""
        path = getattr(self.driver, "path", "")
        start = self.root.path.rstrip("/") + "/"
        real = os.path.realpath(path) if path and path != ":memory:" else ""
        if not real.startswith(start):
            return frozenset()
        return frozenset(real[len(start) :] + end for end in ("", "-wal", "-shm", "-journal"))

    def at_head(self, author: Author) -> Author:
        """The author, with the head of the thread if no message is given."""
        if author.thread_id is None or author.message_id is not None:
            return author
        return replace(author, message_id=self.ledger.thread(author.thread_id).head)

    # -- tools -------------------------------------------------------------------------------------------------------

    @contextmanager
    def tool(self, author: Author, *paths: str | bytes, alone: bool = False) -> Iterator[None]:
        """Record what a tool changes at the paths it names; their entries are stored before it runs.

        `alone` holds the root's lock, so that no other process scans or changes these files: for fast tools.
        """
        names = self._named(paths)
        writer = SnapshotWriter(self.driver, self.number, author, "tool", clock())
        with self.root.lock():
            writer.author = self.at_head(author)
            before = self._read_entries(names, writer)
            writer.begin(os.getpid(), [Change(name, entry, entry) for name, entry in before.items()])
            if alone:
                with self._record_after(author, writer, before):
                    yield
                return
        try:
            yield
        finally:
            with self.root.lock(), self._record_after(author, writer, before):
                pass

    @contextmanager
    def _record_after(
        self, author: Author, writer: SnapshotWriter, before: dict[bytes, Entry | None]
    ) -> Iterator[None]:
        """Record the changes of a tool after it ran, also if it failed."""
        try:
            self.step("tool begun")
            yield
        finally:
            self.step("tool ended")
            self._track(self.at_head(author), writer, before, self._read_entries(list(before), writer))

    def track(self, author: Author, *paths: str | bytes) -> SnapshotResult:
        """Record what changed at these paths since the last scan, after a tool ran."""
        names = self._named(paths)
        with translate_os_errors(), self.root.lock():
            author = self.at_head(author)
            index = self.index()
            writer = SnapshotWriter(self.driver, self.number, author, "tool", clock())
            return self._track(
                author, writer, {name: scan.entry_at(index, name) for name in names}, self._read_entries(names, writer)
            )

    def _named(self, paths: tuple[str | bytes, ...]) -> list[bytes]:
        found = [relative(self.root.path, path) for path in paths]
        return sorted({name for path in found for name in (*parents(path), path)})

    def _read_entries(self, names: list[bytes], writer: SnapshotWriter) -> dict[bytes, Entry | None]:
        seen: dict[bytes, Entry | None] = {}
        for name in names:
            entry, data = self.root.read_entry(name, self.limits.file_size)
            if entry is not None and entry.held:
                writer.keep(entry.hash, data)
            seen[name] = entry
        return seen

    def _track(
        self,
        author: Author,
        writer: SnapshotWriter,
        before: dict[bytes, Entry | None],
        after: dict[bytes, Entry | None],
    ) -> SnapshotResult:
        """Record changes of a tool as its author's; earlier changes that no scan has seen are recorded as outside."""
        index = self.index()
        changes = [Change(name, before[name], after[name]) for name in sorted(after) if before[name] != after[name]]
        changes = [one for one in changes if not (_folder(one.before) and _folder(one.after))]
        outside: list[Change] = []
        for one in changes:
            known = scan.entry_at(index, one.path)
            if known is not None and not same(known, one.before):
                outside.append(Change(one.path, known, one.before))
        for one in changes:
            scan.put(index, one.path, one.after)
        if not changes:
            if writer.begun:
                self.driver.write(writer.drop)
            return SnapshotResult(number=None, changes=[])

        def job(tx: Tx) -> int:
            if outside:
                at = clock()
                snap = snapshots.add_snapshot(tx, self.number, OUTSIDE, "scan", at, outside, state=snapshots.IN_FILES)
                snapshots.reference_contents(tx, snap, [Change(one.path, None, one.before) for one in outside])
            snap = writer.finish(tx, changes)
            if index:
                tx.run("set_workspace_files", workspace=self.number, files=scan.write_index(index))
            return snap

        writer.author = author
        return SnapshotResult(number=self.driver.write(job), changes=changes)

    @contextmanager
    def window(self, author: Author) -> Iterator[None]:
        """Record what a tool changes that does not name paths: all files are scanned before and after.

        Changes are attributed to the author unless another thread had a window open at the same time.
        """
        with self.root.lock():
            self._scan()
            number = active_writers.open_window(self.driver, self.number, self.at_head(author))
        try:
            self.step("window open")
            yield
        finally:
            self.step("window ends")
            with self.root.lock():
                self._scan(closing=number)

    # -- what is recorded ----------------------------------------------------------------------------------------------

    def snapshots(self, thread_id: str | None = None) -> list[Snapshot]:
        """All snapshots, or those of a thread, oldest first."""
        if thread_id is not None:
            return self.driver.read(lambda tx: snapshots.thread_snapshots(tx, self.number, thread_id))
        return self.driver.read(lambda tx: snapshots.all_snapshots(tx, self.number))

    def content(self, entry: Entry) -> bytes:
        """The content of a file or link."""
        return self.driver.read(lambda tx: snapshots.content(tx, entry.hash))

    def last_thread(self) -> str | None:
        """The thread with the latest recorded change."""
        row = self.driver.read(lambda tx: tx.one("last_workspace_thread", workspace=self.number))
        return None if row is None else unsafe(row[0])

    # -- undo, redo, restore -----------------------------------------------------------------------------------------

    def plan(self, request: Undo | Redo | Restore) -> UndoPlan:
        """What a request would do; `UndoPlan.run` carries it out."""
        return make_plan(self, request)

    def undo(
        self, thread_id: str, turns: int = 1, *, to: str | None = None, scope: str = "both", unverified: bool = False
    ) -> UndoResult:
        """Go back `turns` user messages, or to the message `to`; `scope` is both, files or conversation.

        `unverified` proceeds although files of an imported session cannot be verified by their hashes.
        """
        return self.plan(Undo(thread_id, turns, to, scope, unverified)).run()

    def redo(self, thread_id: str) -> UndoResult:
        """Reverse the last undo of a thread."""
        return self.plan(Redo(thread_id)).run()

    def restore(self, path: str | bytes, entry: Entry | None, author: Author = OUTSIDE) -> UndoResult:
        """Put a path back to an entry (None: no file), regardless of who changed it since."""
        return self.plan(Restore(path, entry, author)).run()


def _folder(entry: Entry | None) -> bool:
    return entry is not None and entry.kind == FOLDER


def _counted(result: SnapshotResult) -> str:
    return f"{len(result.changes)} paths" if len(result.changes) != 1 else "1 path"
