"""Forks of sessions: threads of their own that say where they come from and do not count their past.

    codex         a fork has only its new records; `history_base` names the session and the record where they follow
    pi            a fork copies the past under the same ids; its header names the file that it comes from
    claude-code   a fork copies the past under the same ids, and names nothing
    opencode, kilo  a fork copies the past under new ids with the same times; the reader marks it `isCopiedContext`

What a Codex fork inherits is copied into its thread, marked `isCopiedContext`, without token counts. Where nothing
names the parent, the session that went on first after the common beginning is the parent.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.residue import unpack
from hansard.ledger import sources, threads, tree
from hansard.ledger.backends.driver import Tx, safe, unsafe
from hansard.ledger.ledger import Ledger
from hansard.ledger.results import TreeNode
from hansard.ledger.rows import ThreadRow, find_place, find_thread
from hansard.model.conversation import Conversation, Message

COPIED = "isCopiedContext"


def is_copied(message: Message) -> bool:
    """Whether a message is a fork's copy of a message before the fork."""
    return message.metadata is not UNSET and message.metadata.get(COPIED) is True


# -- what a fork of Codex inherits -----------------------------------------------------------------------------------


def base_of(value: Conversation) -> tuple[str, int] | None:
    """The thread that a Codex fork continues, and how many of its records it inherits."""
    base = unpack("codex", value.extra)[0].get("history_base")
    if type(base) is not dict or type(base.get("thread_id")) is not str:
        return None
    count = base.get("end_ordinal_exclusive")
    return (base["thread_id"], count) if type(count) is int else None


def file_of(thread_id: str, beside: Path) -> Path | None:
    """The rollout of a thread among the sessions of the same user."""
    for folder in list(beside.parents)[:4]:
        found = sorted(folder.glob(f"*{thread_id}.jsonl*")) or sorted(folder.glob(f"*/*/*/*{thread_id}.jsonl*"))
        if found:
            return found[0]
    return None


def inherited(ledger: Ledger, thread_id: str, count: int) -> list[Message]:
    """The messages of the first `count` records of a thread, as copies."""
    if not ledger._read(lambda tx: threads.exists(tx, thread_id)):
        return []
    before = [node.id for node in ledger.tree(thread_id) if 0 <= _record(thread_id, node.id) < count]
    if not before:
        return []
    last = max(before, key=lambda key: _record(thread_id, key))

    def job(tx: Tx) -> list[Message]:
        row = find_thread(tx, thread_id)
        return tree.messages_of(tx, tree.path_rows(tx, row, find_place(tx, row, last)))

    path = ledger._read(job)
    copies: list[Message] = []
    for message in path:
        parent = copies[-1].id if copies else None
        metadata = {**(message.metadata if message.metadata is not UNSET else {}), COPIED: True}
        copies.append(replace(message, usage=UNSET, parent_message_id=parent, metadata=metadata))
    return copies


def _record(thread_id: str, key: str) -> int:
    number = key.removeprefix(f"{thread_id}:").rstrip("+")
    return int(number) if number.isdecimal() else -1


# -- where a fork comes from -----------------------------------------------------------------------------------------


def link(tx: Tx, thread_id: str, format_: str) -> None:
    """Note the parent of a thread that was imported, if it is a fork, and the forks that wait for it."""
    row = find_thread(tx, thread_id, lock=True)
    if threads.as_thread(tx, row).forked_from_message_id is None:
        parents = [unsafe(row.parent_thread) or ""] if row.parent_thread is not None else []
        if format_ == "claude-code":
            parents = _siblings(tx, row)
        for parent in parents:
            if threads.exists(tx, parent) and _mark(
                tx, row, find_thread(tx, parent, lock=True), bool(row.parent_thread)
            ):
                break
    for (child,) in tx.all("threads_of_parent", parent=safe(thread_id)):
        waiting = find_thread(tx, unsafe(child) or "", lock=True)
        if threads.as_thread(tx, waiting).forked_from_message_id is None:
            _mark(tx, waiting, find_thread(tx, thread_id), True)


def _siblings(tx: Tx, row: ThreadRow) -> list[str]:
    """The other sessions of the project that have the first prompt of this one."""
    first = next((node.id for node in _path(tx, row) if node.role == "user"), None)
    own = [one.uri for one in sources.of_thread(tx, unsafe(row.id) or "") if one.main]
    if first is None or not own:
        return []
    folder = os.path.dirname(own[0])
    others = sources.with_message(tx, row, first)
    return [one.thread_id for one in others if one.format == "claude-code" and os.path.dirname(one.uri) == folder]


def _path(tx: Tx, row: ThreadRow) -> list[TreeNode]:
    """The content of the active branch; the records between differ in every copy."""
    return sorted(
        (node for node in tree.nodes(tx, row) if node.active and node.role != "event"), key=lambda one: one.depth
    )


def _mark(tx: Tx, child: ThreadRow, parent: ThreadRow, named: bool) -> bool:
    """Write parent and fork point of a thread, and its token counts without its past; False if nothing is shared."""
    mine, theirs = _path(tx, child), _path(tx, parent)
    shared = _shared(tx, mine, parent)
    if not shared:
        return named and _mark_copies(tx, child, parent, mine, theirs)
    if not named and _time(tx, parent, theirs[_shared(tx, theirs, child) :]) > _time(tx, child, mine[shared:]):
        child, parent, mine = parent, child, theirs
        shared = _shared(tx, mine, parent)
    past = [_message(tx, child, node.id) for node in mine[:shared] if node.role == "assistant"]
    threads.set_fork(tx, child, unsafe(parent.id) or "", mine[shared - 1].id, past)
    return True


def _mark_copies(tx: Tx, child: ThreadRow, parent: ThreadRow, mine: list[TreeNode], theirs: list[TreeNode]) -> bool:
    """Write the fork point of a thread that has its past as copies under other ids: the last of them, by its time."""
    last: Message | None = None
    for node in mine:
        message = _message(tx, child, node.id)
        if not is_copied(message):
            break
        last = message
    for node in reversed(theirs) if last is not None else ():
        found = _message(tx, parent, node.id)
        if (found.role, found.created_at) == (last.role, last.created_at):  # type: ignore[union-attr]
            threads.set_fork(tx, child, unsafe(parent.id) or "", node.id, [])
            return True
    return False


def _shared(tx: Tx, path: list[TreeNode], other: ThreadRow) -> int:
    """How many messages of a path another thread has too."""
    return next((i for i, node in enumerate(path) if not threads.has(tx, other, node.id)), len(path))


def _message(tx: Tx, row: ThreadRow, key: str) -> Message:
    place = find_place(tx, row, key)
    at = {"thread": row.thread, "seg": place.seg, "low": place.depth - 1, "high": place.depth, "limit": 1}
    return tree.messages_of(tx, tx.all("range_up", **at))[0]


def _time(tx: Tx, row: ThreadRow, rest: list[TreeNode]) -> str:
    """When a session went on after the common beginning; an empty text if it did not."""
    message = _message(tx, row, rest[0].id) if rest else None
    return message.created_at if message is not None and isinstance(message.created_at, str) else ""
