"""Resume the stream of a run for an AI SDK client: all of it from its start, or what follows the chunks it has."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from hansard.agent.sse_response import Answer, ChunkNumbers, headers_of
from hansard.agent.ui_turns import answer_so_far, replay
from hansard.errors import HansardError, NotFound
from hansard.ledger.ledger import Ledger
from hansard.model.calls import pending_calls
from hansard.model.conversation import Conversation, Run
from hansard.model.stored import plain_messages
from hansard.streams import emitter
from hansard.streams.deltas import Delta, End, Failure, MessageStart, Other
from hansard.streams.emitter_base import EventEmitter

STOPPED: list[Delta] = [Other(format="ai-sdk-ui", value={"type": "abort"}), End(how="cut")]
"""What the clients of a stopped answer receive at its end."""


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
        async for data in shown_or_failed(shown, deltas.later()):
            if data := numbers(data):
                yield data

    async def begin() -> tuple[AsyncGenerator[bytes, None], dict[str, str]]:
        return chunks(), headers_of(run.id, tail)

    return await Answer(begin)


async def _begun(ledger: Ledger, run: Run, target: str, rebuild: bool) -> tuple[EventEmitter, bytes]:
    """The emitter of a run, and the chunks of the answer that it continues."""
    told = run.metadata.get("messageId") if isinstance(run.metadata, dict) else None
    shown, head = emitter("ai-sdk-ui", target=target, message_id=told), b""
    if told is not None and isinstance(run.thread_id, str):
        path = await ledger.aio.transcript(run.thread_id, run.fork_from_message_id or None)
        before = answer_so_far(plain_messages(path), told)
        if rebuild:
            head = b"".join([shown.emit(delta) for delta in replay(before)])
        waiting = [call.tool_call_id for _, call in pending_calls(Conversation(messages=before))]
        shown.go_on(call_id for call_id in waiting if isinstance(call_id, str))
    return shown, head


class _Deltas:
    """The deltas of a run, those so far and those to come; of a stopped run also its end, which no journal has."""

    def __init__(self, ledger: Ledger, run: Run, *, skip_start: bool) -> None:
        self.ended = False
        self._ledger, self._run, self._skip_start = ledger, run, skip_start
        self._seq, self._over = 0, False

    async def so_far(self) -> list[Delta]:
        found, self.ended = await self._ledger.aio.journaled(self._run)
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
