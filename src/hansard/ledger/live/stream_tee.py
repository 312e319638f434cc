"""`StreamTee`: a provider's stream, passed through unchanged and recorded as it is read.

Bytes, lines or SDK objects, with `for` or `async for`; also the SDKs' stream helpers and their `text_stream`,
`until_done` and `get_final_...`, which read the same stream. A response that came whole is recorded at once.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

from hansard.errors import HansardError
from hansard.ledger.live.answer_recorder import AnswerRecorder
from hansard.model.stored import StoredMessage

if TYPE_CHECKING:
    from hansard.ledger.live.run_handle import RunHandle


class StreamTee:
    """Iterate over it as over the wrapped stream, whose other attributes (`close`, `response`) it has too.

    `run` is set when the first piece is read, `messages` when the stream has ended.
    """

    def __init__(self, recorder: AnswerRecorder, stream: Any) -> None:
        self._recorder, self._stream = recorder, stream
        self._entered = False
        self._reading: Generator[Any] | AsyncGenerator[Any] | None = None  # kept to be closed at the end of `with`
        if is_whole(stream):
            recorder.whole(stream)
        elif not _is_stream(stream):
            raise HansardError(
                f"cannot record {type(stream).__name__}: give a stream, its bytes or lines, or a whole response"
            )

    @property
    def run(self) -> RunHandle | None:
        return self._recorder.run

    @property
    def messages(self) -> list[StoredMessage]:
        return self._recorder.messages

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._stream, name)
        if name == "until_done" or name.startswith("get_final_"):
            return self._after_reading(found)
        if name == "text_stream":
            return self._texts() if hasattr(self._stream, "__iter__") else self._async_texts()
        return found

    def __iter__(self) -> Iterator[Any]:
        pieces = self._pieces()
        if self._entered:
            self._reading = pieces
        return pieces

    def __aiter__(self) -> AsyncIterator[Any]:
        pieces = self._async_pieces()
        if self._entered:
            self._reading = pieces
        return pieces

    def _pieces(self) -> Generator[Any]:
        recorder = self._recorder
        recorder.begin()
        try:
            for piece in self._stream:
                recorder.take(piece)
                yield piece
        except BaseException as error:
            recorder.broke(error)
            raise
        recorder.finish()

    async def _async_pieces(self) -> AsyncGenerator[Any]:
        recorder = self._recorder
        await asyncio.to_thread(recorder.begin)
        try:
            async for piece in self._stream:
                deltas = recorder.take(piece, wait=False)
                if deltas and recorder.durable and recorder.run is not None:
                    await asyncio.to_thread(recorder.run.flush)
                yield piece
        except BaseException as error:
            await asyncio.shield(asyncio.to_thread(recorder.broke, error))
            raise
        await asyncio.shield(asyncio.to_thread(recorder.finish))

    def __enter__(self) -> StreamTee:
        if hasattr(self._stream, "__enter__"):
            self._stream = self._stream.__enter__()
        self._entered = True
        return self

    def __exit__(self, *error: Any) -> Any:
        if isinstance(self._reading, Generator):
            self._reading.close()
        closing = getattr(self._stream, "__exit__", None)
        return closing(*error) if closing is not None else None

    async def __aenter__(self) -> StreamTee:
        if hasattr(self._stream, "__aenter__"):
            self._stream = await self._stream.__aenter__()
        self._entered = True
        return self

    async def __aexit__(self, *error: Any) -> Any:
        if isinstance(self._reading, AsyncGenerator):
            await self._reading.aclose()
        closing = getattr(self._stream, "__aexit__", None)
        return await closing(*error) if closing is not None else None

    def _after_reading(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of the stream helper that reads to the end: read here first, so that it is recorded."""
        if inspect.iscoroutinefunction(method):

            async def awaited(*arguments: Any, **named: Any) -> Any:
                if self.run is None:
                    async for _ in self:
                        pass
                return await method(*arguments, **named)

            return awaited

        def called(*arguments: Any, **named: Any) -> Any:
            if self.run is None:
                for _ in self:
                    pass
            return method(*arguments, **named)

        return called

    def _texts(self) -> Iterator[str]:
        for event in self:
            if getattr(event, "type", None) == "text":
                yield event.text

    async def _async_texts(self) -> AsyncIterator[str]:
        async for event in self:
            if getattr(event, "type", None) == "text":
                yield event.text


def is_whole(given: Any) -> bool:
    """Whether this is a response and not a stream."""
    return isinstance(given, dict) or (hasattr(given, "model_dump") and not hasattr(given, "__next__"))


def _is_stream(given: Any) -> bool:
    """Iterable now, or once its context is entered. One string is text that was read already."""
    if isinstance(given, (str, bytes, bytearray)):
        return False
    return any(hasattr(given, name) for name in ("__iter__", "__aiter__", "__enter__", "__aenter__"))
