"""Projection: the transcripts as rows of the table `conversation_message`, for people who query content with SQL.

The table is on PostgreSQL, in the shape of the agent store: `content` is its `{"format": 2, "parts": [...]}` as jsonb.
It is derived and filled only by `project`, which continues where it ended: new messages are added, and where the head
moved to another branch, the rows after the fork are replaced. Erasure and pruning delete from it themselves.

jsonb refuses NUL, lone surrogates and numbers of more than 131,072 digits. They are written as the text of their JSON
(`\\u0000`, six letters), and the content then has `"escaped": true`. The ledger keeps the original.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from msgspec import UNSET

from hansard.errors import HansardError, NotFound
from hansard.ledger import tree
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.results import Projected
from hansard.ledger.rows import Place, ThreadRow, find_thread
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message
from hansard.model.times import milliseconds

BATCH = 500
_THREADS = 200
_DIGITS = 1000  # of a number that is written as a number
_FORMATS = "hansard.formats"  # loaded by name: the ledger knows no format
_REFUSED = re.compile("[\x00\ud800-\udfff]")


def project(driver: Driver, thread_id: str | None = None) -> Projected:
    """Bring the table up to date, for one thread or all; what was added, removed and escaped."""
    if driver.dialect != "postgres":
        raise HansardError(
            "the table conversation_message is on PostgreSQL only; copy the ledger there with `hansard copy`, "
            "or write its threads with `hansard export --to agent-store`"
        )
    total = Projected()
    if thread_id is not None:
        driver.read(lambda tx: find_thread(tx, thread_id))
        return _project_thread(driver, thread_id, total)
    after = 0
    while rows := driver.read(lambda tx: tx.all("projectable", after=after, limit=_THREADS)):  # noqa: B023
        for _, key in rows:
            total = _project_thread(driver, unsafe(key) or "", total)
        after = rows[-1][0]
    return total


def _project_thread(driver: Driver, thread_id: str, total: Projected) -> Projected:
    """One thread, a batch of messages in each transaction."""
    done, changed = False, False
    while not done:
        try:
            added, removed, escaped, done = driver.write(lambda tx: _project_batch(tx, thread_id))
        except NotFound:  # erased meanwhile
            break
        changed = changed or bool(added or removed)
        total = Projected(
            threads=total.threads,
            messages=total.messages + added,
            removed=total.removed + removed,
            escaped=total.escaped + escaped,
        )
    return Projected(
        threads=total.threads + changed, messages=total.messages, removed=total.removed, escaped=total.escaped
    )


def _project_batch(tx: Tx, thread_id: str) -> tuple[int, int, int, bool]:
    """Add the next messages of the transcript; the counts of added, removed and escaped, and whether it is complete."""
    thread = find_thread(tx, thread_id, lock=True)
    known, removed = _known_depth(tx, thread)
    resource = thread.resource
    path = tree.lineage(tx, thread.thread, thread.head_seg, thread.head_depth)
    rows: list[Any] = []
    place = Place(0, 0, b"", b"")
    for seg, low, high in path:
        start = max(low, known)
        if start < high and len(rows) < BATCH:
            rows += tx.all("range_up", thread=thread.thread, seg=seg, low=start, high=high, limit=BATCH - len(rows))
    at = rows[-1][2] if rows else known
    for seg, low, high in path:
        if low < at <= high:
            place = tree.place_of(tx, thread, seg, at)
    written, escaped = _written(thread, tree.messages_of(tx, rows), rows)
    tx.many("add_conversation_message", written)
    done = at == thread.head_depth or not rows  # messages that are missing are named by `hansard verify`
    tx.run(
        "save_projection",
        thread=thread.thread,
        version=thread.version if done else -1,
        seg=place.seg,
        depth=place.depth,
        hash=place.hash,
        resource=resource,
    )
    return len(rows), removed, escaped, done


def _known_depth(tx: Tx, thread: ThreadRow) -> tuple[int, int]:
    """The depth up to which the table has the present path, and how many rows were removed after it."""
    row = tx.one("projection", thread=thread.thread)
    known = 0
    if row is not None:
        _, seg, depth, hash, resource = row
        found = tx.one("at_place", thread=thread.thread, seg=seg, depth=depth) if depth else None
        if found is not None and bytes(found[1]) == bytes(hash):
            known = _shared_depth(
                tree.lineage(tx, thread.thread, seg, depth),
                tree.lineage(tx, thread.thread, thread.head_seg, thread.head_depth),
            )
        if resource != thread.resource:
            tx.run("change_projected_resource", id=thread.id, resource=thread.resource)
    return known, tx.run("unproject_after", id=thread.id, depth=known)


def _shared_depth(one: list[tuple[int, int, int]], other: list[tuple[int, int, int]]) -> int:
    """The depth down to which two paths are the same."""
    shared = 0
    for (seg, _, high), (seg_of_other, _, high_of_other) in zip(one, other, strict=False):
        if seg != seg_of_other:
            break
        shared = min(high, high_of_other)
        if high != high_of_other:
            break
    return shared


# -- rows ----------------------------------------------------------------------------------------------------------


def _written(thread: ThreadRow, messages: list[Message], rows: list[Any]) -> tuple[list[dict[str, Any]], int]:
    write = import_module(_FORMATS).write
    found, count = [], 0
    for message, (key, _, position, *_) in zip(messages, rows, strict=True):
        (record,) = write(Conversation(messages=[message]), "agent-store").data
        content, escaped = escape(
            record["content"] if type(record["content"]) is dict else {"content": record["content"]}
        )
        count += escaped
        time = milliseconds(message.created_at) if message.created_at is not UNSET else None
        found.append(
            {
                "id": key,
                "thread_id": thread.id,
                "role": safe(str(record["role"])),
                "type": safe(str(record.get("type", "text"))),
                "content": exact_json.encode({**content, "escaped": True} if escaped else content).decode(),
                "created_at": thread.created_at if time is None else time,
                "resource": thread.resource,
                "position": position,
            }
        )
    return found, count


def escape(value: Any) -> tuple[Any, bool]:
    """A value as jsonb can hold it, and whether anything had to be escaped.

    >>> escape({"a": ["b\\x00", 1]})
    ({'a': ['b\\\\u0000', 1]}, True)
    """
    if type(value) is str:
        made = _REFUSED.sub(lambda match: f"\\u{ord(match[0]):04x}", value)
        return made, made is not value and made != value
    if type(value) is list:
        items = [escape(item) for item in value]
        return [item for item, _ in items], any(changed for _, changed in items)
    if type(value) is dict:
        pairs = [(escape(key), escape(item)) for key, item in value.items()]
        changed = any(one[1] or other[1] for one, other in pairs)
        return {one[0]: other[0] for one, other in pairs}, changed
    if value is None or value is True or value is False:
        return value, False
    text = exact_json.encode(value).decode()
    return (text, True) if _is_huge(text) else (value, False)


def _is_huge(number: str) -> bool:
    digits, _, power = number.lower().partition("e")
    return len(digits) > _DIGITS or len(power.lstrip("+-")) > 3 or (power != "" and abs(int(power)) > _DIGITS)
