"""Import session files into the ledger: streamed, kept byte for byte, only what is new the next time.

An unchanged file costs a look at its size and time. A file that grew is read again from the start (the agent may have
extended an answer), but only new messages and new bytes are written. A file that was rewritten is kept beside its
older version. Memory does not grow with the file.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.errors import HansardError, Unreadable
from hansard.formats.coding_agents.identity import is_uuid
from hansard.formats.coding_agents.rows import MAGIC, grown
from hansard.formats.coding_agents.session_file import Reading
from hansard.formats.coding_agents.sub_agents import Calls, link
from hansard.gc_pause import gc_pause
from hansard.ledger import sources, threads, tree
from hansard.ledger.backends.driver import Tx, unsafe
from hansard.ledger.ids import clock
from hansard.ledger.ledger import Ledger
from hansard.ledger.results import Source
from hansard.ledger.rows import Place, ThreadRow, find_thread, id_at
from hansard.model.conversation import Context, Conversation, Message, Snapshot
from hansard.sessions import databases, forks, sage
from hansard.sessions.discovery import Session
from hansard.sessions.handover import uri_of

_BATCH_MESSAGES = 400
_BATCH_BYTES = 4 << 20
_NO_TIME_YET = 0  # the time of a new thread, until messages move_head it forward
Progress = Callable[[int], None]


class Imported(NamedTuple):
    """The result for a session: `bad` are records that cannot be read, `repairs` links that were repaired.

    `over_undo`: the agent continued after messages that had been undone, and the head followed it.
    """

    path: str
    format: str
    thread_id: str
    added: int
    known: int
    bytes: int
    changed: bool
    bad: list[dict[str, Any]]
    repairs: list[dict[str, Any]]
    over_undo: bool = False


def import_session(ledger: Ledger, session: Session, progress: Progress = lambda size: None) -> Imported:
    """Import a session and its sub-agents, or what is new in them."""
    files = session.files
    before = [ledger._read(lambda tx, p=path: sources.find(tx, _uri(p))) for path in files]  # type: ignore[misc]
    stats = [os.stat(path) for path in files]
    first = before[0]
    if first is not None and all(_unchanged(one, stat) for one, stat in zip(before, stats, strict=True)):
        progress(sum(stat.st_size for stat in stats))
        return Imported(str(session.path), first.format, first.thread_id, 0, 0, first.size, False, [], [])
    name = session.format or detect(session.path)
    if formats.get(name).session is None:
        return (_import_sage if name == "sage" else _import_document)(ledger, session, name, stats, progress)
    run = _Import(ledger, name, progress, session.cwd)
    run.file(_on_disk(session.path), first, main=True)
    for path, known in zip(session.parts, before[1:], strict=False):
        run.file(_on_disk(path), known, main=False)
    count = 1 + len(session.parts)
    for path, known, stat in zip(session.beside, before[count:], stats[count:], strict=True):
        if not _unchanged(known, stat):
            run.keep(path, stat)
    return run.result(str(session.path))


def import_found(ledger: Ledger, session: Session, progress: Progress = lambda size: None) -> list[Imported]:
    """Import what discovery found: a session, or every session in a database."""
    files = formats.get(session.format or detect(session.path)).session
    if files is None or files.tables is None:
        return [import_session(ledger, session, progress)]
    session = session._replace(format=files.name)
    if session.path.is_dir():
        return _import_files(ledger, session, progress)
    with open(session.path, "rb") as file:
        is_database = file.read(len(MAGIC)) == MAGIC
    return import_database(ledger, session, progress) if is_database else _import_lines(ledger, session, progress)


def _import_lines(ledger: Ledger, session: Session, progress: Progress) -> list[Imported]:
    """Import the sessions in a file of lines, as `hansard convert` may have written it."""
    split = formats.get(session.format).split
    assert split is not None
    data = session.path.read_bytes()
    if not data.startswith(b'{"rows":'):
        raise Unreadable(
            "neither a database nor its lines", way_out="skip it: the agent makes a new one when it starts"
        )
    each = split(data)
    found = [databases.Found(str(i), one.splitlines(keepends=True), frozenset()) for i, one in enumerate(each)]
    mtime = os.stat(session.path).st_mtime_ns
    return [_import_rows(ledger, session, one, mtime, progress, {"lines": True}) for one in found]


def _import_files(ledger: Ledger, session: Session, progress: Progress) -> list[Imported]:
    """Import the sessions in a folder of an older release, which has a file for each row."""
    found = databases.in_files(session.path, session.format)
    return [_import_rows(ledger, session, one, mtime, progress) for one, mtime in found]


def import_database(ledger: Ledger, session: Session, progress: Progress = lambda size: None) -> list[Imported]:
    """Import every session in a database of an agent, or what is new in them.

    The source of its last session notes size and times of the database: an unchanged one costs a look at them.
    """
    tables = formats.get(session.format).session.tables  # type: ignore[union-attr]
    assert tables is not None
    stamp, uri = databases.stamp(session.path), f"{_uri(session.path)}#"
    look = [list(one) if one is not None else None for one in stamp]
    known = ledger._read(lambda tx: sources.inside(tx, uri))
    if any(one.told.get("database") == look and one.format == session.format for one in known):
        progress(sum(one[0] for one in stamp if one is not None))
        path = str(session.path)
        return [Imported(path, one.format, one.thread_id, 0, 0, one.size, False, [], []) for one in known if one.main]
    mtime = max(one[1] for one in stamp if one is not None)
    done: list[Imported] = []
    last = ""
    try:
        with databases.opened(session.path, tables) as database:
            for found in databases.sessions(database):
                done.append(_import_rows(ledger, session, found, mtime, progress))
                last = found.key
    except Unreadable as error:
        raise HansardError(f"{error.problem}; {error.way_out}") from None
    source = ledger._read(lambda tx: sources.find(tx, uri + last)) if last else None
    if source is not None:
        ledger._write(lambda tx: sources.note(tx, source, {**source.told, "database": look}))
    return done


def _import_rows(
    ledger: Ledger,
    session: Session,
    found: databases.Found,
    mtime: int,
    progress: Progress,
    notes: dict[str, Any] | None = None,
) -> Imported:
    """Import one session of a database: its rows are kept as lines, which only grow."""
    name, uri = session.format, f"{_uri(session.path)}#{found.key}"
    known = ledger._read(lambda tx: sources.find(tx, uri))
    text = found.text
    if known is not None and known.size and known.told.get("archived"):
        unchanged = Imported(str(session.path), name, known.thread_id, 0, 0, known.size, False, [], [])
        if known.told.get("rows") == found.digest:
            progress(len(text))
            return unchanged
        text = grown(b"".join(sources.content(ledger._driver, known)), text, found.carried)
        if len(text) == known.size:
            progress(len(found.text))
            return unchanged
    run = _Import(ledger, name, progress, session.cwd)
    told = {"rows": found.digest, **(notes or {})}
    run.file(_File(session.path, uri, len(text), mtime, lambda: io.BytesIO(text), told), known, main=True)
    return run.result(str(session.path))


class _File(NamedTuple):
    """A file to import, or the lines of a session in a database; `told` is noted with it."""

    path: Path
    uri: str
    size: int
    mtime: int
    open: Callable[[], BinaryIO]
    told: dict[str, Any] = {}


def _on_disk(path: Path) -> _File:
    stat = os.stat(path)
    return _File(path, _uri(path), stat.st_size, stat.st_mtime_ns, lambda: open(path, "rb"))


def _uri(path: Path) -> str:
    return os.path.realpath(path)


def _unchanged(source: Source | None, stat: os.stat_result) -> bool:
    return source is not None and (source.size, source.mtime) == (stat.st_size, stat.st_mtime_ns)


def detect(path: Path) -> str:
    """Detect the format of a file from its beginning."""
    with open(path, "rb") as file:
        head = file.read(1 << 20)
    if not head.strip():
        raise Unreadable("the file is empty", way_out="skip it: agents that stop immediately leave such files")
    if head.startswith(MAGIC):
        return formats.detect(MAGIC + databases.schema(path))
    lines = head[: head.rfind(b"\n") + 1] or head
    for name in formats.names():
        row = formats.get(name)
        if row.verbatim and row.sniff(lines) == 3:
            return name
    with open(path, "rb") as file:
        return formats.detect(file.read())


def _import_sage(
    ledger: Ledger, session: Session, name: str, stats: list[os.stat_result], progress: Progress
) -> Imported:
    """Import a Sage session: its files are read together."""
    files = [session.path, *session.parts]
    read = sage.Read(session.path, session.parts)
    key = sage.thread_key(read.conversation, session.path)
    done = sage.store(ledger, key, read, session.path, dict(zip(files, stats, strict=True)))
    size = sum(map(len, read.data.values()))
    progress(size)
    return Imported(str(session.path), name, key, done.added, done.known, size, bool(done.added), read.bad, [])


def _import_document(
    ledger: Ledger, session: Session, name: str, stats: list[os.stat_result], progress: Progress
) -> Imported:
    """Import a document with one or more conversations, each as a thread."""
    data = session.path.read_bytes()
    added = known = 0
    keys: list[str] = []
    for i, conversation in enumerate(formats.read_all(data, name)):
        key = conversation.id if isinstance(conversation.id, str) and conversation.id else _key(session.path, i)
        done = ledger.sync(key, conversation)
        added, known = added + done.added, known + done.known
        keys.append(key)
    note_document(ledger, session.path, name, keys, data)
    progress(len(data))
    last = keys[-1] if keys else ""
    return Imported(str(session.path), name, last, added, known, len(data), bool(added), [], [])


def note_document(ledger: Ledger, path: Path, name: str, keys: list[str], data: bytes) -> None:
    """Note which document threads came from, in the order of its conversations: its bytes are not kept."""
    stat, proof = os.stat(path), hashlib.sha256(data).digest()
    file = _uri(path)
    places = {f"{file}#{i}" if i else file: key for i, key in enumerate(dict.fromkeys(keys))}

    def is_known(tx: Tx, uri: str, key: str) -> bool:
        known = sources.find(tx, uri)
        return known is not None and (known.thread_id, known.hash, known.format) == (key, proof.hex(), name)

    def job(tx: Tx) -> None:
        for uri, key in places.items():
            number = sources.start(tx, key, uri, name, main=True)
            told = {"archived": False, "document": file}
            sources.finish(tx, key, number, stat.st_size, stat.st_mtime_ns, proof, told)

    if not ledger._read(lambda tx: all(is_known(tx, uri, key) for uri, key in places.items())):
        ledger._write(job)


def _key(path: Path, index: int) -> str:
    """The thread id of a conversation without an id, derived from the path."""
    return hashlib.sha256(f"{_uri(path)}\0{index}".encode("utf-8", "surrogateescape")).hexdigest()[:26]


class _Begun(NamedTuple):
    """A file that is partly in the ledger."""

    filing: sources.SourceWriter
    number: int
    move_head: bool  # whether only imports have changed the thread
    fresh: bool  # whether the thread had no message
    newest: int | None  # the number of its newest message, if not only imports have ever changed the thread


class _End(NamedTuple):
    """What is known of a file after all of it was read."""

    reading: Reading
    size: int
    mtime: int
    proof: bytes
    details: dict[str, Any]


class _Batch(NamedTuple):
    """What one transaction writes; `known` is the source it continues, `before` the file's previous state."""

    uri: str
    main: bool
    before: Source | None
    known: Source | None
    value: Conversation
    arrivals: list[sources.Piece]
    snapshots: list[Snapshot]
    snapshot_count: int
    returned: bool  # whether the session was handed over, and comes back
    end: _End | None


class _Import:
    """The import of the files of one session into one thread."""

    def __init__(self, ledger: Ledger, name: str, progress: Progress, cwd: str | None = None) -> None:
        self._ledger, self._name, self._progress = ledger, name, progress
        self._context = UNSET if cwd is None else Context(cwd=cwd)
        self._calls = Calls()
        self._thread = ""
        self._over_undo = False
        self.added = self.known = self.size = 0
        self.bad: list[dict[str, Any]] = []
        self.repairs: list[dict[str, Any]] = []

    def result(self, path: str) -> Imported:
        """The result for all files so far."""
        return Imported(
            path,
            self._name,
            self._thread,
            self.added,
            self.known,
            self.size,
            True,
            self.bad,
            self.repairs,
            self._over_undo,
        )

    def file(self, file: _File, before: Source | None, *, main: bool) -> None:
        """Import one file: its messages and its bytes."""
        path = file.path
        if before is not None and (before.format, before.told.get("archived")) != (self._name, True):
            before = (
                None  # it was read as another format, perhaps as a document: there are no stored bytes to continue from
            )
        grows = before is not None and file.size >= before.size and _prefix(file, before.size) == before.hash
        session = formats.get(self._name).session
        assert session is not None
        reading = session.open()
        digest = hashlib.sha256()
        known = before if grows else None
        kept = 0 if known is None else known.size
        begun: _Begun | None = None
        handed: _HandedOver | None = None
        value: Conversation | None = None
        waiting: list[sources.Piece] = []
        snapshots: list[Snapshot] = []
        held: list[Message] = []  # a sub-agent's messages, until its first prompt is known
        at = batch_bytes = snapshot_count = 0
        with file.open() as source:
            for chunk in chain(_chunks(source, file.size), (b"",)):
                with gc_pause():
                    messages = self._placed(reading.feed(chunk) if chunk else reading.finish())
                snapshots += reading.snapshots()
                digest.update(chunk)
                if not main:
                    held += messages
                    messages = link(held, self._calls, path.as_posix()) if not chunk else []
                else:
                    for message in messages:
                        self._calls.note(message)
                if value is None:
                    handed = _HandedOver.find(self._ledger, reading, self._name) if main else None
                    value = self._thread_of(reading, path, before, handed, main=main)
                    past = self._inherited(value, path) if main else []
                    messages = [*past, *(one for one in messages if not (past and one.role == "system"))]
                    if before is not None and before.thread_id != self._thread:
                        before, known, kept = None, None, 0  # the file names its session only now
                if handed is not None:
                    messages = handed.without(messages, last=not chunk)
                waiting.append(sources.Piece(messages, chunk[max(0, kept - at) :], max(at, kept)))
                at += len(chunk)
                batch_bytes += len(chunk)
                if (
                    not chunk
                    or batch_bytes >= _BATCH_BYTES
                    or sum(len(one.items) for one in waiting) >= _BATCH_MESSAGES
                ):
                    returned = handed is not None and handed.over
                    details: dict[str, Any] = {"reports": len(reading.reports) + reading.unlisted, "archived": True}
                    details |= file.told
                    if not chunk and reading.unsettled:
                        details["unsettled"] = sorted(reading.unsettled)
                    if not chunk and handed is not None and returned:
                        details["handover"] = handed.told
                    end = None if chunk else _End(reading, at, file.mtime, digest.digest(), details)
                    batch = _Batch(
                        file.uri,
                        main,
                        before,
                        known,
                        value,
                        waiting,
                        snapshots if main else [],
                        snapshot_count,
                        returned,
                        end,
                    )
                    begun = self._write(begun, batch)
                    snapshot_count += len(snapshots)
                    waiting, snapshots, batch_bytes = [], [], 0
                self._progress(len(chunk))
        assert begun is not None
        filing = begun.filing
        self.added, self.known, self.size = self.added + filing.added, self.known + filing.known, self.size + at
        for report in reading.reports:
            one = {"path": str(path), "line": report.line, "byte": report.byte, "what": report.what}
            (self.bad if report.kind == "bad" else self.repairs).append(one)

    def keep(self, path: Path, stat: os.stat_result) -> None:
        """Keep a file that belongs to the session and holds no messages."""
        data = path.read_bytes()
        given = (self._thread, _uri(path), self._name, data, stat.st_mtime_ns)
        self._ledger._write(lambda tx: sources.archive(tx, *given, main=False, beside=True))
        self._progress(stat.st_size)

    def _inherited(self, value: Conversation, path: Path) -> list[Message]:
        """What a fork takes over from the session it continues, which is imported first if it is beside it."""
        base = forks.base_of(value)
        if base is None:
            return []
        known = self._ledger._read(lambda tx: threads.exists(tx, base[0]))
        beside = None if known else forks.file_of(base[0], path)
        if beside is not None and beside != path:
            import_session(self._ledger, Session(beside, self._name))
        return forks.inherited(self._ledger, *base)

    def _placed(self, messages: list[Message]) -> list[Message]:
        """The messages, with the folder of the session where they name none."""
        if self._context is UNSET:
            return messages
        return [replace(one, context=self._context) if one.context is UNSET else one for one in messages]

    def _write(self, begun: _Begun | None, batch: _Batch) -> _Begun:
        """Write a piece of the file in one transaction: messages, bytes, snapshots; a short file is one piece."""
        now = clock()

        def job(tx: Tx) -> _Begun:
            state = self._begin(tx, batch) if begun is None else begun
            done = state.filing.add(tx, batch.arrivals, state.number, now)
            if batch.snapshots:
                threads.add_snapshots(tx, find_thread(tx, self._thread), batch.snapshots, batch.snapshot_count)
            if (end := batch.end) is not None:
                if batch.main:
                    new = done.added > 0
                    move_head = state.fresh or batch.returned or (state.move_head and done.has_head)
                    before = find_thread(tx, self._thread).head
                    self._finish(tx, end, move_head=move_head, leaf=done.leaf if new else None)
                    self._over_undo = state.newest is not None and _passes_over(tx, self._thread, before, state.newest)
                    if new:
                        forks.link(tx, self._thread, self._name)
                details = end.details if state.newest is None else {**end.details, "changed": True}
                sources.finish(tx, self._thread, state.number, end.size, end.mtime, end.proof, details)
            return state._replace(filing=done)

        return self._ledger._write(job)

    def _thread_of(
        self, reading: Reading, path: Path, before: Source | None, handed: _HandedOver | None, *, main: bool
    ) -> Conversation:
        """The thread of a file: the one that was handed over, or that its first piece names, or that of its last
        import; for a new file the id in its name."""
        value = reading.conversation([])
        if handed is not None:
            self._thread = handed.thread_id
        elif main:
            ending = formats.get(self._name).session.ending  # type: ignore[union-attr]
            named = path.stem if is_uuid(path.stem) else _key(path, 0)
            if ending is not None and path.name.endswith(ending):
                named = path.name.removesuffix(ending)
            named = named if before is None else before.thread_id
            self._thread = value.id if isinstance(value.id, str) and value.id else named
        return replace(value, id=self._thread, messages=[], snapshots=UNSET, runs=UNSET, head=UNSET)

    def _begin(self, tx: Tx, batch: _Batch) -> _Begun:
        """Create the thread if missing, and the source. The import moves the head if the thread was empty, or has not
        changed since the last import."""
        if not threads.exists(tx, self._thread):
            threads.start(tx, batch.value, _NO_TIME_YET)
        row = find_thread(tx, self._thread)
        move_head = row.messages == 0 or (batch.before is not None and batch.before.version == row.version)
        others = sources.of_thread(tx, self._thread)
        changed = all(one.version != row.version for one in others) or any(one.told.get("changed") for one in others)
        newest = threads.newest_number(tx, row) if row.messages and changed else None
        unsettled = () if batch.before is None else batch.before.told.get("unsettled", ())
        writer = sources.SourceWriter(self._thread, unsettled)
        if batch.known is not None:
            return _Begun(writer, batch.known.number, move_head, row.messages == 0, newest)
        number = sources.start(tx, self._thread, batch.uri, self._name, main=batch.main)
        return _Begun(writer, number, move_head, row.messages == 0, newest)

    def _finish(self, tx: Tx, end: _End, *, move_head: bool, leaf: Place | None) -> None:
        """Write what is known at the end of the session: title and head.

        The head follows the file if it had new messages and continues from the head, also from one that an undo chose.
        """
        value = end.reading.conversation([])
        row = find_thread(tx, self._thread, lock=True)
        if row.updated_at == _NO_TIME_YET:  # no record of the file has a time
            row.save(tx, clock())
            row = find_thread(tx, self._thread, lock=True)
        threads.update_description(tx, row, replace(value, snapshots=UNSET, runs=UNSET))
        threads.date(tx, row, value, end.mtime // 1_000_000)
        named = value.head if isinstance(value.head, str) and threads.has(tx, row, value.head) else None
        if leaf is not None and (move_head or _continues(tx, row, leaf)):
            head = named or unsafe(id_at(tx, row, leaf)) or threads.last_message(tx, row)
        elif move_head:
            head = named  # a rollback has no messages
        else:
            head = None
        if head is not None:
            threads.checkout(tx, self._thread, head, row.updated_at, tip=False)


def _continues(tx: Tx, row: ThreadRow, leaf: Place) -> bool:
    """Whether the branch of a place contains the head, apart from events at its end."""
    path = tree.lineage(tx, row.thread, leaf.seg, leaf.depth)
    at = row.head
    for step in tree.page_rows(tx, row, at, 200, newest=True) if at.depth else []:
        if any(seg == at.seg and low < at.depth <= high for seg, low, high in path):
            return True
        found = tree.messages_of(tx, [step])[0]
        if found.role != "event":
            return False
        at = sources.place_before(tx, row, at)
    return not at.depth or any(seg == at.seg and low < at.depth <= high for seg, low, high in path)


def _passes_over(tx: Tx, thread_id: str, before: Place, newest: int) -> bool:
    """Whether the message after an earlier head, on the path to the head now, was there before: it was undone."""
    row = find_thread(tx, thread_id)
    for step in tree.page_rows(tx, row, row.head, 200, newest=False, low=before.depth):
        if tree.messages_of(tx, [step])[0].role != "event":
            return bool(step[4] <= newest)
    return False


class _HandedOver:
    """A session that was written here as a session of another agent: its beginning is not new."""

    def __init__(self, source: Source) -> None:
        self.thread_id = source.thread_id
        self.told: dict[str, Any] = source.told["handover"]
        self._ids: list[str] = self.told["ids"]
        self._waiting: list[Message] = []
        self.over = False  # whether the file began with what was handed over
        self._links: dict[str, str] = {}

    @staticmethod
    def find(ledger: Ledger, reading: Reading, format_: str) -> _HandedOver | None:
        """What was handed over to this agent as the session of a file."""
        session = reading.conversation([]).id
        if not isinstance(session, str):
            return None
        source = ledger._read(lambda tx: sources.find(tx, uri_of(format_, session)))
        return _HandedOver(source) if source is not None and "handover" in source.told else None

    def without(self, messages: list[Message], *, last: bool) -> list[Message]:
        """The messages after the beginning that was handed over; all of them if the file begins otherwise."""
        if self.over:
            return [self._linked(one) for one in messages]
        self._waiting += messages
        count = len(self._ids)
        if [one.id for one in self._waiting[:count]] != self._ids[: len(self._waiting)]:
            held, self._waiting, self._ids = self._waiting, [], []
            return held
        if not count or len(self._waiting) < count:
            return self._waiting if last and not count else []
        self.over = True
        self._links = {key: self.told["at"].get(key, self.told["head"]) for key in self._ids}
        new, self._waiting = self._waiting[count:], []
        if new and not isinstance(new[0].parent_message_id, str):
            new[0] = replace(new[0], parent_message_id=self.told["head"])
        return [self._linked(one) for one in new]

    def _linked(self, message: Message) -> Message:
        parent = message.parent_message_id
        if parent is None:
            return replace(message, parent_message_id=self.told["head"])
        return replace(message, parent_message_id=self._links[parent]) if parent in self._links else message


def _chunks(file: Any, size: int) -> Iterator[bytes]:
    """The first `size` bytes of the file, a piece at a time; bytes appended during the import wait for the next one."""
    left = size
    while left > 0 and (chunk := file.read(min(sources.PIECE, left))):
        left -= len(chunk)
        yield chunk


def _prefix(file: _File, size: int) -> str:
    """The hash of the beginning of a file."""
    digest = hashlib.sha256()
    with file.open() as source:
        for chunk in _chunks(source, size):
            digest.update(chunk)
    return digest.hexdigest()
