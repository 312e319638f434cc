"""The files that threads were imported from: their bytes, so that they can be given back, and how far we read.

An import is two things in one transaction: the messages a piece of a file says, and the piece itself. A file that grew
adds pieces; one that was rewritten is a new source, and the old bytes stay with the old one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from hansard.ledger import bodies, tree
from hansard.ledger.backends.driver import Driver, Row, Tx, safe, unsafe
from hansard.ledger.hash_chain import Prepared, last_said, link, other_keys
from hansard.ledger.hash_chain import proof as own_proof
from hansard.ledger.messages import add_blobs, add_usage, message_row
from hansard.ledger.results import Source
from hansard.ledger.rows import ROOT, Place, ThreadRow, find_thread
from hansard.model import exact_json
from hansard.model.conversation import Message

PIECE = 1 << 20


def shown(row: Row) -> Source:
    number, uri, format_, thread, main, size, mtime, proof, version, body = row
    return Source(
        number=number,
        uri=unsafe(uri) or "",
        format=format_,
        thread_id=unsafe(thread) or "",
        main=bool(main),
        size=size,
        mtime=mtime,
        hash=bytes(proof).hex(),
        version=version,
        told=exact_json.decode(bodies.opened(body)),
    )


def find(tx: Tx, uri: str) -> Source | None:
    row = tx.one("source_by_uri", uri=safe(uri))
    return None if row is None else shown(row)


def of_thread(tx: Tx, thread_id: str) -> list[Source]:
    """The files of a thread, the session's own first."""
    return [shown(row) for row in tx.all("sources_of", thread=find_thread(tx, thread_id).thread)]


def every(tx: Tx) -> list[Source]:
    return [shown(row) for row in tx.all("all_sources")]


def content(driver: Driver, source: Source) -> Iterator[bytes]:
    """The bytes of a file, a piece at a time."""
    at = 0
    while at < source.size:
        rows = driver.read(
            lambda tx, at=at: tx.all(  # type: ignore[misc]
                "source_chunks", source=source.number, at=at, end=source.size, limit=8
            )
        )
        for start, size, data in rows:
            piece = bodies.opened(data)
            yield piece[max(0, at - start) : source.size - start]
            at = start + size
        if not rows:
            return


class Arrival:
    """What a piece of a file brings: made ready outside the transaction."""

    def __init__(self, messages: list[Message], piece: bytes = b"", at: int = 0) -> None:
        self.items = [Prepared(message, message.id) for message in messages if isinstance(message.id, str)]
        self.piece = bodies.squeezed(piece) if piece else b""
        self.size, self.at = len(piece), at


class Filing:
    """A file on its way in. It remembers only the last place, whatever the length of the file."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.added = self.known = 0
        self._last_id: str | None = None
        self._last = ROOT

    def add(self, tx: Tx, arrivals: list[Arrival], source: int | None, now: int) -> Filing:
        """The messages and pieces of a file, in one transaction; what is known is only recognised."""
        step = Filing(self.thread_id)
        step.added, step.known, step._last_id, step._last = self.added, self.known, self._last_id, self._last
        thread = find_thread(tx, self.thread_id, lock=True)
        items = [item for arrival in arrivals for item in arrival.items]
        thread = step._messages(tx, thread, items)
        thread.save(tx, last_said((item.created_at for item in items), now) if items else thread.updated_at)
        if source is not None:
            tx.run("carry_sources", thread=thread.thread, before=thread.version, version=thread.version + 1)
            for arrival in arrivals:
                if arrival.size:
                    tx.run("add_source_chunk", source=source, at=arrival.at, size=arrival.size, data=arrival.piece)
        return step

    def _messages(self, tx: Tx, thread: ThreadRow, items: list[Prepared]) -> ThreadRow:
        rows: list[dict[str, Any]] = []
        fed: dict[int, list[int]] = {}
        tips: dict[int, int | None] = {}
        new: dict[str, Place] = {}
        told: list[Message] = []
        for item in items:
            parent = self._parent(tx, thread, item, new)
            own = link(parent.said, item.said)[:16]
            key = item.id
            place = self._known(tx, thread, key, new)
            if place is not None and place.said != own:  # the same id says something else here: both are kept
                for key in other_keys(item.id, item.proof, own):
                    place = self._known(tx, thread, key, new)
                    if place is None or place.said == own:
                        break
            if place is not None:
                self.known += 1
            else:
                thread, seg = self._segment(tx, thread, parent, tips)
                proof = link(parent.hash, item.proof if key == item.id else own_proof(key, item.body))
                place = Place(seg, parent.depth + 1, proof, own)
                tips[seg] = place.depth
                fed.setdefault(seg, [parent.depth, 0])[1] = place.depth
                rows.append(message_row(thread, key, item, place))
                told.append(item.message)
                add_blobs(tx, thread, item)
                self.added += 1
            new[item.id] = new[key] = place
            self._last_id, self._last = item.id, place
        if rows:
            tx.many("add_message", rows)
        for seg, (low, high) in fed.items():
            tx.run("add_feed", thread=thread.thread, seg=seg, low=low, high=high)
        usage = add_usage(thread.usage, told)
        return thread._replace(messages=thread.messages + len(rows), usage=usage)

    def _known(self, tx: Tx, thread: ThreadRow, key: str, new: dict[str, Place]) -> Place | None:
        """Where a message stands that is in the ledger, or was in this very piece."""
        if key in new:
            return new[key]
        if not thread.messages:  # as it was before this transaction
            return None
        row = tx.one("place", thread=thread.thread, id=key)
        return None if row is None else Place(row[0], row[1], bytes(row[2]), bytes(row[3]))

    def _parent(self, tx: Tx, thread: ThreadRow, item: Prepared, new: dict[str, Place]) -> Place:
        """Behind what a message stands: what it names, else the message before it in the file."""
        named = item.message.parent_message_id
        if named is None:
            return ROOT
        if not isinstance(named, str) or named == self._last_id:
            return self._last
        return self._known(tx, thread, safe(named) or "", new) or ROOT

    def _segment(self, tx: Tx, thread: ThreadRow, parent: Place, tips: dict[int, int | None]) -> tuple[ThreadRow, int]:
        if parent.seg not in tips:
            row = tx.one("tip", thread=thread.thread, seg=parent.seg)
            tips[parent.seg] = row[0] if row else None
        if tips[parent.seg] in (None, parent.depth):
            return thread, parent.seg
        thread = tree.open_segment(tx, thread, parent)
        return thread, thread.next_seg - 1


def start(tx: Tx, thread_id: str, uri: str, format_: str, *, main: bool) -> int:
    """A source with nothing in it yet; the one that had its place before is kept as what the file was.

    Its version says that nobody else has touched the thread, and goes along with every piece: an import that is cut
    off and begun again still knows it.
    """
    thread = find_thread(tx, thread_id)
    if (old := tx.one("source_by_uri", uri=safe(uri))) is not None:
        tx.run("replace_source", source=old[0])
    row = tx.one(
        "add_source",
        uri=safe(uri),
        format=format_,
        thread=thread.thread,
        main=int(main),
        size=0,
        mtime=0,
        hash=hashlib.sha256().digest(),
        version=thread.version if thread.messages == 0 else 0,
        body=bodies.squeezed(b"{}"),
    )
    assert row is not None
    return int(row[0])


def finish(tx: Tx, thread_id: str, number: int, size: int, mtime: int, proof: bytes, told: dict[str, Any]) -> None:
    """All of the file is in: how long it was, when it was changed, and what was noticed."""
    thread = find_thread(tx, thread_id)
    tx.run(
        "grow_source",
        source=number,
        size=size,
        mtime=mtime,
        hash=proof,
        version=thread.version,
        body=bodies.squeezed(exact_json.encode(told)),
    )
