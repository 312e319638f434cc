"""File snapshots of imported Sage sessions as changes of a workspace.

    before        originalContent where it is text, else the backup that fileBackups names, verified by originalHash
    after         contentHash and size; `ANY` for a path that only fileBackups names
    state         created: nothing before; deleted: nothing after; modified; unchanged: no change
    mode, links   `mode` and `kind` beside Sage's own keys; Sage ignores them

A hash that is not a SHA-256 in hexadecimal leaves a doubt on the entry, a missing or different backup one that keeps
the file; both refuse an undo by name. A snapshot with isSnapshotUpdate replaces the one before it of the same message.
Snapshots with such entries are read again each time, so that a backup which is put back is found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import UNSET

from hansard.ledger import sources
from hansard.ledger.ids import clock
from hansard.model.conversation import Conversation
from hansard.model.conversation import Snapshot as SageSnapshot
from hansard.model.times import milliseconds
from hansard.workspace import snapshots
from hansard.workspace.entries import ANY, FILE, FOLDER, LINK, UNRECORDED, Change, Entry, content_hash
from hansard.workspace.imported_edits import path_in_root
from hansard.workspace.sage.backups import Backups
from hansard.workspace.snapshots import IMPORTED, SAGE, Author, SnapshotWriter
from hansard.workspace.workspace import Workspace

_SHA256 = re.compile("[0-9a-fA-F]{64}")


class ReadSnapshots(NamedTuple):
    """New or changed snapshots, and what was left out: files outside the workspace, ids of unknown messages."""

    changed: int
    elsewhere: list[str]
    unknown: list[str]


def read_snapshots(workspace: Workspace, thread_id: str, folder: str | None = None) -> ReadSnapshots:
    """Record the snapshots of an imported Sage session, whose files are in `folder`, as changes of its thread."""
    conversation = workspace.ledger.export_conversation(thread_id)
    folder = folder or _folder(workspace, thread_id)
    if not _is_sage(conversation) and folder is None:
        return ReadSnapshots(0, [], [])
    return _Import(workspace, thread_id, conversation, folder).run()


def _folder(workspace: Workspace, thread_id: str) -> str | None:
    """The folder of the session that a thread was imported from."""
    found = workspace.ledger._read(lambda tx: sources.of_thread(tx, thread_id))
    return next((os.path.dirname(one.uri) for one in found if one.format == "sage" and one.main), None)


def _is_sage(conversation: Conversation) -> bool:
    return any(isinstance(one.files, dict) for one in _snapshots(conversation))


def _snapshots(conversation: Conversation) -> list[SageSnapshot]:
    return conversation.snapshots if isinstance(conversation.snapshots, list) else []


class _Import:
    def __init__(self, workspace: Workspace, thread_id: str, conversation: Conversation, folder: str | None) -> None:
        self.workspace, self.thread_id = workspace, thread_id
        self.snapshots = _snapshots(conversation)
        self.backups = Backups(folder, workspace.root.path, workspace.limits.file_size)
        self.folders = {
            one.id: one.context.cwd
            for one in conversation.messages
            if isinstance(one.id, str) and one.context and isinstance(one.context.cwd, str)
        }
        self.messages = {node.id for node in workspace.ledger.tree(thread_id)}
        self.elsewhere: dict[str, None] = {}
        self.unknown: dict[str, None] = {}

    def run(self) -> ReadSnapshots:
        stored: dict[str | None, list[snapshots.Snapshot]] = {}
        for one in self.workspace.snapshots(self.thread_id):
            if one.source in IMPORTED:
                stored.setdefault(one.author.message_id, []).append(one)
        count = 0
        for message_id, records in self._by_message().items():
            before = stored.get(message_id, [])
            for i, record in enumerate(records):
                known = before[i] if i < len(before) else None
                if known is None or (known.state == snapshots.IN_FILES and (_unsure(known) or record.update is True)):
                    count += self._record(message_id, record, known)
            for known in before[len(records) :]:
                if known.source == SAGE and known.state == snapshots.IN_FILES and known.changes:
                    count += self._record(message_id, SageSnapshot(), known)  # an update replaced it by nothing
        return ReadSnapshots(count, list(self.elsewhere), list(self.unknown))

    def _by_message(self) -> dict[str, list[SageSnapshot]]:
        """The snapshots in force of each message."""
        found: dict[str, list[SageSnapshot]] = {}
        for one in self.snapshots:
            if not isinstance(one.message_id, str):
                continue
            if one.message_id not in self.messages:
                self.unknown[one.message_id] = None
                continue
            records = found.setdefault(one.message_id, [])
            if one.update is True and records:
                records.pop()
            records.append(one)
        return {key: [one for one in records if any(self._paths(one))] for key, records in found.items()}

    def _record(self, message_id: str, record: SageSnapshot, known: snapshots.Snapshot | None) -> int:
        """Write a snapshot, or replace a known one; 1 if anything changed."""
        at = milliseconds(record.created_at) if isinstance(record.created_at, str) else None
        writer = SnapshotWriter(
            self.workspace.driver,
            self.workspace.number,
            Author(thread_id=self.thread_id, message_id=message_id),
            SAGE,
            clock() if at is None else at,
            snap=None if known is None else known.number,
        )
        changes = [self._change(writer, path, name, record) for path, name in self._paths(record)]
        if known is not None and changes == known.changes:
            return 0
        self.workspace.driver.write(lambda tx: writer.finish(tx, changes))
        return 1

    def _paths(self, record: SageSnapshot) -> Iterator[tuple[bytes, str]]:
        """The changed paths of a snapshot below the root, each with its name in the record."""
        files, backups = _dict(record.files), _dict(record.backups)
        root = self.workspace.root.path
        own = self.folders.get(record.message_id) if isinstance(record.message_id, str) else None
        base = own or next(iter(self.folders.values()), root)
        met: set[bytes] = set()
        for name in [*files, *(name for name in backups if name not in files)]:
            one = files.get(name)
            if isinstance(one, dict) and one.get("state") == "unchanged":
                continue
            path = path_in_root(root, base, os.fsdecode(_spelled(name, one)))
            if path is None:
                self.elsewhere[name] = None
            elif path not in met:
                met.add(path)
                yield path, name

    def _change(self, writer: SnapshotWriter, path: bytes, name: str, record: SageSnapshot) -> Change:
        one, backup = _dict(record.files).get(name), _dict(record.backups).get(name)
        if name not in _dict(record.files):
            return Change(path, self._before({}, backup, writer), Entry(ANY))
        if not isinstance(one, dict):
            return Change(path, Entry(UNRECORDED, doubt="its record in trackedFiles is not an object"), Entry(ANY))
        created = one.get("state") == "created" and backup is None
        before = None if created else self._before(one, backup, writer)
        return Change(path, before, None if one.get("state") == "deleted" else _after(one))

    def _before(self, one: dict[str, Any], backup: Any, writer: SnapshotWriter) -> Entry:
        kind, mode = one.get("originalKind", FILE), _mode(one.get("originalMode"))
        if kind == FOLDER:
            return Entry(FOLDER, mode)
        backup = _dict(backup)
        told, where = backup.get("originalHash"), backup.get("backupPath")
        text = one.get("originalContent")
        data: bytes | str
        if isinstance(text, str):
            data, what = text.encode("utf-8", "surrogatepass"), "originalContent"
        elif isinstance(where, str):
            data, what = self.backups.read(where), f"backup {where}"
        else:
            return Entry(UNRECORDED, doubt="the snapshot has neither originalContent nor a backup of it")
        if isinstance(data, str):
            return Entry(UNRECORDED, doubt=f"its {what} {data}")
        doubt, found = "", content_hash(data)
        if isinstance(told, str) and _SHA256.fullmatch(told):
            if told.lower() != found.hex():
                differs = f"(SHA-256 {told.lower()[:12]}... recorded, {found.hex()[:12]}... found)"
                return Entry(UNRECORDED, doubt=f"its {what} does not match originalHash {differs}")
        elif not isinstance(text, str) or told is not None:
            doubt = _unverifiable("originalHash", told)
        writer.keep(found, data)
        link = kind == LINK
        return Entry(LINK if link else FILE, None if link else mode, found, len(data), doubt)


def _after(one: dict[str, Any]) -> Entry:
    kind, mode, told, size = one.get("kind", FILE), _mode(one.get("mode")), one.get("contentHash"), one.get("size")
    if kind == FOLDER:
        return Entry(FOLDER, mode)
    kind, size = kind if kind in (FILE, LINK) else FILE, size if type(size) is int else 0
    if not isinstance(told, str) or _SHA256.fullmatch(told) is None:
        return Entry(kind, mode, b"", size, _unverifiable("contentHash", told))
    return Entry(kind, mode, bytes.fromhex(told), size)


def _unverifiable(key: str, told: Any) -> str:
    if told is None:
        return f"cannot be verified: the snapshot has no {key}"
    shown = repr(told) if len(repr(told)) < 80 else f"{repr(told)[:80]}..."
    return f"cannot be verified: its {key} {shown} is not a SHA-256"


def _unsure(known: snapshots.Snapshot) -> bool:
    """Whether a recorded snapshot has entries that a later look may settle."""
    entries = [entry for change in known.changes for entry in (change.before, change.after) if entry is not None]
    return any(entry.doubt or entry.kind == UNRECORDED for entry in entries)


def _mode(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= 0o7777 else None


def _dict(value: Any) -> dict[str, Any]:
    return value if value is not UNSET and isinstance(value, dict) else {}


def _spelled(name: str, one: Any) -> bytes:
    """The bytes of a file name, which JSON cannot always hold."""
    told = one.get("pathBytes") if isinstance(one, dict) else None
    if isinstance(told, str) and re.fullmatch("(?:[0-9a-f]{2})+", told):
        return bytes.fromhex(told)
    return name.encode("utf-8", "surrogatepass")
