"""Byte streams that other programs write: runs of a thread, with the rules of the Durable Streams protocol.

A stream is a run whose id is its name, in a thread of its own. Each append (each message of a JSON stream) is one delta
of the run's journal; an offset is the number of deltas before it. A fork is another run of the same thread: it begins
at an offset of its source and is read through it. What the protocol keeps of a stream is in the run's metadata.

A stream with a `format` is an agent run: its bytes go through the decoder of the format as well, and when it is closed,
its message is committed.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard.errors import Conflict, HansardError, NotFound
from hansard.ledger import bodies, runs, threads
from hansard.ledger.backends.driver import Tx, safe, unsafe
from hansard.ledger.live.delta_codec import write_lines
from hansard.ledger.live.tail import decode_chunk
from hansard.ledger.maintenance.erasure import erase
from hansard.ledger.messages import with_id
from hansard.ledger.rows import RunRow, ThreadRow, find_run, find_thread
from hansard.model.conversation import Conversation, Message, Run
from hansard.streams.deltas import Delta, End, MessageEnd, Other

T = TypeVar("T")
RAW = "stream"  # the status of a run that is a stream without a format, and the format of its deltas
JSON, DEFAULT = "application/json", "application/octet-stream"
_KEY = "stream"
_PAGE = 64
_BYTES = 1 << 20  # after so many a page of a read ends
_LEASE = 3_600_000  # milliseconds after which the run of a stream that is no longer written counts as dead


class Config(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a stream is created with; `expires` and `ttl` are as its creator wrote them."""

    content_type: str | None = None
    ttl: int | None = None
    expires: str | None = None
    closed: bool = False
    format: str | None = None
    source: str | None = None
    offset: int | None = None
    more: int = 0  # of the source after `offset`: bytes of its next append, or messages


class Producer(NamedTuple):
    """Who sends an append, and which one it is."""

    id: str
    epoch: int
    seq: int


class Stream(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The state of a stream. `base`: where its own data begins, after those of its source."""

    config: Config
    content_type: str
    ttl: int | None = None
    expires: str | None = None
    until: int | None = None
    closed: bool = False
    closed_by: Producer | None = None
    deleted: bool = False
    seq: str | None = None
    producers: dict[str, tuple[int, int]] = {}
    base: int = 0

    @property
    def is_json(self) -> bool:
        return self.content_type.partition(";")[0].strip().lower() == JSON


class Found(NamedTuple):
    """A stream, its rows, and its end: the number of deltas."""

    thread: ThreadRow
    row: RunRow
    stream: Stream

    @property
    def tail(self) -> int:
        return max(self.row.chunks, self.stream.base)

    def save(self, tx: Tx, stream: Stream, *, status: str | None = None) -> Found:
        value = self.row.value
        metadata = {**(value.metadata if isinstance(value.metadata, dict) else {}), _KEY: msgspec.to_builtins(stream)}
        value = replace(value, metadata=metadata, status=value.status if status is None else status)
        row = self.row.with_value(value)
        row.save(tx, self.thread.thread)
        return Found(self.thread, row, stream)


class Page(NamedTuple):
    """Data of a stream; `next` is the offset after it."""

    items: list[bytes]
    next: int
    state: Found


class Refused(HansardError):
    """A request that the protocol refuses: `status`, and what its answer says besides."""

    def __init__(self, status: int, text: str, at: Found | None = None, **headers: int) -> None:
        super().__init__(text)
        self.status, self.at, self.headers = status, at, headers


def find(tx: Tx, name: str, now: int, *, lock: bool = False) -> Found | None:
    """The stream with this name, or None; of an expired one nothing is left."""
    if lock:
        tx.one("lock_name", name=safe(name))
    rows = tx.all("threads_of_run", id=safe(name))
    if not rows:
        return None
    if len(rows) > 1:
        raise Conflict(f"several threads have a run {name!r}; name the thread")
    thread = find_thread(tx, unsafe(rows[0][0]) or "", lock=lock)
    row = find_run(tx, thread, name, lock=lock)
    kept = row.value.metadata.get(_KEY) if isinstance(row.value.metadata, dict) else None
    if kept is None:
        return Found(thread, row, Stream(config=Config(), content_type=JSON))
    found = Found(thread, row, msgspec.convert(kept, Stream))
    if found.stream.until is None or found.stream.until > now or found.stream.deleted:
        return found
    if not lock:
        return None
    delete(tx, found, now)
    return find(tx, name, now, lock=True)


def existing(tx: Tx, name: str, now: int, *, lock: bool = False) -> Found:
    """The same; raises if there is none, or if it was deleted and only its forks are left."""
    found = find(tx, name, now, lock=lock)
    if found is None:
        raise NotFound(f"no stream {name!r}")
    if found.stream.deleted:
        raise Refused(410, f"the stream {name!r} was deleted; its forks are still there")
    return found


def is_stream(found: Found) -> bool:
    """Whether it was created as a stream; else it is an agent's run."""
    return bool(found.stream.config.content_type)


# -- create ------------------------------------------------------------------------------------------------------------


def create(
    tx: Tx, name: str, config: Config, items: list[Delta], now: int, new_id: str, thread_id: str | None
) -> tuple[bool, Found]:
    """A new stream, or the one that was created the same way before; whether it is new."""
    found = find(tx, name, now, lock=True)
    if found is not None:
        _check_same(name, found, config)
        return False, found
    stream, thread = _begun(tx, config, now)
    if thread is None:
        thread = _thread_for(tx, name, now, new_id, thread_id)
    elif thread_id is not None:
        raise Refused(400, "a fork is in the thread of its source")
    run = Run(id=name, metadata={_KEY: msgspec.to_builtins(stream)})
    runs.begin(tx, unsafe(thread.id) or "", run, UNSET, now + _LEASE, now)
    row = find_run(tx, find_thread(tx, unsafe(thread.id) or ""), name, lock=True)
    if config.format is None:
        row = row.with_value(replace(row.value, status=RAW))._replace(lease_until=None)
        row.save(tx, thread.thread)
    state = Found(thread, row._replace(chunks=stream.base), stream)
    if config.more and config.source is not None and not stream.is_json:
        state = _journal(tx, state, [_prefix(tx, config, now)])
    return True, _journal(tx, state, items)


def _check_same(name: str, found: Found, config: Config) -> None:
    stream = found.stream
    if stream.deleted:
        raise Refused(409, f"the stream {name!r} was deleted, and forks of it are still there")
    before = stream.config
    kind = config.content_type or (DEFAULT if config.source is None else stream.content_type)
    same = replace(config, content_type=None, closed=False) == replace(before, content_type=None, closed=False)
    if not (same and _same_type(kind, stream.content_type) and config.closed == stream.closed):
        raise Refused(409, f"the stream {name!r} exists with another configuration", found)


def _same_type(one: str, other: str) -> bool:
    return one.partition(";")[0].strip().lower() == other.partition(";")[0].strip().lower()


def _begun(tx: Tx, config: Config, now: int) -> tuple[Stream, ThreadRow | None]:
    """The state of a new stream; of a fork also the thread, which is that of its source."""
    kind, ttl, expires, base = config.content_type or DEFAULT, config.ttl, config.expires, 0
    thread: ThreadRow | None = None
    if config.source is not None:
        source = find(tx, config.source, now, lock=True)
        if source is None:
            raise NotFound(f"no stream {config.source!r}")
        if source.stream.deleted:
            raise Refused(409, f"the stream {config.source!r} was deleted")
        if not is_stream(source) or source.row.status != RAW:
            raise Refused(400, "only streams without a format have forks; fork the thread instead")
        if config.content_type is not None and not _same_type(kind, source.stream.content_type):
            raise Refused(409, f"the stream {config.source!r} is {source.stream.content_type}")
        thread, kind = source.thread, source.stream.content_type
        base = source.tail if config.offset is None else config.offset
        if source.stream.is_json:
            base += config.more
        if base + (config.more > 0 and not source.stream.is_json) > source.tail:
            raise Refused(400, "the fork begins after the end of its source")
        if ttl is None and expires is None:
            ttl, expires = source.stream.ttl, source.stream.expires
    config = replace(config, content_type=kind)
    stream = Stream(config=config, content_type=kind, ttl=ttl, expires=expires, closed=config.closed, base=base)
    return replace(stream, until=_until(stream, now)), thread


def _prefix(tx: Tx, config: Config, now: int) -> Delta:
    """The bytes of its source's next append that a fork begins with."""
    source = existing(tx, config.source or "", now)
    offset = source.tail if config.offset is None else config.offset
    (data,) = read(tx, source, offset, most=1).items or [b""]
    if config.more > len(data):
        raise Refused(400, "the fork begins after the end of an append")
    return delta_of(data[: config.more])


def _until(stream: Stream, now: int) -> int | None:
    if stream.ttl is not None:
        return now + stream.ttl * 1000
    return None if stream.expires is None else expiry(stream.expires)


def expiry(text: str) -> int:
    """A time of RFC 3339 in milliseconds."""
    from datetime import datetime

    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None or "T" not in text.upper():
        raise Refused(400, f"Stream-Expires-At: {text[:60]!r} is not a time such as 2026-01-31T12:00:00Z")
    return int(time.timestamp() * 1000)


def _thread_for(tx: Tx, name: str, now: int, new_id: str, thread_id: str | None) -> ThreadRow:
    if thread_id is not None:
        try:
            return find_thread(tx, thread_id, lock=True)
        except NotFound:
            return threads.start(tx, Conversation(messages=[], id=thread_id), now)
    return threads.start(tx, Conversation(messages=[], id=new_id, title=f"stream {name}"), now)


# -- append ------------------------------------------------------------------------------------------------------------


class Append(Struct, frozen=True, kw_only=True):
    """A POST: its data as deltas. Of a stream with a format also those that they mean, and the number of deltas before
    them that the decoder has read; at its close the messages."""

    items: list[Delta]
    content_type: str = ""
    seq: str | None = None
    producer: Producer | None = None
    close: bool = False
    after: int | None = None
    messages: list[tuple[Message, str]] | None = None
    failure: str | None = None


class Appended(NamedTuple):
    """`fresh`: not a repetition. `seq` is the last one accepted of the producer."""

    state: Found
    fresh: bool
    seq: int | None = None


class Outdated(Exception):
    """Another process appended: the decoder has not read everything."""


def append(tx: Tx, name: str, given: Append, now: int) -> Appended:
    """Add data to a stream, close it, or both, in one transaction with the state of its producer."""
    state = existing(tx, name, now, lock=True)
    stream, by = state.stream, given.producer
    if not is_stream(state):
        raise Refused(405, f"the run {name!r} is written by its agent")
    if stream.closed:
        if by is not None and by == stream.closed_by:
            return Appended(state, False, by.seq)
        if given.close and not given.items and by is None:
            return Appended(state, False)
        raise Refused(409, f"the stream {name!r} is closed", state)
    if given.content_type and not _same_type(given.content_type, stream.content_type):
        raise Refused(409, f"the stream {name!r} is {stream.content_type}, not {given.content_type[:80]}")
    if by is not None:
        last = stream.producers.get(by.id)
        if last is not None and by.epoch == last[0] and by.seq <= last[1]:
            return Appended(state, False, last[1])
        _check_producer(by, last)
    if given.seq is not None and stream.seq is not None and given.seq.encode() <= stream.seq.encode():
        raise Refused(409, f"Stream-Seq: {given.seq[:60]!r} is not after {stream.seq[:60]!r}")
    if given.after is not None and given.after != state.tail:
        raise Outdated
    producers = stream.producers if by is None else {**stream.producers, by.id: (by.epoch, by.seq)}
    stream = replace(stream, producers=producers, seq=given.seq or stream.seq, until=_until(stream, now))
    if given.close:
        stream = replace(stream, closed=True, closed_by=by)
    state = _journal(tx, state.save(tx, stream), given.items)
    if given.messages is not None:
        state = _finish(tx, state, given.messages, given.failure, now)
    elif stream.config.format is not None:
        tx.run(
            "renew_lease",
            thread=state.thread.thread,
            run=state.row.run,
            fence=state.row.fence,
            lease_until=now + _LEASE,
        )
    return Appended(state, True, None if by is None else by.seq)


def _check_producer(by: Producer, last: tuple[int, int] | None) -> None:
    if last is not None and by.epoch < last[0]:
        raise Refused(403, f"a producer of epoch {last[0]} has taken over", epoch=last[0])
    if last is not None and by.epoch == last[0]:
        if by.seq > last[1] + 1:
            raise Refused(409, f"Producer-Seq: {by.seq} after {last[1]}", expected=last[1] + 1, received=by.seq)
    elif by.seq != 0:
        if last is None:
            raise Refused(409, f"Producer-Seq: {by.seq} of a new producer", expected=0, received=by.seq)
        raise Refused(400, f"Producer-Seq: a new epoch begins with 0, not {by.seq}")


def _journal(tx: Tx, state: Found, items: Sequence[Delta]) -> Found:
    if not items:
        return state
    where = {"thread": state.thread.thread, "run": state.row.run}
    tx.run("add_chunk", **where, seq=state.tail, count=len(items), data=bodies.compress(write_lines(items)))
    tx.run("set_chunks", **where, chunks=state.tail + len(items))
    return state._replace(row=state.row._replace(chunks=state.tail + len(items)))


def _finish(tx: Tx, state: Found, messages: list[tuple[Message, str]], failure: str | None, now: int) -> Found:
    """Commit the messages of a stream with a format."""
    thread_id, run_id = unsafe(state.thread.id) or "", unsafe(state.row.id) or ""
    items = []
    for message, key in messages:
        taken = isinstance(message.id, str) and tx.one("place", thread=state.thread.thread, id=safe(message.id))
        own = replace(message, run_id=run_id, id=key if taken else message.id)
        items.append(with_id(own, own.id if isinstance(own.id, str) else key, now))
    if items:
        runs.stage(tx, thread_id, run_id, None, items, now, state.tail)
    if failure is None:
        try:
            runs.commit(tx, thread_id, run_id, None, now)
        except Conflict as error:  # the head has moved: the message stays outside the transcript
            failure = str(error)
    if failure is not None:
        runs.end(tx, thread_id, run_id, "failed", failure, now, keep=False)
    thread = find_thread(tx, thread_id)
    return Found(thread, find_run(tx, thread, run_id), state.stream)


def touch(tx: Tx, name: str, now: int) -> None:
    """Restart the time to live of a stream that is read."""
    state = existing(tx, name, now, lock=True)
    state.save(tx, replace(state.stream, until=_until(state.stream, now)))


def delete(tx: Tx, state: Found, now: int) -> bool:
    """Delete a stream; while it has forks, its data stays for them. True if that erased the thread."""
    if not is_stream(state) or state.row.status != RAW:
        raise Refused(405, "a run of an agent is erased with its thread")
    others = [
        Found(state.thread, RunRow(*row), _stream_of(RunRow(*row)))
        for row in tx.all("runs", thread=state.thread.thread)
    ]
    while True:
        name = unsafe(state.row.id)
        others = [other for other in others if other.row.run != state.row.run]
        if any(other.stream.config.source == name for other in others):
            if not state.stream.deleted:
                state.save(tx, replace(state.stream, deleted=True))
            return False
        tx.run("delete_chunks", thread=state.thread.thread, run=state.row.run)
        tx.run("delete_run", thread=state.thread.thread, run=state.row.run)
        source = next((other for other in others if unsafe(other.row.id) == state.stream.config.source), None)
        if source is None or not source.stream.deleted:
            break
        state = source
    if not others:
        erase(tx, unsafe(state.thread.id) or "", now)
    return not others


def _stream_of(row: RunRow) -> Stream:
    kept = row.value.metadata.get(_KEY) if isinstance(row.value.metadata, dict) else None
    return Stream(config=Config(), content_type=JSON) if kept is None else msgspec.convert(kept, Stream)


# -- read --------------------------------------------------------------------------------------------------------------


def read(tx: Tx, state: Found, after: int, *, most: int | None = None) -> Page:
    """The data after an offset: a page of it."""
    chain = [state]
    while chain[-1].stream.config.source is not None and after < chain[-1].stream.base:
        source = tx.one("run", thread=state.thread.thread, id=safe(chain[-1].stream.config.source))
        if source is None:
            break
        chain.append(Found(state.thread, RunRow(*source), _stream_of(RunRow(*source))))
    items: list[bytes] = []
    size, at = 0, after
    for i in reversed(range(len(chain))):
        end = chain[i - 1].stream.base if i else state.tail
        while at < end and size < _BYTES and (most is None or len(items) < most):
            rows = tx.all("chunks_after", thread=state.thread.thread, run=chain[i].row.run, after=at, limit=_PAGE)
            if not rows:
                if at < end:
                    raise Refused(410, "this part of the stream is no longer kept; read the messages of its thread")
                break
            for seq, count, data in rows:
                for numbered in decode_chunk(seq, count, data):
                    if at < numbered.seq <= end and (most is None or len(items) < most):
                        at = numbered.seq
                        if (item := data_of(numbered.delta, state.stream.is_json)) is not None:
                            items.append(item)
                            size += len(item)
                if size >= _BYTES:
                    break
        if at < end:
            break
    return Page(items, at, state)


def delta_of(data: bytes) -> Delta:
    """Bytes as a delta."""
    try:
        return Other(format=RAW, value=data.decode())
    except UnicodeDecodeError:
        return Other(format=RAW, value={"base64": base64.b64encode(data).decode()})


def data_of(delta: Delta, is_json: bool) -> bytes | None:
    """The bytes, or the JSON message, of a delta; None if it is one that a decoder made."""
    from hansard.model import exact_json

    if not isinstance(delta, Other) or delta.format != RAW:
        return None
    value: Any = delta.value
    if is_json:
        return exact_json.encode(value)
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value.encode("utf-8", "surrogatepass")


# -- streams with a format ---------------------------------------------------------------------------------------------


class Decoding:
    """The decoder of one stream with a format, fed with what the stream has so far."""

    def __init__(self, format: str) -> None:
        from hansard import streams

        self.decoder, self.read = streams.decoder(format), 0

    def feed(self, items: Sequence[Delta], is_json: bool) -> list[Delta]:
        """The deltas that these data mean."""
        out: list[Delta] = []
        for item in items:
            assert isinstance(item, Other)
            if is_json:
                kind = item.value.get("type") if isinstance(item.value, dict) else None
                out += self.decoder.feed_event(item.value, kind if isinstance(kind, str) else "message")
            else:
                out += self.decoder.feed(data_of(item, False) or b"")
        return out

    def finish(self, new_id: Callable[[], str]) -> tuple[list[Delta], list[tuple[Message, str]], str | None]:
        """The last deltas, the messages with an id each, and why the answer is not complete."""
        deltas: list[Delta] = []
        messages: list[tuple[Message, str]] = []
        failure = "the stream was closed before the response was complete"
        for delta in self.decoder.finish():
            if isinstance(delta, MessageEnd):
                messages = [(message, new_id()) for message in delta.messages]
                continue
            if isinstance(delta, End) and delta.how == "done":
                failure = ""
            deltas.append(delta)
        return deltas, messages, failure or None
