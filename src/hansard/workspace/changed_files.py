"""Which files a thread changed: from the snapshots of its workspaces, or from the records of an imported session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from hansard.formats.coding_agents.edits import edits_of, replayed
from hansard.ledger import conversations
from hansard.ledger.backends.driver import Driver, Tx, unsafe
from hansard.ledger.rows import find_thread
from hansard.model.conversation import Conversation
from hansard.model.parts import ToolCallPart
from hansard.workspace import snapshots
from hansard.workspace.entries import Change, same

_LIVE = frozenset({"tool", "scan", "shared", "late"})  # sources of snapshots made while an agent worked


class ChangedFile(NamedTuple):
    """A change of a file: `change` is created, changed, deleted or moved; `at` is in milliseconds."""

    path: str
    change: str
    message_id: str | None
    call_id: str | None
    agent: str | None = None
    at: int | None = None


def changed_files(driver: Driver, thread_id: str) -> Iterator[ChangedFile]:
    """The changes of a thread, in the order they were made; undone ones too."""

    def job(tx: Tx) -> tuple[Conversation, list[tuple[str, snapshots.Snapshot]]]:
        thread = find_thread(tx, thread_id)
        found = [
            (unsafe(row[1]) or "", one)
            for row in tx.all("workspaces_of", thread=thread.thread)
            for one in snapshots.thread_snapshots(tx, row[0], thread_id)
            if one.source in _LIVE
        ]
        return conversations.export(tx, thread), sorted(found, key=lambda each: each[1].number)

    conversation, live = driver.read(job)
    if not live:
        yield from _recorded(conversation)
        return
    calls = {
        message.id: [part.call_id for part in message.parts if isinstance(part, ToolCallPart)]
        for message in conversation.messages
    }
    for root, snapshot in live:
        author = snapshot.author
        made = calls.get(author.message_id or "", [])
        call = made[0] if len(made) == 1 else None
        for one in snapshot.changes:
            if not same(one.before, one.after):
                path = os.path.join(root, os.fsdecode(one.path))
                yield ChangedFile(path, _kind(one), author.message_id, call, author.agent_id, snapshot.at)


def _recorded(conversation: Conversation) -> Iterator[ChangedFile]:
    for step in replayed(edits_of(conversation)):
        edit = step.edit
        if edit.moved_from is not None:
            change = "moved"
        elif step.before is None:
            change = "created"
        else:
            change = "deleted" if step.after is None else "changed"
        yield ChangedFile(step.path, change, step.message_id, edit.call_id)


def _kind(change: Change) -> str:
    if change.before is None:
        return "created"
    return "deleted" if change.after is None else "changed"
