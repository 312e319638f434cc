"""Runs of an agent whose messages are kept in a `MemoryStore` of others: each works on a ledger in memory.

The thread is read from the store when a run begins, and messages are saved when they are whole: the prompt before the
model is asked, an answer with the results of its tools, and what is left of an answer that broke off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.agent.memory_store import FORMAT, MemoryStore, records_of
from hansard.errors import HansardError, Unreadable
from hansard.ledger import open as open_ledger
from hansard.ledger.ids import new_id
from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Conversation, Message


def needs_ledger(what: str) -> HansardError:
    """The error of what a store cannot do."""
    return HansardError(f"{what} needs a ledger; this agent keeps its messages in a store: use Agent(..., ledger=...)")


async def stored_conversation(store: MemoryStore, thread_id: str) -> Conversation:
    """A thread of the store as a conversation."""
    records = await store.list_messages(thread_id=thread_id)
    try:
        return replace(formats.read(list(records), FORMAT), id=thread_id)
    except Unreadable as error:
        where = f"the store's messages of thread {thread_id!r}: {error.path}"
        raise Unreadable(error.problem, where, error.way_out) from None


class StoreThread:
    """A thread of a store, in a ledger in memory for the time of one run."""

    def __init__(self, store: MemoryStore, thread_id: str, ledger: Ledger) -> None:
        self.store, self.thread_id, self.ledger = store, thread_id, ledger

    @classmethod
    async def load(cls, store: MemoryStore, thread_id: str) -> StoreThread:
        if await store.get_thread_by_id(thread_id=thread_id) is None:
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            await store.save_thread(thread={"id": thread_id, "createdAt": now, "updatedAt": now})
        conversation = await stored_conversation(store, thread_id)
        ledger = open_ledger(":memory:")
        await ledger.aio.import_conversation(conversation, thread_id)
        return cls(store, thread_id, ledger)

    async def save(self, messages: Sequence[Message]) -> None:
        """Save messages that are whole; events belong to the ledger alone."""
        said = [message for message in messages if message.role != "event"]
        if said:
            await self.store.save_messages(messages=records_of(self.thread_id, said))

    async def close(self) -> None:
        await asyncio.to_thread(self.ledger.close)


def with_ids(messages: Sequence[Message]) -> list[Message]:
    """The messages with the ids and times that they are saved under."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    found = []
    for message in messages:
        changes: dict[str, Any] = {}
        if not isinstance(message.id, str):
            changes["id"] = new_id()
        if message.created_at is UNSET:
            changes["created_at"] = now
        found.append(replace(message, **changes) if changes else message)
    return found
