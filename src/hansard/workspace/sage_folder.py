"""Sage's session folders: read `snapshots.jsonl` and `backups/` into a workspace and write them from one.

    change        trackedFiles[path]: state created / modified / deleted, contentHash, size, originalContent
    content       originalContent where it is text, else fileBackups[path] and a file in backups/
    mode, links   `mode` and `kind` beside Sage's own keys; Sage ignores them

A file without recorded content is not taken for a new one: its backup is used, else its content is unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from hansard.atomic_file import make_folders, write_whole
from hansard.errors import HansardError
from hansard.formats.coding_agents.sage.records import write_snapshot
from hansard.ledger.ids import clock
from hansard.model import exact_json
from hansard.model.conversation import Conversation
from hansard.model.conversation import Snapshot as SageSnapshot
from hansard.model.times import iso_time
from hansard.workspace.entries import FILE, FOLDER, LINK, Change, Entry, content_hash
from hansard.workspace.imported_edits import UNRECORDED_ENTRY, path_in_root
from hansard.workspace.snapshots import Author, SnapshotWriter
from hansard.workspace.workspace import Workspace

_SHA256 = re.compile("[0-9a-f]{64}")
_INLINE = 64 << 10


def read_folder(workspace: Workspace, thread_id: str, folder: str) -> int:
    """Record the snapshots of an imported Sage session as changes of its thread; returns how many are new."""
    conversation = workspace.ledger.export_conversation(thread_id)
    known = {one.author.message_id for one in workspace.snapshots(thread_id)}
    count = 0
    for snapshot in [] if conversation.snapshots is UNSET else conversation.snapshots:
        if not isinstance(snapshot.message_id, str) or snapshot.message_id in known:
            continue
        author = Author(thread_id=thread_id, message_id=snapshot.message_id)
        writer = SnapshotWriter(workspace.driver, workspace.number, author, "transcript", clock())
        changes = list(_read_changes(workspace, conversation, snapshot, folder, writer))
        if changes:
            workspace.driver.write(lambda tx, writer=writer, changes=changes: writer.finish(tx, changes))  # type: ignore[misc]
            count += 1
    return count


def _read_changes(
    workspace: Workspace, conversation: Conversation, snapshot: SageSnapshot, folder: str, writer: SnapshotWriter
) -> Iterator[Change]:
    base = next((m.context.cwd for m in conversation.messages if m.context and isinstance(m.context.cwd, str)), "")
    backups = snapshot.backups if isinstance(snapshot.backups, dict) else {}
    for name, one in (snapshot.files if isinstance(snapshot.files, dict) else {}).items():
        if type(one) is not dict:
            continue
        path = path_in_root(workspace.root.path, base or workspace.root.path, os.fsdecode(_spelled(name, one)))
        if path is None:
            continue
        state = one.get("state")
        before = None if state == "created" else _before(one, backups.get(name), folder, writer)
        after = None if state == "deleted" else _after(one)
        yield Change(path, before, after)


def _before(one: dict[str, Any], backup: Any, folder: str, writer: SnapshotWriter) -> Entry | None:
    kind, mode = one.get("originalKind", FILE), one.get("originalMode")
    mode = mode if type(mode) is int else None
    if kind == FOLDER:
        return Entry(FOLDER, mode)
    data: bytes | None = None
    if isinstance(one.get("originalContent"), str):
        data = one["originalContent"].encode("utf-8", "surrogatepass")
    elif type(backup) is dict and isinstance(backup.get("backupPath"), str):
        data = _backup(folder, backup["backupPath"])
    if data is None:
        return UNRECORDED_ENTRY
    writer.keep(content_hash(data), data)
    return Entry(LINK if kind == LINK else FILE, None if kind == LINK else mode, content_hash(data), len(data))


def _after(one: dict[str, Any]) -> Entry:
    kind, mode, told = one.get("kind", FILE), one.get("mode"), one.get("contentHash")
    mode = mode if type(mode) is int else None
    if kind == FOLDER:
        return Entry(FOLDER, mode)
    if not isinstance(told, str) or _SHA256.fullmatch(told) is None:
        return UNRECORDED_ENTRY
    size = one.get("size")
    return Entry(kind if kind in (FILE, LINK) else FILE, mode, bytes.fromhex(told), size if type(size) is int else 0)


def _backup(folder: str, told: str) -> bytes | None:
    """The backup that a record names; only its base name is used, inside the session's folder."""
    path = os.path.join(folder, "backups", os.path.basename(told))
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(file, "rb") as opened:
        return opened.read()


def write_folder(workspace: Workspace, thread_id: str, folder: str) -> int:
    """Write a thread's changes as `snapshots.jsonl` and `backups/` into a folder; returns the number of snapshots."""
    make_folders(os.path.join(os.path.abspath(folder), "backups"))
    lines: list[bytes] = []
    for one in workspace.snapshots(thread_id):
        if one.source in ("undo", "redo", "restore", "late"):
            continue
        files: dict[str, Any] = {}
        backups: dict[str, Any] = {}
        for change in one.changes:
            name, record = _write_change(change)
            data = _content(workspace, change.before)
            text = _inline(data)
            record["originalContent"] = text
            if data is not None and text is None:
                backups[name] = _write_backup(folder, data)
            files[name] = record
        snapshot = SageSnapshot(
            message_id=one.author.message_id if one.author.message_id is not None else UNSET,
            created_at=iso_time(one.at),
            update=False,
            files=files,
            backups=backups,
        )
        lines.append(exact_json.encode(write_snapshot(snapshot)) + b"\n")
    write_whole(os.path.join(folder, "snapshots.jsonl"), b"".join(lines))
    return len(lines)


def _write_change(change: Change) -> tuple[str, dict[str, Any]]:
    name = change.path.decode("utf-8", "backslashreplace")
    state = "created" if change.before is None else "deleted" if change.after is None else "modified"
    after = change.after or Entry(FILE)
    record: dict[str, Any] = {
        "originalContent": None,
        "contentHash": after.hash.hex() if change.after is not None and after.hash else None,
        "size": after.size,
        "state": state,
    }
    if name.encode() != change.path:
        record["pathBytes"] = change.path.hex()
    for key, entry in (("", change.after), ("original", change.before)):
        if entry is not None:
            record[f"{key}Mode" if key else "mode"] = entry.mode
            if entry.kind != FILE:
                record[f"{key}Kind" if key else "kind"] = entry.kind
    return name, record


def _spelled(name: str, one: dict[str, Any]) -> bytes:
    told = one.get("pathBytes")
    if isinstance(told, str) and re.fullmatch("(?:[0-9a-f]{2})+", told):
        return bytes.fromhex(told)
    return name.encode("utf-8", "surrogatepass")


def _content(workspace: Workspace, entry: Entry | None) -> bytes | None:
    if entry is None or not entry.held:
        return None

    try:
        return workspace.content(entry)
    except HansardError:
        return None


def _inline(data: bytes | None) -> str | None:
    if data is None or len(data) > _INLINE:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _write_backup(folder: str, data: bytes) -> dict[str, str]:
    name = f"{content_hash(data).hex()}.backup"
    write_whole(os.path.join(folder, "backups", name), data)
    return {"backupPath": f"backups/{name}", "originalHash": content_hash(data).hex()}
