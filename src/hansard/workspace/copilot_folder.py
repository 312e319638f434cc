"""Copilot CLI's images of files: `rewind-file-snapshots` of a session as changes of its thread.

    index.json      for each prompt (the id of its event) the files, with an image before (preimage) and after
    backups/HASH    the content before, by its SHA-256; of the content after only the hash is kept

They include what shell commands changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from typing import Any

import msgspec

from hansard.ledger.ids import clock
from hansard.model.conversation import Conversation
from hansard.workspace.entries import FILE, Change, Entry
from hansard.workspace.imported_edits import UNRECORDED_ENTRY, path_in_root, session_folder
from hansard.workspace.snapshots import Author, SnapshotWriter
from hansard.workspace.workspace import Workspace

_HASH = re.compile("[0-9a-f]{64}")
_LARGEST = 64 << 20


def read_folder(workspace: Workspace, thread_id: str, conversation: Conversation, folder: str) -> set[str] | None:
    """Record the images of a session's folder; the prompts that they cover, or None if there are none."""
    index = _index(folder)
    if index is None:
        return None
    known = {one.author.message_id for one in workspace.snapshots(thread_id)}
    base = session_folder(conversation) or workspace.root.path
    covered: set[str] = set()
    for image in index:
        prompt, files = image.get("eventId"), image.get("files")
        if not isinstance(prompt, str) or not isinstance(files, dict):
            continue
        covered.add(prompt)
        if prompt in known:
            continue
        author = Author(thread_id=thread_id, message_id=prompt)
        writer = SnapshotWriter(workspace.driver, workspace.number, author, "transcript", clock())
        changes = []
        for one in files.values():
            path = path_in_root(workspace.root.path, base, str(one.get("path"))) if isinstance(one, dict) else None
            if path is not None:
                before = _entry(one.get("preimage"), folder, writer)
                changes.append(Change(path, before, _entry(one.get("postimage"), None, writer)))
        if changes:
            workspace.driver.write(lambda tx, writer=writer, changes=changes: writer.finish(tx, changes))  # type: ignore[misc]
    return covered


def _index(folder: str) -> list[dict[str, Any]] | None:
    """The images in the index, in order."""
    try:
        with open(os.path.join(folder, "rewind-file-snapshots", "index.json"), "rb") as file:
            found = msgspec.json.decode(file.read(_LARGEST))
    except (OSError, msgspec.DecodeError):
        return None
    listed = found.get("snapshots") if isinstance(found, dict) else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else None


def _entry(image: Any, folder: str | None, writer: SnapshotWriter) -> Entry | None:
    """The entry of an image; with a folder its content, checked against its hash."""
    if not isinstance(image, dict) or image.get("kind") not in ("absent", "content"):
        return UNRECORDED_ENTRY
    if image["kind"] == "absent":
        return None
    told = image.get("contentHash")
    if not isinstance(told, str) or _HASH.fullmatch(told) is None:
        return UNRECORDED_ENTRY
    mode = stat.S_IMODE(image["mode"]) & 0o777 if isinstance(image.get("mode"), int) else None
    size = image.get("size")
    if folder is None:
        return Entry(FILE, mode, bytes.fromhex(told), size if isinstance(size, int) else 0)
    data = _backup(folder, str(image.get("backupFile")))
    if data is None or hashlib.sha256(data).hexdigest() != told:
        return UNRECORDED_ENTRY
    writer.keep(bytes.fromhex(told), data)
    return Entry(FILE, mode, bytes.fromhex(told), len(data))


def _backup(folder: str, name: str) -> bytes | None:
    if _HASH.fullmatch(name) is None:
        return None
    path = os.path.join(folder, "rewind-file-snapshots", "backups", name)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        return file.read(_LARGEST)
