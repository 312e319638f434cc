"""The Durable Streams protocol: `/streams/{name}` reads any run, and records a stream of any program as one.

A stream is created (PUT), appended to and closed (POST), read at once, by long-poll or as SSE (GET), described (HEAD)
and deleted. The rules are in `ledger/live/raw_streams`; here is HTTP. A run of an agent is read as a JSON stream of the
chunks that `useChat` gets, its offset the number of chunks.
"""

from __future__ import annotations

import asyncio
import base64
import random
import re
import time
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Annotated, Any, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from litestar import Response, delete, get, post, put, route
from litestar.params import FromPath, QueryParameter
from litestar.response import Stream
from msgspec.structs import replace

from hansard.agent.sse_response import RunChunks
from hansard.errors import NotFound, Unreadable
from hansard.ledger.backends.driver import Job, unsafe
from hansard.ledger.ids import clock, new_id
from hansard.ledger.live import raw_streams as raw
from hansard.ledger.rows import RunRow
from hansard.model import exact_json
from hansard.model.digits import whole_number
from hansard.server.app_state import Served, named, served
from hansard.server.chat import coalesced
from hansard.server.openapi import streamed
from hansard.server.responses import AnyRequest, answer, fault_of
from hansard.streams.deltas import Delta, Other

T = TypeVar("T")
# What others wrote is not shown as a page of this server.
_DOWNLOAD = {"cache-control": "private, no-store", "content-disposition": "attachment"}
_DOWNLOAD["content-security-policy"] = "default-src 'none'; sandbox"
_POLL, _SSE = 10.0, 60.0  # seconds that a reader waits, and that it is sent events
_SHORTEST, _LONGEST = 0.02, 0.25  # seconds between two looks at the journal
_DECODINGS = 256
_EPOCH, _INTERVAL = 1_728_432_000, 20  # of cursors, by the protocol
_OFFSET = re.compile(r"[0-9]{16}_([0-9]{16})")
_DIGITS = re.compile(r"0|[1-9][0-9]{0,15}")
_MOST = (1 << 53) - 1
_LINE = re.compile(r"\r\n|\r|\n")
_ABOUT = ["stream-closed", "stream-ttl", "stream-expires-at"]
_PRODUCERS = ["producer-epoch", "producer-seq"]
EXPOSED = [*_ABOUT, *_PRODUCERS, "producer-expected-seq", "producer-received-seq", "stream-next-offset", "etag"]
EXPOSED += ["stream-cursor", "stream-up-to-date", "stream-sse-data-encoding", "location", "x-workflow-run-id"]
TAKEN = [*_ABOUT, *_PRODUCERS, "producer-id", "stream-seq", "stream-forked-from", "stream-fork-offset"]
TAKEN += ["stream-fork-sub-offset"]


class Batch(NamedTuple):
    """Data of a stream from an offset on; `next` is the offset after it, `tail` the end of the stream now."""

    items: list[bytes]
    next: int
    tail: int
    closed: bool


class Source(Protocol):
    """A stream that is read."""

    key: str
    content_type: str

    async def read(self, after: int) -> Batch: ...

    def changed(self) -> asyncio.Event: ...


class RawStreams:
    """The streams of a ledger, with the decoders of those that this process writes."""

    def __init__(self, here: Served) -> None:
        self._here = here
        self._decodings: dict[str, raw.Decoding] = {}
        self._changes: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

    async def read(self, job: Job[T]) -> T:
        return await self._here.aio._jobs.queued(lambda ledger: ledger._read(job))

    async def write(self, job: Job[T]) -> T:
        return await self._here.aio._jobs.queued(lambda ledger: ledger._write(job))

    async def find(self, name: str) -> raw.Found:
        return await self.read(lambda tx: raw.existing(tx, name, clock()))

    def changed(self, name: str) -> asyncio.Event:
        """Set after the next append of this process; those of others are seen at the next look."""
        return self._changes.setdefault(name, asyncio.Event())

    async def append(self, name: str, given: raw.Append, state: raw.Found) -> raw.Appended:
        """Append to a stream that was found in this state."""
        done = await self._append(name, given, state)
        if (waiting := self._changes.pop(name, None)) is not None:
            waiting.set()
        return done

    async def _append(self, name: str, given: raw.Append, state: raw.Found) -> raw.Appended:
        while True:
            if state.stream.config.format is None or state.stream.closed:
                return await self.write(lambda tx: raw.append(tx, name, given, clock()))
            decoding = await self._decoding(name, state)
            deltas = decoding.feed(given.items, state.stream.is_json)
            more = replace(given, items=[*given.items, *deltas], after=state.tail)
            if given.close:
                last, messages, failure = decoding.finish(new_id)
                more = replace(more, items=[*more.items, *last], messages=messages, failure=failure)
            try:
                done = await self.write(lambda tx, more=more: raw.append(tx, name, more, clock()))  # type: ignore[misc]
            except raw.Outdated:
                state = await self.find(name)
                continue
            if done.fresh and not given.close:
                decoding.read = done.state.tail
                self._decodings[name] = decoding
                while len(self._decodings) > _DECODINGS:
                    del self._decodings[next(iter(self._decodings))]
            return done

    async def _decoding(self, name: str, state: raw.Found) -> raw.Decoding:
        """The decoder at the end of a stream; made again if another process wrote last."""
        found = self._decodings.pop(name, None)
        if found is None or found.read != state.tail:
            found = raw.Decoding(state.stream.config.format or "")
            while found.read < state.tail:
                page = await self.read(lambda tx: raw.read(tx, state, found.read))
                found.feed([_delta(state.stream.is_json, item) for item in page.items], state.stream.is_json)
                found.read = page.next
        return found


class _Bytes:
    """A stream of bytes or of JSON messages."""

    def __init__(self, streams: RawStreams, name: str, state: raw.Found) -> None:
        self._streams, self._name = streams, name
        self.content_type = state.stream.content_type
        self.key = f"{zlib.crc32(f'{state.thread.id} {name}'.encode()):x}"

    async def read(self, after: int) -> Batch:
        def job(tx: Any) -> raw.Page:
            return raw.read(tx, raw.existing(tx, self._name, clock()), after)

        page = await self._streams.read(job)
        return Batch(page.items, page.next, page.state.tail, page.state.stream.closed)

    def changed(self) -> asyncio.Event:
        return self._streams.changed(self._name)


class _Chunks:
    """A run of an agent, as the chunks of an AI SDK client."""

    content_type = raw.JSON

    def __init__(self, here: Served, row: RunRow, target: str) -> None:
        self._run = RunChunks(here.ledger, row.value, target)
        self.key = f"{zlib.crc32((unsafe(row.id) or '').encode()):x}-{target}"

    async def read(self, after: int) -> Batch:
        try:
            await self._run.update()
        except NotFound as error:
            raise raw.Refused(410, str(error)) from None
        tail = len(self._run.chunks)
        return Batch(self._run.chunks[after:], max(tail, after), tail, self._run.ended)

    def changed(self) -> asyncio.Event:
        return asyncio.Event()


# -- handlers ----------------------------------------------------------------------------------------------------------

Name = FromPath[str]
Format = Annotated[
    str | None, QueryParameter(description="Decode the bytes as this stream, such as anthropic, into a run.")
]
Thread = Annotated[str | None, QueryParameter(description="With `format`: the thread of the run.")]
Offset = Annotated[str | None, QueryParameter(description="An offset, -1 (the beginning) or now (the end).")]
Live = Annotated[str | None, QueryParameter(description="Wait for data: long-poll or sse.")]
Cursor = Annotated[str | None, QueryParameter(description="The cursor of the answer before.")]
Target = Annotated[str | None, QueryParameter(description="Of an agent's run: the version of the client.")]


@put("/streams/{name:path}", operation_class=streamed(200, 201, 400, 404, 409, 413), tags=["streams"])
async def create(request: AnyRequest, name: Name, format: Format = None, thread: Thread = None) -> Response[bytes]:
    """Create a stream, or make sure that it is there; with `Stream-Forked-From` a fork of another one."""
    streams, key = _streams(request), _name(name)
    body = await request.body()
    if format is not None:
        raw.Decoding(format)  # names the formats there are
    elif thread is not None:
        raise Unreadable("a thread without a format", "?thread", "a stream without a format is in a thread of its own")
    config = _config(request, format)
    source = None
    if config.source is not None:
        source = await streams.read(lambda tx: raw.find(tx, config.source or "", clock()))
    kind = config.content_type or (raw.DEFAULT if source is None else source.stream.content_type)
    items, ids = _items(kind, body), new_id()

    def job(tx: Any) -> tuple[bool, raw.Found]:
        now = replace(config, closed=False) if format is not None else config
        return raw.create(tx, key, now, [] if format is not None else items, clock(), ids, thread)

    try:
        new, state = await streams.write(job)
    except raw.Refused as error:
        return _refused(error)
    if format is not None and new and (items or config.closed):
        state = (await streams.append(key, raw.Append(items=items, close=config.closed), state)).state
    about = {**_about(state), "content-type": state.stream.content_type}
    if new:
        about["location"] = str(request.base_url).rstrip("/") + request.scope["raw_path"].partition(b"?")[0].decode(
            "latin-1"
        )
    return Response(b"", status_code=201 if new else 200, headers=about, media_type=state.stream.content_type)


@post(
    "/streams/{name:path}",
    operation_class=streamed(200, 204, 400, 404, 405, 409, 410, 413),
    status_code=200,
    tags=["streams"],
)
async def append(request: AnyRequest, name: Name) -> Response[Any]:
    """Append to a stream, close it with `Stream-Closed: true`, or both."""
    headers, body = request.headers, await request.body()
    closes, kind = _is_true(headers.get("stream-closed")), headers.get("content-type", "") if body else ""
    streams, key = _streams(request), _name(name)
    producer = _producer(request)
    if not body and not closes:
        raise Unreadable("an empty body", "$", "send data, or Stream-Closed: true")
    if body and not kind:
        raise Unreadable("no Content-Type", "Content-Type", "send that of the stream")
    try:
        state = await streams.find(key)
        items = _items(kind, body, empty=False) if body and state.stream.is_json == _is_json(kind) else []
        items = items or ([raw.delta_of(body)] if body else [])  # of another type: refused
        given = raw.Append(
            items=items, content_type=kind, seq=headers.get("stream-seq"), producer=producer, close=closes
        )
        done = await streams.append(key, given, state)
    except raw.Refused as error:
        return _refused(error)
    about = _about(done.state)
    if producer is not None:
        about |= {"producer-epoch": str(producer.epoch), "producer-seq": str(done.seq)}
    return Response(None, status_code=200 if producer is not None and done.fresh and body else 204, headers=about)


@delete("/streams/{name:path}", operation_class=streamed(204, 404, 405, 410), status_code=200, tags=["streams"])
async def remove(request: AnyRequest, name: Name) -> Response[Any]:
    """Erase a stream; one that has forks is kept for them, and not found any more."""
    key, here = _name(name), served(request)

    def job(tx: Any) -> bool:
        now = clock()
        return raw.delete(tx, raw.existing(tx, key, now, lock=True), now)

    try:
        if await _streams(request).write(job):
            await asyncio.to_thread(here.ledger._driver.wipe)
    except raw.Refused as error:
        return _refused(error)
    return Response(None, status_code=204)


@route("/streams/{name:path}", http_method="HEAD", operation_class=streamed(200, 404, 410), tags=["streams"])
async def describe(request: AnyRequest, name: Name, target: Target = None) -> Response[Any]:
    """The end of a stream, its content type, and whether it is closed."""
    here, key = served(request), _name(name)
    try:
        state = await _streams(request).find(key)
        source = _source(request, here, key, state, target)
        about = {**_about(state), "cache-control": "no-store", "content-type": source.content_type}
        if isinstance(source, _Chunks):
            now = await source.read(0)
            about |= {"stream-next-offset": _written(now.tail), **({"stream-closed": "true"} if now.closed else {})}
    except raw.Refused as error:
        return _refused(error)
    return Response(None, headers=about, media_type=source.content_type)


@get("/streams/{name:path}", operation_class=streamed(200, 204, 304, 400, 404, 410), tags=["streams"])
async def read(
    request: AnyRequest,
    name: Name,
    offset: Offset = None,
    live: Live = None,
    cursor: Cursor = None,
    target: Target = None,
) -> Response[Any] | Stream:
    """The data of a stream after an offset: now, as soon as there is some (long-poll), or as it comes (SSE)."""
    here, key, streams = served(request), _name(name), _streams(request)
    if live not in (None, "long-poll", "sse"):
        raise Unreadable(f"unknown mode {live[:40]!r}", "?live", "choose long-poll or sse")
    if live is not None and offset is None:
        raise Unreadable("an offset is missing", "?offset", "give -1, now or the Stream-Next-Offset of an answer")
    after = _read_offset(offset)
    try:
        state = await streams.find(key)
        source = _source(request, here, key, state, target)
        if state.stream.ttl is not None:
            await streams.write(lambda tx: raw.touch(tx, key, clock()))
        if after is None:
            after = state.tail if isinstance(source, _Bytes) else (await source.read(0)).tail
        if live == "sse":
            return _events(here, source, after, cursor)
        batch = await (_waited(source, after) if live else source.read(after))
    except raw.Refused as error:
        return _refused(error)
    about = {"stream-next-offset": _written(batch.next)}
    at_end = batch.next >= batch.tail
    if at_end:
        about |= {"stream-up-to-date": "true", **({"stream-closed": "true"} if batch.closed else {})}
    if live:
        about["stream-cursor"] = str(_cursor(cursor))
        if not batch.items:
            return Response(None, status_code=204, headers={**about, "cache-control": "no-store"})
    if offset != "now":
        about["etag"] = f'"{source.key}:{after}:{batch.next}{":closed" if at_end and batch.closed else ""}"'
        if not live and request.headers.get("if-none-match") == about["etag"]:
            return Response(None, status_code=304, headers=about)
    body = _joined(source.content_type, batch.items)
    about |= {**_DOWNLOAD, "content-type": source.content_type}
    return Response(body, headers=about, media_type=source.content_type)


async def _waited(source: Source, after: int, seconds: float = _POLL) -> Batch:
    """The data after an offset, as soon as there is some; nothing once the stream is closed, or after a while."""
    until, wait = time.monotonic() + seconds, _SHORTEST
    while True:
        changed = source.changed()
        batch = await source.read(after)
        if batch.items or batch.closed or (left := until - time.monotonic()) <= 0:
            return batch
        with suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), min(wait, left))
        wait = min(wait * 1.5, _LONGEST)


def _events(here: Served, source: Source, after: int, cursor: str | None) -> Stream:
    kind = source.content_type.partition(";")[0].strip().lower()
    as_text = kind == raw.JSON or kind.startswith("text/")

    async def events() -> AsyncGenerator[bytes, None]:
        at, until, first, given = after, time.monotonic() + _SSE, True, cursor
        while True:
            batch = await (source.read(at) if first else _waited(source, at, until - time.monotonic()))
            done = batch.closed and batch.next >= batch.tail
            if batch.items:
                data = _joined(source.content_type, batch.items)
                text = data.decode("utf-8", "replace") if as_text else base64.b64encode(data).decode()
                yield "event: data\n{}\n\n".format("\n".join(f"data:{line}" for line in _LINE.split(text))).encode()
            if batch.items or first or done:
                about: dict[str, Any] = {"streamNextOffset": _written(batch.next)}
                if not done:
                    about["streamCursor"] = given = str(_cursor(given))
                if batch.next >= batch.tail:
                    about["upToDate"] = True
                if done:
                    about["streamClosed"] = True
                yield b"event: control\ndata:" + exact_json.encode(about) + b"\n\n"
            at, first = batch.next, False
            if done or time.monotonic() >= until:
                return

    headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    if not as_text:
        headers["stream-sse-data-encoding"] = "base64"
    return Stream(coalesced(b"", events(), here.streams), headers={**headers, "content-type": "text/event-stream"})


# -- requests and answers ----------------------------------------------------------------------------------------------


def _streams(request: AnyRequest) -> RawStreams:
    here = served(request)
    if here.raw_streams is None:
        here.raw_streams = RawStreams(here)
    found: RawStreams = here.raw_streams
    return found


def _name(path: str) -> str:
    return named(path.removeprefix("/"))


def _source(request: AnyRequest, here: Served, name: str, state: raw.Found, target: str | None) -> Source:
    from hansard.server.chat import known_target

    if raw.is_stream(state):
        return _Bytes(_streams(request), name, state)
    return _Chunks(here, state.row, known_target(target) or "v6")


def _config(request: AnyRequest, format: str | None) -> raw.Config:
    headers = request.headers
    ttl, expires = headers.get("stream-ttl"), headers.get("stream-expires-at")
    if ttl is not None and expires is not None:
        raise Unreadable("Stream-TTL and Stream-Expires-At together", "Stream-TTL", "give one of them")
    if ttl is not None and not _DIGITS.fullmatch(ttl):
        raise Unreadable(f"{ttl[:40]!r} is not a number of seconds", "Stream-TTL", "write it as 3600")
    if expires is not None:
        raw.expiry(expires)
    source, offset, more = (headers.get(f"stream-fork{name}") for name in ("ed-from", "-offset", "-sub-offset"))
    if source is None and (offset is not None or more is not None):
        raise Unreadable("a fork without its source", "Stream-Forked-From", "name the stream")
    if more is not None and not _DIGITS.fullmatch(more):
        raise Unreadable(f"{more[:40]!r} is not a number", "Stream-Fork-Sub-Offset", "write it as 3")
    if more not in (None, "0") and offset is None:
        raise Unreadable("a sub-offset without an offset", "Stream-Fork-Offset", "give the offset it is counted from")
    return raw.Config(
        content_type=headers.get("content-type"),
        ttl=None if ttl is None else int(ttl),
        expires=expires,
        closed=_is_true(headers.get("stream-closed")),
        format=format,
        source=None if source is None else source.removeprefix("/streams/").removeprefix("/"),
        offset=None if offset is None else _read_offset(offset),
        more=int(more or 0),
    )


def _producer(request: AnyRequest) -> raw.Producer | None:
    given = [request.headers.get(f"producer-{name}") for name in ("id", "epoch", "seq")]
    if given == [None, None, None]:
        return None
    who, epoch, seq = given
    if not who or epoch is None or seq is None:
        raise Unreadable("Producer-Id, -Epoch and -Seq belong together", "Producer-Id", "send all three, or none")
    numbers = [whole_number(text) if _DIGITS.fullmatch(text) else None for text in (epoch, seq)]
    if numbers[0] is None or numbers[1] is None or max(numbers[0], numbers[1]) > _MOST:
        raise Unreadable("not a whole number below 2^53", "Producer-Epoch" if numbers[0] is None else "Producer-Seq")
    return raw.Producer(who, numbers[0], numbers[1])


def _is_true(text: str | None) -> bool:
    return text is not None and text.lower() == "true"


def _is_json(kind: str) -> bool:
    return kind.partition(";")[0].strip().lower() == raw.JSON


def _delta(is_json: bool, data: bytes) -> Delta:
    return Other(format=raw.RAW, value=exact_json.decode(data)) if is_json else raw.delta_of(data)


def _items(kind: str, body: bytes, *, empty: bool = True) -> list[Delta]:
    """A body as deltas: one of its bytes, or one for each message of a JSON stream."""
    if not body:
        return []
    if not _is_json(kind):
        return [raw.delta_of(body)]
    value = exact_json.decode(body)
    values = value if isinstance(value, list) else [value]
    if not values and not empty:
        raise Unreadable("no messages", "$", "send at least one")
    return [Other(format=raw.RAW, value=one) for one in values]


def _joined(kind: str, items: list[bytes]) -> bytes:
    return b"[" + b",".join(items) + b"]" if _is_json(kind) else b"".join(items)


def _written(offset: int) -> str:
    return f"{0:016d}_{offset:016d}"


def _read_offset(text: str | None) -> int | None:
    """The number of an offset; None is the end of the stream."""
    if text is None or text == "-1":
        return 0
    if text == "now":
        return None
    found = _OFFSET.fullmatch(text)
    if found is None:
        raise Unreadable(f"{text[:60]!r} is not an offset", "?offset", "give -1, now or a Stream-Next-Offset")
    return int(found[1])


def _cursor(given: str | None) -> int:
    """A number that grows with time, and beyond the one given, so that no cache answers twice."""
    now = int(time.time() - _EPOCH) // _INTERVAL
    before = whole_number(given) if given else None
    return now if before is None or before < now else before + random.randint(1, 3600 // _INTERVAL)


def _about(state: raw.Found) -> dict[str, str]:
    """The headers that describe a stream."""
    stream = state.stream
    about = {"stream-next-offset": _written(state.tail)}
    if stream.closed:
        about["stream-closed"] = "true"
    if stream.ttl is not None:
        about["stream-ttl"] = str(stream.ttl)
    if stream.expires is not None:
        about["stream-expires-at"] = stream.expires
    return about


def _refused(error: raw.Refused) -> Response[bytes]:
    reply = answer(fault_of(error), error.status)
    names = {"epoch": "producer-epoch", "expected": "producer-expected-seq", "received": "producer-received-seq"}
    reply.headers.update({names[key]: str(value) for key, value in error.headers.items()})
    if error.at is not None:
        reply.headers.update(_about(error.at))
    return reply


ROUTES: list[Callable[..., Any]] = [create, append, remove, describe, read]
