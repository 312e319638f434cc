"""Files as they were at a message or snapshot, changes of a message, and diffs.

The state of a path at a message is the one after the thread's last snapshot up to that message. Snapshots of a thread
recorded live share one timeline with all other authors; a thread imported from a transcript has only its own.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable

from msgspec import Struct

from hansard.errors import HansardError, NotFound
from hansard.workspace import rooted_fs, scan
from hansard.workspace.entries import ANY, Change, Entry, Refused, same
from hansard.workspace.snapshots import IMPORTED, Snapshot
from hansard.workspace.workspace import Workspace


class State(Struct, frozen=True, kw_only=True):
    """All recorded paths with their entries; None: nothing there."""

    files: dict[bytes, Entry | None]

    def entry(self, path: bytes) -> Entry | None:
        if path not in self.files:
            raise NotFound(f"no recorded state of {os.fsdecode(path)!r}; `hansard history` lists the recorded changes")
        return self.files[path]


def at_message(workspace: Workspace, thread_id: str, message_id: str | None) -> State:
    """The files as they were at a message; None: before the first message."""
    parents = {node.id: node.parent_id for node in workspace.ledger.tree(thread_id)}
    if message_id is not None and message_id not in parents:
        raise NotFound(f"no message {message_id!r} in thread {thread_id!r}; `hansard tree` lists them")
    up: set[str | None] = {None}
    at = message_id
    while at is not None:
        up.add(at)
        at = parents[at]
    own = [one for one in workspace.snapshots(thread_id) if one.source not in ("undo", "redo")]
    imported = bool(own) and all(one.source in IMPORTED for one in own)
    line = own if imported else [one for one in workspace.snapshots() if one.source not in IMPORTED]
    last = max((one.number for one in own if one.author.message_id in up), default=0)
    if not last:
        last = min((one.number for one in own), default=0) - 1
    return _state(workspace, line, last, imported)


def at_snapshot(workspace: Workspace, number: int, *, before: bool = False) -> State:
    """The files as they were after a snapshot, or before it."""
    line = workspace.snapshots()
    if number not in {one.number for one in line}:
        raise NotFound(f"no snapshot {number}; `hansard history` lists them")
    return _state(workspace, line, number - 1 if before else number, False)


def _state(workspace: Workspace, line: list[Snapshot], last: int, imported: bool) -> State:
    files: dict[bytes, Entry | None] = {}
    later: dict[bytes, Entry | None] = {}
    for one in line:
        for change in one.changes:
            if one.number <= last:
                files[change.path] = change.after
            elif change.path not in files and one.source != "base":
                later.setdefault(change.path, change.before)
    for path, entry in later.items():
        files.setdefault(path, entry)
    if not imported:
        for path, entry in scan.all_entries(workspace.index()):
            files.setdefault(path, entry)
    return State(files=files)


def changes_of(workspace: Workspace, thread_id: str, message_id: str) -> list[Change]:
    """The changes of a message: the first `before` and the last `after` of every path."""
    found: dict[bytes, Change] = {}
    for one in workspace.snapshots(thread_id):
        if one.author.message_id == message_id and one.source not in ("undo", "redo"):
            for change in one.changes:
                first = found.get(change.path, change)
                found[change.path] = Change(change.path, first.before, change.after)
    return [found[path] for path in sorted(found) if not same(found[path].before, found[path].after)]


@rooted_fs.translate_os_errors()
def changes_since(workspace: Workspace, thread_id: str, message_id: str) -> list[Change]:
    """How the current files differ from those at a message, for recorded paths."""
    found: list[Change] = []
    for path, entry in sorted(at_message(workspace, thread_id, message_id).files.items()):
        try:
            now, _ = workspace.root.read_entry(path, workspace.limits.file_size)
        except Refused:  # the name cannot exist on this file system
            now = None
        if not same(entry, now):
            found.append(Change(path, entry, now))
    return found


def diff(workspace: Workspace, change: Change) -> str:
    """A change as a unified diff; a description for what is not text."""
    return unified_diff(change, lambda entry: _content(workspace, change.path, entry))


def unified_diff(change: Change, content: Callable[[Entry], bytes | None]) -> str:
    """The same, with a function that returns the content of an entry, or None if unknown."""
    name = os.fsdecode(change.path)
    texts: list[str] = []
    for entry in (change.before, change.after):
        text = _text(entry, content)
        if text is None:
            return f"{name}: {describe(change)}\n"
        texts.append(text)
    lines = difflib.unified_diff(
        texts[0].splitlines(keepends=True),
        texts[1].splitlines(keepends=True),
        "/dev/null" if change.before is None else f"a/{name}",
        "/dev/null" if change.after is None else f"b/{name}",
    )
    out = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    modes = [entry.mode for entry in (change.before, change.after) if entry is not None and entry.mode is not None]
    if len(modes) == 2 and modes[0] != modes[1]:
        out = f"{name}: mode {modes[0]:o} to {modes[1]:o}\n{out}"
    return out or f"{name}: {describe(change)}\n"


def describe(change: Change) -> str:
    """The kind of a change: created, deleted or modified, and of what."""
    kinds = [entry.kind for entry in (change.before, change.after) if entry is not None]
    what = "" if set(kinds) <= {"file", ANY} else f" ({' to '.join(dict.fromkeys(kinds))})"
    return ("created" if change.before is None else "deleted" if change.after is None else "modified") + what


def _content(workspace: Workspace, path: bytes, entry: Entry) -> bytes | None:
    try:
        return workspace.content(entry)
    except HansardError:
        now, data = workspace.root.read_entry(path, workspace.limits.file_size)  # not recorded yet: read the file
        return data if same(now, entry) else None


def _text(entry: Entry | None, content: Callable[[Entry], bytes | None]) -> str | None:
    if entry is None:
        return ""
    data = content(entry) if entry.kind == "file" else None
    try:
        return None if data is None or b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None
