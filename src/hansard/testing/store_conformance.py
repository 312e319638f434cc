"""The contract of `MemoryStore` as numbered plain statements, each tried on a store of its own."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from msgspec import Struct

from hansard.agent.memory_store import CanonicalMessage, MemoryStore, ThreadRecord

_Check: TypeAlias = Callable[[MemoryStore], Awaitable[None]]
_STATEMENTS: list[tuple[str, _Check]] = []


class StoreResult(Struct, frozen=True, kw_only=True):
    """Whether one statement holds; `problem` says what was seen instead."""

    number: int
    statement: str
    problem: str = ""

    @property
    def passed(self) -> bool:
        return not self.problem

    def __str__(self) -> str:
        mark = "ok  " if self.passed else "FAIL"
        return f"{mark} {self.number}. {self.statement}" + (f"\n        {self.problem}" if self.problem else "")


class StoreReport(Struct, frozen=True, kw_only=True):
    """The result of every statement; `print(report)` lists them."""

    results: list[StoreResult]

    @property
    def passed(self) -> bool:
        """Whether all statements hold."""
        return not self.failures

    @property
    def failures(self) -> list[StoreResult]:
        return [result for result in self.results if not result.passed]

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        count = len(self.results)
        return "\n".join([*map(str, self.results), f"{count - len(self.failures)} of {count} statements hold"])


async def run_store_conformance(make_store: Callable[[], Any]) -> StoreReport:
    """Try every statement of the contract on an empty store from `make_store` (a function, or an async one).

    Nothing is raised for a store that breaks the contract: the report says which statements do not hold.
    """
    results = []
    for number, (statement, check) in enumerate(_STATEMENTS, start=1):
        problem = ""
        try:
            store = make_store()
            if inspect.isawaitable(store):
                store = await store
            await check(store)
        except _Broken as broken:
            problem = str(broken)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        results.append(StoreResult(number=number, statement=statement, problem=problem))
    return StoreReport(results=results)


class _Broken(Exception):
    """A statement does not hold."""


def _statement(text: str) -> Callable[[_Check], _Check]:
    def keep(check: _Check) -> _Check:
        _STATEMENTS.append((text, check))
        return check

    return keep


# -- what is saved -------------------------------------------------------------------------------------------------

FIRST, SECOND, NOWHERE = (f"00000000-0000-4000-8000-000000{n}00000" for n in (1, 2, 9))  # columns may be UUIDs
_TIMES = ("createdAt", "updatedAt")


def _message(n: int, thread: str = FIRST, **more: Any) -> CanonicalMessage:
    role = ("user", "assistant")[n % 2]
    content = {"format": 2, "parts": [{"type": "text", "text": f"This is message {n}."}]}
    at = f"2026-01-02T03:{4 + n // 60:02}:{n % 60:02}.000Z"
    fields = {"id": f"{thread[:-4]}{n + 1:04}", "threadId": thread, "role": role, "type": "text", "content": content}
    return {**fields, "createdAt": at, **more}


def _thread(id: str = FIRST, **more: Any) -> ThreadRecord:
    return {"id": id, "createdAt": "2026-01-02T03:04:00.000Z", "updatedAt": "2026-01-02T03:04:00.000Z", **more}


_EVERY_PART: list[Any] = [
    {"type": "text", "text": "Let me look.", "providerMetadata": {"openai": {"itemId": "msg_1"}}},
    {"type": "reasoning", "reasoning": "Which city?", "details": [{"n": 1}], "providerMetadata": {"x": {"y": True}}},
    {"type": "tool-invocation", "toolCallId": "c1", "toolName": "weather", "args": {"city": "Oslo"}, "state": "call"},
    {"type": "tool-invocation", "toolCallId": "c2", "toolName": "weather", "args": '{"ci', "state": "partial-call"},
    {
        "type": "tool-invocation",
        "toolCallId": "c3",
        "toolName": "weather",
        "args": {"city": "Rome", "days": 2},
        "result": {"celsius": 21.5, "rain": None, "hours": [1, 2]},
        "state": "result",
    },
    {"type": "file", "data": "aGVsbG8=", "mimeType": "text/plain"},
    {"type": "source", "id": "s1", "title": "A page", "url": "https://example.org/a"},
    {"type": "data", "data": {"any": ["thing", 1, False]}},
]
_TEXTS = ["", "  two  spaces\n\ttab", "naïve 你好 \u0627\u0644", "\U0001f469\u200d\U0001f680", "\u2028", '"\\/', "{}"]


async def _saved(store: MemoryStore, messages: list[CanonicalMessage], *threads: str) -> None:
    for thread in threads or (FIRST,):
        await store.save_thread(thread=_thread(thread))
    await store.save_messages(messages=copy.deepcopy(messages))


def _same(found: Any, expected: Any, what: str) -> None:
    found, expected = _comparable(found), _comparable(expected)
    if found == expected:
        return
    if isinstance(found, list) and type(expected) is list and len(found) == len(expected):
        i = next(i for i, one in enumerate(expected) if found[i] != one)
        what, found, expected = f"{what}, number {i + 1}", found[i], expected[i]
    if isinstance(found, dict) and type(expected) is dict:
        keys = [key for key in (*expected, *found) if found.get(key) != expected.get(key) or key not in found]
        if keys and found.get("id") == expected.get("id"):
            what, found, expected = f"{what}, the field {keys[0]}", found.get(keys[0]), expected.get(keys[0])
    raise _Broken(f"{what}: expected {_short(expected)}, found {_short(found)}")


def _comparable(value: Any) -> Any:
    """A record with its times as moments: a store returns them as text or as `datetime`."""
    if isinstance(value, (list, tuple)):
        return [_comparable(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _moment(item) if key in _TIMES else item for key, item in value.items()}


def _moment(value: Any) -> Any:
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return time.replace(tzinfo=UTC) if isinstance(time, datetime) and time.tzinfo is None else time


def _short(value: Any) -> str:
    text = repr([one.get("id", one) if type(one) is dict else one for one in value] if type(value) is list else value)
    return text if len(text) <= 200 else f"{text[:197]}..."


# -- messages ------------------------------------------------------------------------------------------------------


@_statement("A thread without messages, or one that was never saved, lists no messages.")
async def _empty(store: MemoryStore) -> None:
    _same(await store.list_messages(thread_id=NOWHERE), [], "the messages of an unknown thread")
    await store.save_thread(thread=_thread())
    _same(await store.list_messages(thread_id=FIRST), [], "the messages of an empty thread")


@_statement("Messages are listed in the order they were saved, over one call or several.")
async def _order(store: MemoryStore) -> None:
    messages = [_message(n) for n in range(6)]
    await _saved(store, messages[:4])
    await store.save_messages(messages=messages[4:5])
    await store.save_messages(messages=messages[5:])
    found = await store.list_messages(thread_id=FIRST)
    _same([one.get("id") for one in found], [one["id"] for one in messages], "the order")


@_statement("A message is returned as it was saved: every field, every kind of part, provider metadata.")
async def _whole(store: MemoryStore) -> None:
    content = {
        "format": 2,
        "parts": _EVERY_PART,
        "content": "Let me look.",
        "metadata": {"rating": 5, "tags": ["a"]},
        "providerMetadata": {"openai": {"id": "r1"}},
    }
    message = _message(1, type="tool", content=content, resourceId="user-7")
    await _saved(store, [message])
    (found,) = await store.list_messages(thread_id=FIRST)
    _same({key: found.get(key) for key in message}, message, "the message")


@_statement("Every role and type is kept: system, user, assistant and tool; text, tool and event.")
async def _roles(store: MemoryStore) -> None:
    result = {"type": "tool-invocation", "toolCallId": "c1", "toolName": "weather", "result": 1, "state": "result"}
    event: list[Any] = [{"type": "data", "data": {"joined": "Ann"}}]
    messages = [
        _message(0, role="system"),
        _message(1, role="user"),
        _message(2, role="assistant"),
        _message(3, role="tool", type="tool", content={"format": 2, "parts": [result]}),
        _message(4, role="system", type="event", content={"format": 2, "parts": event}),
    ]
    await _saved(store, messages)
    found = await store.list_messages(thread_id=FIRST)
    _same([(one["role"], one["type"]) for one in found], [(one["role"], one["type"]) for one in messages], "the roles")


@_statement("Text is kept letter for letter: white space, any script, emoji, separators.")
async def _letters(store: MemoryStore) -> None:
    await _texts_kept(store, _TEXTS)


async def _texts_kept(store: MemoryStore, texts: list[str]) -> None:
    parts = [{"type": "text", "text": text} for text in texts]
    await _saved(store, [_message(1, content={"format": 2, "parts": parts})])
    (found,) = await store.list_messages(thread_id=FIRST)
    _same([part["text"] for part in found["content"]["parts"]], texts, "the texts")


@_statement("Saving the same message again changes nothing, alone or among new ones.")
async def _again(store: MemoryStore) -> None:
    messages = [_message(n) for n in range(3)]
    await _saved(store, messages[:2])
    await store.save_messages(messages=copy.deepcopy(messages[:1]))
    await store.save_messages(messages=copy.deepcopy(messages))
    _same(await store.list_messages(thread_id=FIRST), messages, "the messages")


@_statement("Saving no messages changes nothing.")
async def _nothing(store: MemoryStore) -> None:
    await _saved(store, [_message(1)])
    await store.save_messages(messages=[])
    _same(len(await store.list_messages(thread_id=FIRST)), 1, "the number of messages")


@_statement("order_by='desc' lists the newest message first; 'asc' is the default.")
async def _descending(store: MemoryStore) -> None:
    messages = [_message(n) for n in range(4)]
    await _saved(store, messages)
    _same(await store.list_messages(thread_id=FIRST, order_by="desc"), messages[::-1], "with desc")
    _same(await store.list_messages(thread_id=FIRST, order_by="asc"), messages, "with asc")


@_statement("limit gives the first messages of that order: the oldest with 'asc', the newest with 'desc'.")
async def _limited(store: MemoryStore) -> None:
    messages = [_message(n) for n in range(5)]
    await _saved(store, messages)
    _same(await store.list_messages(thread_id=FIRST, limit=2), messages[:2], "limit 2")
    found = await store.list_messages(thread_id=FIRST, limit=2, order_by="desc")
    _same(found, messages[:-3:-1], "limit 2 with desc")


@_statement("A limit above the number of messages lists all of them.")
async def _generous(store: MemoryStore) -> None:
    messages = [_message(n) for n in range(3)]
    await _saved(store, messages)
    _same(await store.list_messages(thread_id=FIRST, limit=100), messages, "limit 100")


@_statement("Each message goes to the thread it names, also when one call saves messages of several.")
async def _apart(store: MemoryStore) -> None:
    mixed = [_message(1), _message(1, SECOND), _message(2), _message(2, SECOND)]
    await _saved(store, mixed, FIRST, SECOND)
    for thread in (FIRST, SECOND):
        expected = [one for one in mixed if one["threadId"] == thread]
        _same(await store.list_messages(thread_id=thread), expected, f"thread {thread}")


@_statement("Calls at the same time lose nothing and repeat nothing.")
async def _together(store: MemoryStore) -> None:
    messages = [_message(n) for n in range(12)]
    await _saved(store, [])
    await asyncio.gather(*(store.save_messages(messages=[copy.deepcopy(one)]) for one in [*messages, *messages]))
    found = await store.list_messages(thread_id=FIRST)
    _same(sorted(one["id"] for one in found), sorted(one["id"] for one in messages), "the messages")


@_statement("A long thread is listed whole.")
async def _long(store: MemoryStore) -> None:
    messages = [_message(n) for n in range(600)]
    await _saved(store, messages)
    found = await store.list_messages(thread_id=FIRST)
    _same([one["id"] for one in found], [one["id"] for one in messages], "the messages")


# -- threads -------------------------------------------------------------------------------------------------------


@_statement("A thread that was never saved is None.")
async def _no_thread(store: MemoryStore) -> None:
    _same(await store.get_thread_by_id(thread_id=NOWHERE), None, "an unknown thread")


@_statement("A thread is returned with the fields it was saved with.")
async def _thread_kept(store: MemoryStore) -> None:
    thread = _thread(title="Tea", resourceId="user-7", metadata={"topic": "tea", "n": [1, None]})
    await store.save_thread(thread=copy.deepcopy(thread))
    found = await store.get_thread_by_id(thread_id=FIRST)
    if found is None:
        raise _Broken("the saved thread was not found")
    saved = {key: thread[key] for key in ("id", "title", "resourceId", "metadata", "createdAt")}
    _same({key: found.get(key) for key in saved}, saved, "the thread")


@_statement("Saving a thread again replaces what was saved of it, and its messages stay.")
async def _thread_again(store: MemoryStore) -> None:
    messages = [_message(n) for n in range(2)]
    await _saved(store, messages)
    await store.save_thread(thread=_thread(title="Tea", metadata={"old": 1}))
    await store.save_thread(thread=_thread(title="Coffee", metadata={"new": 2}))
    found = await store.get_thread_by_id(thread_id=FIRST) or {}
    _same((found.get("title"), found.get("metadata")), ("Coffee", {"new": 2}), "title and metadata")
    _same(await store.list_messages(thread_id=FIRST), messages, "the messages")


@_statement("Threads do not touch one another.")
async def _threads_apart(store: MemoryStore) -> None:
    await store.save_thread(thread=_thread(FIRST, title="One"))
    await store.save_thread(thread=_thread(SECOND, title="Two"))
    for thread, title in ((FIRST, "One"), (SECOND, "Two")):
        found = await store.get_thread_by_id(thread_id=thread) or {}
        _same(found.get("title"), title, f"the title of {thread}")


# -- what a database may refuse --------------------------------------------------------------------------------------


@_statement("A NUL in a text is kept, which PostgreSQL's jsonb takes only escaped.")
async def _nul(store: MemoryStore) -> None:
    await _texts_kept(store, ["a\x00b"])


@_statement("Ids are any text: a new message of an agent has a ULID, a client's message the id it came with.")
async def _ids(store: MemoryStore) -> None:
    messages = [_message(n, "a chat", id=id) for n, id in enumerate(("01ARZ3NDEKTSV4RRFFQ69G5FAV", "msg-1/\u00e9"))]
    await _saved(store, messages, "a chat")
    _same(await store.list_messages(thread_id="a chat"), messages, "the messages")
