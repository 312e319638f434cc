"""Proving that the ledger says what was written: both chains, all places, counts, blobs, checksums, the file itself.

Each thread is looked at in one snapshot, message by message. After a bad row the chain is followed from what that row
says, so that every bad row is named once and not everything behind it.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable
from typing import Any

from hansard.errors import HansardError
from hansard.ledger import bodies, tree
from hansard.ledger import hash_chain as chain
from hansard.ledger.backends.driver import Driver, Tx, safe, unsafe
from hansard.ledger.live.tail import journaled
from hansard.ledger.messages import spelled_usage
from hansard.ledger.results import Problem
from hansard.ledger.rows import ROOT, Place, RunRow, ThreadRow, described
from hansard.ledger.runs import ACTIVE
from hansard.model import exact_json, native
from hansard.model.conversation import Message, Run, Snapshot
from hansard.model.times import milliseconds

_BATCH = 500
_DAMAGE = (TypeError, ValueError, LookupError)  # what comes of a number where text should be


def verify(driver: Driver, progress: Callable[[int, int], None] | None) -> list[Problem]:
    """All problems: of the file, of the threads from the oldest on, of blobs, of rows that belong to nobody."""
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
        found += driver.read(_strays)
    except (HansardError, *_DAMAGE) as error:  # the database could not even read it
        found.append(Problem(what=f"cannot be read: {error}", where="file"))
    return found


def _thread_problems(tx: Tx, number: int) -> list[Problem]:
    """What is wrong with a thread; damage may be of any kind, a number where text should be too."""
    thread = _Thread(tx, number)
    try:
        return thread.problems()
    except _DAMAGE as error:
        thread.note(f"cannot be read: {error!r}", f"thread {number}")
        return thread.found


class _Thread:
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
                    self.note(f"it was forgotten, but there are {table} left", "thread")
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
            self._decoded(f"snapshot {n}", lambda: native.decode_own(Snapshot, bodies.unsealed(body)))  # noqa: B023
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
                self.note(f"hangs on the segment {parent}, which is not there", f"segment {seg}")

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
                    self.note(f"{what} gone", "message", key, n)
                if n <= before:
                    self.note("stands in the order of writing before the message it answers", "message", key, n)
                if run is not None and run not in self.numbers:
                    self.note(f"is of the run {run}, which is not there", "message", key, n)
                for what in self._wrong(place, (key, role, agent, created_at), (proof, said), body):
                    self.note(what, "message", key, n)
                place, before = Place(seg, depth, proof, said), n
            if not rows:
                break
            low = rows[-1][1]
        self.ends[seg] = place

    def _start(self, row: ThreadRow, seg: int) -> Place | None:
        """Where a segment hangs, with the chains up to there."""
        if seg == 0:
            return ROOT
        try:
            return tree.place_of(self.tx, row, *self.segments[seg])._replace(seg=seg)
        except HansardError:
            self.note("hangs on a message that is not there", f"segment {seg}")
            return None

    def _wrong(self, behind: Place, columns: tuple[Any, ...], chains: tuple[bytes, bytes], stored: bytes) -> list[str]:
        """What is wrong with one message: its words, its two hashes, the columns that repeat it."""
        key, role, agent, created_at = columns
        try:
            (body,) = tree.texts(self.tx, [stored])
            message = native.decode_own(Message, body)
        except (HansardError, ValueError) as error:
            return [f"cannot be read: {error}"]
        found = []
        if chain.link(behind.hash, chain.proof(key, body)) != chains[0]:
            found.append("its hash does not prove it: it, its hash or its place was changed")
        elif chain.link(behind.said, chain.said(message))[:16] != chains[1]:
            found.append("the chain of what was said does not hold")
        told = milliseconds(message.created_at) if type(message.created_at) is str else None
        name = safe(message.agent_id) if type(message.agent_id) is str else None
        if (role, agent, created_at) != (safe(message.role), name, told):
            found.append("role, agent or time beside it are not what it says")
        if not self.uses >= set(bodies.cuts(stored)):
            found.append("a blob it needs is not marked as used by its thread")
        return found

    # -- what is said of it ----------------------------------------------------------------------------------------

    def _at(self, row: ThreadRow, seg: int, depth: int) -> Place | None:
        if seg and seg not in self.segments:
            return None
        try:
            return tree.place_of(self.tx, row, seg, depth)
        except HansardError:
            return None

    def _check_thread(self, row: ThreadRow) -> None:
        if self.count != row.messages:
            self.note(f"counts {row.messages} messages, there are {self.count}", "thread")
        head = self._at(row, row.head_seg, row.head_depth)
        if head is None:
            self.note("its head is not there", "thread")
        elif (head.hash, head.said) != (row.head_hash, row.head_said):
            self.note("its head has another hash", "thread")
        self._decoded("usage", lambda: spelled_usage(row.usage))
        value = self._decoded("thread", lambda: described(row))
        if value is None:
            return
        told = (value.title, value.resource_id, value.parent_thread_id)
        if tuple(safe(text) if isinstance(text, str) else None for text in told) != row[2:5]:
            self.note("title, resource or parent beside it are not what it says", "thread")

    def _check_run(self, row: ThreadRow, run: RunRow) -> None:
        where = f"run {unsafe(run.id)}"
        tip = self._at(row, run.seg, run.depth)
        if tip is None:
            self.note("its last message is not there", where)
        elif (tip.hash, tip.said) != (run.tip_hash, run.tip_said):
            self.note("its last message has another hash", where)
        if self._at(row, run.fork_seg, run.fork_depth) is None:
            self.note("the message it forks from is not there", where)
        if not 0 < run.run < row.next_run:
            self.note(f"its number is not between 0 and {row.next_run}", where)
        if run.status == ACTIVE:  # what others said is in messages
            self._decoded(where, lambda: deque(journaled(self.tx, row.thread, run, run.folded), maxlen=0))
        value: Run | None = self._decoded(where, lambda: run.value)
        if value is None:
            return
        waiting = len(value.pending) if isinstance(value.pending, list) else 0
        told = value.status if isinstance(value.status, str) else "committed"
        if safe(value.id) != run.id or (run.pending and run.pending != waiting):
            self.note("id or pending calls beside it are not what it says", where)
        if told != run.status and (told, run.status) != ("committed", "superseded"):
            self.note(f"is {run.status}, but says it is {told}", where)


def _blobs(driver: Driver) -> list[Problem]:
    """Blobs that are not what their hash says."""
    found: list[Problem] = []
    after = b""
    while True:
        rows = driver.read(lambda tx: tx.all("blobs_after", after=after, limit=64))  # noqa: B023
        for name, size, data in rows:
            try:
                text = bodies.opened(bytes(data))
                good = hashlib.sha256(text).digest() == bytes(name) and len(text) == size
            except HansardError:
                good = False
            if not good:
                found.append(Problem(what="is not what its hash says", where=f"blob {bytes(name).hex()}"))
        if not rows:
            return found
        after = bytes(rows[-1][0])


def _sources(driver: Driver) -> list[Problem]:
    """Files that threads were imported from and whose bytes are not what their hash says."""
    found: list[Problem] = []
    last = 0
    while rows := driver.read(lambda tx: tx.all("sources_after", after=last, limit=64)):  # noqa: B023
        for number, uri, size, proof, body, thread in rows:
            try:
                told = exact_json.decode(bodies.opened(bytes(body)))
                kept = told.get("archived") is not False  # of what is read as a whole only the hash is kept
                good = not kept or _digest(driver, number, size) == bytes(proof)
            except HansardError:
                good = False
            if not good or thread is None:
                what = "belongs to no thread" if thread is None else "its bytes are not what its hash says"
                found.append(Problem(what=what, where=f"source {unsafe(uri)}", thread_id=unsafe(thread)))
        last = rows[-1][0]
    return found


def _digest(driver: Driver, source: int, size: int) -> bytes:
    """The hash of the first bytes of a file, as many as it says it has: an import may be adding more."""
    digest, at = hashlib.sha256(), 0
    while at < size:
        rows = driver.read(lambda tx: tx.all("source_chunks", source=source, at=at, end=size, limit=8))  # noqa: B023
        for start, length, data in rows:
            piece = bodies.opened(bytes(data))
            if start != at or length != len(piece):
                return b""
            digest.update(piece[: size - at])
            at += length
        if not rows:
            return b""
    return digest.digest()


def _workspaces(driver: Driver) -> list[Problem]:
    """Snapshots of files whose checksum does not hold."""
    found: list[Problem] = []
    last = 0
    while rows := driver.read(lambda tx: tx.all("all_workspace_snapshots", after=last)):  # noqa: B023
        for snap, body in rows:
            try:
                bodies.unsealed(bytes(body))
            except HansardError as error:
                found.append(Problem(what=str(error), where=f"workspace snapshot {snap}"))
        last = rows[-1][0]
    return found


def _strays(tx: Tx) -> list[Problem]:
    """Rows whose thread, segment or blob is not there."""
    found = [
        Problem(what="belongs to no thread or segment", where="message", message_id=unsafe(key), n=n)
        for n, key in tx.all("stray_messages", limit=100)
    ]
    found += [
        Problem(what="is used but not there", where=f"blob {bytes(name).hex()}")
        for missing in ("missing_blobs", "missing_workspace_blobs")
        for (name,) in tx.all(missing, limit=100)
    ]
    return found
