"""Threads: what they are called, who takes part, where their head is; listing them a page at a time."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Conflict, HansardError, NotFound
from hansard.ledger import bodies, limits, tree
from hansard.ledger.backends.driver import Tx, safe, unsafe
from hansard.ledger.messages import spelled_usage
from hansard.ledger.results import Page, Thread
from hansard.ledger.rows import ROOT, Place, ThreadRow, described, find_place, find_thread, id_at, seconds
from hansard.model.conversation import Agent, Conversation, Snapshot
from hansard.model.digits import whole_number
from hansard.model.times import iso_time

_FAR = 1 << 60
_TOLD = ("title", "resource_id", "agents", "metadata", "extra", "created_at", "updated_at", "runs", "snapshots")


def create(tx: Tx, value: Conversation, now: int) -> Thread:
    """A new thread that says of itself what `value` says; the same again if it is there and says the same."""
    row = start(tx, value, now)
    return shown(tx, row)


def start(tx: Tx, value: Conversation, now: int, key: str | None = None) -> ThreadRow:
    """The row of a new thread, under its own id or the one the ledger gives it."""
    if key is None:
        assert isinstance(value.id, str)
        key = value.id
    body = bodies.sealed(limits.encoded(replace(value, messages=[]), "what a thread says of itself"))
    changed = tx.run(
        "add_thread",
        id=safe(limits.id_of(key, "a thread")),
        title=safe(value.title) if isinstance(value.title, str) else None,
        resource=_resource(value),
        parent_thread=safe(value.parent_thread_id) if isinstance(value.parent_thread_id, str) else None,
        now=seconds(now),
        body=body,
    )
    row = find_thread(tx, key, lock=True)
    if changed != 1 and row.body != body:
        raise Conflict(f"there is another thread {key!r}; give this one a new id, or update_thread that one")
    return row


def shown(tx: Tx, row: ThreadRow) -> Thread:
    """A row as people see it."""
    value = described(row)
    return Thread(
        id=unsafe(row.id) or "",
        version=row.version,
        messages=row.messages,
        created_at=iso_time(row.created_at),
        updated_at=iso_time(row.updated_at),
        head=unsafe(id_at(tx, row, row.head)),
        title=unsafe(row.title),
        resource_id=unsafe(row.resource),
        parent_thread_id=unsafe(row.parent_thread),
        agents=value.agents if isinstance(value.agents, dict) else {},
        metadata=value.metadata if isinstance(value.metadata, dict) else {},
        usage=spelled_usage(row.usage),
    )


def page(tx: Tx, limit: int, after: str | None, newest: bool, resource: str | None) -> Page[Thread]:
    """Threads by their last change; `after` is the `next` of the page before."""
    name = ("threads_newest" if newest else "threads_oldest") + ("_of" if resource is not None else "")
    return pages(tx, name, limit, after, newest, {} if resource is None else {"resource": safe(resource)})


def pages(tx: Tx, name: str, limit: int, after: str | None, newest: bool, values: dict[str, Any]) -> Page[Thread]:
    """A page of a statement that lists threads by their last change."""
    updated, number = _cursor(after) if after is not None else ((_FAR, _FAR) if newest else (-_FAR, -_FAR))
    given = {"updated_at": updated, "thread": number, "limit": limit + 1, **values}
    rows = [ThreadRow(*row) for row in tx.all(name, **given)]
    more = len(rows) > limit
    rows = rows[:limit]
    last = f"{rows[-1].updated_at}.{rows[-1].thread}" if more else None
    return Page(items=[shown(tx, row) for row in rows], next=last)


def _cursor(text: str) -> tuple[int, int]:
    updated, _, number = text.partition(".")
    last, thread = whole_number(updated), whole_number(number)
    if last is None or thread is None:
        raise HansardError(f"no cursor {text!r}; give the `next` of the page before")
    return last, thread


def change(
    tx: Tx,
    thread_id: str,
    now: int,
    title: str | UnsetType | None,
    resource_id: str | UnsetType | None,
    metadata: dict[str, Any] | UnsetType,
    agents: list[Agent] | UnsetType,
) -> Thread:
    """Change what a thread says of itself; agents are added to its registry, the others replaced."""
    row = find_thread(tx, thread_id, lock=True)
    value = described(row)
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
    _tell(tx, row, replace(value, **changes), max(seconds(now), row.updated_at))
    return shown(tx, find_thread(tx, thread_id))


def _tell(tx: Tx, row: ThreadRow, value: Conversation, now: int) -> None:
    tx.run(
        "change_thread",
        thread=row.thread,
        title=safe(value.title) if isinstance(value.title, str) else None,
        resource=_resource(value),
        body=bodies.sealed(limits.encoded(value, "what a thread says of itself")),
        now=now,
    )


def _resource(value: Conversation) -> str | None:
    return safe(limits.id_of(value.resource_id, "a resource")) if isinstance(value.resource_id, str) else None


def retell(tx: Tx, row: ThreadRow, value: Conversation) -> None:
    """What a conversation says of itself that the thread does not say yet; what it leaves open stays."""
    old = described(row)
    changes = {
        name: getattr(value, name)
        for name in _TOLD
        if getattr(value, name) is not UNSET and getattr(value, name) != getattr(old, name)
    }
    if changes:
        _tell(tx, row, replace(old, **changes), row.updated_at)


def add_snapshots(tx: Tx, row: ThreadRow, snapshots: list[Snapshot], start: int = 0) -> None:
    """Snapshots of a conversation, of which `snapshots` are those from number `start`; those it has are left alone."""
    count = tx.one("count_snapshots", thread=row.thread) if snapshots else None
    have = max(count[0] - start, 0) if count else 0
    for n, snapshot in enumerate(snapshots[have:], start=start + have):
        tx.run(
            "add_snapshot",
            thread=row.thread,
            n=n,
            message=safe(snapshot.message_id) if isinstance(snapshot.message_id, str) else None,
            body=bodies.sealed(limits.encoded(snapshot, "a snapshot")),
        )


def last_said(tx: Tx, row: ThreadRow) -> str | None:
    """The message that was written last; of a file without a head that is where it stands."""
    found = tx.one("last_message", thread=row.thread)
    return None if found is None else unsafe(found[0])


def checkout(tx: Tx, thread_id: str, message_id: str | None, now: int, *, tip: bool) -> Thread:
    """Move the head to a message; with `tip` to the end of the branch the message is on."""
    row = find_thread(tx, thread_id, lock=True)
    place = ROOT if message_id is None else find_place(tx, row, message_id)
    if tip and place.depth:
        place = newest_below(tx, row, place)
    return shown(tx, row.at(place).save(tx, now))


def newest_below(tx: Tx, row: ThreadRow, place: Place) -> Place:
    """The end of the branch that goes on from a place: down its own segment, then by the newest fork behind it."""
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


def exists(tx: Tx, thread_id: str) -> bool:
    try:
        find_thread(tx, thread_id)
    except NotFound:
        return False
    return True
