"""The streaming answer to a chat request: await it to start it (or raise), iterate it for its bytes.

Its chunks are numbered from 0: the SSE `id` of a chunk is its number. The numbers follow from the journal of the run
and the client's version alone, so `resumed` continues a stream on any process, after the chunks that a client has.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from typing import Any

from hansard.agent.async_run import stored_thread
from hansard.agent.ui_turns import answer_so_far, replay, speaker
from hansard.errors import HansardError, NotFound, Unreadable
from hansard.formats.ai_sdk.ui.emit import AiSdkUiEmitter
from hansard.ledger.ledger import Ledger
from hansard.model.calls import pending_calls
from hansard.model.conversation import Conversation, Run
from hansard.model.digits import whole_number
from hansard.model.stored import plain_messages
from hansard.streams import emitter
from hansard.streams.deltas import Delta, End, Failure, MessageStart, Other
from hansard.streams.emitter_base import EventEmitter

AI_SDK_HEADERS = dict(AiSdkUiEmitter.headers)
_RUN, _TAIL = "x-workflow-run-id", "x-workflow-stream-tail-index"
_DONE = b"data: [DONE]"
STOPPED: list[Delta] = [Other(format="ai-sdk-ui", value={"type": "abort"}), End(how="cut")]
"""What the clients of a stopped answer receive at its end."""


class Answer(AsyncIterator[bytes]):
    """The result of `agent.sse` and `agent.resume`.

    `await` it before the HTTP status is sent: then the prompt is durable, or it raises. `async for` yields the bytes,
    and starts it if it was not awaited. `headers` are those of the response; awaited, they name the run.
    """

    def __init__(self, begin: Callable[[], Awaitable[tuple[AsyncGenerator[bytes, None], dict[str, str]]]]) -> None:
        self._begin = begin
        self._bytes: AsyncGenerator[bytes, None] | None = None
        self._beginning = asyncio.Lock()
        self.headers = AI_SDK_HEADERS

    def __await__(self) -> Generator[Any, Any, Answer]:
        return self._begun().__await__()

    async def _begun(self) -> Answer:
        async with self._beginning:  # one answer for all awaiters
            if self._bytes is None:
                self._bytes, self.headers = await self._begin()
        return self

    async def __anext__(self) -> bytes:
        if self._bytes is None:
            await self
        assert self._bytes is not None
        return await anext(self._bytes)

    async def aclose(self) -> None:
        """Stop listening; the answer continues."""
        if self._bytes is not None:
            await self._bytes.aclose()


def headers_of(run_id: str | None, tail: int | None = None) -> dict[str, str]:
    """The headers of a stream: `run_id` is what a client resumes, `tail` the number of its last chunk so far."""
    run = {} if run_id is None or not (run_id.isascii() and run_id.isprintable()) else {_RUN: run_id}
    return {**AI_SDK_HEADERS, **run, **({} if tail is None else {_TAIL: str(tail)})}


class ChunkNumbers:
    """Numbers the chunks of a stream, given in order, and leaves out those before `start`.

    >>> numbers = ChunkNumbers(1)
    >>> numbers(b"data: {}\\n\\ndata: {}\\n\\n"), numbers.next
    (b'id: 1\\ndata: {}\\n\\n', 2)
    """

    def __init__(self, start: int = 0) -> None:
        self.start, self.next = start, 0

    def __call__(self, data: bytes) -> bytes:
        kept = []
        for event in data.split(b"\n\n")[:-1]:
            if event == _DONE:
                kept.append(event + b"\n\n")
                continue
            if self.next >= self.start:
                kept.append(b"id: %d\n%b\n\n" % (self.next, event))
            self.next += 1
        return b"".join(kept)


def resume_point(query: Mapping[str, str], headers: Mapping[str, str]) -> int | None:
    """The number of the chunk from which a request resumes, for `agent.resume(start=)`; None is all from the start.

    `startIndex` is the number of the first chunk wanted, or counts from the end if it is negative; `starting_after` and
    the header `Last-Event-ID`, which overrides both, are the number of the last one received.

    >>> resume_point({"startIndex": "-2"}, {}), resume_point({"starting_after": "7"}, {}), resume_point({}, {})
    (-2, 8, None)
    """
    if last := headers.get("last-event-id"):
        return _number(last, "Last-Event-ID", 0) + 1
    first, after = query.get("startIndex"), query.get("starting_after")
    if first is not None and after is not None:
        raise Unreadable("startIndex and starting_after together", "?startIndex", "give one of them")
    if first is not None:
        return _number(first, "?startIndex")
    return None if after is None else _number(after, "?starting_after", -1) + 1


def _number(text: str, place: str, least: int | None = None) -> int:
    number = whole_number(text)
    if number is None or (least is not None and number < least):
        raise Unreadable(
            f"{text[:40]!r} is not the number of a chunk", place, "give the `id` of an event of the stream"
        )
    return number


async def resumed(ledger: Ledger, run: Run, target: str, *, start: int | None, rebuild: bool) -> Answer | None:
    """The chunks of a run from number `start` on (None: all); None if it has ended and there are no more.

    `rebuild`: of an answer that continues an earlier one, the client gets the chunks of that one too.
    """
    shown, head = await _begun(ledger, run, target, rebuild)
    deltas = _Deltas(ledger, run, skip_start=bool(head))
    numbers, tail = ChunkNumbers(), None
    if start is not None:
        counted = ChunkNumbers()
        try:
            head += b"".join([shown.emit(delta) for delta in await deltas.so_far()])
        except NotFound:  # a later run of the thread began
            return None
        if deltas.ended:
            head += shown.finish()
        counted(head)
        tail, numbers.start = counted.next - 1, start if start >= 0 else max(0, counted.next + start)
        if deltas.ended and numbers.start > tail:
            return None

    async def chunks() -> AsyncGenerator[bytes, None]:
        if data := numbers(head):
            yield data
        async for data in with_keep_alives(shown_or_failed(shown, deltas.later()), numbers):
            yield data

    async def begin() -> tuple[AsyncGenerator[bytes, None], dict[str, str]]:
        return chunks(), headers_of(run.id, tail)

    return await Answer(begin)


class RunChunks:
    """The chunks of a run as a list that grows, without SSE framing."""

    def __init__(self, ledger: Ledger, run: Run, target: str) -> None:
        self._ledger, self._run, self._target = ledger, run, target
        self._shown: EventEmitter | None = None
        self._deltas = _Deltas(ledger, run, skip_start=False)
        self.chunks: list[bytes] = []

    @property
    def ended(self) -> bool:
        return self._deltas.ended

    async def update(self) -> None:
        """Add what the journal has by now."""
        if self.ended:
            return
        if self._shown is None:
            self._shown, _ = await _begun(self._ledger, self._run, self._target, rebuild=False)
        shown = self._shown
        data = b"".join([shown.emit(delta) for delta in await self._deltas.so_far()])
        data += shown.finish() if self.ended else b""
        self.chunks += [event.removeprefix(b"data: ") for event in data.split(b"\n\n")[:-1] if event != _DONE]


async def _begun(ledger: Ledger, run: Run, target: str, rebuild: bool) -> tuple[EventEmitter, bytes]:
    """The emitter of a run, and the chunks of the answer that it continues."""
    told = run.metadata.get("messageId") if isinstance(run.metadata, dict) else None
    shown, head = emitter("ai-sdk-ui", target=target, message_id=told), b""
    if isinstance(shown, AiSdkUiEmitter):
        shown.about = await _speaker(ledger, run)
    if told is not None and isinstance(run.thread_id, str):
        path = await ledger.aio.transcript(run.thread_id, run.fork_from_message_id or None)
        before = answer_so_far(plain_messages(path), told)
        if rebuild:
            head = b"".join([shown.emit(delta) for delta in replay(before)])
        waiting = [call.tool_call_id for _, call in pending_calls(Conversation(messages=before))]
        shown.go_on(call_id for call_id in waiting if isinstance(call_id, str))
    return shown, head


async def _speaker(ledger: Ledger, run: Run) -> dict[str, Any]:
    """The metadata that clients get of the agent of a run."""
    if not isinstance(run.agent_id, str) or not isinstance(run.thread_id, str):
        return {}
    agents = (await stored_thread(ledger, run.thread_id)).agents
    return speaker(run.agent_id, agents.get(run.agent_id))


class _Deltas:
    """The deltas of a run, those so far and those to come; of a stopped run also its end, which no journal has."""

    def __init__(self, ledger: Ledger, run: Run, *, skip_start: bool) -> None:
        self.ended = False
        self._ledger, self._run, self._skip_start = ledger, run, skip_start
        self._seq, self._over = 0, False

    async def so_far(self) -> list[Delta]:
        found, self.ended = await self._ledger.aio.journaled(self._run, after=self._seq)
        deltas = [delta for numbered in found for delta in self._take(numbered.seq, numbered.delta)]
        return [*deltas, *await self._stopped()] if self.ended else deltas

    async def later(self) -> AsyncIterator[Delta]:
        if self.ended:
            return
        async for numbered in self._ledger.follow_async(self._run, after=self._seq):
            for delta in self._take(numbered.seq, numbered.delta):
                yield delta
        for delta in await self._stopped():
            yield delta

    def _take(self, seq: int, delta: Delta) -> list[Delta]:
        self._seq, self._over = seq, isinstance(delta, End)
        return [] if self._skip_start and isinstance(delta, MessageStart) else [delta]

    async def _stopped(self) -> list[Delta]:
        if self._over or not isinstance(self._run.thread_id, str):
            return []
        run = await self._ledger.aio.get_run(self._run.thread_id, self._run.id)
        return [] if run.status in ("active", "failed", "interrupted") else STOPPED


async def shown_or_failed(shown: EventEmitter, deltas: AsyncIterator[Delta]) -> AsyncIterator[bytes]:
    """The bytes of a stream with its end. If the ledger fails, the client gets an error event and the same end."""
    try:
        async for delta in deltas:
            if data := shown.emit(delta):
                yield data
    except HansardError as error:
        if data := shown.emit(Failure(text=str(error))):
            yield data
    yield shown.finish()


KEEP_ALIVE = b": keep-alive\n\n"  # a comment, which SSE clients skip; proxies close connections that stay silent
SILENCE = 15.0


async def with_keep_alives(
    stream: AsyncIterator[bytes], numbers: Callable[[bytes], bytes], seconds: float | None = None
) -> AsyncGenerator[bytes, None]:
    """The bytes of a stream with their numbers, and a comment, without one, whenever none came for some seconds."""
    wait = SILENCE if seconds is None else seconds
    coming: asyncio.Future[bytes] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(stream))
            done, _ = await asyncio.wait([coming], timeout=wait)
            if not done:
                yield KEEP_ALIVE
                continue
            try:
                data = coming.result()
            except StopAsyncIteration:
                return
            finally:
                coming = None
            if data := numbers(data):
                yield data
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
