"""Pydantic AI's `ConversationStore` in a ledger.  Needs pydantic-ai 2.66 or newer.

    conversation      a thread of the same id; its scope is the thread's `resourceId`
    entry             one or more messages, of which the last has the entry's id
    head, branches    the thread's head; inactive branches stay
    fork              a separate thread, with the messages before the fork
    the record        data without a place in messages: in the thread's metadata, under `pydanticAi`

Any thread can be loaded; a thread that a `Recorder` wrote needs no save. `delete` hides a conversation and keeps its
messages in the ledger; `ledger.forget(thread_id)` erases them and the id.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from msgspec import UNSET
from msgspec.structs import replace
from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.usage import RunUsage

from hansard import formats
from hansard.agent.model_messages import HistoryReader, shares_request
from hansard.errors import HansardError, NotFound
from hansard.ledger import threads, tree
from hansard.ledger.backends.driver import Tx
from hansard.ledger.ids import clock
from hansard.ledger.ledger import Ledger
from hansard.ledger.messages import Prepared, write_after
from hansard.ledger.results import TokenSum
from hansard.ledger.rows import ROOT, ThreadRow, find_place, find_thread
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message
from hansard.model.stored import plain_messages

try:
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
except ModuleNotFoundError as _error:
    if _error.name != "pydantic_ai.conversation_store":
        raise
    raise HansardError("HansardConversationStore needs pydantic-ai 2.66 or newer; run pip install -U") from None

T = TypeVar("T")
_KEY = "pydanticAi"
_USAGE = TypeAdapter(RunUsage)
_REQUESTS = TypeAdapter(DeferredToolRequests)
_KEPT = 4096


class HansardConversationStore(ConversationStore):
    """`await store.load(id)`, `await store.save(result)`, `branch`, `fork`: see Pydantic AI's documentation."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._homes: OrderedDict[str, str] = OrderedDict()  # the thread of an entry, where it is known

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        record: ConversationRecord | None = await self._read_in(lambda tx: _record(tx, conversation_id))
        if record is not None:
            self._remember(conversation_id, record.head_id, *record.branches)
        return record

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        found: list[ConversationRecord] = []
        after: str | None = None
        while limit is None or len(found) < limit:
            page = await self.ledger.aio.threads(resource_id=scope, after=after)
            for thread in page.items:
                record = await self.read_record(thread.id)
                if record is not None:
                    found.append(record)
            if (after := page.next) is None:
                break
        found.sort(key=lambda record: record.updated_at, reverse=True)
        return found[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        source = await self._home(record.head_id) if record.head_id is not None and not new_entries else None
        if new_entries and new_entries[0].parent_id is not None:
            source = await self._home(new_entries[0].parent_id)
        now = clock()

        def job(tx: Tx) -> None:
            _write(tx, record, list(new_entries), expected_revision, source, now)

        await self._write_in(job)
        self._remember(record.conversation_id, record.head_id, *(entry.id for entry in new_entries))

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        now = clock()

        def job(tx: Tx) -> None:
            record = _record(tx, conversation_id, lock=True)
            if record is None or record.revision != expected_revision:
                raise ConversationConflict(conversation_id)
            find_thread(tx, conversation_id).at(ROOT).save(tx, now)
            _note(tx, conversation_id, {"deleted": True}, None, now)

        await self._write_in(job)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        return (await self.read_history(entry_id))[-1]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        if head_id is None:
            return []
        home = await self._home(head_id)
        if home is None:
            raise LookupError(head_id)
        path = plain_messages(await self.ledger.aio.transcript(home, head_id))
        entries = _entries(home, path)
        self._remember(home, *(entry.id for entry in entries))
        return entries if limit is None else entries[len(entries) - limit :] if limit < len(entries) else entries

    # -- where an entry is -----------------------------------------------------------------------------------------

    def _remember(self, thread_id: str, *entry_ids: str | None) -> None:
        for entry_id in entry_ids:
            if entry_id is not None:
                self._homes[entry_id] = thread_id
                self._homes.move_to_end(entry_id)
        while len(self._homes) > _KEPT:
            self._homes.popitem(last=False)

    async def _home(self, entry_id: str) -> str | None:
        """The thread of an entry: cached, else found by a scan of all threads, newest first."""
        known = self._homes.get(entry_id)
        if known is not None and await self._has(known, entry_id):
            return known
        after: str | None = None
        while True:
            page = await self.ledger.aio.threads(after=after)
            for thread in page.items:
                if await self._has(thread.id, entry_id):
                    self._remember(thread.id, entry_id)
                    return str(thread.id)
            if (after := page.next) is None:
                return None

    async def _has(self, thread_id: str, entry_id: str) -> bool:
        try:
            await self.ledger.aio.get(thread_id, entry_id)
        except NotFound:
            return False
        return True

    async def _read_in(self, job: Any) -> Any:
        return await asyncio.to_thread(self.ledger._read, job)

    async def _write_in(self, job: Any) -> None:
        await asyncio.to_thread(self.ledger._write, job)


# -- records -------------------------------------------------------------------------------------------------------


def _record(tx: Tx, conversation_id: str, *, lock: bool = False) -> ConversationRecord | None:
    try:
        row = find_thread(tx, conversation_id, lock=lock)
    except NotFound:
        return None
    shown = threads.as_thread(tx, row)
    kept: dict[str, Any] = shown.metadata.get(_KEY) or {}
    if kept.get("deleted"):
        return None
    head = shown.head
    own = "revision" in kept and kept.get("head") == head
    # changes by other writers make another revision
    revision = kept["revision"] if own else f"{kept.get('revision', conversation_id)}@{head}"
    waiting = kept.get("deferred") if own else None
    return ConversationRecord(
        conversation_id=conversation_id,
        head_id=head,
        usage=_USAGE.validate_python(kept["usage"]) if own else _usage(shown),
        deferred_tool_requests=_REQUESTS.validate_python(waiting) if waiting is not None else None,
        scope=shown.resource_id,
        forked_from=kept.get("forkedFrom"),
        forked_at=kept.get("forkedAt"),
        branches=list(kept.get("branches") or []),
        revision=revision,
        updated_at=datetime.fromisoformat(kept["updatedAt"] if own else shown.updated_at),
    )


def _usage(shown: Any) -> RunUsage:
    counts: TokenSum = shown.usage
    read, write = counts.cache_read_tokens, counts.cache_write_tokens
    return RunUsage(input_tokens=counts.input_tokens + read + write, output_tokens=counts.output_tokens)


def _write(
    tx: Tx,
    record: ConversationRecord,
    new: list[ConversationEntry],
    expected_revision: str | None,
    source: str | None,
    now: int,
) -> None:
    """A save in one transaction."""
    conversation_id = record.conversation_id
    stored = _record(tx, conversation_id, lock=True)
    if (stored.revision if stored is not None else None) != expected_revision:
        raise ConversationConflict(conversation_id)
    if stored is None and not threads.exists(tx, conversation_id):
        scope = record.scope if record.scope is not None else UNSET
        threads.start(tx, Conversation(messages=[], id=conversation_id, resource_id=scope), now)
    thread = find_thread(tx, conversation_id, lock=True)
    begin = new[0].parent_id if new else record.head_id
    thread, before = _path_to(tx, thread, begin, source, record)
    place = find_place(tx, thread, begin) if begin is not None else ROOT
    done = write_after(tx, thread, place, _items(new, HistoryReader(conversation_id, before)))
    done.thread.at(done.place).save(tx, now)
    note: dict[str, Any] = {
        "revision": record.revision,
        "head": record.head_id,
        "usage": _USAGE.dump_python(record.usage, mode="json"),
        "updatedAt": record.updated_at.isoformat(),
        "branches": record.branches,
    }
    if record.deferred_tool_requests is not None:
        note["deferred"] = _REQUESTS.dump_python(record.deferred_tool_requests, mode="json")
    if record.forked_from is not None:
        note.update(forkedFrom=record.forked_from, forkedAt=record.forked_at)
    _note(tx, conversation_id, note, record.scope, now)


def _path_to(
    tx: Tx, thread: ThreadRow, entry_id: str | None, source: str | None, record: ConversationRecord
) -> tuple[ThreadRow, list[Message]]:
    """The messages up to an entry; those of another thread, of which this one is a fork, are written to it first."""
    if entry_id is None:
        return thread, []
    try:
        place = find_place(tx, thread, entry_id)
    except NotFound:
        place = None
    if place is not None:
        return thread, tree.messages_of(tx, tree.path_rows(tx, thread, place))
    if source is None:
        raise ConversationConflict(record.conversation_id)
    other = find_thread(tx, source)
    path = tree.messages_of(tx, tree.path_rows(tx, other, find_place(tx, other, entry_id)))
    items = _items(_entries(source, path), HistoryReader(record.conversation_id, []))
    return write_after(tx, thread, ROOT, items).thread, [item.message for item in items]


def _items(entries: list[ConversationEntry], reader: HistoryReader) -> list[Prepared]:
    """Entries as messages; the last one of each has its id."""
    items: list[Prepared] = []
    for entry in entries:
        said = reader.read([entry.message])
        for k, message in enumerate(said):
            key = entry.id if k == len(said) - 1 else f"{entry.id}.{k}"
            items.append(Prepared(replace(message, id=key), key))
    return items


def _note(tx: Tx, thread_id: str, note: dict[str, Any], scope: str | None, now: int) -> None:
    shown = threads.as_thread(tx, find_thread(tx, thread_id))
    metadata = {**shown.metadata, _KEY: note}
    threads.update(tx, thread_id, now, UNSET, UNSET if scope is None else scope, metadata, UNSET)


# -- entries -------------------------------------------------------------------------------------------------------


def _entries(thread_id: str, path: list[Message]) -> list[ConversationEntry]:
    """A path as entries: each record of Pydantic AI's with the id of the last message that is in it."""
    said = [message for message in path if message.role != "event"]
    written = formats.write(Conversation(messages=said, id=thread_id), "pydantic-ai").data
    ends = [
        message.id for i, message in enumerate(said) if i + 1 == len(said) or not shares_request(message, said[i + 1])
    ]
    messages = ModelMessagesTypeAdapter.validate_json(exact_json.encode(written))
    if len(ends) != len(messages):
        raise HansardError(f"thread {thread_id!r} cannot be cut into Pydantic AI's messages; export it instead")
    entries: list[ConversationEntry] = []
    for key, message in zip(ends, messages, strict=True):
        parent = entries[-1].id if entries else None
        entries.append(ConversationEntry(id=str(key), parent_id=parent, message=message))
    return entries
