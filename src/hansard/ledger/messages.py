"""Putting messages behind a place: the one way into the ledger, for appends, runs, imports and answers to calls."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Conflict
from hansard.ledger import bodies, tree
from hansard.ledger.backends.driver import Tx
from hansard.ledger.hash_chain import Prepared
from hansard.ledger.rows import Place, ThreadRow
from hansard.model import native
from hansard.model.conversation import Message, Usage

_TOKENS = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
)


class Put(NamedTuple):
    """What came of it: the thread's row (not yet saved), the new tip, how many were new."""

    thread: ThreadRow
    place: Place
    added: int


def put(tx: Tx, thread: ThreadRow, place: Place, items: list[Prepared], run: int | None = None) -> Put:
    """Write messages behind a place. One that is already in the thread, word for word, is not written again."""
    if not items:
        return Put(thread, place, 0)
    seg, sure = place.seg, False  # mostly the place is the tip: whether it is not is asked only if the next is taken
    low = place.depth
    new: list[Message] = []
    for item in items:
        next_place = Place(seg, place.depth + 1, *item.behind(place))
        added = tx.run("add_message", **message_row(thread, item.id, item, next_place, run))
        if added != 1 and not sure:
            seg, sure = tree.room(tx, thread, place), True
            if seg != place.seg:
                next_place = next_place._replace(seg=seg)
                added = tx.run("add_message", **message_row(thread, item.id, item, next_place, run))
        if added != 1:
            check_same(tx, thread, item)
            continue
        if seg == thread.next_seg:
            thread = tree.open_segment(tx, thread, place)
        add_blobs(tx, thread, item)
        place, sure = next_place, True
        new.append(item.message)
    if new:
        tx.run("add_feed", thread=thread.thread, seg=seg, low=low, high=place.depth)
        usage = add_usage(thread.usage, new)
        thread = thread._replace(messages=thread.messages + len(new), usage=usage)
    return Put(thread, place, len(new))


def message_row(thread: ThreadRow, key: str, item: Prepared, place: Place, run: int | None = None) -> dict[str, Any]:
    """What `add_message` is given."""
    return {
        "thread": thread.thread,
        "seg": place.seg,
        "depth": place.depth,
        "id": key,
        "run": run,
        "role": item.role,
        "agent": item.agent,
        "created_at": item.created_at,
        "hash": place.hash,
        "said": place.said,
        "body": item.stored,
    }


def add_blobs(tx: Tx, thread: ThreadRow, item: Prepared) -> None:
    """The long strings of a message, each once."""
    if item.blobs:
        tx.one("share_blobs")
        tx.many("add_blob", [{"hash": n, "size": size, "data": data} for n, (size, data) in item.blobs.items()])
        tx.many("use_blob", [{"hash": name, "thread": thread.thread} for name in item.blobs])


def is_there(tx: Tx, thread: ThreadRow, item: Prepared) -> bool:
    """Was this very message written before? Under its id there may be no other."""
    if tx.one("place", thread=thread.thread, id=item.id) is None:
        return False
    check_same(tx, thread, item)
    return True


def check_same(tx: Tx, thread: ThreadRow, item: Prepared) -> None:
    """Appending what is there is nothing; appending something else under the same id is a mistake."""
    row = tx.one("place", thread=thread.thread, id=item.id)
    if row is None:
        raise Conflict(f"thread {thread.id!r}: somebody else wrote at the same place; try again")
    (body,) = tree.texts(tx, [row[5]])
    if body == item.body:
        return
    stored = native.decode_own(Message, body)
    if native.encode(replace(stored, created_at=item.message.created_at)) == item.body:
        return
    raise Conflict(
        f"thread {thread.id!r} has another message under the id {item.id!r}; give it a new id, or fork before it"
    )


def add_usage(before: bytes | None, messages: list[Message]) -> bytes | None:
    """The tokens of a thread with those of more messages."""
    told = [message.usage for message in messages if message.usage is not UNSET]
    if not told:
        return before
    return bodies.sealed(native.encode(summed([spelled_usage(before), *told])))


def summed(usages: list[Usage]) -> Usage:
    """All of them together; what nobody counted stays uncounted."""
    total: dict[str, Any] = {}
    for usage in usages:
        for name in _TOKENS:
            count = getattr(usage, name)
            if type(count) is int:
                total[name] = total.get(name, 0) + count
    return Usage(**total)


def spelled_usage(data: bytes | None) -> Usage:
    return Usage() if data is None else native.decode_own(Usage, bodies.unsealed(data))
