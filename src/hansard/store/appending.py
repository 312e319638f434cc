"""Appending to the head of a thread, or behind another of its messages, which makes that the path."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import UNSET, UnsetType

from hansard.errors import Conflict
from hansard.store.chain import Prepared
from hansard.store.driver import Driver, Tx, unsafe
from hansard.store.rows import ROOT, Place, ThreadRow, find_place, find_thread, id_at, seconds
from hansard.store.writing import add_usage, is_there, put

_KEPT = 4096


def append(
    tx: Tx,
    thread_id: str,
    items: list[Prepared],
    now: int,
    parent: str | UnsetType | None = UNSET,
    expected_head: str | UnsetType | None = UNSET,
) -> ThreadRow:
    """Write messages behind the head (or `parent`) and move the head to the last; the row as it is then."""
    thread = find_thread(tx, thread_id, lock=True)
    if expected_head is not UNSET:
        found = unsafe(id_at(tx, thread, thread.head))
        if found != expected_head:
            if items and all(is_there(tx, thread, item) for item in items):
                return thread  # this very call, made again because nobody heard the answer
            raise Conflict(
                f"the head of thread {thread_id!r} is {found!r}, not {expected_head!r}; read what was said meanwhile",
                expected=expected_head,
                found=found,
            )
    place = thread.head if parent is UNSET else ROOT if parent is None else find_place(tx, thread, parent)
    done = put(tx, thread, place, items)
    if not done.added:
        return thread
    row = done.thread.at(done.place)
    row.save(tx, now)
    return row._replace(version=row.version + 1)


class Heads:
    """Where the heads of threads were when we last looked: with a server far away, an append is then one statement."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, ThreadRow] = OrderedDict()

    def keep(self, thread_id: str, row: ThreadRow) -> None:
        self._rows[thread_id] = row
        if len(self._rows) > _KEPT:
            self._rows.popitem(last=False)

    def append(self, driver: Driver, thread_id: str, item: Prepared, now: int) -> bool:
        """Append in one statement; False if the head was moved meanwhile, or the place or id is taken."""
        row = self._rows.pop(thread_id, None)
        if row is None:
            return False
        proof, said = item.behind(row.head)
        usage = add_usage(row.usage, [item.message])
        updated = max(seconds(now), row.updated_at)
        place = Place(row.head_seg, row.head_depth + 1, proof, said)
        found = driver.statement(
            "append_one",
            thread=row.thread,
            version=row.version,
            seg=place.seg,
            depth=place.depth,
            id=item.id,
            role=item.role,
            agent=item.agent,
            created_at=item.created_at,
            hash=proof,
            said=said,
            body=item.stored,
            usage=usage,
            now=updated,
        )
        if found is None:
            return False
        after = row.at(place)._replace(version=found[0], messages=row.messages + 1, usage=usage, updated_at=updated)
        self.keep(thread_id, after)
        return True
