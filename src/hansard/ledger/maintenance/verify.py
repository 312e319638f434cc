"""Verification: both hash chains, all places, counts, blobs, checksums, and the database's check of its file.

Each thread is checked in one snapshot, message by message. After a bad row the chain continues from the hashes of that
row, so that every bad row is reported once, and not everything after it.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable
from typing import Any

from hansard.errors import HansardError
from hansard.ledger import bodies, hash_chain, summary, tree
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.live.tail import journaled
from hansard.ledger.results import Problem
from hansard.ledger.rows import ROOT, Place, RunRow, ThreadRow, description
from hansard.ledger.runs import ACTIVE
from hansard.model import exact_json, native
from hansard.model.conversation import Message, Run, Snapshot
from hansard.model.times import milliseconds

_BATCH = 500
_DAMAGE = (TypeError, ValueError, LookupError)  # what a value of the wrong type can raise


def verify(driver: Driver, progress: Callable[[int, int], None] | None) -> list[Problem]:
    """All problems: of the file, of the threads from the oldest on, of blobs, and of stray rows."""
    found: list[Problem] = []
    try:
        found += [Problem(what=text, where="file") for text in driver.problems()]
        total = driver.read(lambda tx: tx.all("count_messages"))[0][0]
        done = last = 0
        while True:
            numbers = driver.read(lambda tx: tx.all("thread_numbers", after=last, limit=_BATCH))  # noqa: B023
            for (number,) in numbers:
                found += driver.read(lambda tx: _thread_problems(tx, number))  # noqa: B023
                done += driver.read(lambda tx: tx.all("count_messages_of", thread=number))[0][0]  # noqa: B023
                if progress is not None:
                    progress(min(done, total), total)
            if not numbers:
                break
            last = numbers[-1][0]
        found += _blobs(driver)
        found += _sources(driver)
        found += _workspaces(driver)
        found += driver.read(_stray_rows)
    except (HansardError, *_DAMAGE) as error:  # the database cannot read the file
        found.append(Problem(what=f"cannot be read: {error}", where="file"))
    return found


def _thread_problems(tx: Tx, number: int) -> list[Problem]:
    """The problems of a thread; damage may also be a value of the wrong type."""
    thread = _Thread(tx, number)
    try:
        return thread.problems()
    except _DAMAGE as error:
        thread.note(f"cannot be read: {error!r}", f"thread {number}")
        return thread.found


class _Thread:
    """The check of one thread in one transaction."""

    def __init__(self, tx: Tx, number: int) -> None:
        self.tx, self.number = tx, number
        self.row: ThreadRow | None = None
        self.found: list[Problem] = []
        self.ends: dict[int, Place] = {}
        self.count = 0
        self.segments: dict[int, tuple[int, int]] = {}
        self.uses: set[bytes] = set()
        self.numbers: set[int] = set()

    def note(self, what: str, where: str, message: str | None = None, n: int | None = None) -> None:
        key = unsafe(self.row.id) if self.row is not None else None
        self.found.append(Problem(what=what, where=where, thread_id=key, message_id=unsafe(message), n=n))

    def problems(self) -> list[Problem]:
        found = self.tx.one("thread_by_number", thread=self.number)
        if found is None:
            return []
        row = self.row = ThreadRow(*found)
        if row.forgotten_at is not None:
            for table in ("messages", "runs", "snapshots", "workspace_snapshots"):
                if self.tx.one(f"any_{table}", thread=row.thread):
                    self.note(f"it was forgotten, but {table} are left", "thread")
            return self.found
        runs = [RunRow(*values) for values in self.tx.all("runs", thread=row.thread)]
        self.numbers = {run.run for run in runs}
        self.uses = {bytes(name) for (name,) in self.tx.all("uses", thread=row.thread)}
        self._check_segments(row)
        for seg in [0, *sorted(self.segments)]:
            self._check_chain(row, seg)
        self._check_thread(row)
        for run in runs:
            self._check_run(row, run)
        for n, _, body in self.tx.all("snapshots", thread=row.thread):
            self._decoded(f"snapshot {n}", lambda: native.decode_own(Snapshot, bodies.unseal(body)))  # noqa: B023
        return self.found

    def _decoded(self, where: str, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (HansardError, ValueError) as error:
            self.note(f"cannot be read: {error}", where)
            return None

    # -- the tree --------------------------------------------------------------------------------------------------

    def _check_segments(self, row: ThreadRow) -> None:
        for seg, parent, depth in self.tx.all("segments", thread=row.thread):
            self.segments[seg] = (parent, depth)
        for seg, (parent, _) in self.segments.items():
            if not 0 < seg < row.next_seg:
                self.note(f"its number is not between 0 and {row.next_seg}", f"segment {seg}")
            if parent >= seg or (parent and parent not in self.segments):
                self.note(f"forks from segment {parent}, which is missing", f"segment {seg}")

    def _check_chain(self, row: ThreadRow, seg: int) -> None:
        start = self._start(row, seg)
        if start is None:
            return
        place, low, before = start, start.depth, 0
        while True:
            rows = self.tx.all("verify_range", thread=row.thread, seg=seg, low=low, limit=_BATCH)
            for n, depth, key, run, role, agent, created_at, proof, said, body in rows:
                self.count += 1
                if depth != place.depth + 1:
                    gone = depth - place.depth - 1
                    what = "the message before it is" if gone == 1 else f"{gone} messages before it are"
                    self.note(f"{what} missing", "message", key, n)
                if n <= before:
                    self.note("is numbered before the message it follows", "message", key, n)
                if run is not None and run not in self.numbers:
                    self.note(f"belongs to run {run}, which is missing", "message", key, n)
                for what in self._message_problems(place, (key, role, agent, created_at), (proof, said), body):
                    self.note(what, "message", key, n)
                place, before = Place(seg, depth, proof, said), n
            if not rows:
                break
            low = rows[-1][1]
        self.ends[seg] = place

    def _start(self, row: ThreadRow, seg: int) -> Place | None:
        """The place a segment forks from, with the chains up to there."""
        if seg == 0:
            return ROOT
        try:
            return tree.place_of(self.tx, row, *self.segments[seg])._replace(seg=seg)
        except HansardError:
            self.note("forks from a message that is missing", f"segment {seg}")
            return None

    def _message_problems(
        self, after: Place, columns: tuple[Any, ...], chains: tuple[bytes, bytes], stored: bytes
    ) -> list[str]:
        """The problems of one message: its body, its two hashes, the columns that repeat parts of it."""
        key, role, agent, created_at = columns
        try:
            (body,) = tree.read_bodies(self.tx, [stored])
            message = native.decode_own(Message, body)
        except (HansardError, ValueError) as error:
            return [f"cannot be read: {error}"]
        found = []
        if hash_chain.link(after.hash, hash_chain.message_hash(key, body)) != chains[0]:
            found.append("its hash does not match: the message, its hash or its place was changed")
        elif hash_chain.link(after.said, hash_chain.said(message))[:16] != chains[1]:
            found.append("its content hash does not match")
        time = milliseconds(message.created_at) if type(message.created_at) is str else None
        name = safe(message.agent_id) if type(message.agent_id) is str else None
        if (role, agent, created_at) != (safe(message.role), name, time):
            found.append("the columns role, agent or time differ from its body")
        if not self.uses >= set(bodies.cuts(stored)):
            found.append("a blob it needs is not marked as used by its thread")
        return found

    # -- thread and runs ----------------------------------------------------------------------------------------

    def _at(self, row: ThreadRow, seg: int, depth: int) -> Place | None:
        if seg and seg not in self.segments:
            return None
        try:
            return tree.place_of(self.tx, row, seg, depth)
        except HansardError:
            return None

    def _check_thread(self, row: ThreadRow) -> None:
        if self.count != row.messages:
            self.note(f"counts {row.messages} messages, but {self.count} exist", "thread")
        head = self._at(row, row.head_seg, row.head_depth)
        if head is None:
            self.note("its head is missing", "thread")
        elif (head.hash, head.said) != (row.head_hash, row.head_said):
            self.note("its head has a different hash", "thread")
        self._decoded("usage", lambda: summary.decode(row.usage))
        value = self._decoded("thread", lambda: description(row))
        if value is None:
            return
        values = (value.title, value.resource_id, value.parent_thread_id)
        if tuple(safe(text) if isinstance(text, str) else None for text in values) != row[2:5]:
            self.note("the columns title, resource or parent differ from its body", "thread")

    def _check_run(self, row: ThreadRow, run: RunRow) -> None:
        where = f"run {unsafe(run.id)}"
        tip = self._at(row, run.seg, run.depth)
        if tip is None:
            self.note("its last message is missing", where)
        elif (tip.hash, tip.said) != (run.tip_hash, run.tip_said):
            self.note("its last message has a different hash", where)
        if self._at(row, run.fork_seg, run.fork_depth) is None:
            self.note("the message it forks from is missing", where)
        if not 0 < run.run < row.next_run:
            self.note(f"its number is not between 0 and {row.next_run}", where)
        if run.status == ACTIVE:  # deltas of ended runs are in messages
            self._decoded(where, lambda: deque(journaled(self.tx, row.thread, run, run.folded), maxlen=0))
        value: Run | None = self._decoded(where, lambda: run.value)
        if value is None:
            return
        waiting = len(value.pending) if isinstance(value.pending, list) else 0
        status = value.status if isinstance(value.status, str) else "committed"
        if safe(value.id) != run.id or (run.pending and run.pending != waiting):
            self.note("the columns id or pending differ from its body", where)
        if status != run.status and (status, run.status) != ("committed", "superseded"):
            self.note(f"is {run.status}, but its body says {status}", where)


def _blobs(driver: Driver) -> list[Problem]:
    """Blobs whose content does not match their hash."""
    found: list[Problem] = []
    after = b""
    while True:
        rows = driver.read(lambda tx: tx.all("blobs_after", after=after, limit=64))  # noqa: B023
        for name, size, data in rows:
            try:
                text = bodies.decompress(bytes(data))
                good = hashlib.sha256(text).digest() == bytes(name) and len(text) == size
            except HansardError:
                good = False
            if not good:
                found.append(Problem(what="does not match its hash", where=f"blob {bytes(name).hex()}"))
        if not rows:
            return found
        after = bytes(rows[-1][0])


def _sources(driver: Driver) -> list[Problem]:
    """Sources whose bytes do not match their hash."""
    found: list[Problem] = []
    last = 0
    while rows := driver.read(lambda tx: tx.all("sources_after", after=last, limit=64)):  # noqa: B023
        for number, uri, size, proof, body, thread in rows:
            try:
                told = exact_json.decode(bodies.decompress(bytes(body)))
                kept = told.get("archived") is not False  # of a file that is read as a whole, only the hash is kept
                good = not kept or _digest(driver, number, size) == bytes(proof)
            except HansardError:
                good = False
            if not good or thread is None:
                what = "belongs to no thread" if thread is None else "its bytes do not match its hash"
                found.append(Problem(what=what, where=f"source {unsafe(uri)}", thread_id=unsafe(thread)))
        last = rows[-1][0]
    return found


def _digest(driver: Driver, source: int, size: int) -> bytes:
    """The hash of the first `size` bytes of a file; a concurrent import may be adding more."""
    digest, at = hashlib.sha256(), 0
    while at < size:
        rows = driver.read(lambda tx: tx.all("source_chunks", source=source, at=at, end=size, limit=8))  # noqa: B023
        for start, length, data in rows:
            piece = bodies.decompress(bytes(data))
            if start != at or length != len(piece):
                return b""
            digest.update(piece[: size - at])
            at += length
        if not rows:
            return b""
    return digest.digest()


def _workspaces(driver: Driver) -> list[Problem]:
    """Workspace snapshots whose checksum does not match."""
    found: list[Problem] = []
    last = 0
    while rows := driver.read(lambda tx: tx.all("all_workspace_snapshots", after=last)):  # noqa: B023
        for snap, body in rows:
            try:
                bodies.unseal(bytes(body))
            except HansardError as error:
                found.append(Problem(what=str(error), where=f"workspace snapshot {snap}"))
        last = rows[-1][0]
    return found


def _stray_rows(tx: Tx) -> list[Problem]:
    """Rows whose thread, segment or blob is missing."""
    found = [
        Problem(what="belongs to no thread or segment", where="message", message_id=unsafe(key), n=n)
        for n, key in tx.all("stray_messages", limit=100)
    ]
    found += [
        Problem(what="is used but missing", where=f"blob {bytes(name).hex()}")
        for missing in ("missing_blobs", "missing_workspace_blobs")
        for (name,) in tx.all(missing, limit=100)
    ]
    return found
