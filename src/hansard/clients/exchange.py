"""One call of a provider: its request is added to the thread, its answer becomes a run after it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard import formats
from hansard.errors import NotFound
from hansard.ledger.live.answer_recorder import AnswerRecorder

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger

_FORMATS = (
    ("openai-chat", re.compile(r"/chat/completions$")),
    ("openai-responses", re.compile(r"/responses$")),
    ("anthropic", re.compile(r"/messages$")),
    ("gemini", re.compile(r":(?:streamGenerateContent|generateContent)$")),
)
_SAID = ("messages", "input", "contents", "system", "systemInstruction", "system_instruction", "instructions")
_CONTINUES = ("previous_response_id", "conversation")  # the provider keeps the earlier messages


def format_of(request: Any) -> str | None:
    """The format of a call; None for other requests, such as lists of models."""
    if request.method != "POST":
        return None
    path = request.url.path
    return next((name for name, pattern in _FORMATS if pattern.search(path)), None)


class Exchange:
    """One HTTP request and its answer: `begin` before it is sent, then `answered` or `broke`.

    `guard` runs what touches the ledger, and decides what becomes of its errors.
    """

    def __init__(
        self,
        ledger: Ledger,
        format: str,
        body: dict[str, Any],
        thread_id: str,
        agent_id: str | UnsetType,
        guard: Callable[[Callable[[], object]], None],
    ) -> None:
        self._ledger, self._format, self._body, self._thread_id = ledger, format, body, thread_id
        self._agent_id, self._guard = agent_id, guard
        self._recorder: AnswerRecorder | None = None
        self._data = bytearray()  # of a whole answer that is read piece by piece
        self._streamed = self._over = self._reading = False

    def begin(self) -> None:
        self._guard(self._begin)

    def _begin(self) -> None:
        read = formats.read(self._body, self._format)
        conversation = replace(read, tools=UNSET, settings=UNSET)  # they are the run's
        fork_from: str | UnsetType | None = UNSET
        if any(self._body.get(name) for name in _CONTINUES) and self._has_thread():
            self._ledger.append(self._thread_id, conversation.messages)
        else:
            fork_from = self._ledger.sync(self._thread_id, conversation).last
        settings = {name: value for name, value in self._body.items() if name not in _SAID}
        recorder = AnswerRecorder(
            self._ledger,
            self._format,
            self._thread_id,
            agent_id=self._agent_id,
            fork_from=fork_from,
            tools=read.tools,
            settings=read.settings,
            metadata={"request": settings},
        )
        recorder.begin()
        self._recorder = recorder

    def _has_thread(self) -> bool:
        try:
            self._ledger.thread(self._thread_id)
        except NotFound:
            return False
        return True

    def answered(self, response: Any) -> None:
        """Record the answer: now if it was read, else while the client reads it."""
        if self._recorder is None:
            return
        if response.is_stream_consumed or response.is_closed:
            self.take(response, response.content)
            self.finish()
            return
        self._watch(response)

    def take(self, response: Any, data: bytes) -> None:
        self._guard(lambda: self._take(response, data))

    def _take(self, response: Any, data: bytes) -> None:
        assert self._recorder is not None
        self._streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        if self._streamed and response.status_code < 400:
            self._recorder.take(data)
        else:
            self._data += data
        self._status = response.status_code

    def finish(self) -> None:
        if not self._over:
            self._over = True
            self._guard(self._finish)

    def _finish(self) -> None:
        assert self._recorder is not None
        if self._status >= 400:
            self._recorder.broke(_Refused(f"HTTP {self._status}: {self._data[:2000].decode('utf-8', 'replace')}"))
        elif self._streamed:
            self._recorder.finish()
        else:
            self._recorder.whole(json.loads(bytes(self._data)))

    def broke(self, error: BaseException) -> None:
        """The request failed, or the client stopped reading."""
        recorder = self._recorder
        if recorder is not None and not self._over:
            self._over = True
            self._guard(lambda: recorder.broke(error))

    def _watch(self, response: Any) -> None:
        """Record the bytes that the client reads, by every way it may read them: all go through these two methods."""
        read, read_async, close, close_async = (
            response.iter_bytes,
            response.aiter_bytes,
            response.close,
            response.aclose,
        )
        self._status = response.status_code

        def iter_bytes(chunk_size: int | None = None) -> Iterator[bytes]:
            pieces = read(chunk_size)
            try:
                while True:
                    with self._inside():
                        data = next(pieces, None)
                    if data is None:
                        break
                    self.take(response, data)
                    yield data
            except BaseException as error:
                self.broke(error)
                raise
            self.finish()

        async def aiter_bytes(chunk_size: int | None = None) -> AsyncIterator[bytes]:
            pieces = read_async(chunk_size)
            try:
                while True:
                    with self._inside():
                        data = await anext(pieces, None)
                    if data is None:
                        break
                    self.take(response, data)
                    yield data
            except BaseException as error:
                await asyncio.shield(asyncio.to_thread(self.broke, error))
                raise
            await asyncio.shield(asyncio.to_thread(self.finish))

        def closed() -> None:
            close()
            if not self._reading:
                self.broke(GeneratorExit())

        async def aclosed() -> None:
            await close_async()
            if not self._reading:
                await asyncio.shield(asyncio.to_thread(self.broke, GeneratorExit()))

        response.iter_bytes, response.aiter_bytes = iter_bytes, aiter_bytes
        response.close, response.aclose = closed, aclosed

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """While a piece is read: the HTTP client closes the response itself then, at its end or because of an error."""
        self._reading = True
        try:
            yield
        finally:
            self._reading = False


class _Refused(Exception):
    """An answer with an error status."""
