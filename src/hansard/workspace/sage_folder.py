"""Write the file changes of a thread as Sage's `snapshots.jsonl` and `backups/`; `sage_snapshots` reads them.

    change        trackedFiles[path]: state created / modified / deleted, contentHash, size, originalContent
    content       originalContent where it is short text, else fileBackups[path] and a file in backups/
    mode, links   `mode` and `kind` beside Sage's own keys; Sage ignores them
"""

from __future__ import annotations

import os
from typing import Any

from msgspec import UNSET

from hansard.atomic_file import make_folders, write_whole
from hansard.errors import HansardError
from hansard.formats.coding_agents.sage.records import write_snapshot
from hansard.model import exact_json
from hansard.model.conversation import Snapshot as SageSnapshot
from hansard.model.times import iso_time
from hansard.workspace.entries import FILE, Change, Entry, content_hash
from hansard.workspace.workspace import Workspace

_INLINE = 64 << 10


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
