"""`MessageList`: parts of an AI SDK stream in, messages of the agent store out.

    listed = MessageList(thread_id="t")
    for part in parts:                          # TextStreamParts, as dicts or as JSON lines
        listed.update_from_stream_part(part)
        if (message := listed.flush_to_canonical()) is not None:
            await store.save_messages(messages=[message])

A message is whole when all its calls have their results, and at `finish`, `abort` and `error`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from hansard import formats
from hansard.agent.conversions import with_provider_metadata
from hansard.agent.memory_store import FORMAT, CanonicalMessage
from hansard.errors import Unreadable
from hansard.formats.ai_sdk.full.stream import AiSdkFullDecoder
from hansard.ledger.ids import new_id
from hansard.model import exact_json
from hansard.model.conversation import Conversation, Message
from hansard.streams.deltas import MessageEnd
from hansard.streams.jsonl import LineReader

_ENDS = ("finish", "abort", "error")
_OUTPUTS = ("tool-result", "tool-error", "tool-output-denied")
_REQUIRED: dict[str, dict[str, type]] = {
    **{f"{kind}-{action}": {"id": str} for kind in ("text", "reasoning") for action in ("start", "end")},
    **{f"{kind}-delta": {"id": str, "text": str} for kind in ("text", "reasoning")},
    "tool-input-start": {"id": str, "toolName": str},
    "tool-input-delta": {"id": str, "delta": str},
    "tool-call": {"toolCallId": str, "toolName": str},
    "tool-result": {"toolCallId": str},
    "tool-error": {"toolCallId": str},
    "source": {"id": str},
    "file": {"file": dict},
}
_OPENED_BY = {
    "text-delta": "text-start",
    "text-end": "text-start",
    "reasoning-delta": "reasoning-start",
    "reasoning-end": "reasoning-start",
    "tool-input-delta": "tool-input-start",
}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class MessageList:
    """Collects the parts of one stream: pending text, reasoning, tool calls and results.

    `new_id` and `now` give the ids and times of messages.
    """

    def __init__(
        self,
        thread_id: str | None = None,
        *,
        resource_id: str | None = None,
        new_id: Callable[[], str] = new_id,
        now: Callable[[], str] = _now,
    ) -> None:
        self.thread_id, self.resource_id = thread_id, resource_id
        self._new_id, self._now = new_id, now
        self._lines = LineReader()
        self._at_line_start = True
        self._whole: deque[CanonicalMessage] = deque()
        self._since = 0  # updates since the last flush
        self._begin()

    def _begin(self) -> None:
        self._decoder = AiSdkFullDecoder()
        self._open: set[tuple[str, str]] = set()
        self._waiting: set[str] = set()
        self._answered = self._started = False

    def update_from_stream_part(self, part: dict[str, Any] | bytes | str) -> None:
        """Take in one TextStreamPart: a dict, or JSON (then also several lines, or a piece of one)."""
        parts = [part] if type(part) is dict else self._parsed(part)
        for one in parts:
            self._check(one)
            self._take(one)
        self._since += 1

    def flush_to_canonical(self) -> CanonicalMessage | None:
        """The next message, or None.

        Called after each part, it gives a message only where one is whole. Called after several parts, it gives all
        that came, whole or not: so a stream that broke off is flushed too, and a call that was cut is `partial-call`.
        """
        since, self._since = self._since, 0
        if not self._whole and since > 1:
            self._close()
        return self._whole.popleft() if self._whole else None

    # -- parts -----------------------------------------------------------------------------------------------------

    def _parsed(self, data: Any) -> list[Any]:
        if type(data) is str:
            data = data.encode("utf-8", "surrogatepass")
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise Unreadable(f"expected a stream part as a dict or as JSON, not {type(data).__name__}")
        data = bytes(data)
        if (
            self._at_line_start and data[-1:] == b"}" and exact_json.is_json(data)
        ):  # one part, without the end of its line
            data += b"\n"
        events = self._lines.feed(data)
        self._at_line_start = self._lines.rests
        return [exact_json.decode(event.data) for event in events]

    def _check(self, part: Any) -> None:
        """Refuse a part that the stream cannot have here; nothing is changed."""
        if type(part) is not dict or type(part.get("type")) is not str:
            raise Unreadable("a stream part has a type", "$.type", "give the parts of `fullStream`")
        kind = part["type"]
        for key, expected in _REQUIRED.get(kind, {}).items():
            if type(part.get(key)) is not expected:
                wanted = "an object" if expected is dict else "a text"
                raise Unreadable(f"expected {wanted} in a {kind} part", f"$.{key}")
        if kind in _OPENED_BY and (_OPENED_BY[kind], part["id"]) not in self._open:
            raise Unreadable(f"no {_OPENED_BY[kind]} came for {part['id']!r}", "$.id")

    def _take(self, part: dict[str, Any]) -> None:
        kind = part["type"]
        if kind in _OPENED_BY.values():
            self._open.add((kind, part["id"]))
        elif kind in ("text-end", "reasoning-end"):
            self._open.discard((_OPENED_BY[kind], part["id"]))
        elif kind == "tool-call":
            self._open.discard(("tool-input-start", part["toolCallId"]))
            if part.get("providerExecuted") is not True and part.get("invalid") is not True:
                self._waiting.add(part["toolCallId"])
        elif kind in _OUTPUTS and part.get("preliminary") is not True:
            self._waiting.discard(part["toolCallId"])
            self._answered = True
        if isinstance(part.get("error"), BaseException):
            part = {**part, "error": {"message": str(part["error"])}}
        self._decoder.feed_event(part)
        self._started = True
        if kind in _ENDS or (self._answered and not self._waiting and not self._open):
            self._close()

    def _close(self) -> None:
        """Move the parts so far into messages, and start with an empty list."""
        if self._started:
            ended = self._decoder.finish()
            found = next((delta.messages for delta in ended if type(delta) is MessageEnd), [])
            self._whole.extend(self._records(found))
        self._begin()

    def _records(self, messages: list[Message]) -> list[CanonicalMessage]:
        said = with_provider_metadata([message for message in messages if message.parts], "ai-sdk-ui", FORMAT)
        bare = [Message(role=one.role, parts=one.parts, metadata=one.metadata) for one in said]
        rows = formats.write(Conversation(messages=bare), FORMAT).data
        fields = {"threadId": self.thread_id, "resourceId": self.resource_id}
        known = {key: value for key, value in fields.items() if value is not None}
        return [{"id": self._new_id(), **known, **row, "createdAt": self._now()} for row in rows]
