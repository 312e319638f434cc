"""`AnswerRecorder`: one answer of a provider becomes a run of a thread, piece by piece or whole.

The deltas go into the journal of the run, and the complete response into the thread when the stream has ended. If the
stream breaks, or its reader stops, the partial response stays as that of any run that was cut (`interrupt`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard import streams
from hansard.errors import Conflict, HansardError, NotFound, Unreadable
from hansard.model.conversation import Conversation, Message
from hansard.model.hashing import append_answer, opaque
from hansard.model.request import Settings, Tool
from hansard.model.sdk_objects import as_sent, is_derived, unwrapped
from hansard.model.stored import StoredMessage
from hansard.streams.deltas import Delta, End, Failure, MessageEnd, Other

if TYPE_CHECKING:
    from hansard.ledger.ledger import Ledger
    from hansard.ledger.live.run_handle import RunHandle

_FRAMED = re.compile(r"\s*(?:$|:|data|event|id|retry|[\[{])")  # how a line of events begins


class AnswerRecorder:
    """One answer. `run` is set by `begin`, `messages` when the answer is complete or cut.

    `begin`, then `take` each piece, then `finish`, or `broke` with the error; or `whole` alone. All may block.
    """

    def __init__(
        self,
        ledger: Ledger,
        format: str,
        thread_id: str,
        *,
        agent_id: str | UnsetType = UNSET,
        fork_from: str | UnsetType | None = UNSET,
        durable: bool = False,
        tools: list[Tool] | UnsetType = UNSET,
        settings: Settings | UnsetType = UNSET,
        metadata: dict[str, Any] | UnsetType = UNSET,
    ) -> None:
        self.run: RunHandle | None = None
        self.messages: list[StoredMessage] = []
        self.durable = durable
        self._ledger, self._format, self._thread_id = ledger, format, thread_id
        self._agent_id, self._fork_from, self._metadata = agent_id, fork_from, metadata
        self._tools, self._settings = tools, settings
        self._decoder = streams.decoder(format)
        self._understood = False
        self._pieces = 0
        self._failures: list[str] = []

    def begin(self) -> None:
        if self.run is not None:
            raise HansardError("a stream can be recorded only once; call `record` again for the next one")
        try:
            self._ledger.thread(self._thread_id)
        except NotFound:
            self._ledger.create_thread(self._thread_id)
        self.run = self._ledger.begin_run(
            self._thread_id,
            self._agent_id,
            fork_from=self._fork_from,
            metadata=self._metadata,
            tools=self._tools,
            settings=self._settings,
        )

    def take(self, piece: Any, *, wait: bool = True) -> list[Delta]:
        deltas = self._decoded(piece)
        self._understood = self._understood or any(type(delta) not in (Other, Failure) for delta in deltas)
        if deltas and self.run is not None:
            self._failures += (delta.text for delta in deltas if type(delta) is Failure)
            self.run.write(deltas)
            if self.durable and wait:
                self.run.flush()
        return deltas

    def _decoded(self, piece: Any) -> list[Delta]:
        self._pieces += 1
        if isinstance(piece, (bytes, bytearray, memoryview)):
            return self._decoder.feed(bytes(piece))
        if isinstance(piece, str):
            if self._pieces == 1 and not _FRAMED.match(piece):
                raise self._unreadable(f"text that does not begin an event ({piece[:60]!r})")
            return self._decoder.feed(_line(piece))
        value = unwrapped(as_sent(piece))
        if is_derived(value):  # made by the SDK's stream helper from an event that comes, or came, by itself
            return []
        deltas = self._decoder.feed_event(value, _kind(value))
        if not self._understood and deltas and all(type(delta) in (Other, Failure) for delta in deltas):
            raise self._unreadable(f"an item of type {type(piece).__name__} ({str(value)[:120]})")
        return deltas

    def _unreadable(self, what: str) -> Unreadable:
        return Unreadable(
            f"a stream of {self._format} has {what}",
            f"$[{self._pieces - 1}]",
            f"name the format it has; there are {', '.join(streams.decoders())}",
        )

    def finish(self) -> None:
        assert self.run is not None
        try:
            if self._settle() == "done":
                self.run.commit()
            else:
                self.run.fail(self._why_cut())
                if not self._understood:
                    raise self._unreadable(f"nothing that can be read in {self._pieces} pieces")
        except Conflict as error:  # the head has moved: the messages stay outside the transcript
            self.run.fail({"type": type(error).__name__, "message": str(error)})
            raise

    def broke(self, error: BaseException) -> None:
        """The stream raised, or its reader stopped: after a complete answer that does no harm."""
        run = self.run
        if run is None:
            return
        if self._settle() == "done":
            run.commit()
        elif isinstance(error, Exception):
            run.fail({"type": type(error).__name__, "message": str(error)})
        else:
            run.abort()

    def _why_cut(self) -> dict[str, str]:
        what = "; ".join(self._failures)
        return {"type": "Cut", "message": "the stream ended before the response was complete" + (what and f": {what}")}

    def whole(self, response: Any) -> None:
        """Record a response that came in one piece."""
        messages = streams.read_answer(self._format, as_sent(response))
        if self.run is None:
            self.begin()
        assert self.run is not None
        self._stage(messages)
        self.run.commit()

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
            if isinstance(delta, Failure):
                self._failures.append(delta.text)
            left.append(delta)
        assert self.run is not None
        self.run.write(left)
        if messages:
            self._stage(messages if how == "done" else [replace(one, state="interrupted") for one in messages])
        return how

    def _stage(self, messages: list[Message]) -> None:
        assert self.run is not None
        messages = [replace(one, agent_id=self._agent_id, id=self._free_id(one)) for one in messages]
        self.messages = self.run.stage(self._bound(messages))

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
        before: list[StoredMessage] = []
        if isinstance(fork, str):
            before = self._ledger.transcript(self._thread_id, fork)
        return append_answer(Conversation(messages=before), messages).messages[len(before) :]


def _kind(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else "message"


def _line(text: str) -> bytes:
    """A line as HTTP libraries return it, with its line end restored."""
    data = text.encode("utf-8", "surrogatepass")
    return data if data.endswith(b"\n") else data + b"\n"
