"""The streaming answer to a chat request: await it to start it (or raise), iterate it for its bytes.

Its chunks are numbered from 0: the SSE `id` of a chunk is its number. The numbers follow from the journal of the run
and the client's version alone, so any process continues a stream after the chunks that a client has.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from typing import Any

from hansard.errors import Unreadable
from hansard.formats.ai_sdk.ui.emit import AiSdkUiEmitter
from hansard.model.digits import whole_number

AI_SDK_HEADERS = dict(AiSdkUiEmitter.headers)
_RUN, _TAIL = "x-workflow-run-id", "x-workflow-stream-tail-index"
_DONE = b"data: [DONE]"


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
