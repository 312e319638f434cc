"""Workspaces, snapshots and changes as the ledger keeps them: rows as values, each write one transaction.

What a snapshot says and what it holds are written together; a snapshot too large for one transaction is finished by
the last, and one that was never finished is taken away at the next start.
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
_OPEN = "open "  # the source of a snapshot whose tool is at work, with the number of its process
_FLUSH = 32 << 20


class By(Struct, frozen=True, kw_only=True):
    """Whose change it is; without a thread it was made outside."""

    thread_id: str | None = None
    message_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None


OUTSIDE = By()


class Snapshot(Struct, frozen=True, kw_only=True):
    """What changed, by whom, when, and how we know: tool, scan, window, transcript; base is the first look."""

    number: int
    by: By
    source: str
    at: int
    state: int
    partial: bool
    changes: list[Change]

    @property
    def process(self) -> int | None:
        """The process of a tool that is at work, or died at it."""
        return int(self.source[len(_OPEN) :]) if self.source.startswith(_OPEN) else None


class Item(Struct, frozen=True, array_like=True):
    """One path of an undo: what was found there, what is put there instead."""

    path: bytes
    found: Entry | None
    wrote: Entry | None


class Deed(Struct, frozen=True, kw_only=True):
    """What an undo, redo or restore did: from which head to which, which snapshots it took back, which paths."""

    slots: str = ""
    from_head: str | None = None
    to_head: str | None = None
    moves: bool = False  # whether the head moves with it
    undoes: list[int] = []
    redoes: list[int] = []
    items: list[Item] = []
    conflicts: list[tuple[bytes, str]] = []
    redo_of: int | None = None


class Done(Struct, frozen=True, kw_only=True):
    """A deed as it is recorded."""

    number: int
    thread_id: str | None
    kind: str
    state: str
    snap: int
    at: int
    deed: Deed


_deeds = msgspec.msgpack.Decoder(Deed)


def snapshot_of(row: Row) -> Snapshot:
    snap, thread, message, run, agent, source, at, state, partial, body = row
    by = By(thread_id=unsafe(thread), message_id=unsafe(message), run_id=unsafe(run), agent_id=unsafe(agent))
    return Snapshot(
        number=snap, by=by, source=source, at=at, state=state, partial=bool(partial), changes=changes_of(bytes(body))
    )


def done_of(row: Row) -> Done:
    number, thread, kind, state, snap, at, body = row
    deed = _deeds.decode(bodies.unseal(bytes(body)))
    return Done(number=number, thread_id=unsafe(thread), kind=kind, state=state, snap=snap, at=at, deed=deed)


def find_workspace(tx: Tx, root: str) -> int | None:
    row = tx.one("workspace_by_root", root=safe(root))
    return None if row is None else int(row[0])


def make_workspace(tx: Tx, root: str) -> int:
    tx.run("add_workspace", root=safe(root))
    found = find_workspace(tx, root)
    assert found is not None
    return found


def snapshots(tx: Tx, workspace: int, after: int = 0) -> list[Snapshot]:
    return [snapshot_of(row) for row in tx.all("workspace_snapshots", workspace=workspace, after=after)]


def snapshots_of(tx: Tx, workspace: int, thread_id: str) -> list[Snapshot]:
    return [snapshot_of(row) for row in tx.all("workspace_snapshots_of", workspace=workspace, id=safe(thread_id))]


def being_written(tx: Tx, workspace: int) -> list[Snapshot]:
    """Snapshots that were begun and not finished, by the living and by the dead."""
    return [snapshot_of(row) for row in tx.all("unfinished_workspace_snapshots", workspace=workspace)]


def deeds(tx: Tx, workspace: int) -> list[Done]:
    return [done_of(row) for row in tx.all("workspace_changes", workspace=workspace)]


def unfinished(tx: Tx, workspace: int) -> list[Done]:
    return [done_of(row) for row in tx.all("unfinished_workspace_changes", workspace=workspace)]


def content(tx: Tx, name: bytes) -> bytes:
    """What a file or link held."""
    row = tx.one("blob", hash=name)
    if row is None:
        raise StorageError(f"the content {name.hex()} is not in the ledger; run `hansard verify`, restore a backup")
    data = bodies.decompress(bytes(row[0]))
    if content_hash(data) != name:
        raise StorageError(f"the content {name.hex()} is damaged; run `hansard verify`, restore a backup")
    return data


def has_content(tx: Tx, name: bytes) -> bool:
    return tx.one("blob_size", hash=name) is not None


def add_snapshot(
    tx: Tx, workspace: int, by: By, source: str, at: int, changes: list[Change], *, state: int, partial: bool = False
) -> int:
    thread = None if by.thread_id is None else find_thread(tx, by.thread_id).thread
    row = tx.one(
        "add_workspace_snapshot",
        workspace=workspace,
        thread=thread,
        message=safe(by.message_id),
        run=safe(by.run_id),
        agent=safe(by.agent_id),
        source=source,
        at=at,
        state=state,
        partial=int(partial),
        body=packed(changes),
    )
    assert row is not None
    return int(row[0])


def use(tx: Tx, snap: int, changes: list[Change]) -> None:
    """A snapshot holds what its changes speak of."""
    names = {entry.hash for one in changes for entry in (one.before, one.after) if entry is not None and entry.held}
    tx.many("use_workspace_blob", [{"hash": name, "snap": snap} for name in sorted(names)])


class Filing:
    """A snapshot on its way in. `keep` takes contents; what does not fit into one transaction is written before.

    `snap` is the number of one that another process began and did not finish.
    """

    def __init__(
        self, driver: Driver, workspace: int, by: By, source: str, at: int, *, snap: int | None = None
    ) -> None:
        self._driver, self._workspace, self.by, self._source, self._at = driver, workspace, by, source, at
        self._blobs: dict[bytes, tuple[int, bytes]] = {}
        self._size = 0
        self._snap = snap
        self.begun = snap is not None

    @property
    def empty(self) -> bool:
        """Whether it holds nothing yet."""
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
        """Make durable what is there before a tool begins, and that this process is at it."""

        def job(tx: Tx) -> int:
            snap = self._flush(tx)
            tx.run("finish_workspace_snapshot", snap=snap, state=BEING_WRITTEN, partial=0, body=packed(seen))
            tx.run("name_workspace_snapshot", snap=snap, source=f"{_OPEN}{process}", message=safe(self.by.message_id))
            use(tx, snap, seen)
            return snap

        self._snap, self.begun = self._driver.write(job), True
        self._blobs, self._size = {}, 0

    def drop(self, tx: Tx) -> None:
        """Nothing came of it."""
        if self._snap is not None:
            drop_snapshot(tx, self._snap)

    def _flush(self, tx: Tx) -> int:
        snap = self._snap
        if snap is None:
            snap = add_snapshot(tx, self._workspace, self.by, self._source, self._at, [], state=BEING_WRITTEN)
        if self._blobs:
            tx.one("share_blobs")
            tx.many("add_blob", [{"hash": n, "size": s, "data": d} for n, (s, d) in self._blobs.items()])
            tx.many("use_workspace_blob", [{"hash": name, "snap": snap} for name in self._blobs])
        return snap

    def finish(self, tx: Tx, changes: list[Change], *, partial: bool = False, state: int = IN_FILES) -> int:
        """The rest of it, in the transaction that makes it count."""
        snap = self._flush(tx)
        tx.run("finish_workspace_snapshot", snap=snap, state=state, partial=int(partial), body=packed(changes))
        if self.begun:
            tx.run("name_workspace_snapshot", snap=snap, source=self._source, message=safe(self.by.message_id))
        use(tx, snap, changes)
        return snap


def drop_snapshot(tx: Tx, snap: int) -> None:
    tx.run("delete_workspace_uses", snap=snap)
    tx.run("delete_workspace_snapshot", snap=snap)


def add_deed(tx: Tx, workspace: int, by: By, kind: str, snap: int, at: int, deed: Deed) -> int:
    thread = None if by.thread_id is None else find_thread(tx, by.thread_id).thread
    row = tx.one(
        "add_workspace_change",
        workspace=workspace,
        thread=thread,
        kind=kind,
        state="intent",
        snap=snap,
        at=at,
        body=packed(deed),
    )
    assert row is not None
    return int(row[0])


def set_deed(tx: Tx, number: int, state: str, deed: Deed) -> None:
    tx.run("set_workspace_change", change=number, state=state, body=packed(deed))
