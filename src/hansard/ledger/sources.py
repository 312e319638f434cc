"""Sources: the files that threads were imported from, with their bytes for export and how far they were read.

An import writes a piece of a file and the messages in it in one transaction. A file that grew adds pieces; a rewritten
file is a new source, and the old bytes stay with the old one. The importer itself is `hansard.sessions.importer`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from hansard.ledger import bodies, summary, tree
from hansard.ledger.backends.driver import Driver, Row, Tx, safe, unsafe
from hansard.ledger.hash_chain import last_time, link, other_keys
from hansard.ledger.messages import Prepared, TreeWriter
from hansard.ledger.results import Source
from hansard.ledger.rows import ROOT, Place, ThreadRow, find_thread
from hansard.model import exact_json
from hansard.model.conversation import Message

PIECE = 1 << 20


def as_source(row: Row) -> Source:
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
        told=exact_json.decode(bodies.decompress(body)),
    )


def find(tx: Tx, uri: str) -> Source | None:
    row = tx.one("source_by_uri", uri=safe(uri))
    return None if row is None else as_source(row)


def inside(tx: Tx, prefix: str) -> list[Source]:
    """The sources whose names begin so: the sessions in a database."""
    return [as_source(row) for row in tx.all("sources_in", prefix=safe(prefix))]


def note(tx: Tx, source: Source, told: dict[str, Any]) -> None:
    """Change the notes about a source, and nothing else."""
    given = {"size": source.size, "mtime": source.mtime, "hash": bytes.fromhex(source.hash), "version": source.version}
    tx.run("grow_source", source=source.number, **given, body=bodies.compress(exact_json.encode(told)))


def of_thread(tx: Tx, thread_id: str) -> list[Source]:
    """The files of a thread, the main one of the session first."""
    return [as_source(row) for row in tx.all("sources_of", thread=find_thread(tx, thread_id).thread)]


def every(tx: Tx) -> list[Source]:
    return [as_source(row) for row in tx.all("all_sources")]


def with_message(tx: Tx, thread: ThreadRow, message_id: str) -> list[Source]:
    """The main files of other threads that have a message of this id."""
    return [as_source(row) for row in tx.all("sources_with_message", thread=thread.thread, id=safe(message_id))]


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
            piece = bodies.decompress(data)
            yield piece[max(0, at - start) : source.size - start]
            at = start + size
        if not rows:
            return


class Piece:
    """A piece of a file and the messages in it, prepared before the transaction."""

    def __init__(self, messages: list[Message], data: bytes = b"", at: int = 0) -> None:
        self.items = [Prepared(message, message.id) for message in messages if isinstance(message.id, str)]
        self.data = bodies.compress(data) if data else b""
        self.size, self.at = len(data), at


class SourceWriter:
    """Writes the pieces of one file. It keeps only the last place, whatever the length of the file.

    `unsettled` are messages that an earlier import read before the file had all of them: where such a message is at the
    end of its branch and reads differently now, it is replaced.
    """

    def __init__(self, thread_id: str, unsettled: Iterable[str] = ()) -> None:
        self.thread_id = thread_id
        self.added = self.known = 0
        self.unsettled = set(unsettled)
        self.leaf = ROOT  # the place of the last message outside sub-agents
        self.has_head = False  # whether the head of the thread is a message of this file
        self._last_id: str | None = None
        self._last = ROOT

    def add(self, tx: Tx, pieces: list[Piece], source: int | None, now: int) -> SourceWriter:
        """Write pieces with their new messages, in one transaction; the writer to continue with."""
        step = SourceWriter(self.thread_id, self.unsettled)
        step.leaf, step.has_head = self.leaf, self.has_head
        step.added, step.known, step._last_id, step._last = self.added, self.known, self._last_id, self._last
        thread = find_thread(tx, self.thread_id, lock=True)
        items = [item for piece in pieces for item in piece.items]
        thread = step._messages(tx, thread, items)
        thread.save(tx, last_time((item.created_at for item in items), now) if items else thread.updated_at)
        if source is not None:
            tx.run("carry_sources", thread=thread.thread, before=thread.version, version=thread.version + 1)
            for piece in pieces:
                if piece.size:
                    tx.run("add_source_chunk", source=source, at=piece.at, size=piece.size, data=piece.data)
        return step

    def _messages(self, tx: Tx, thread: ThreadRow, items: list[Prepared]) -> ThreadRow:
        writer = TreeWriter(tx, thread)
        new: dict[str, Place] = {}
        for item in items:
            parent = self._parent(tx, thread, item, new)
            content = link(parent.said, item.said)[:16]
            key = item.id
            place = self._known(tx, thread, key, new)
            if place is not None and key in self.unsettled and key not in new:
                thread = writer.finish()
                place, thread = self._withdrawn(tx, thread, place, item)
                writer = TreeWriter(tx, thread)
            if place is not None and place.said != content:  # a different message has the id: both are kept
                for key in other_keys(item.id, item.proof, content):
                    place = self._known(tx, thread, key, new)
                    if place is None or place.said == content:
                        break
            if place is not None:
                self.known += 1
            else:
                place = writer.add(item, parent, key)
                self.added += 1
            new[item.id] = new[key] = place
            self._last_id, self._last = item.id, place
            if item.message.sidechain is not True:
                self.leaf = place
            self.has_head = self.has_head or (place.seg, place.depth) == (thread.head_seg, thread.head_depth)
        return writer.finish()

    def _withdrawn(self, tx: Tx, thread: ThreadRow, place: Place, item: Prepared) -> tuple[Place | None, ThreadRow]:
        """Delete a message that was read unfinished, and what was read after it, so that they can be written whole."""
        tip = tx.one("tip", thread=thread.thread, seg=place.seg)
        at = {"thread": thread.thread, "seg": place.seg, "low": place.depth - 1, "high": tip[0] if tip else 0}
        rows = tx.all("range_up", limit=len(self.unsettled) + 1, **at)
        forks = [depth for depth, _ in tree.children(tx, thread).get(place.seg, ())]
        mine = all((unsafe(row[0]) or "") in self.unsettled and row[3] is None for row in rows)
        if not rows or not mine or rows[-1][2] != at["high"] or any(depth >= place.depth for depth in forks):
            return place, thread
        if tree.read_bodies(tx, [rows[0][1]])[0] == item.body:
            return place, thread
        old = tree.messages_of(tx, rows)
        tx.one("lock_search")
        for name in ("unindex_from", "delete_feed_from", "delete_messages_from"):
            tx.run(name, thread=thread.thread, seg=place.seg, low=place.depth)
        self.unsettled -= {unsafe(row[0]) or "" for row in rows}
        thread = thread._replace(messages=thread.messages - len(rows), usage=summary.subtract(thread.usage, old))
        if thread.head_seg == place.seg and thread.head_depth >= place.depth:
            thread = thread.at(place_before(tx, thread, place))
        return None, thread

    def _known(self, tx: Tx, thread: ThreadRow, key: str, new: dict[str, Place]) -> Place | None:
        """The place of a message that is stored, or was written in this transaction."""
        if key in new:
            return new[key]
        if not thread.messages:  # before this transaction
            return None
        row = tx.one("place", thread=thread.thread, id=key)
        return None if row is None else Place(row[0], row[1], bytes(row[2]), bytes(row[3]))

    def _parent(self, tx: Tx, thread: ThreadRow, item: Prepared, new: dict[str, Place]) -> Place:
        """The place of a message's parent: the one it names, else the message before it in the file."""
        named = item.message.parent_message_id
        if named is None:
            return ROOT
        if not isinstance(named, str) or named == self._last_id:
            return self._last
        return self._known(tx, thread, safe(named) or "", new) or ROOT


def place_before(tx: Tx, thread: ThreadRow, place: Place) -> Place:
    """The place before another one, in its segment or where that forks."""
    forks = {seg: (parent, depth) for seg, parent, depth in tx.all("segments", thread=thread.thread)}
    seg, depth = place.seg, place.depth - 1
    while seg in forks and depth <= forks[seg][1]:
        seg = forks[seg][0]
    return tree.place_of(tx, thread, seg, depth)


def start(tx: Tx, thread_id: str, uri: str, format_: str, *, main: bool) -> int:
    """A new, empty source; the previous one of the same file is kept as an earlier version of the file.

    Its `version` records that only imports have changed the thread. Every piece updates it, so an import that was cut
    off and is started again still recognises that.
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
        body=bodies.compress(b"{}"),
    )
    assert row is not None
    return int(row[0])


def archive(
    tx: Tx, thread_id: str, uri: str, format_: str, data: bytes, mtime: int, *, main: bool, beside: bool = False
) -> None:
    """Keep a whole file as a source of a thread; a file with the same bytes is kept once. `beside`: it belongs to a
    session and has no messages."""
    proof, told = hashlib.sha256(data).digest(), {"archived": True, **({"beside": True} if beside else {})}
    known = find(tx, uri)
    same = known is not None and (known.thread_id, known.hash, known.main) == (thread_id, proof.hex(), main)
    if known is not None and same and known.told.get("archived"):
        number = known.number
    else:
        number = start(tx, thread_id, uri, format_, main=main)
        for at in range(0, len(data), PIECE):
            piece = data[at : at + PIECE]
            tx.run("add_source_chunk", source=number, at=at, size=len(piece), data=bodies.compress(piece))
    finish(tx, thread_id, number, len(data), mtime, proof, told)


def finish(tx: Tx, thread_id: str, number: int, size: int, mtime: int, proof: bytes, told: dict[str, Any]) -> None:
    """Record that the whole file was read: its size, its time of change, and notes about it."""
    thread = find_thread(tx, thread_id)
    tx.run(
        "grow_source",
        source=number,
        size=size,
        mtime=mtime,
        hash=proof,
        version=thread.version,
        body=bodies.compress(exact_json.encode(told)),
    )
