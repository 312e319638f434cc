"""`StreamTee`: a provider's stream, passed through unchanged and recorded as it is read.

Bytes, lines or SDK objects, with `for` or `async for`. The deltas go into the journal of a run, and the complete
response into the thread when the stream has ended. If the stream breaks, or its reader stops, the partial response is
kept with the run, outside the transcript.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard import streams
from hansard.errors import Conflict, HansardError, NotFound
from hansard.model.conversation import Conversation, Message
from hansard.model.hashing import append, opaque
from hansard.streams.deltas import Delta, End, MessageEnd
from hansard.streams.sdk_objects import plain

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.ledger.live.run_handle import RunHandle


class StreamTee:
    """Iterate over it as over the wrapped stream, whose other attributes (`close`, `response`) it has too.

    `run` is set when the first piece is read, `messages` when the stream has ended.
    """

    def __init__(
        self,
        ledger: Ledger,
        stream: Any,
        format: str,
        thread_id: str,
        *,
        agent_id: str | UnsetType = UNSET,
        fork_from: str | UnsetType | None = UNSET,
        durable: bool = False,
    ) -> None:
        self.run: RunHandle | None = None
        self.messages: list[Message] = []
        self._ledger, self._stream, self._thread_id = ledger, stream, thread_id
        self._agent_id, self._fork_from, self._durable = agent_id, fork_from, durable
        self._decoder = streams.decoder(format)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._stream, name)

    def __iter__(self) -> Iterator[Any]:
        self._begin()
        try:
            for piece in self._stream:
                self._take(piece)
                yield piece
        except BaseException as error:
            self._broke(error)
            raise
        self._finish()

    async def __aiter__(self) -> AsyncIterator[Any]:
        await asyncio.to_thread(self._begin)
        try:
            async for piece in self._stream:
                deltas = self._take(piece, wait=False)
                if deltas and self._durable and self.run is not None:
                    await asyncio.to_thread(self.run.flush)
                yield piece
        except BaseException as error:
            await asyncio.shield(asyncio.to_thread(self._broke, error))
            raise
        await asyncio.shield(asyncio.to_thread(self._finish))

    def __enter__(self) -> StreamTee:
        if hasattr(self._stream, "__enter__"):
            self._stream = self._stream.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        closing = getattr(self._stream, "__exit__", None)
        return closing(*error) if closing is not None else None

    async def __aenter__(self) -> StreamTee:
        if hasattr(self._stream, "__aenter__"):
            self._stream = await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        closing = getattr(self._stream, "__aexit__", None)
        return await closing(*error) if closing is not None else None

    # -- the run ---------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self.run is not None:
            raise HansardError("a stream can be recorded only once; call `record` again for the next one")
        try:
            self._ledger.thread(self._thread_id)
        except NotFound:
            self._ledger.create_thread(self._thread_id)
        self.run = self._ledger.begin_run(self._thread_id, self._agent_id, fork_from=self._fork_from)

    def _take(self, piece: Any, *, wait: bool = True) -> list[Delta]:
        if isinstance(piece, (bytes, bytearray, memoryview)):
            deltas = self._decoder.feed(bytes(piece))
        elif isinstance(piece, str):
            deltas = self._decoder.feed(_line(piece))
        else:
            value = as_sent(piece)
            deltas = self._decoder.feed_event(value, _kind(value))
        if deltas and self.run is not None:
            self.run.write(deltas)
            if self._durable and wait:
                self.run.flush()
        return deltas

    def _finish(self) -> None:
        assert self.run is not None
        try:
            if self._settle() == "done":
                self.run.commit()
            else:
                self.run.fail({"type": "Cut", "message": "the stream ended before the response was complete"})
        except Conflict as error:  # the head has moved: the messages stay outside the transcript
            self.run.fail({"type": type(error).__name__, "message": str(error)})
            raise

    def _broke(self, error: BaseException) -> None:
        run = self.run
        if run is None:
            return
        self._settle()
        if isinstance(error, Exception):
            run.fail({"type": type(error).__name__, "message": str(error)})
        else:
            run.abort()

    def _settle(self) -> str:
        """Stage the messages of the response; how the stream ended."""
        how, messages = "cut", []
        left: list[Delta] = []
        for delta in self._decoder.finish():
            if isinstance(delta, MessageEnd):
                messages = delta.messages
                continue
            if isinstance(delta, End):
                how = delta.how
            left.append(delta)
        assert self.run is not None
        self.run.write(left)
        if messages:
            messages = [replace(one, agent_id=self._agent_id, id=self._free_id(one)) for one in messages]
            self.messages = self.run.stage(self._bound(messages))
        return how

    def _free_id(self, message: Message) -> str | UnsetType:
        """The provider's message id, unless another message of the thread has it: then the ledger chooses one."""
        if isinstance(message.id, str):
            try:
                self._ledger.get(self._thread_id, message.id)
            except NotFound:
                return message.id
        return UNSET

    def _bound(self, messages: list[Message]) -> list[Message]:
        """The messages, with opaque reasoning bound to the content before it."""
        if not any(opaque(part) for message in messages for part in message.parts):
            return messages
        assert self.run is not None
        fork = self.run.value.fork_from_message_id
        before = self._ledger.transcript(self._thread_id, fork) if isinstance(fork, str) else []
        return append(Conversation(messages=before), messages).messages[len(before) :]


def as_sent(piece: Any) -> Any:
    """An SDK object as the JSON it was parsed from."""
    if isinstance(piece, dict):
        return piece
    dump = getattr(piece, "model_dump", None)
    if dump is None:
        return plain(piece)
    if type(piece).__module__.startswith("google."):
        return dump(mode="json", by_alias=True, exclude_none=True)
    return dump(mode="json", exclude_unset=True)


def _kind(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else "message"


def _line(text: str) -> bytes:
    """A line as HTTP libraries return it, with its line end restored."""
    data = text.encode("utf-8", "surrogatepass")
    return data if data.endswith(b"\n") else data + b"\n"
