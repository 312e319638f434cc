"""Workspaces, snapshots and operations as rows of the ledger, and as values.

A snapshot and its contents are written in one transaction. One that is too large for a transaction becomes valid with
the last of several; the next start deletes a snapshot that stayed incomplete. Field names of `Operation`, sources,
kinds and states are stored: they stay.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from hansard.errors import StorageError
from hansard.ledger import bodies
from hansard.ledger.backends.driver import Driver, Row, Tx, safe, unsafe
from hansard.ledger.rows import find_thread
from hansard.workspace.entries import Change, Entry, changes_of, content_hash, packed

BEING_WRITTEN, IN_FILES, UNDONE = 0, 1, 2
IMPORTED = TRANSCRIPT, SAGE = "transcript", "sage"  # sources of snapshots that come from imported sessions
_OPEN = "open "  # source of a snapshot whose tool is running, followed by the process id
_FLUSH = 32 << 20  # bytes of contents per transaction


class Author(Struct, frozen=True, kw_only=True):
    """The author of a change; without a thread: a change from outside the ledger."""

    thread_id: str | None = None
    message_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None


OUTSIDE = Author()


class Snapshot(Struct, frozen=True, kw_only=True):
    """Changes with their author and time.

    `source`: tool, scan, shared, transcript, sage, base, undo, redo, restore, late.
    """

    number: int
    author: Author
    source: str
    at: int
    state: int
    partial: bool
    changes: list[Change]

    @property
    def process(self) -> int | None:
        """The process of a tool that is running, or that died."""
        return int(self.source[len(_OPEN) :]) if self.source.startswith(_OPEN) else None


class Item(Struct, frozen=True, array_like=True):
    """A path of an operation: the entry found there and the entry written."""

    path: bytes
    found: Entry | None
    wrote: Entry | None


class Operation(Struct, frozen=True, kw_only=True):
    """What an undo, redo or restore does: heads, snapshots it reverts (undoes) or applies again (redoes), paths."""

    slots: str = ""
    from_head: str | None = None
    to_head: str | None = None
    moves: bool = False  # whether the head of the thread moves
    undoes: list[int] = []
    redoes: list[int] = []
    items: list[Item] = []
    conflicts: list[tuple[bytes, str]] = []
    redo_of: int | None = None


class AppliedOperation(Struct, frozen=True, kw_only=True):
    """An operation as recorded; `state`: intent, done, over (slots deleted), back (rolled back), redone."""

    number: int
    thread_id: str | None
    kind: str
    state: str
    snap: int
    at: int
    operation: Operation


_operations = msgspec.msgpack.Decoder(Operation)


def _snapshot(row: Row) -> Snapshot:
    snap, thread, message, run, agent, source, at, state, partial, body = row
    author = Author(thread_id=unsafe(thread), message_id=unsafe(message), run_id=unsafe(run), agent_id=unsafe(agent))
    return Snapshot(
        number=snap,
        author=author,
        source=source,
        at=at,
        state=state,
        partial=bool(partial),
        changes=changes_of(bytes(body)),
    )


def _applied_operation(row: Row) -> AppliedOperation:
    number, thread, kind, state, snap, at, body = row
    operation = _operations.decode(bodies.unseal(bytes(body)))
    return AppliedOperation(
        number=number, thread_id=unsafe(thread), kind=kind, state=state, snap=snap, at=at, operation=operation
    )


def find_workspace(tx: Tx, root: str) -> int | None:
    row = tx.one("workspace_by_root", root=safe(root))
    return None if row is None else int(row[0])


def make_workspace(tx: Tx, root: str) -> int:
    tx.run("add_workspace", root=safe(root))
    found = find_workspace(tx, root)
    assert found is not None
    return found


def all_snapshots(tx: Tx, workspace: int, after: int = 0) -> list[Snapshot]:
    return [_snapshot(row) for row in tx.all("workspace_snapshots", workspace=workspace, after=after)]


def thread_snapshots(tx: Tx, workspace: int, thread_id: str) -> list[Snapshot]:
    return [_snapshot(row) for row in tx.all("workspace_snapshots_of", workspace=workspace, id=safe(thread_id))]


def unfinished_snapshots(tx: Tx, workspace: int) -> list[Snapshot]:
    """Snapshots that are not complete: of running tools, and of processes that died."""
    return [_snapshot(row) for row in tx.all("unfinished_workspace_snapshots", workspace=workspace)]


def operations(tx: Tx, workspace: int) -> list[AppliedOperation]:
    return [_applied_operation(row) for row in tx.all("workspace_changes", workspace=workspace)]


def unfinished_operations(tx: Tx, workspace: int) -> list[AppliedOperation]:
    return [_applied_operation(row) for row in tx.all("unfinished_workspace_changes", workspace=workspace)]


def content(tx: Tx, name: bytes) -> bytes:
    """The content of a file or link, verified by its hash."""
    row = tx.one("blob", hash=name)
    if row is None:
        raise StorageError(f"content {name.hex()} is missing from the ledger; run `hansard verify`, restore a backup")
    data = bodies.decompress(bytes(row[0]))
    if content_hash(data) != name:
        raise StorageError(f"content {name.hex()} is damaged; run `hansard verify`, restore a backup")
    return data


def has_content(tx: Tx, name: bytes) -> bool:
    return tx.one("blob_size", hash=name) is not None


def add_snapshot(
    tx: Tx,
    workspace: int,
    author: Author,
    source: str,
    at: int,
    changes: list[Change],
    *,
    state: int,
    partial: bool = False,
) -> int:
    thread = None if author.thread_id is None else find_thread(tx, author.thread_id).thread
    row = tx.one(
        "add_workspace_snapshot",
        workspace=workspace,
        thread=thread,
        message=safe(author.message_id),
        run=safe(author.run_id),
        agent=safe(author.agent_id),
        source=source,
        at=at,
        state=state,
        partial=int(partial),
        body=packed(changes),
    )
    assert row is not None
    return int(row[0])


def reference_contents(tx: Tx, snap: int, changes: list[Change]) -> None:
    """Reference the contents that changes mention, so that prune keeps them."""
    names = {entry.hash for one in changes for entry in (one.before, one.after) if entry is not None and entry.held}
    tx.many("use_workspace_blob", [{"hash": name, "snap": snap} for name in sorted(names)])


class SnapshotWriter:
    """Writes a snapshot; contents that exceed one transaction are written ahead.

    `snap` continues an incomplete snapshot of another process.
    """

    def __init__(
        self, driver: Driver, workspace: int, author: Author, source: str, at: int, *, snap: int | None = None
    ) -> None:
        self._driver, self._workspace, self.author, self._source, self._at = driver, workspace, author, source, at
        self._blobs: dict[bytes, tuple[int, bytes]] = {}
        self._size = 0
        self._snap = snap
        self.begun = snap is not None

    @property
    def empty(self) -> bool:
        """Whether nothing has been added yet."""
        return self._snap is None and not self._blobs

    def keep(self, name: bytes, data: bytes) -> None:
        if name not in self._blobs:
            small = bodies.compress_fast(data)
            self._blobs[name] = (len(data), small)
            self._size += len(small)
            if self._size > _FLUSH:
                self._snap = self._driver.write(self._flush)
                self._blobs, self._size = {}, 0

    def begin(self, process: int, seen: list[Change]) -> None:
        """Store the entries before a tool runs, and that this process runs it."""

        def job(tx: Tx) -> int:
            snap = self._flush(tx)
            tx.run("finish_workspace_snapshot", snap=snap, state=BEING_WRITTEN, partial=0, body=packed(seen))
            tx.run(
                "name_workspace_snapshot", snap=snap, source=f"{_OPEN}{process}", message=safe(self.author.message_id)
            )
            reference_contents(tx, snap, seen)
            return snap

        self._snap, self.begun = self._driver.write(job), True
        self._blobs, self._size = {}, 0

    def drop(self, tx: Tx) -> None:
        """Delete the snapshot: nothing changed."""
        if self._snap is not None:
            drop_snapshot(tx, self._snap)

    def _flush(self, tx: Tx) -> int:
        snap = self._snap
        if snap is None:
            snap = add_snapshot(tx, self._workspace, self.author, self._source, self._at, [], state=BEING_WRITTEN)
        if self._blobs:
            tx.one("share_blobs")
            tx.many("add_blob", [{"hash": n, "size": s, "data": d} for n, (s, d) in self._blobs.items()])
            tx.many("use_workspace_blob", [{"hash": name, "snap": snap} for name in self._blobs])
        return snap

    def finish(self, tx: Tx, changes: list[Change], *, partial: bool = False, state: int = IN_FILES) -> int:
        """Write the rest and mark the snapshot complete."""
        snap = self._flush(tx)
        tx.run("finish_workspace_snapshot", snap=snap, state=state, partial=int(partial), body=packed(changes))
        if self.begun:
            tx.run("name_workspace_snapshot", snap=snap, source=self._source, message=safe(self.author.message_id))
        reference_contents(tx, snap, changes)
        return snap


def drop_snapshot(tx: Tx, snap: int) -> None:
    tx.run("delete_workspace_uses", snap=snap)
    tx.run("delete_workspace_snapshot", snap=snap)


def add_operation(tx: Tx, workspace: int, author: Author, kind: str, snap: int, at: int, operation: Operation) -> int:
    thread = None if author.thread_id is None else find_thread(tx, author.thread_id).thread
    row = tx.one(
        "add_workspace_change",
        workspace=workspace,
        thread=thread,
        kind=kind,
        state="intent",
        snap=snap,
        at=at,
        body=packed(operation),
    )
    assert row is not None
    return int(row[0])


def set_operation(tx: Tx, number: int, state: str, operation: Operation) -> None:
    tx.run("set_workspace_change", change=number, state=state, body=packed(operation))
