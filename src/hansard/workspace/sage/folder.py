"""A thread as the folder of a Sage session: messages, snapshots of its file changes, metadata and backups.

A thread imported from such a folder has its bytes back, with records for later messages and file changes appended. Any
other thread, and one of the older message shape, is written complete.

    change        trackedFiles[path]: state created / modified / deleted, contentHash, size, originalContent
    content       originalContent where it is short text, else fileBackups[path] and a file in backups/
    mode, links   `mode` and `kind` beside Sage's own keys; Sage ignores them
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.atomic_file import make_folders, write_whole
from hansard.errors import HansardError
from hansard.formats.coding_agents.identity import NO_TIME, derived_uuid, first_time, session_uuid
from hansard.formats.coding_agents.sage.complete import is_older, prepared
from hansard.formats.coding_agents.sage.folder import (
    BACKUPS,
    MESSAGES,
    METADATA,
    SNAPSHOTS,
    Metadata,
    platform_name,
    read_metadata,
    write_metadata,
)
from hansard.formats.coding_agents.sage.records import write_snapshot
from hansard.formats.contract import Loss
from hansard.ledger import sources
from hansard.ledger.backends.driver import Tx, unsafe
from hansard.ledger.ledger import Ledger
from hansard.ledger.rows import find_thread
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message
from hansard.model.conversation import Snapshot as SageSnapshot
from hansard.model.parts import TextPart
from hansard.model.times import iso_time
from hansard.workspace import snapshots
from hansard.workspace.entries import FILE, Change, Entry, content_hash
from hansard.workspace.snapshots import SAGE, TRANSCRIPT
from hansard.workspace.workspace import Workspace

_INLINE = 64 << 10
_NOT_WRITTEN = ("undo", "redo", "restore", "late", "base", SAGE)
_PROMPT = 100  # letters of the first prompt in the metadata


class SessionFolder(NamedTuple):
    """The files of a session by their path below the folder of the agent, and what they do not carry.

    `backups` is a folder that every new session has, even if it is empty.
    """

    folder: str
    files: dict[str, bytes]
    losses: list[Loss]
    backups: str | None


def session_folder(ledger: Ledger, thread_id: str, *, cwd: str) -> SessionFolder:
    """The session of a thread; `cwd` is the folder of messages that have none and of a thread that changed no files."""
    return _Session(ledger, thread_id, cwd).folder()


def is_single_file(ledger: Ledger, thread_id: str) -> bool:
    """Whether a thread was imported from a file of Sage's messages that is not in a session's folder."""
    found = ledger._read(lambda tx: sources.of_thread(tx, thread_id))
    return any(one.format == "sage" and one.main and os.path.basename(one.uri) != MESSAGES for one in found)


class _Session:
    def __init__(self, ledger: Ledger, thread_id: str, cwd: str) -> None:
        self.ledger, self.thread_id = ledger, thread_id
        self.thread = ledger.thread(thread_id)
        self.from_folder = False
        self.archive = self._archive()
        self.changes = _Changes(ledger, thread_id)
        self.cwd = self.changes.root or cwd
        conversation = ledger.export_conversation(thread_id)
        self.verbatim = bool(self.archive) and not any(map(is_older, conversation.messages))
        self.conversation = self._named(conversation)

    def _archive(self) -> dict[str, bytes]:
        """The files that the thread was imported from, by their path from the folder of the session."""
        found = self.ledger._read(lambda tx: sources.of_thread(tx, self.thread_id))
        kept = [one for one in found if one.format == "sage" and one.told.get("archived")]
        main = max((one for one in kept if one.main), key=lambda one: one.number, default=None)
        if main is None:
            return {}
        below = os.path.dirname(main.uri)
        self.from_folder = os.path.basename(main.uri) == MESSAGES
        files = {
            os.path.relpath(one.uri.partition("\0")[0], below): b"".join(sources.content(self.ledger._driver, one))
            for one in kept
            if not one.main
        }
        return {**files, MESSAGES: b"".join(sources.content(self.ledger._driver, main))}

    def _named(self, conversation: Conversation) -> Conversation:
        """The conversation with ids for messages that have none, and every parent named."""
        nodes = self.ledger.tree(self.thread_id)
        session = conversation.id if isinstance(conversation.id, str) else self.thread_id
        if os.path.basename(session) != session or session in ("", ".", "..") or len(session) > 200:
            session = session_uuid(replace(conversation, id=session))
        ids: dict[str, str] = {}
        messages: list[Message] = []
        for message, node in zip(conversation.messages, nodes, strict=True):
            own = message.id if isinstance(message.id, str) else derived_uuid(self.thread_id, node.id)
            ids[node.id] = own
            parent = message.parent_message_id if isinstance(message.parent_message_id, str) else None
            if node.parent_id is not None:
                parent = ids[node.parent_id]
            messages.append(replace(message, id=own, parent_message_id=parent))
        return replace(conversation, id=session, messages=messages)

    def folder(self) -> SessionFolder:
        session = self.conversation.id
        assert isinstance(session, str)
        folder = f"sessions/{session}"
        text, losses = self._messages()
        records, backups = self.changes.records(self._folder_of, known=self._recorded())
        files = {name: data for name, data in self.archive.items() if name != MESSAGES}
        known = files.get(SNAPSHOTS, b"") if self.verbatim else b"".join(self._all_snapshots())
        lines = known + (b"\n" if records and known and not known.endswith(b"\n") else b"") + b"".join(records)
        files |= {MESSAGES: text, SNAPSHOTS: lines, METADATA: self._metadata(files.get(METADATA))}
        files |= {f"{BACKUPS}/{name}": data for name, data in backups.items()}
        if self.from_folder:  # it gets no file that it did not have
            files = {name: data for name, data in files.items() if data and (name != METADATA or name in self.archive)}
            files |= {name: data for name, data in self.archive.items() if name not in files}
        placed = {os.path.normpath(f"{folder}/{name}"): data for name, data in files.items()}
        inside = {name: data for name, data in placed.items() if not name.startswith(("../", "/"))}
        return SessionFolder(folder, inside, losses, None if self.from_folder else f"{folder}/{BACKUPS}")

    def _messages(self) -> tuple[bytes, list[Loss]]:
        """The messages with what was lost: those of the imported file, then later ones; else all of them."""
        whole = replace(
            self.conversation, snapshots=UNSET, title=UNSET, created_at=UNSET, updated_at=UNSET, parent_thread_id=UNSET
        )
        text = self.archive[MESSAGES] if self.verbatim else b""
        known = {one.id for one in formats.read(text, "sage").messages} if self.verbatim else set()
        complete, notes = prepared(
            whole,
            lambda message: message.id not in known,
            cwd=self.cwd,
            platform=platform_name(sys.platform),
            at=self.thread.created_at,
        )
        new = [message for message in complete.messages if message.id not in known]
        if not new and self.verbatim:
            return text, []
        written = formats.write(replace(complete, messages=new), "sage")
        return text + (b"\n" if text and not text.endswith(b"\n") else b"") + written.json, [*notes, *written.losses]

    def _recorded(self) -> set[str]:
        """The messages whose file changes the session's own snapshots have."""
        found = self.conversation.snapshots
        return (
            {one.message_id for one in found if isinstance(one.message_id, str)} if isinstance(found, list) else set()
        )

    def _all_snapshots(self) -> Iterable[bytes]:
        """The snapshots of the conversation that are Sage's."""
        for one in self.conversation.snapshots if isinstance(self.conversation.snapshots, list) else []:
            if isinstance(one.files, dict):
                yield exact_json.encode(write_snapshot(one)) + b"\n"

    def _folder_of(self, message_id: str) -> str:
        for message in self.conversation.messages:
            if message.id == message_id and message.context and isinstance(message.context.cwd, str):
                return message.context.cwd or self.cwd
        return self.cwd

    def _metadata(self, before: bytes | None) -> bytes:
        value, thread = self.conversation, self.thread
        if before is not None and self._unchanged(before):
            return before
        texts = [
            part.text for one in value.messages if one.role == "user" for part in one.parts if type(part) is TextPart
        ]
        folders = [one.context.cwd for one in value.messages if one.context and one.context.cwd]
        branches = [one.context.git_branch for one in value.messages if one.context and one.context.git_branch]
        return write_metadata(
            Metadata(
                id=value.id if isinstance(value.id, str) else self.thread_id,
                title=thread.title,
                created_at=time if (time := first_time(value)) != NO_TIME else thread.created_at,
                updated_at=thread.updated_at,
                parent=thread.parent_thread_id,
            ),
            cwd=folders[0] if folders else self.cwd,
            branch=branches[-1] if branches else UNSET,
            messages=len(value.messages),
            prompt=texts[0][:_PROMPT] if texts else None,
            before=before,
        )

    def _unchanged(self, before: bytes) -> bool:
        """Whether the thread has only what was imported; a file that is not readable is left as it is."""
        try:
            read_metadata(before)
        except HansardError:
            return True
        if not self.verbatim:
            return False
        return len(formats.read(self.archive[MESSAGES], "sage").messages) == len(self.conversation.messages)


class _Changes:
    """The recorded file changes of a thread, in all folders; paths in the folder changed last may be relative."""

    def __init__(self, ledger: Ledger, thread_id: str) -> None:
        def job(tx: Tx) -> list[tuple[str, list[snapshots.Snapshot]]]:
            rows = tx.all("workspaces_of", thread=find_thread(tx, thread_id).thread)
            return [(unsafe(row[1]) or "", snapshots.thread_snapshots(tx, row[0], thread_id)) for row in rows]

        self.ledger, self.found = ledger, ledger._read(job)
        self.root = self.found[0][0] if self.found else None

    def records(
        self,
        folder_of: Callable[[str], str],
        known: set[str] = frozenset(),  # type: ignore[assignment]
    ) -> tuple[list[bytes], dict[str, bytes]]:
        """The lines of `snapshots.jsonl` and the files of `backups/`, without edits of messages already `known`."""
        lines: list[bytes] = []
        backups: dict[str, bytes] = {}
        for root, found in self.found:
            for one in found:
                message_id = one.author.message_id
                if one.source in _NOT_WRITTEN or message_id is None:
                    continue
                if one.source == TRANSCRIPT and message_id in known:
                    continue
                base = folder_of(message_id)
                record = _record(self.ledger, one, lambda path, root=root, base=base: _name(root, base, path), backups)  # type: ignore[misc]
                lines.append(exact_json.encode(write_snapshot(record)) + b"\n")
        return lines, backups


def write_folder(workspace: Workspace, thread_id: str, folder: str) -> int:
    """Write a thread's changes as `snapshots.jsonl` and `backups/` into a folder; returns the number of snapshots."""
    make_folders(os.path.join(os.path.abspath(folder), BACKUPS))
    changes = _Changes(workspace.ledger, thread_id)
    changes.found = [one for one in changes.found if one[0] == workspace.root.path]
    lines, backups = changes.records(lambda message_id: workspace.root.path)
    for name, data in backups.items():
        write_whole(os.path.join(folder, BACKUPS, name), data)
    write_whole(os.path.join(folder, SNAPSHOTS), b"".join(lines))
    return len(lines)


def _name(root: str, base: str, path: bytes) -> bytes:
    """A path as a session in the folder `base` names it: relative where it is below, else absolute."""
    whole = os.path.join(os.fsencode(root), path)
    start = os.fsencode(base).rstrip(b"/") + b"/"
    return whole[len(start) :] if whole.startswith(start) else whole


def _record(
    ledger: Ledger, one: snapshots.Snapshot, name_of: Callable[[bytes], bytes], backups: dict[str, bytes]
) -> SageSnapshot:
    files: dict[str, Any] = {}
    held: dict[str, Any] = {}
    for change in one.changes:
        name, record = _write_change(change, name_of(change.path))
        data = _content(ledger, change.before)
        text = _inline(data)
        record["originalContent"] = text
        if data is not None and text is None:
            digest = content_hash(data).hex()
            backups[f"{digest}.backup"] = data
            held[name] = {"backupPath": f"{BACKUPS}/{digest}.backup", "originalHash": digest}
        files[name] = record
    return SageSnapshot(
        message_id=one.author.message_id or UNSET, created_at=iso_time(one.at), update=False, files=files, backups=held
    )


def _write_change(change: Change, path: bytes) -> tuple[str, dict[str, Any]]:
    name = path.decode("utf-8", "backslashreplace")
    state = "created" if change.before is None else "deleted" if change.after is None else "modified"
    after = change.after or Entry(FILE)
    record: dict[str, Any] = {
        "originalContent": None,
        "contentHash": after.hash.hex() if change.after is not None and after.hash else None,
        "size": after.size,
        "state": state,
    }
    if name.encode() != path:
        record["pathBytes"] = path.hex()
    for key, entry in (("", change.after), ("original", change.before)):
        if entry is not None:
            record[f"{key}Mode" if key else "mode"] = entry.mode
            if entry.kind != FILE:
                record[f"{key}Kind" if key else "kind"] = entry.kind
    return name, record


def _content(ledger: Ledger, entry: Entry | None) -> bytes | None:
    if entry is None or not entry.held:
        return None
    try:
        return ledger._read(lambda tx: snapshots.content(tx, entry.hash))
    except HansardError:
        return None


def _inline(data: bytes | None) -> str | None:
    if data is None or len(data) > _INLINE:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
