"""The storage adapter of the agent store: `MemoryStore`, four calls that any database can implement.

    store = LedgerMemoryStore(ledger)
    await store.save_thread(thread={"id": "t", "resourceId": "ann"})
    await store.save_messages(messages=[{"id": "m", "threadId": "t", "role": "user", "type": "text", "content": {...}}])
    await store.list_messages(thread_id="t", limit=20, order_by="desc")
    await store.get_thread_by_id(thread_id="t")

Messages are `CanonicalMessage`s (`content.format` 2) as dicts, and are returned as they were saved.
`hansard.testing.run_store_conformance` checks an implementation. `LedgerMemoryStore` is the one on a ledger.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.agent.async_run import open_thread, stored_thread
from hansard.errors import HansardError, NotFound, Unreadable
from hansard.formats.residue import pack, unpack
from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Conversation, Message
from hansard.model.stored import plain_messages

CanonicalMessage: TypeAlias = dict[str, Any]
ThreadRecord: TypeAlias = dict[str, Any]
FORMAT = "agent-store"
_CAMEL = {"thread_id": "threadId", "resource_id": "resourceId", "created_at": "createdAt", "updated_at": "updatedAt"}
_OWN = ("id", "title", "resourceId", "metadata")
_KEY = "agentStore"
_PAGE = 400


@runtime_checkable
class MemoryStore(Protocol):
    """Where messages and threads of an agent are kept."""

    async def list_messages(
        self, *, thread_id: str, limit: int | None = None, order_by: Literal["asc", "desc"] = "asc"
    ) -> list[CanonicalMessage]:
        """The messages of a thread in the order they were saved, or the newest first; at most `limit`."""
        ...

    async def save_messages(self, *, messages: list[CanonicalMessage]) -> None:
        """Save messages, each in the thread it names. Saving the same message again changes nothing."""
        ...

    async def get_thread_by_id(self, *, thread_id: str) -> ThreadRecord | None:
        """A thread as it was saved, or None."""
        ...

    async def save_thread(self, *, thread: ThreadRecord) -> None:
        """Save the description of a thread; it replaces the saved one."""
        ...


def missing_methods(store: Any) -> list[str]:
    """The methods of a `MemoryStore` that an object lacks.

    >>> missing_methods(object())
    ['list_messages', 'save_messages', 'get_thread_by_id', 'save_thread']
    """
    names = ("list_messages", "save_messages", "get_thread_by_id", "save_thread")
    return [name for name in names if not callable(getattr(store, name, None))]


class LedgerMemoryStore:
    """The `MemoryStore` on a ledger: the active branch of each thread.

    A different message under a saved id is a `Conflict`. A call is checked before anything of it is written.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    async def list_messages(
        self, *, thread_id: str, limit: int | None = None, order_by: Literal["asc", "desc"] = "asc"
    ) -> list[CanonicalMessage]:
        if order_by not in ("asc", "desc"):
            raise HansardError(f"unknown order_by {order_by!r}; use asc or desc")
        if limit is not None and (type(limit) is not int or limit < 0):
            raise HansardError(f"invalid limit {limit!r}; use a number from 0")
        try:
            found = _written(thread_id, await self._stored(_text(thread_id, "thread_id"), limit, order_by == "desc"))
        except NotFound:
            return []
        if order_by == "desc":
            found.reverse()
        return found if limit is None else found[:limit]

    async def _stored(self, thread_id: str, limit: int | None, newest: bool) -> list[Message]:
        """The stored messages, or enough of them: a record may be two, a message and the results of its calls."""
        if limit is None or 2 * limit + 1 > _PAGE:
            return plain_messages(await self.ledger.aio.transcript(thread_id))
        page = await self.ledger.aio.messages(thread_id, limit=2 * limit + 1, newest=newest)
        items = plain_messages(page.items)
        if newest:
            items.reverse()
            if items and _came_with(items[0]):
                items = items[1:]
        return items

    async def save_messages(self, *, messages: list[CanonicalMessage]) -> None:
        if type(messages) not in (list, tuple):
            raise Unreadable("expected a list of messages", "$.messages")
        by_thread: dict[str, list[Message]] = {}
        for i, record in enumerate(messages):
            thread_id, stored = _read(record, i)
            by_thread.setdefault(thread_id, []).extend(stored)
        for thread_id, stored in by_thread.items():
            await open_thread(self.ledger, thread_id)
            await self.ledger.aio.append(thread_id, stored)

    async def get_thread_by_id(self, *, thread_id: str) -> ThreadRecord | None:
        try:
            thread = await stored_thread(self.ledger, _text(thread_id, "thread_id"))
        except NotFound:
            return None
        metadata = dict(thread.metadata)
        more = metadata.pop(_KEY, {})
        told = {"id": thread.id, "title": thread.title, "resourceId": thread.resource_id, "metadata": metadata or None}
        found = {key: value for key, value in told.items() if value is not None}
        return {**found, "createdAt": thread.created_at, "updatedAt": thread.updated_at, **more}

    async def save_thread(self, *, thread: ThreadRecord) -> None:
        if type(thread) is not dict:
            raise Unreadable("expected a thread object", "$.thread")
        given = {_CAMEL.get(key, key): _plain(value) for key, value in thread.items()}
        if type(given.get("id")) is not str:
            raise Unreadable("a thread has an id", "$.thread.id")
        for key, kind in (("title", str), ("resourceId", str), ("metadata", dict)):
            if given.get(key) is not None and type(given[key]) is not kind:
                raise Unreadable(f"expected {'an object' if kind is dict else 'a text'}", f"$.thread.{key}")
        metadata = dict(given.get("metadata") or {})
        if more := {key: value for key, value in given.items() if key not in _OWN}:
            metadata[_KEY] = more
        await open_thread(self.ledger, given["id"])
        await self.ledger.aio.update_thread(
            given["id"], title=given.get("title"), resource_id=given.get("resourceId"), metadata=metadata
        )


def records_of(thread_id: str, messages: list[Message]) -> list[CanonicalMessage]:
    """Messages as records of the agent store, each a row of its own."""
    rows = [formats.write(Conversation(messages=[one], id=thread_id), FORMAT).data for one in messages]
    return [row for written in rows for row in written]


def _text(value: Any, name: str) -> str:
    if type(value) is not str:
        raise HansardError(f"{name} is a text, not {type(value).__name__}")
    return value


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _read(record: Any, i: int) -> tuple[str, list[Message]]:
    """The thread that a record names, and its messages: one, or two if it contains tool results."""
    if type(record) is dict:
        record = {key: _plain(value) for key, value in record.items()}
    try:
        read = formats.read([record], FORMAT)
    except Unreadable as error:
        raise Unreadable(error.problem, f"$.messages[{i}]{error.path.removeprefix('$[0]')}", error.way_out) from None
    if not isinstance(read.id, str):
        raise Unreadable("missing thread id", f"$.messages[{i}].threadId")
    first, *more = read.messages
    rest, marks = unpack(FORMAT, first.extra)
    if read.resource_id is not UNSET:  # stored with the message, as its thread may have another one
        first = replace(first, extra=pack(FORMAT, {**rest, "resourceId": read.resource_id}, marks))
    if isinstance(first.id, str):
        more = [replace(message, id=f"{first.id}{_RESULT}") for message in more]
    return read.id, [first, *more]


_RESULT = "/result"


def _written(thread_id: str, messages: list[Message]) -> list[CanonicalMessage]:
    """Messages as records; results are merged into the message that they were saved with."""
    whole = [
        Message(role=message.role, parts=message.parts, extra=message.extra)
        if _came_with(message)
        else replace(message, parent_message_id=UNSET)
        for message in messages
    ]
    written = formats.write(Conversation(messages=whole, id=thread_id), FORMAT).data
    return list(written) if type(written) is list else list(written["messages"])


def _came_with(message: Message) -> bool:
    return message.role == "tool" and type(message.id) is str and message.id.endswith(_RESULT)
