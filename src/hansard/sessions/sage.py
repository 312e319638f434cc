"""Sage sessions: which files form one, and their import with every byte kept.

A session is read as a whole: its messages, then the snapshots beside them. The bytes of all its files are sources of
the thread, so that an export gives the folder back; backups in the agent's own folder that its snapshots name are among
them. A message file with nothing beside it is a session of one file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import HansardError, Unreadable
from hansard.formats.coding_agents.sage import sniff
from hansard.formats.coding_agents.sage.folder import (
    BACKUPS,
    CONFIG,
    MESSAGES,
    METADATA,
    SNAPSHOTS,
    Metadata,
    read_metadata,
)
from hansard.ledger import conversations, sources, threads
from hansard.ledger.backends.driver import Tx
from hansard.ledger.ids import clock
from hansard.ledger.ledger import Ledger
from hansard.ledger.results import Synced
from hansard.ledger.rows import find_thread
from hansard.model.conversation import Conversation, Snapshot
from hansard.model.times import milliseconds

_HEAD = 1 << 16


def files_of(messages: Path) -> tuple[Path, ...]:
    """The other files of the session that a `messages.jsonl` begins."""
    folder = messages.parent
    beside = [path for name in (SNAPSHOTS, METADATA) if (path := folder / name).is_file() and not path.is_symlink()]
    return (*beside, *_files_below(folder / BACKUPS))


def _files_below(folder: Path) -> Iterator[Path]:
    if folder.is_symlink():
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files_below(Path(entry.path))
        elif entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def main_file(path: Path) -> Path | None:
    """The `messages.jsonl` of the session that a file belongs to; None for a file of another kind."""
    if path.name not in (MESSAGES, SNAPSHOTS, METADATA):
        return None
    main = path.with_name(MESSAGES)
    return main if main.is_file() and is_sage(main) else None


def is_sage(path: Path) -> bool:
    """Whether a file begins like Sage's messages."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return sniff(head[: head.rfind(b"\n") + 1] or head) > 0


def shared_files(main: Path) -> set[Path]:
    """Files of the agent's folder that are not sessions themselves: settings, backups that sessions share."""
    if main.parent.parent.name != "sessions":
        return {main.parent / CONFIG}
    agent = main.parent.parent.parent
    return {main.parent / CONFIG, agent / CONFIG, *_files_below(agent / BACKUPS)}


class Read:
    """A session that was read: its conversation, the bytes of its files, and what could not be read."""

    def __init__(self, main: Path, parts: tuple[Path, ...]) -> None:
        self.data = {path: path.read_bytes() for path in (main, *parts)}
        self.bad: list[dict[str, Any]] = []
        text = self.data[main]
        if (beside := main.with_name(SNAPSHOTS)) in self.data:
            text += (b"" if text.endswith(b"\n") or not text else b"\n") + self.data[beside]
        conversation = formats.read(text, "sage")
        if not conversation.messages and main.name == SNAPSHOTS:
            way_out = f"import the session's {MESSAGES}, or its folder"
            raise Unreadable("only file snapshots, no messages", way_out=way_out)
        self.shared = _shared_backups(conversation, main)
        self.metadata = self._metadata(main)
        self.conversation = self._described(conversation, main)

    def _metadata(self, main: Path) -> Metadata:
        found = Metadata()
        for path in (main.with_name(METADATA), main.with_name(CONFIG), main.parent.parent.parent / CONFIG):
            if path not in self.data and path.name == METADATA:
                continue
            if path.parent != main.parent and main.parent.parent.name != "sessions":
                continue
            try:
                one = read_metadata(self.data[path] if path in self.data else path.read_bytes())
            except OSError:
                continue
            except HansardError as error:
                if path.name == METADATA:
                    what = f"{error}; its bytes are kept, its title and times are not read"
                    self.bad.append({"path": str(path), "line": 1, "byte": 0, "what": what})
                continue
            found = one if path.name == METADATA else found.otherwise(one)
        return found

    def _described(self, conversation: Conversation, main: Path) -> Conversation:
        session = conversation.id if isinstance(conversation.id, str) and conversation.id else self.metadata.id
        if not session and main.parent.parent.name == "sessions":
            session = main.parent.name
        return replace(
            conversation,
            id=session or UNSET,
            title=self.metadata.title or UNSET,
            created_at=self.metadata.created_at or UNSET,
            updated_at=self.metadata.updated_at or UNSET,
            parent_thread_id=self.metadata.parent or UNSET,
        )


def _shared_backups(conversation: Conversation, main: Path) -> dict[Path, bytes]:
    """The backups in the agent's own folder that the snapshots of a session name."""
    agent = main.parent.parent.parent
    there = set(_files_below(agent / BACKUPS)) if main.parent.parent.name == "sessions" else set()
    found: dict[Path, bytes] = {}
    for snapshot in conversation.snapshots if there and isinstance(conversation.snapshots, list) else []:
        for backup in snapshot.backups.values() if isinstance(snapshot.backups, dict) else []:
            told = backup.get("backupPath") if isinstance(backup, dict) else None
            if isinstance(told, str):
                path = Path(os.path.normpath(agent / told.removeprefix(".sage/")))
                if path in there:
                    found[path] = path.read_bytes()
    return found


def store(ledger: Ledger, key: str, read: Read, main: Path, stats: dict[Path, os.stat_result]) -> Synced:
    """Put a session that was read into its thread, with the bytes of its files, in one transaction."""
    incoming = conversations.Incoming(_with_known(ledger, key, read.conversation), key)
    now = clock()
    created = milliseconds(read.metadata.created_at) if read.metadata.created_at is not None else None
    updated = milliseconds(read.metadata.updated_at) if read.metadata.updated_at is not None else None

    def job(tx: Tx) -> Synced:
        new = not threads.exists(tx, key)
        if new and created is not None:
            threads.start(tx, incoming.description, created, key)
        done = conversations.merge(tx, incoming, now)
        if updated is not None and done.added:
            find_thread(tx, key, lock=True).save(tx, updated)
        for path, data in read.data.items():
            stat = stats[path]
            uri = os.path.realpath(path)
            sources.archive(tx, key, uri, "sage", data, stat.st_mtime_ns, main=path == main)
        for path, data in read.shared.items():  # other sessions may name them too: each keeps its own
            sources.archive(tx, key, f"{os.path.realpath(path)}\0{key}", "sage", data, 0, main=False)
        return done

    return ledger._write(job)


def _with_known(ledger: Ledger, key: str, conversation: Conversation) -> Conversation:
    """The conversation, its snapshots after those the thread has, which a grown file may hold in another order."""
    given: list[Snapshot] = conversation.snapshots if isinstance(conversation.snapshots, list) else []
    if not given or not ledger._read(lambda tx: threads.exists(tx, key)):
        return conversation
    known = ledger.export_conversation(key).snapshots
    left = list(known) if isinstance(known, list) else []
    new: list[Snapshot] = []
    for one in given:
        if one in left:
            left.remove(one)
        else:
            new.append(one)
    return replace(conversation, snapshots=[*(known if isinstance(known, list) else []), *new])


def thread_key(conversation: Conversation, main: Path) -> str:
    """The thread of a session: its id, else one derived from the path."""
    if isinstance(conversation.id, str) and conversation.id:
        return conversation.id
    return hashlib.sha256(f"{os.path.realpath(main)}\0000".encode("utf-8", "surrogateescape")).hexdigest()[:26]
