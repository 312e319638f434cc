"""The rows of each table of `Ledger.rows`, made from the messages in the order they were written.

Rows are made of everything that `search` finds: all branches, but no aborted or failed runs. What a fork copied from
before its fork point counts in the thread it was copied from. `usage` counts the answers of every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, NamedTuple

from msgspec import UNSET

from hansard.errors import HansardError
from hansard.ledger import threads, tree
from hansard.ledger.analysis.answers import answers, model_of, project_of
from hansard.ledger.analysis.row_types import TABLES
from hansard.ledger.backends.driver import Driver, Tx, unsafe
from hansard.ledger.ids import clock
from hansard.ledger.results import StoredThread
from hansard.ledger.rows import ThreadRow, find_place, find_runs, find_thread
from hansard.ledger.search.language import span
from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.display import shown_input, shown_output
from hansard.model.machinery import typed_text
from hansard.model.parts import ToolCallPart, ToolResultPart
from hansard.model.times import iso_time

_BATCH = 500
_COPIED = "isCopiedContext"
_UNANSWERED = "unanswered"
FlatRow = dict[str, Any]


class _Thread(NamedTuple):
    """What rows say of a thread, and which of its messages are not its own: copied ones, and those of failed runs."""

    number: int
    value: StoredThread
    began: int
    copied: list[tuple[int, int, int]]
    hidden_runs: set[int]
    is_part_of_run: bool  # a sub-agent's thread: what is asked there, an agent asked

    def has(self, message: _Message) -> bool:
        if message.run in self.hidden_runs or (
            message.value.metadata is not UNSET and message.value.metadata.get(_COPIED) is True
        ):
            return False
        return not any(seg == message.seg and low < message.depth <= high for seg, low, high in self.copied)


class _Message(NamedTuple):
    """A message with what its row in the database says of it."""

    thread: _Thread
    value: Message
    id: str
    seg: int
    depth: int
    run: int | None
    agent: str | None
    at: int | None


def rows(
    driver: Driver,
    table: str,
    *,
    project: str | None,
    agent: str | None,
    model: str | None,
    since: str | datetime | None,
    until: str | datetime | None,
    thread: str | None,
) -> Iterator[Any]:
    """The rows of a table that match; see `Ledger.rows`."""
    if table not in TABLES:
        raise HansardError(f"unknown table {table!r} (choose from {', '.join(TABLES)})")
    now = clock()
    first = None if since is None else _moment("since", since, now)[0]
    end = None if until is None else _moment("until", until, now)[1]
    source = _Source(driver, thread, model)
    wanted = {"project": project, "agent": agent, "model": model}
    given = {name: value for name, value in wanted.items() if value is not None}
    low = None if first is None else iso_time(first)
    high = None if end is None else iso_time(end)

    def matching() -> Iterator[Any]:
        for row in _MAKERS[table](source):
            if all(row[name] == value for name, value in given.items()):
                if (low is None or row["at"] >= low) and (high is None or row["at"] < high):
                    yield row

    return matching()


def _moment(name: str, value: str | datetime, now: int) -> tuple[int, int]:
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (at := int(moment.timestamp() * 1000)), at
    return span(name, value, now)


class _Source:
    """Reads threads and messages, a batch at a time."""

    def __init__(self, driver: Driver, thread: str | None, model: str | None = None) -> None:
        self.driver, self.model = driver, model
        self._threads: dict[int, _Thread | None] = {}
        self.only: int | None = None
        if thread is not None:
            self.only = driver.read(lambda tx: find_thread(tx, thread)).thread

    def threads(self) -> Iterator[_Thread]:
        """The threads, in the order they were created."""
        if self.only is not None:
            found = self.driver.read(lambda tx: self.thread(tx, self.only or 0))
            if found is not None:
                yield found
            return
        after = 0
        while numbers := self.driver.read(lambda tx: tx.all("thread_sums", after=after, limit=_BATCH)):  # noqa: B023
            batch = self.driver.read(lambda tx: [self.thread(tx, row[0]) for row in numbers])
            yield from (one for one in batch if one is not None)
            after = numbers[-1][0]

    def messages(self, *roles: str) -> Iterator[_Message]:
        """The messages of these roles (all if none is named) that are their thread's own, in the order written."""
        after = 0
        while batch := self.driver.read(lambda tx: self._batch(tx, after, roles)):  # noqa: B023
            after, found = batch
            yield from (message for message in found if message.thread.has(message))

    def _batch(self, tx: Tx, after: int, roles: tuple[str, ...]) -> tuple[int, list[_Message]] | None:
        if self.only is None:
            found = tx.all("rows_after", n=after, limit=_BATCH)
        else:
            found = tx.all("rows_of_after", n=after, limit=_BATCH, thread=self.only)
        if not found:
            return None
        chosen = [row for row in found if not roles or row[7] in roles]
        values = tree.messages_of(tx, [(row[1], row[2]) for row in chosen])
        made: list[_Message] = []
        for row, value in zip(chosen, values, strict=True):
            thread = self.thread(tx, row[3])
            if thread is not None:
                key = unsafe(row[1]) or ""
                made.append(_Message(thread, value, key, row[4], row[5], row[6], unsafe(row[8]), row[9]))
        return found[-1][0], made

    def thread(self, tx: Tx, number: int) -> _Thread | None:
        """The thread with this number; None for an erased one."""
        if number not in self._threads:
            found = tx.one("thread_by_number", thread=number)
            row = None if found is None else ThreadRow(*found)
            self._threads[number] = None if row is None or row.forgotten_at is not None else _of_thread(tx, row)
        return self._threads[number]


def _of_thread(tx: Tx, row: ThreadRow) -> _Thread:
    value = threads.described(tx, row)
    copied: list[tuple[int, int, int]] = []
    if value.forked_from_message_id is not None and threads.has(tx, row, value.forked_from_message_id):
        place = find_place(tx, row, value.forked_from_message_id)
        copied = tree.lineage(tx, row.thread, place.seg, place.depth)
    hidden = {number for number, run in find_runs(tx, row).items() if run.status in ("aborted", "failed")}
    sub_agent = value.parent_thread_id is not None and value.forked_from_message_id is None
    return _Thread(row.thread, value, row.created_at, copied, hidden, sub_agent)


def _common(thread: _Thread, at: int | None, project: str | None, agent: str | None, model: str | None) -> FlatRow:
    """The columns of every table."""
    value = thread.value
    return {
        "thread": value.id,
        "title": value.title,
        "project": project or value.project,
        "at": iso_time(thread.began if at is None else at),
        "agent": agent or value.agent,
        "model": model or next(iter(value.models), None),
    }


def _of_message(message: _Message) -> FlatRow:
    value = message.value
    return _common(message.thread, message.at, project_of(value), message.agent, model_of(value))


# -- the tables ----------------------------------------------------------------------------------------------------


def _threads(source: _Source) -> Iterator[FlatRow]:
    for thread in source.threads():
        more = {"messages": thread.value.messages, "head": thread.value.head}
        model = source.model if source.model in thread.value.models else None
        yield {**_common(thread, None, None, None, model), **more}


def _messages(source: _Source) -> Iterator[FlatRow]:
    for message in source.messages():
        value = message.value
        yield {**_of_message(message), "message": message.id, "role": value.role, "text": value.text}


def _prompts(source: _Source) -> Iterator[FlatRow]:
    for message in source.messages("user"):
        if message.thread.is_part_of_run or (text := typed_text(message.value)) is None:
            continue
        yield {**_of_message(message), "message": message.id, "text": text, "origin": "person"}


def _calls(source: _Source) -> Iterator[FlatRow]:
    """Each call when its result has come; those without one at the end."""
    waiting: dict[tuple[int, str], list[tuple[FlatRow, int | None]]] = {}
    nameless: list[FlatRow] = []
    for message in source.messages():
        for part in message.value.parts:
            if isinstance(part, ToolCallPart):
                row = {**_of_message(message), **_call(part)}
                if part.call_id:
                    waiting.setdefault((message.thread.number, part.call_id), []).append((row, message.at))
                else:
                    nameless.append(row)
            elif isinstance(part, ToolResultPart) and part.preliminary is not True:
                key = (message.thread.number, part.call_id)
                if key in waiting:
                    row, asked = waiting[key].pop()
                    if not waiting[key]:
                        del waiting[key]
                    yield {**row, **_result(part, asked, message.at)}
    yield from (row for left in waiting.values() for row, _ in left)
    yield from nameless


def _call(part: ToolCallPart) -> FlatRow:
    given = shown_input(part)
    return {
        "call": part.call_id or None,
        "tool": part.name,
        "input": given if type(given) is str else _json(given),
        "output": None,
        "status": _UNANSWERED,
        "seconds": None,
    }


def _result(part: ToolResultPart, asked: int | None, answered: int | None) -> FlatRow:
    output = shown_output(part)
    failed = "error" if part.is_error is True else "ok"
    known = asked is not None and answered is not None and answered >= asked
    return {
        "output": output if output is None or type(output) is str else _json(output),
        "status": part.status if isinstance(part.status, str) and part.status else failed,
        "seconds": (answered - asked) / 1000 if known else None,  # type: ignore[operator]
    }


def _json(value: Any) -> str:
    return exact_json.encode(value).decode("utf-8", "surrogatepass")


def _usage(source: _Source) -> Iterator[FlatRow]:
    for answer in answers(source.driver, source.only):
        thread = source.driver.read(lambda tx: source.thread(tx, answer.thread))  # noqa: B023
        if thread is not None:
            tokens = answer.tokens
            yield {
                **_common(thread, answer.at, answer.project, answer.agent, None),
                "model": answer.model,  # no other model is guessed: it has a price
                "inputTokens": tokens.input_tokens,
                "cacheReadTokens": tokens.cache_read_tokens,
                "cacheWriteTokens": tokens.cache_write_tokens,
                "outputTokens": tokens.output_tokens,
                "reasoningTokens": tokens.reasoning_tokens,
            }


def _files(source: _Source) -> Iterator[FlatRow]:
    changed_files = import_module("hansard.workspace.changed_files").changed_files
    for thread in source.threads():
        own = {one.id: one for one in _Source(source.driver, thread.value.id).messages()}
        for found in changed_files(source.driver, thread.value.id):
            message = own.get(found.message_id)
            if found.message_id is not None and message is None:
                continue
            common = _common(thread, found.at, None, found.agent, None) if message is None else _of_message(message)
            yield {**common, "path": found.path, "change": found.change, "call": found.call_id}


_MAKERS: dict[str, Callable[[_Source], Iterator[FlatRow]]] = {
    "threads": _threads,
    "messages": _messages,
    "prompts": _prompts,
    "calls": _calls,
    "usage": _usage,
    "files": _files,
}
