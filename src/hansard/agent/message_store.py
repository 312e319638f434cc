"""The agent store's `MemoryStore` interface on a ledger: four calls to store messages.

    store = MessageStore(ledger)
    await store.saveThread(thread={"id": "t", "resourceId": "ann"})
    await store.saveMessages(messages=[{"id": "m", "threadId": "t", "role": "user", "type": "text", "content": {...}}])
    await store.listMessages(threadId="t", limit=20, orderBy="desc")
    await store.getThreadById(threadId="t")

Messages are `CanonicalMessage`s (`content.format` 2) as dicts, and are returned unchanged. Arguments are one dict, as
in TypeScript, or named, in camelCase or snake_case, as are the methods. Saving the same message again has no effect;
saving other content under its id is a `Conflict`: history is not rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.agent.async_run import open_thread
from hansard.errors import HansardError, NotFound, Unreadable
from hansard.formats.residue import pack, unpack
from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Conversation, Message

_FORMAT = "agent-store"
_CAMEL = {"thread_id": "threadId", "order_by": "orderBy", "resource_id": "resourceId"}
_OWN = ("id", "title", "resourceId", "metadata")
_KEY = "agentStore"


class MessageStore:
    """`listMessages`, `saveMessages`, `getThreadById`, `saveThread`."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    async def list_messages(self, args: dict[str, Any] | None = None, /, **named: Any) -> list[dict[str, Any]]:
        """The messages of a thread: all, or the first or last `limit`; none for an unknown thread."""
        given = _given(args, named, ("threadId",), ("limit", "orderBy"))
        order, limit = given.get("orderBy") or "asc", given.get("limit")
        if order not in ("asc", "desc"):
            raise HansardError(f"invalid orderBy {order!r}; use asc or desc")
        if limit is not None and (type(limit) is not int or limit < 0):
            raise HansardError(f"invalid limit {limit!r}; use a number from 0")
        try:
            messages: list[Message] = await self.ledger.aio.transcript(given["threadId"])
        except NotFound:
            return []
        found = _written(given["threadId"], messages)
        if order == "desc":
            found.reverse()
        return found if limit is None else found[:limit]

    async def save_messages(self, args: dict[str, Any] | None = None, /, **named: Any) -> None:
        """Store messages, each in the thread it names; missing threads are created."""
        given = _given(args, named, ("messages",))
        by_thread: dict[str, list[Message]] = {}
        for i, record in enumerate(given["messages"]):
            thread_id, messages = _read(record, i)
            by_thread.setdefault(thread_id, []).extend(messages)
        for thread_id, messages in by_thread.items():
            await open_thread(self.ledger, thread_id)
            await self.ledger.aio.append(thread_id, messages)

    async def get_thread_by_id(self, args: dict[str, Any] | None = None, /, **named: Any) -> dict[str, Any] | None:
        """A thread as it was saved, or None."""
        given = _given(args, named, ("threadId",))
        try:
            thread = await self.ledger.aio.thread(given["threadId"])
        except NotFound:
            return None
        metadata = dict(thread.metadata)
        more = metadata.pop(_KEY, {})
        told = {"id": thread.id, "title": thread.title, "resourceId": thread.resource_id, "metadata": metadata or None}
        found = {key: value for key, value in told.items() if value is not None}
        return {**found, "createdAt": thread.created_at, "updatedAt": thread.updated_at, **more}

    async def save_thread(self, args: dict[str, Any] | None = None, /, **named: Any) -> None:
        """Replace title, metadata and resource of a thread."""
        thread = {
            _CAMEL.get(key, key): _plain(value) for key, value in _given(args, named, ("thread",))["thread"].items()
        }
        if type(thread.get("id")) is not str:
            raise Unreadable("the thread needs an id", "$.id")
        metadata = dict(thread.get("metadata") or {})
        if more := {key: value for key, value in thread.items() if key not in _OWN}:
            metadata[_KEY] = more
        await open_thread(self.ledger, thread["id"])
        await self.ledger.aio.update_thread(
            thread["id"], title=thread.get("title"), resource_id=thread.get("resourceId"), metadata=metadata
        )

    listMessages = list_messages
    saveMessages = save_messages
    getThreadById = get_thread_by_id
    saveThread = save_thread


def _given(
    args: dict[str, Any] | None, named: dict[str, Any], needed: Iterable[str], other: Iterable[str] = ()
) -> dict[str, Any]:
    given = {_CAMEL.get(key, key): value for key, value in {**(args or {}), **named}.items()}
    for key in needed:
        if key not in given:
            raise HansardError(f"{key} is missing")
    for key in given:
        if key not in (*needed, *other):
            raise HansardError(f"unknown argument {key!r}; choose from {', '.join((*needed, *other))}")
    return given


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _read(record: Any, i: int) -> tuple[str, list[Message]]:
    """The thread of a record and its messages: one, or two if it contains tool results."""
    if type(record) is dict:
        record = {key: _plain(value) for key, value in record.items()}
    try:
        read = formats.read([record], _FORMAT)
    except Unreadable as error:
        raise Unreadable(error.problem, f"$.messages[{i}]{error.path.removeprefix('$[0]')}", error.way_out) from None
    if not isinstance(read.id, str):
        raise Unreadable("no thread is named", f"$.messages[{i}].threadId")
    first, *more = read.messages
    rest, marks = unpack(_FORMAT, first.extra)
    if read.resource_id is not UNSET:  # it is the message's own here, whatever its thread says
        first = replace(first, extra=pack(_FORMAT, {**rest, "resourceId": read.resource_id}, marks))
    if isinstance(first.id, str):
        more = [replace(message, id=f"{first.id}{_RESULT}") for message in more]
    return read.id, [first, *more]


_RESULT = "/result"


def _written(thread_id: str, messages: list[Message]) -> list[dict[str, Any]]:
    """Records again; what tools gave back goes into the message it came with."""
    whole = [
        Message(role=message.role, parts=message.parts, extra=message.extra) if _came_with(message) else message
        for message in messages
    ]
    written = formats.write(Conversation(messages=whole, id=thread_id), _FORMAT).data
    return list(written) if type(written) is list else list(written["messages"])


def _came_with(message: Message) -> bool:
    return message.role == "tool" and type(message.id) is str and message.id.endswith(_RESULT)
