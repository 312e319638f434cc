"""Session files into the ledger: streamed, kept byte for byte, and only what is new the next time.

A file that has not changed costs a look at its size and time. One that grew is read again from the start (an agent may
have gone on with an answer it had begun), but only new messages and new bytes are written. One that was rewritten is
kept beside what it was. Memory does not grow with the file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import NotFound, Unreadable
from hansard.formats.coding_agents.claude_code.folder import Calls, started
from hansard.formats.coding_agents.identity import is_uuid
from hansard.formats.coding_agents.session_file import Reading
from hansard.gc_pause import gc_pause
from hansard.ledger import sources, threads
from hansard.ledger.backends.driver import Tx
from hansard.ledger.ids import clock
from hansard.ledger.ledger import Ledger
from hansard.ledger.results import Source
from hansard.ledger.rows import find_thread
from hansard.model.conversation import Conversation, Message, Snapshot
from hansard.sessions.discovery import Session

_MANY = 400
_MUCH = 4 << 20
_LONG_AGO = 0  # a thread that is begun is as old as nothing; what is filed in it moves it forward
Progress = Callable[[int], None]


class Imported(NamedTuple):
    """What came of a session: `bad` are records nobody can read, `repairs` links that were mended."""

    path: str
    format: str
    thread_id: str
    added: int
    known: int
    bytes: int
    changed: bool
    bad: list[dict[str, Any]]
    repairs: list[dict[str, Any]]


def import_session(ledger: Ledger, session: Session, progress: Progress = lambda size: None) -> Imported:
    """Import a session and its sub-agents, or what is new of them."""
    files = [session.path, *session.parts]
    before = [ledger._read(lambda tx, p=path: sources.find(tx, _uri(p))) for path in files]  # type: ignore[misc]
    stats = [os.stat(path) for path in files]
    first = before[0]
    if first is not None and all(_unchanged(one, stat) for one, stat in zip(before, stats, strict=True)):
        progress(sum(stat.st_size for stat in stats))
        return Imported(str(session.path), first.format, first.thread_id, 0, 0, first.size, False, [], [])
    name = session.format or detect(session.path)
    if formats.get(name).session is None:
        return _import_whole(ledger, session, name, stats[0], progress)
    run = _Import(ledger, name, progress)
    run.file(session.path, first, main=True)
    for path, known in zip(session.parts, before[1:], strict=True):
        run.file(path, known, main=False)
    return run.result(session)


def _uri(path: Path) -> str:
    return os.path.realpath(path)


def _unchanged(source: Source | None, stat: os.stat_result) -> bool:
    return source is not None and (source.size, source.mtime) == (stat.st_size, stat.st_mtime_ns)


def detect(path: Path) -> str:
    """The format of a file, told from its beginning."""
    with open(path, "rb") as file:
        head = file.read(1 << 20)
    if not head.strip():
        raise Unreadable("the file is empty", way_out="an agent that was stopped at once leaves such files")
    lines = head[: head.rfind(b"\n") + 1] or head
    for name in formats.names():
        row = formats.get(name)
        if row.verbatim and row.sniff(lines) == 3 and row.session is not None:
            return name
    with open(path, "rb") as file:
        return formats.detect(file.read())


def _import_whole(ledger: Ledger, session: Session, name: str, stat: os.stat_result, progress: Progress) -> Imported:
    """A document that is read as a whole."""
    data = session.path.read_bytes()
    for part in session.parts:  # snapshots beside messages: one more piece of the same lines
        data += (b"" if data.endswith(b"\n") or not data else b"\n") + part.read_bytes()
    added = known = 0
    key = ""
    for i, conversation in enumerate(formats.read_all(data, name)):
        key = conversation.id if isinstance(conversation.id, str) and conversation.id else _key(session.path, i)
        done = ledger.sync(key, conversation)
        added, known = added + done.added, known + done.known
    uri = _uri(session.path)
    if key:
        number = ledger._write(lambda tx: sources.start(tx, key, uri, name, main=True))
        proof = hashlib.sha256(data).digest()
        told = {"archived": False}
        ledger._write(lambda tx: sources.finish(tx, key, number, stat.st_size, stat.st_mtime_ns, proof, told))
    progress(len(data))
    return Imported(str(session.path), name, key, added, known, len(data), bool(added), [], [])


def _key(path: Path, index: int) -> str:
    """The thread of a conversation that has no id: the file is its name."""
    return hashlib.sha256(f"{_uri(path)}\0{index}".encode("utf-8", "surrogateescape")).hexdigest()[:26]


class _Begun(NamedTuple):
    """A file some of which is in the ledger."""

    filing: sources.SourceWriter
    number: int
    move: bool


class _End(NamedTuple):
    """What is known of a file once all of it was read."""

    reading: Reading
    size: int
    mtime: int
    proof: bytes
    told: dict[str, Any]


class _Work(NamedTuple):
    """What one transaction is to write; `known` is the source it goes on with, `before` what the file was."""

    path: Path
    main: bool
    before: Source | None
    known: Source | None
    value: Conversation
    arrivals: list[sources.Piece]
    snapshots: list[Snapshot]
    pictured: int
    end: _End | None


class _Import:
    """The files of one session on their way into one thread."""

    def __init__(self, ledger: Ledger, name: str, progress: Progress) -> None:
        self._ledger, self._name, self._progress = ledger, name, progress
        self._calls = Calls()
        self._thread = ""
        self.added = self.known = self.size = 0
        self.bad: list[dict[str, Any]] = []
        self.repairs: list[dict[str, Any]] = []

    def result(self, session: Session) -> Imported:
        return Imported(
            str(session.path),
            self._name,
            self._thread,
            self.added,
            self.known,
            self.size,
            True,
            self.bad,
            self.repairs,
        )

    def file(self, path: Path, before: Source | None, *, main: bool) -> None:
        """One file: its messages and its bytes."""
        stat = os.stat(path)
        if before is not None and (before.format, before.told.get("archived")) != (self._name, True):
            before = (
                None  # it was read as something else, and perhaps as a whole: its bytes are not there to go on from
            )
        grown = before is not None and stat.st_size >= before.size and _prefix(path, before.size) == before.hash
        session = formats.get(self._name).session
        assert session is not None
        reading = session.open()
        digest = hashlib.sha256()
        known = before if grown else None
        kept = 0 if known is None else known.size
        begun: _Begun | None = None
        value: Conversation | None = None
        waiting: list[sources.Piece] = []
        snapshots: list[Snapshot] = []
        held: list[Message] = []  # a sub-agent's messages wait for its first words
        at = much = pictured = 0
        with open(path, "rb") as source:
            for chunk in chain(_chunks(source, stat.st_size), (b"",)):
                with gc_pause():
                    messages = reading.feed(chunk) if chunk else reading.finish()
                snapshots += reading.snapshots()
                digest.update(chunk)
                if not main:
                    held += messages
                    messages = started(held, self._calls, path.as_posix()) if not chunk else []
                else:
                    for message in messages:
                        self._calls.note(message)
                if value is None:
                    value = self._identified(reading, path, before, main=main)
                    if before is not None and before.thread_id != self._thread:
                        before, known, kept = None, None, 0  # it tells only now whose it is
                waiting.append(sources.Piece(messages, chunk[max(0, kept - at) :], max(at, kept)))
                at += len(chunk)
                much += len(chunk)
                if not chunk or much >= _MUCH or sum(len(one.items) for one in waiting) >= _MANY:
                    told = {"reports": len(reading.reports) + reading.unlisted, "archived": True}
                    end = None if chunk else _End(reading, at, stat.st_mtime_ns, digest.digest(), told)
                    work = _Work(path, main, before, known, value, waiting, snapshots if main else [], pictured, end)
                    begun = self._write(begun, work)
                    pictured += len(snapshots)
                    waiting, snapshots, much = [], [], 0
                self._progress(len(chunk))
        assert begun is not None
        filing = begun.filing
        self.added, self.known, self.size = self.added + filing.added, self.known + filing.known, self.size + at
        for report in reading.reports:
            one = {"path": str(path), "line": report.line, "byte": report.byte, "what": report.what}
            (self.bad if report.kind == "bad" else self.repairs).append(one)

    def _write(self, begun: _Begun | None, work: _Work) -> _Begun:
        """A piece of the file in one transaction: its messages, its bytes, its snapshots; a short file is one piece."""
        now = clock()

        def job(tx: Tx) -> _Begun:
            state = self._begin(tx, work) if begun is None else begun
            done = state.filing.add(tx, work.arrivals, state.number, now)
            if work.snapshots:
                threads.add_snapshots(tx, find_thread(tx, self._thread), work.snapshots, work.pictured)
            if (end := work.end) is not None:
                if work.main:
                    self._settle(tx, end.reading, move=state.move)
                sources.finish(tx, self._thread, state.number, end.size, end.mtime, end.proof, end.told)
            return state._replace(filing=done)

        return self._ledger._write(job)

    def _identified(self, reading: Reading, path: Path, before: Source | None, *, main: bool) -> Conversation:
        """The thread of a file, as its first piece tells it; before it says so the one that it went into, and of a
        new file the one of its name, if that is an id."""
        value = reading.conversation([])
        if main:
            named = path.stem if is_uuid(path.stem) else _key(path, 0)
            named = named if before is None else before.thread_id
            self._thread = value.id if isinstance(value.id, str) and value.id else named
        return replace(value, id=self._thread, messages=[], snapshots=UNSET, runs=UNSET, head=UNSET)

    def _begin(self, tx: Tx, work: _Work) -> _Begun:
        """Make the thread if it is not there, and the source. The head is the file's to move if the thread was empty,
        or nobody has touched it since the last import."""
        if not threads.exists(tx, self._thread):
            threads.start(tx, work.value, _LONG_AGO)
        row = find_thread(tx, self._thread)
        move = row.messages == 0 or (work.before is not None and work.before.version == row.version)
        if work.known is not None:
            return _Begun(sources.SourceWriter(self._thread), work.known.number, move)
        number = sources.start(tx, self._thread, _uri(work.path), self._name, main=work.main)
        return _Begun(sources.SourceWriter(self._thread), number, move)

    def _settle(self, tx: Tx, reading: Reading, *, move: bool) -> None:
        """What the session says of itself at its end: its title, its head."""
        value = reading.conversation([])
        row = find_thread(tx, self._thread, lock=True)
        if row.updated_at == _LONG_AGO:  # nothing in the file has a date
            row.save(tx, clock())
            row = find_thread(tx, self._thread, lock=True)
        threads.update_description(tx, row, replace(value, snapshots=UNSET, runs=UNSET))
        if move:
            last = threads.last_message(tx, row)
            head = value.head if isinstance(value.head, str) else last
            try:
                threads.checkout(tx, self._thread, head, row.updated_at, tip=False)
            except NotFound:  # the file names a head that it does not hold
                threads.checkout(tx, self._thread, last, row.updated_at, tip=False)


def _chunks(file: Any, size: int) -> Iterator[bytes]:
    """The file as it was when we looked, a piece at a time; what is written meanwhile waits for the next time."""
    left = size
    while left > 0 and (chunk := file.read(min(sources.PIECE, left))):
        left -= len(chunk)
        yield chunk


def _prefix(path: Path, size: int) -> str:
    """The hash of the beginning of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in _chunks(file, size):
            digest.update(chunk)
    return digest.hexdigest()
