"""What can be said of a whole thread: its agents, models, projects and formats; lists are narrowed by it.

Facts are derived: they are gathered when the feed is followed (see `search`), so that appending pays nothing for them.
The format of a thread is that of the file it came from, and any whose own words it still keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from hansard.ledger import threads
from hansard.ledger.backends.driver import Tx, safe, unsafe
from hansard.ledger.results import Fact, Page, Thread
from hansard.ledger.rows import ThreadRow, described
from hansard.ledger.search.language import span
from hansard.model.conversation import Message

KINDS = ("format", "agent", "model", "project")
LONGEST = 400  # letters of a value that count: an index takes no more than some thousand bytes
_FAR = 1 << 60
_MOST = 200


def gather(tx: Tx, said: Iterable[tuple[int, str | None, Message]]) -> None:
    """Note the facts of some messages, each with its thread's number and its agent, and of their threads."""
    told = {
        (thread, agent, _text(message.model, "name"), _text(message.context, "cwd"), _formats(message.extra))
        for thread, agent, message in said
    }
    found = {
        (thread, kind, value)
        for thread, agent, model, folder, formats in told
        for kind, value in (("agent", agent), ("model", model), ("project", folder), *formats)
        if value
    }
    for thread in {thread for thread, *_ in told}:
        row = tx.one("thread_by_number", thread=thread)
        if row is not None:
            found.update((thread, kind, value) for kind, value in _of_thread(ThreadRow(*row)))
    rows = [{"thread": thread, "kind": kind, "value": safe(_cut(value))} for thread, kind, value in sorted(found)]
    tx.many("add_fact", rows)


def _of_thread(row: ThreadRow) -> Iterator[tuple[str, str]]:
    value = described(row)
    yield from _formats(value.extra)
    for agent in value.agents.values() if isinstance(value.agents, dict) else ():
        if isinstance(agent.model, str) and agent.model:
            yield "model", agent.model


def _text(node: Any, name: str) -> str | None:
    found = getattr(node, name, None)
    return found if isinstance(found, str) else None


def _formats(extra: Any) -> tuple[tuple[str, str], ...]:
    if not extra or not isinstance(extra, dict):
        return ()
    return tuple(("format", name) for name in extra if isinstance(name, str) and name)


def _cut(value: str | None) -> str:
    return (value or "")[:LONGEST]


def told(tx: Tx) -> list[Fact]:
    """Every fact and of how many threads it is one; of each kind the most common ones."""
    found: dict[str, list[Fact]] = {kind: [] for kind in KINDS}
    for kind, value, count in tx.all("facts"):
        if kind in found and len(found[kind]) < _MOST:
            found[kind].append(Fact(kind=kind, value=unsafe(value) or "", threads=count))
    return [fact for kind in KINDS for fact in found[kind]]


class Only(Struct, frozen=True, kw_only=True):
    """What threads are narrowed by; `since` and `until` are times as a search takes them, of the last change."""

    format: str | None = None
    agent: str | None = None
    model: str | None = None
    project: str | None = None
    resource_id: str | None = None
    since: str | None = None
    until: str | None = None

    def values(self, now: int) -> dict[str, Any]:
        """For the statements."""
        told = {kind: getattr(self, kind) for kind in KINDS}
        values: dict[str, Any] = {kind: None if one is None else safe(_cut(one)) for kind, one in told.items()}
        first = -_FAR if self.since is None else span("since", self.since, now)[0]
        behind = _FAR if self.until is None else span("until", self.until, now)[1]
        return {**values, "resource": safe(self.resource_id), "since": first, "until": behind}


def page(tx: Tx, limit: int, after: str | None, newest: bool, values: dict[str, Any]) -> Page[Thread]:
    """Threads of which all this is so, by their last change."""
    return threads.pages(tx, "threads_newest_where" if newest else "threads_oldest_where", limit, after, newest, values)


def numbers(tx: Tx, values: dict[str, Any]) -> set[int]:
    """The same, all of them, by their numbers."""
    return {number for (number,) in tx.all("thread_numbers_where", **values)}
