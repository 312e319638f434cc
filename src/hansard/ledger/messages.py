"""Messages: prepare them, write their rows, append them after the head or after another message of a thread.

`write_rows` is the one function that writes rows of the table `message`. Appends, staged messages and answers to calls
reach it through `write_after`, imports of conversations and session files through `TreeWriter`. Only the append to a
known head (`HeadCache`) uses a statement of its own, with the same values.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Conflict, HansardError
from hansard.ledger import bodies, limits, summary, tree
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.hash_chain import link, message_hash, said
from hansard.ledger.ids import new_id
from hansard.ledger.rows import ROOT, Place, ThreadRow, find_place, find_thread, id_at, whole_seconds
from hansard.model import native
from hansard.model.conversation import Message
from hansard.model.parts import Part
from hansard.model.stored import StoredMessage, plain_messages, stored_message
from hansard.model.times import iso_time, milliseconds

_BATCH = 500
_CACHED_HEADS = 4096
_STRINGS = ("role", "id", "created_at", "agent_id", "run_id")


# -- prepared messages ---------------------------------------------------------------------------------------------


class Prepared:
    """A message encoded for storage: everything that does not depend on its place, computed before the transaction."""

    __slots__ = ("agent", "blobs", "body", "created_at", "id", "message", "proof", "role", "said", "stored")

    def __init__(self, message: Message, key: str, created_at: int | None = None) -> None:
        self.message, self.id = message, safe(limits.check_id(key, "a message")) or ""
        self.body = limits.encode(message, "a message")
        self.stored, strings = bodies.pack(self.body)
        self.blobs = {name: (len(text), bodies.compress(text)) for name, text in strings.items()}
        self.role = safe(message.role)
        self.agent = safe(message.agent_id) if type(message.agent_id) is str else None
        self.created_at = milliseconds(message.created_at) if created_at is None else created_at
        self.proof = message_hash(self.id, self.body)
        self.said = said(message)

    def chains_after(self, place: Place) -> tuple[bytes, bytes]:
        """The two hash chains up to and including this message, when it follows the message at `place`."""
        return link(place.hash, self.proof), link(place.said, self.said)[:16]


def prepare(message: Message, now: int) -> Prepared:
    """A message written now: the ledger gives it an id and a time where it has none."""
    if type(message) is not Message:
        if not isinstance(message, Message):
            raise HansardError(f"expected a Message, not {type(message).__name__}; hansard.read makes messages")
        (message,) = plain_messages([message])
    _check(message)
    return with_id(message, message.id if isinstance(message.id, str) and message.id else new_id(), now)


def _check(message: Message) -> None:
    """Reject a message that was made with values of the wrong type: nothing could read it again."""
    for name in _STRINGS:
        value: Any = getattr(message, name)
        if value is not UNSET and not isinstance(value, str):
            raise HansardError(f"{name} of a message is a string, not {value!r:.60}")
    parts: Any = message.parts
    if not isinstance(parts, list):
        way_out = "Message.user('...') makes a message of text"
        raise HansardError(f"parts of a message is a list of parts, not {parts!r:.60}; {way_out}")
    for part in parts:
        if not isinstance(part, Part):
            raise HansardError(f"invalid part {part!r:.60}; text is TextPart(text='...')")


def with_id(message: Message, key: str, now: int) -> Prepared:
    """The same under an id that is already chosen."""
    if message.created_at is not UNSET:
        return Prepared(message if message.id is not UNSET else replace(message, id=key), key)
    name = key if message.id is UNSET else message.id
    return Prepared(replace(message, id=name, created_at=iso_time(now)), key, now)


# -- rows ----------------------------------------------------------------------------------------------------------


class NewRow(NamedTuple):
    """A message with the id it is stored under and its place in the tree."""

    key: str
    item: Prepared
    place: Place
    run: int | None = None


def write_rows(tx: Tx, thread: int, rows: Sequence[NewRow]) -> int:
    """Insert message rows and the blobs they refer to; the number of inserted rows.

    A row whose id or place is taken is skipped.
    """
    written = 0
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        if len(batch) == 1:
            inserted = tx.run("add_message", **_values(thread, batch[0]))
            if inserted != 1:
                continue
        else:
            inserted = tx.many("add_message", [_values(thread, row) for row in batch])
        written += inserted
        blobs = {name: blob for row in batch for name, blob in row.item.blobs.items()}
        if blobs:
            tx.one("share_blobs")
            tx.many("add_blob", [{"hash": name, "size": size, "data": data} for name, (size, data) in blobs.items()])
            tx.many("use_blob", [{"hash": name, "thread": thread} for name in blobs])
    return written


def _values(thread: int, row: NewRow) -> dict[str, Any]:
    """The columns of a message row."""
    item, place = row.item, row.place
    return {
        "thread": thread,
        "seg": place.seg,
        "depth": place.depth,
        "id": row.key,
        "run": row.run,
        "role": item.role,
        "agent": item.agent,
        "created_at": item.created_at,
        "hash": place.hash,
        "said": place.said,
        "body": item.stored,
    }


def _account(tx: Tx, thread: ThreadRow, rows: Sequence[NewRow]) -> ThreadRow:
    """Queue written rows for the search index and add them to the thread's counts; its row, not yet saved."""
    ranges: dict[int, list[int]] = {}
    for row in rows:
        ranges.setdefault(row.place.seg, [row.place.depth - 1, 0])[1] = row.place.depth
    for seg, (low, high) in ranges.items():
        tx.run("add_feed", thread=thread.thread, seg=seg, low=low, high=high)
    usage = summary.add(thread.usage, [row.item.message for row in rows], first=not thread.messages)
    return thread._replace(messages=thread.messages + len(rows), usage=usage)


class Written(NamedTuple):
    """The thread's row (not yet saved), the place of the last message, and how many messages were new."""

    thread: ThreadRow
    place: Place
    added: int


def write_after(tx: Tx, thread: ThreadRow, place: Place, items: list[Prepared], run: int | None = None) -> Written:
    """Write messages after a place. A message that the thread already has with the same content is skipped."""
    seg, known = (
        place.seg,
        False,
    )  # usually `place` is the tip: looked up only if the next depth is taken
    rows: list[NewRow] = []
    for item in items:
        row = NewRow(item.id, item, Place(seg, place.depth + 1, *item.chains_after(place)), run)
        added = write_rows(tx, thread.thread, [row])
        if added != 1 and not known:
            seg, known = tree.segment_after(tx, thread, place), True
            if seg != place.seg:
                row = row._replace(place=row.place._replace(seg=seg))
                added = write_rows(tx, thread.thread, [row])
        if added != 1:
            check_same(tx, thread, item)
            continue
        if seg == thread.next_seg:
            thread = tree.open_segment(tx, thread, place)
        place, known = row.place, True
        rows.append(row)
    return Written(_account(tx, thread, rows) if rows else thread, place, len(rows))


class TreeWriter:
    """Writes messages anywhere in the tree of one thread, in one transaction; the caller knows they are new."""

    def __init__(self, tx: Tx, thread: ThreadRow, tips: dict[int, int | None] | None = None) -> None:
        self.thread = thread
        self._tx = tx
        self._tips: dict[int, int | None] = {} if tips is None else tips  # the depth of each segment's last message
        self._rows: list[NewRow] = []
        self._saved = 0

    def add(self, item: Prepared, parent: Place, key: str, run: int | None = None) -> Place:
        """A new message after `parent`, stored under `key`; its place."""
        if parent.seg not in self._tips:
            tip = self._tx.one("tip", thread=self.thread.thread, seg=parent.seg)
            self._tips[parent.seg] = tip[0] if tip else None
        seg = parent.seg
        if self._tips[seg] not in (None, parent.depth):
            seg = self.thread.next_seg
            self.thread = tree.open_segment(self._tx, self.thread, parent)
        proof = item.proof if key == item.id else message_hash(key, item.body)
        place = Place(seg, parent.depth + 1, link(parent.hash, proof), link(parent.said, item.said)[:16])
        self._tips[seg] = place.depth
        self._rows.append(NewRow(key, item, place, run))
        if len(self._rows) - self._saved >= _BATCH:
            self._save()
        return place

    def finish(self) -> ThreadRow:
        """Write what is left; the thread's row, not yet saved."""
        self._save()
        return _account(self._tx, self.thread, self._rows)

    def _save(self) -> None:
        write_rows(self._tx, self.thread.thread, self._rows[self._saved :])
        self._saved = len(self._rows)


def has(tx: Tx, thread: ThreadRow, item: Prepared) -> bool:
    """Whether the thread has this message; a different message under its id is a `Conflict`."""
    if tx.one("place", thread=thread.thread, id=item.id) is None:
        return False
    check_same(tx, thread, item)
    return True


def check_same(tx: Tx, thread: ThreadRow, item: Prepared) -> None:
    """Accept a message that is stored already, apart from its time; reject a different one under the same id."""
    row = tx.one("place", thread=thread.thread, id=item.id)
    if row is None:
        raise Conflict(f"thread {thread.id!r}: another writer wrote at the same place; try again")
    (body,) = tree.read_bodies(tx, [row[5]])
    if body == item.body:
        return
    stored = native.decode_own(Message, body)
    given, place = item.message, Place(row[0], row[1], b"", b"")
    if stored.parent_message_id is UNSET and given.parent_message_id == tree.parent_id(tx, thread, place):
        stored = replace(stored, parent_message_id=given.parent_message_id)  # as the ledger gave it out
    if native.encode(replace(stored, created_at=given.created_at)) == item.body:
        return
    raise Conflict(
        f"thread {thread.id!r} has another message under the id {item.id!r}; give it a new id, or fork before it"
    )


# -- appending -----------------------------------------------------------------------------------------------------


def append(
    tx: Tx,
    thread_id: str,
    items: list[Prepared],
    now: int,
    parent: str | UnsetType | None = UNSET,
    expected_head: str | UnsetType | None = UNSET,
) -> Appended:
    """Write messages after the head (or `parent`) and move the head to the last one."""
    thread = find_thread(tx, thread_id, lock=True)
    if expected_head is not UNSET:
        found = unsafe(id_at(tx, thread, thread.head))
        if found != expected_head:
            if items and all(has(tx, thread, item) for item in items):
                return _as_stored(tx, thread, items)  # the same call, repeated because its answer was lost
            raise Conflict(
                f"the head of thread {thread_id!r} is {found!r}, not {expected_head!r}; read the new messages first",
                expected=expected_head,
                found=found,
            )
    place = thread.head if parent is UNSET else ROOT if parent is None else find_place(tx, thread, parent)
    done = write_after(tx, thread, place, items)
    if done.added:
        thread = done.thread.at(done.place).save(tx, now)
    if done.added != len(items):
        return _as_stored(tx, thread, items)
    if items:
        before = unsafe(id_at(tx, thread, place)) if parent is UNSET else parent
        return Appended(thread, tree.on_path([stored_message(item.message) for item in items], before))
    return Appended(thread, [])


class Appended(NamedTuple):
    """The thread's row, and the messages as they are stored, each with its parent."""

    thread: ThreadRow
    messages: list[StoredMessage]


def _as_stored(tx: Tx, thread: ThreadRow, items: list[Prepared]) -> Appended:
    return Appended(thread, [tree.message_at(tx, thread, unsafe(item.id) or "") for item in items])


class _Head(NamedTuple):
    """The end of a thread's path when this process last read or wrote it."""

    thread: int
    seg: int
    depth: int
    hash: bytes
    said: bytes
    version: int
    updated_at: int
    usage: bytes | None
    last: str | None


class HeadCache:
    """The last known heads of threads, so that the next append need not read the thread.

    Correctness does not depend on it: the statement inserts only if the head still has the cached version and hash.
    So it does not matter whether another writer moved the head, nor whether the transaction was rolled back.
    """

    def __init__(self) -> None:
        self._heads: OrderedDict[str, _Head] = OrderedDict()

    def append(
        self,
        driver: Driver,
        tx: Tx,
        thread_id: str,
        items: list[Prepared],
        now: int,
        parent: str | UnsetType | None,
        expected_head: str | UnsetType | None,
    ) -> list[StoredMessage]:
        """Append in a transaction, after the cached head where that is possible; the messages as stored."""
        plain = not driver.single and _plain(items, parent, expected_head)
        if plain and (stored := self._append_in_file(tx, thread_id, items[0], now)) is not None:
            return stored
        row, messages = append(tx, thread_id, items, now, parent, expected_head)
        last = unsafe(id_at(tx, row, row.head))
        self._keep(thread_id, _Head(row.thread, *row.head, row.version, row.updated_at, row.usage, last))
        return messages

    def append_on_server(
        self,
        driver: Driver,
        thread_id: str,
        items: list[Prepared],
        now: int,
        parent: str | UnsetType | None,
        expected_head: str | UnsetType | None,
    ) -> list[StoredMessage] | None:
        """Append in one round trip; None, and nothing is written, if the head moved or the place or id is taken."""
        if not driver.single or not _plain(items, parent, expected_head):
            return None
        if (head := self._heads.pop(thread_id, None)) is None:
            return None
        after = _advance(head, items[0], now)
        if driver.statement("append_one", now=after.updated_at, **_head_values(head, after, items[0])) is None:
            return None
        self._keep(thread_id, after)
        return tree.on_path([stored_message(items[0].message)], head.last)

    def _append_in_file(self, tx: Tx, thread_id: str, item: Prepared, now: int) -> list[StoredMessage] | None:
        """Two statements of a transaction; None under the same conditions."""
        if (head := self._heads.pop(thread_id, None)) is None:
            return None
        after = _advance(head, item, now)
        values = _head_values(head, after, item)
        if tx.run("append_one", **values) != 1:
            return None
        if after.updated_at > head.updated_at:
            tx.run("move_head", now=after.updated_at, **values)
        else:  # an index that would not change is not written
            tx.run("move_head_now", **values)
        self._keep(thread_id, after)
        return tree.on_path([stored_message(item.message)], head.last)

    def _keep(self, thread_id: str, head: _Head) -> None:
        self._heads[thread_id] = head
        if len(self._heads) > _CACHED_HEADS:
            self._heads.popitem(last=False)


def _plain(items: list[Prepared], parent: str | UnsetType | None, expected_head: str | UnsetType | None) -> bool:
    """One message without blobs, after the head: what one statement can append."""
    return parent is UNSET and expected_head is UNSET and len(items) == 1 and not items[0].blobs


def _advance(head: _Head, item: Prepared, now: int) -> _Head:
    """The head after a message was appended to it."""
    return _Head(
        head.thread,
        head.seg,
        head.depth + 1,
        link(head.hash, item.proof),
        link(head.said, item.said)[:16],
        head.version + 1,
        max(whole_seconds(now), head.updated_at),
        head.usage if summary.changes_nothing(item.message) else summary.add(head.usage, [item.message], first=False),
        unsafe(item.id),
    )


def _head_values(head: _Head, after: _Head, item: Prepared) -> dict[str, Any]:
    row = NewRow(item.id, item, Place(after.seg, after.depth, after.hash, after.said))
    return {**_values(head.thread, row), "version": head.version, "before": head.hash, "usage": after.usage}
