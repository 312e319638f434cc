"""Facets of threads: agents, models, projects and formats, to filter lists of threads by.

Facets are derived: they are collected when the search index catches up (see `index`), so appends do not write them.
The formats of a thread are the one of the file it came from and each whose residue it still has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from hansard.ledger import threads
from hansard.ledger.backends.driver import Tx, safe, unsafe
from hansard.ledger.results import Facet, Page, Thread
from hansard.ledger.rows import ThreadRow, description
from hansard.ledger.search.language import span
from hansard.model.conversation import Message

KINDS = ("format", "agent", "model", "project")
LONGEST = 400  # characters of a value that are stored: a database index takes a few thousand bytes
_FAR = 1 << 60
_MOST = 200


def collect(tx: Tx, messages: Iterable[tuple[int, str | None, Message]]) -> None:
    """Store the facets of some messages, each with its thread number and agent, and of their threads."""
    seen = {
        (thread, agent, _text(message.model, "name"), _text(message.context, "cwd"), _formats_of(message))
        for thread, agent, message in messages
    }
    found = {
        (thread, kind, value)
        for thread, agent, model, folder, formats in seen
        for kind, value in (("agent", agent), ("model", model), ("project", folder), *formats)
        if value
    }
    for thread in {thread for thread, *_ in seen}:
        row = tx.one("thread_by_number", thread=thread)
        if row is not None:
            found.update((thread, kind, value) for kind, value in _of_thread(ThreadRow(*row)))
    rows = [{"thread": thread, "kind": kind, "value": safe(_cut(value))} for thread, kind, value in sorted(found)]
    tx.many("add_fact", rows)


def _of_thread(row: ThreadRow) -> Iterator[tuple[str, str]]:
    value = description(row)
    yield from _formats(value.extra)
    if value.settings and (model := _text(value.settings.model, "name")):
        yield "model", model
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


def _formats_of(message: Message) -> tuple[tuple[str, str], ...]:
    found = _formats(message.extra)
    for part in message.parts:
        if part.extra:
            found += _formats(part.extra)
    return found


def _cut(value: str | None) -> str:
    return (value or "")[:LONGEST]


def counts(tx: Tx) -> list[Facet]:
    """The most common values of each kind, with their number of threads."""
    found: dict[str, list[Facet]] = {kind: [] for kind in KINDS}
    for kind, value, count in tx.all("facts"):
        if kind in found and len(found[kind]) < _MOST:
            found[kind].append(Facet(kind=kind, value=unsafe(value) or "", threads=count))
    return [facet for kind in KINDS for facet in found[kind]]


class ThreadFilter(Struct, frozen=True, kw_only=True):
    """Conditions that threads must meet; `since` and `until` are times as in a query, of the last change."""

    format: str | None = None
    agent: str | None = None
    model: str | None = None
    project: str | None = None
    resource_id: str | None = None
    since: str | None = None
    until: str | None = None

    def values(self, now: int) -> dict[str, Any]:
        """The parameters of the SQL statements."""
        wanted = {kind: getattr(self, kind) for kind in KINDS}
        values: dict[str, Any] = {kind: None if one is None else safe(_cut(one)) for kind, one in wanted.items()}
        first = -_FAR if self.since is None else span("since", self.since, now)[0]
        end = _FAR if self.until is None else span("until", self.until, now)[1]
        return {**values, "resource": safe(self.resource_id), "since": first, "until": end}


def page(tx: Tx, limit: int, after: str | None, newest: bool, values: dict[str, Any]) -> Page[Thread]:
    """The matching threads, by their last change."""
    return threads.pages(tx, "threads_newest_where" if newest else "threads_oldest_where", limit, after, newest, values)


def numbers(tx: Tx, values: dict[str, Any]) -> set[int]:
    """The numbers of all matching threads."""
    return {number for (number,) in tx.all("thread_numbers_where", **values)}
