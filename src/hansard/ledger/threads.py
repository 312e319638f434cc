"""Threads: create, describe, list in pages, and move the head of a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Conflict, HansardError, NotFound, StorageError
from hansard.ledger import bodies, limits, summary, tree
from hansard.ledger.backends.driver import Tx, safe, unsafe
from hansard.ledger.results import Page, StoredThread
from hansard.ledger.rows import ROOT, Place, ThreadRow, description, find_place, find_thread, id_at, whole_seconds
from hansard.model.conversation import Agent, Conversation, Message, Snapshot
from hansard.model.default_title import LOOKED_AT, chat_title
from hansard.model.digits import whole_number
from hansard.model.stored import stored_agents
from hansard.model.times import iso_time, milliseconds

_FAR = 1 << 60
TITLE = 200  # characters of a title that is made from the first prompt
_DESCRIPTION = (
    "tools",
    "settings",
    "title",
    "resource_id",
    "agents",
    "metadata",
    "extra",
    "created_at",
    "updated_at",
    "runs",
    "snapshots",
)


def create(tx: Tx, value: Conversation, now: int) -> StoredThread:
    """Create a thread with the description in `value`; an existing one with the same description is returned."""
    return described(tx, start(tx, value, now))


def start(tx: Tx, value: Conversation, now: int, key: str | None = None) -> ThreadRow:
    """Insert a thread under its own id, or under `key`; its row."""
    if key is None:
        assert isinstance(value.id, str)
        key = value.id
    body = bodies.seal(limits.encode(replace(value, messages=[]), "the description of a thread"))
    changed = tx.run(
        "add_thread",
        id=safe(limits.check_id(key, "a thread")),
        title=safe(value.title) if isinstance(value.title, str) else None,
        resource=_resource(value),
        parent_thread=safe(value.parent_thread_id) if isinstance(value.parent_thread_id, str) else None,
        now=whole_seconds(now),
        body=body,
    )
    row = find_thread(tx, key, lock=True)
    if changed != 1 and row.body != body:
        raise Conflict(f"another thread has the id {key!r}; choose a new id, or change that thread with update_thread")
    return row


def described(tx: Tx, row: ThreadRow) -> StoredThread:
    """A row as the `StoredThread` that callers get: with a title even where none was given."""
    thread = as_thread(tx, row)
    if summary.decode(row.usage).models is UNSET and row.messages:
        thread = _from_facts(tx, row, thread)
    if thread.title is None and row.head_depth:
        thread = replace(thread, title=first_prompt(tx, row) or None)
    return thread


def first_prompt(tx: Tx, row: ThreadRow) -> str:
    """The first thing that a person asked in a thread, in one line of plain text."""
    try:
        first = tree.messages_of(tx, tree.page_rows(tx, row, row.head, LOOKED_AT, newest=False))
    except StorageError:  # damaged: `hansard verify` names it
        return ""
    return chat_title(first, TITLE)


def _from_facts(tx: Tx, row: ThreadRow, thread: StoredThread) -> StoredThread:
    """Project, agent and models of a thread from before its summary had them: what the search index knows."""
    found: dict[str, list[str]] = {}
    for kind, value in tx.all("facts_of", thread=row.thread):
        found.setdefault(kind, []).append(unsafe(value) or "")
    project, agent = found.get("project", [None])[0], found.get("agent", [None])[0]
    return replace(thread, project=project, agent=agent, models=found.get("model", []))


def as_thread(tx: Tx, row: ThreadRow) -> StoredThread:
    """A row as it is stored: the title only if one was given."""
    value, sums = description(row), summary.decode(row.usage)
    return StoredThread(
        id=unsafe(row.id) or "",
        version=row.version,
        messages=row.messages,
        created_at=iso_time(row.created_at),
        updated_at=iso_time(row.updated_at),
        head=unsafe(id_at(tx, row, row.head)),
        title=unsafe(row.title),
        resource_id=unsafe(row.resource),
        parent_thread_id=unsafe(row.parent_thread),
        forked_from_message_id=value.forked_from_message_id if isinstance(value.forked_from_message_id, str) else None,
        agents=stored_agents(value.agents) if isinstance(value.agents, dict) else {},
        metadata=value.metadata if isinstance(value.metadata, dict) else {},
        project=sums.project or None,
        agent=sums.agent or None,
        models=sums.models or [],
        usage=summary.token_sum(sums),
    )


def below(tx: Tx, row: ThreadRow, tool_call_id: str | None) -> list[StoredThread]:
    """The sub-threads of a thread, oldest first; of one call, or of all."""
    keys = [unsafe(key) or "" for (key,) in tx.all("threads_of_parent", parent=row.id)]
    found = [as_thread(tx, find_thread(tx, key)) for key in keys]
    return [
        one
        for one in found
        if one.forked_from_message_id is None
        and (tool_call_id is None or _call_of(one).get("toolCallId") == tool_call_id)
    ]


def _call_of(thread: StoredThread) -> dict[str, Any]:
    call = thread.metadata.get("call")
    return call if type(call) is dict else {}


def named(tx: Tx, text: str, limit: int) -> list[StoredThread]:
    """The threads whose id starts with a text or whose title equals it, newest first."""
    return [described(tx, ThreadRow(*row)) for row in tx.all("threads_named", text=safe(text), limit=limit)]


def page(tx: Tx, limit: int, after: str | None, newest: bool, resource: str | None) -> Page[StoredThread]:
    """Threads by their last change; `after` is the `next` of the previous page."""
    name = ("threads_newest" if newest else "threads_oldest") + ("_of" if resource is not None else "")
    return pages(tx, name, limit, after, newest, {} if resource is None else {"resource": safe(resource)})


def pages(tx: Tx, name: str, limit: int, after: str | None, newest: bool, values: dict[str, Any]) -> Page[StoredThread]:
    """A page of the rows of a statement that lists threads by their last change."""
    updated, number = _cursor(after) if after is not None else ((_FAR, _FAR) if newest else (-_FAR, -_FAR))
    given = {"updated_at": updated, "thread": number, "limit": limit + 1, **values}
    rows = [ThreadRow(*row) for row in tx.all(name, **given)]
    more = len(rows) > limit
    rows = rows[:limit]
    last = f"{rows[-1].updated_at}.{rows[-1].thread}" if more else None
    return Page(items=[described(tx, row) for row in rows], next=last)


def _cursor(text: str) -> tuple[int, int]:
    updated, _, number = text.partition(".")
    last, thread = whole_number(updated), whole_number(number)
    if last is None or thread is None:
        raise HansardError(f"invalid cursor {text!r}; pass the `next` of the previous page")
    return last, thread


def update(
    tx: Tx,
    thread_id: str,
    now: int,
    title: str | UnsetType | None,
    resource_id: str | UnsetType | None,
    metadata: dict[str, Any] | UnsetType,
    agents: Sequence[Agent] | UnsetType,
) -> StoredThread:
    """Change the description of a thread; agents are added to its registry, other fields are replaced."""
    row = find_thread(tx, thread_id, lock=True)
    value = description(row)
    changes: dict[str, Any] = {}
    if title is not UNSET:
        changes["title"] = UNSET if title is None else title
    if resource_id is not UNSET:
        changes["resource_id"] = UNSET if resource_id is None else resource_id
    if metadata is not UNSET:
        changes["metadata"] = metadata
    if agents is not UNSET:
        known = value.agents if isinstance(value.agents, dict) else {}
        changes["agents"] = {**known, **{agent.id: agent for agent in agents}}
    _write_description(tx, row, replace(value, **changes), max(whole_seconds(now), row.updated_at))
    return described(tx, find_thread(tx, thread_id))


def _write_description(tx: Tx, row: ThreadRow, value: Conversation, now: int) -> None:
    tx.run(
        "change_thread",
        thread=row.thread,
        title=safe(value.title) if isinstance(value.title, str) else None,
        resource=_resource(value),
        body=bodies.seal(limits.encode(value, "the description of a thread")),
        now=now,
    )


def _resource(value: Conversation) -> str | None:
    return safe(limits.check_id(value.resource_id, "a resource")) if isinstance(value.resource_id, str) else None


def update_description(tx: Tx, row: ThreadRow, value: Conversation) -> None:
    """Take over the fields that a conversation sets and the thread has differently."""
    old = description(row)
    changes = {
        name: getattr(value, name)
        for name in _DESCRIPTION
        if getattr(value, name) is not UNSET and getattr(value, name) != getattr(old, name)
    }
    if changes:
        _write_description(tx, row, replace(old, **changes), row.updated_at)


def date(tx: Tx, row: ThreadRow, value: Conversation, written: int) -> None:
    """Give a thread that an import created the time at which its conversation began, else that of its file."""
    if row.created_at:
        return
    told = milliseconds(value.created_at) if isinstance(value.created_at, str) else None
    first = tx.one("first_message_time", thread=row.thread) if told is None else (told,)
    began = first[0] if first is not None and first[0] else written
    tx.run("date_thread", thread=row.thread, created_at=whole_seconds(began))


def set_fork(tx: Tx, row: ThreadRow, parent: str, message_id: str, past: list[Message]) -> None:
    """Note that a thread is a fork of another one after a message; its past is not in its token counts."""
    value = replace(description(row), parent_thread_id=parent, forked_from_message_id=message_id)
    _write_description(tx, row, value, row.updated_at)
    tx.run("set_fork", thread=row.thread, parent_thread=safe(parent), usage=summary.subtract(row.usage, past))


def add_snapshots(tx: Tx, row: ThreadRow, snapshots: list[Snapshot], start: int = 0) -> None:
    """Store the snapshots of a conversation from number `start` on; those the thread has are kept."""
    count = tx.one("count_snapshots", thread=row.thread) if snapshots else None
    have = max(count[0] - start, 0) if count else 0
    for n, snapshot in enumerate(snapshots[have:], start=start + have):
        tx.run(
            "add_snapshot",
            thread=row.thread,
            n=n,
            message=safe(snapshot.message_id) if isinstance(snapshot.message_id, str) else None,
            body=bodies.seal(limits.encode(snapshot, "a snapshot")),
        )


def last_message(tx: Tx, row: ThreadRow) -> str | None:
    """The id of the message that was written last: the head of an imported file that names none."""
    found = tx.one("last_message", thread=row.thread)
    return None if found is None else unsafe(found[0])


def newest_number(tx: Tx, row: ThreadRow) -> int:
    """The number of the message that was written last; 0 if there is none."""
    found = tx.one("last_message", thread=row.thread)
    return 0 if found is None else int(found[1])


def checkout(tx: Tx, thread_id: str, message_id: str | None, now: int, *, tip: bool) -> StoredThread:
    """Move the head to a message; with `tip` to the end of the branch the message is on."""
    row = find_thread(tx, thread_id, lock=True)
    place = ROOT if message_id is None else find_place(tx, row, message_id)
    if tip and place.depth:
        place = newest_below(tx, row, place)
    return described(tx, row.at(place).save(tx, now))


def newest_below(tx: Tx, row: ThreadRow, place: Place) -> Place:
    """The end of the branch that continues from a place: its own segment, then the newest fork after that."""
    hanging = tree.children(tx, row)
    seg, depth = place.seg, place.depth
    while True:
        found = tx.one("tip", thread=row.thread, seg=seg)
        if found and found[0] is not None:
            depth = max(depth, found[0])
        below = [child for fork, child in hanging.get(seg, []) if fork == depth]
        if not below:
            return tree.place_of(tx, row, seg, depth)
        seg = max(below)


def has(tx: Tx, row: ThreadRow, message_id: str) -> bool:
    """Whether a thread has a message."""
    return tx.one("place", thread=row.thread, id=safe(message_id)) is not None


def exists(tx: Tx, thread_id: str) -> bool:
    """Whether there is such a thread."""
    try:
        find_thread(tx, thread_id)
    except NotFound:
        return False
    return True
