"""Anthropic's message stream, GA and beta: events of content blocks.  As of anthropic 2.8.0.

message_start          the message, its content nearly always empty; a second one begins another message
content_block_start    a block opens; redacted_thinking, fallback and tool results come whole
content_block_delta    text, thinking and partial JSON grow; signature and compaction replace; citations append
content_block_stop     the block is whole
message_delta          stop reason, usage, container, context management: a value replaces, null keeps
message_stop           the end
ping, error            nothing; a failure

An input that no `content_block_stop` ended is kept as it came, so that a call that was cut never looks whole.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import HansardError
from hansard.formats.anthropic.content import read_block
from hansard.formats.documents import read
from hansard.model import exact_json
from hansard.model.arguments import read_arguments
from hansard.model.conversation import Message, ModelRef
from hansard.model.parts import ReasoningPart, TextPart, ToolCallPart
from hansard.streams.decoder_base import EventDecoder
from hansard.streams.deltas import MessageDelta, MessageStart, PartDelta, PartEnd, PartStart, StepStart
from hansard.streams.learned_pattern import NUMBER
from hansard.streams.text_buffer import joined

NAME = "anthropic"
_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_SHOWN: dict[Any, str] = {TextPart: "text", ReasoningPart: "thinking", ToolCallPart: "partial_json"}
_NEW: dict[str, dict[str, Any]] = {  # the block, if nothing opened it
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": ""},
    "partial_json": {"type": "tool_use"},
}


class _Block:
    """An open block: its start as received, and its pieces; `shows` is the type of the pieces that its part shows."""

    __slots__ = ("block", "citations", "key", "others", "pieces", "shows", "stopped")

    def __init__(self, block: dict[str, Any], key: str) -> None:
        self.block, self.key, self.stopped = block, key, False
        self.citations: list[Any] = []
        self.pieces: list[str] = []
        self.others: dict[str, list[str]] = {}  # pieces of kinds that no part shows
        self.shows = _SHOWN.get(type(read_block(block, {})), "")

    def native(self) -> dict[str, Any]:
        """The block as a whole answer would have it."""
        block = self.block
        for field, pieces in ((self.shows, self.pieces), *self.others.items()):
            if pieces and field == "partial_json" == self.shows:
                block = _with_input(block, joined(pieces))
            elif pieces:
                base = block.get(field)
                block = {**block, field: (base if type(base) is str else "") + joined(pieces)}
        if self.citations:
            given = block.get("citations")
            block = {**block, "citations": [*(given if type(given) is list else []), *self.citations]}
        return block

    def part(self) -> Any:
        return self.patched(read_block(self.native(), {}))

    def patched(self, part: Any) -> Any:
        """A call whose input is invalid JSON or was not finished keeps its text."""
        if type(part) is not ToolCallPart:
            return part
        if not self.stopped:
            given, text = read_arguments(joined(self.pieces))
            if self.pieces or not part.input:
                return replace(part, input=given, input_text=text)
        elif part.input is UNSET and self.pieces:
            return replace(part, input_text=joined(self.pieces))
        return part


def _with_input(block: dict[str, Any], text: str) -> dict[str, Any]:
    try:
        return {**block, "input": exact_json.decode(text)}
    except HansardError:
        return {key: value for key, value in block.items() if key != "input"}


class _Answer:
    """One message: its body, and its blocks."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.blocks: list[_Block] = []
        self.stopped = False

    def read(self) -> Message:
        content = self.body.get("content")
        given = content if type(content) is list else []
        body = {**self.body, "role": "assistant", "content": [*given, *[block.native() for block in self.blocks]]}
        (message,) = read(body, NAME).messages
        parts: list[Any] = list(message.parts)
        for i, block in enumerate(self.blocks, len(given)):
            parts[i] = block.patched(parts[i])
        return replace(message, parts=parts) if self.stopped else replace(message, parts=parts, state="partial")


class AnthropicDecoder(EventDecoder):
    """One answer, or several one after the other."""

    name = NAME
    VARYING = {"estimated_tokens": NUMBER}

    def __init__(self) -> None:
        super().__init__()
        self._answers: list[_Answer] = []
        self._open: dict[Any, _Block] = {}
        self._handlers = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._error,
        }

    # -- what the base asks for ------------------------------------------------------------------------------------

    def whole(self) -> list[Message]:
        return [answer.read() for answer in self._answers]

    def complete(self) -> bool:
        return bool(self._answers) and self._answers[-1].stopped

    def on_done(self) -> None:
        """Some send it; the end is what the events say."""

    def settle(self, messages: list[Message]) -> None:
        """What no part could show while it grew."""
        for block in (block for answer in self._answers for block in answer.blocks):
            if not block.stopped and (block.others or not block.shows):
                self.emit(PartEnd(key=block.key, part=block.part()))

    # -- messages --------------------------------------------------------------------------------------------------

    def _answer(self) -> _Answer:
        """The current message; a new one without a start event if there was none."""
        if not self._answers:
            self._answers.append(_Answer({}))
        return self._answers[-1]

    def _message_start(self, event: dict[str, Any]) -> None:
        body = dict(event["message"])
        if self._answers and not self._answers[-1].stopped:
            last = self._answers[-1]
            if last.body.get("id") == body.get("id") and not last.blocks:
                last.body = body  # sent twice
                return
            self.fail("another message began before the last one ended")
        if self._answers:
            self.emit(StepStart())
        else:
            model = ModelRef(provider=NAME, name=_text(body, "model"), response_id=_text(body, "id"))
            self.emit(MessageStart(model=model))
        self._open = {}
        self._answers.append(_Answer(body))
        content = body.get("content")
        for i, block in enumerate(content if type(content) is list else []):  # calls that code of the provider made
            part, key = read_block(block, {}), f"{len(self._answers)}.first.{i}"
            self.emit(PartStart(key=key, part=part))
            self.emit(PartEnd(key=key, part=part))

    def _message_delta(self, event: dict[str, Any]) -> None:
        body, delta, usage = self._answer().body, event.get("delta"), event.get("usage")
        rest = {key: value for key, value in event.items() if key not in ("type", "delta", "usage")}
        _update(body, {**(delta if type(delta) is dict else {}), **rest})
        if type(usage) is dict:
            before = body.get("usage")
            body["usage"] = _update(dict(before) if type(before) is dict else {}, usage)
        (message,) = read({**body, "role": "assistant", "content": []}, NAME).messages
        self.emit(MessageDelta(usage=message.usage, finish_reason=message.finish_reason))

    def _message_stop(self, event: dict[str, Any]) -> None:
        answer = self._answer()
        answer.stopped, self._open = True, {}
        for block in answer.blocks:
            if not block.stopped:
                self._end(block)
        if len(event) > 1:
            self.other(event)

    def _error(self, event: dict[str, Any]) -> None:
        error = event.get("error")
        text = error.get("message") if type(error) is dict else error
        self.fail(text if type(text) is str and text else "the provider reported an error", error)

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _begin(self, native: dict[str, Any], index: Any) -> _Block:
        answer = self._answer()
        if answer.stopped:
            self.emit(StepStart())
            answer = _Answer({})
            self._answers.append(answer)
        if type(index) is not int:
            index = len(answer.blocks)
        block = self._open[index] = _Block(native, f"{len(self._answers)}.{len(answer.blocks)}")
        answer.blocks.append(block)
        self.emit(PartStart(key=block.key, part=block.part()))
        return block

    def _end(self, block: _Block) -> None:
        block.stopped = True
        self.emit(PartEnd(key=block.key, part=block.part()))

    def _find(self, index: Any) -> _Block | None:
        """The open block that an event speaks of; without an index, the last one."""
        if index is None and self._open:
            return list(self._open.values())[-1]
        return self._open.get(index) if type(index) is int else None

    def _block_start(self, event: dict[str, Any]) -> None:
        native = dict(event["content_block"])
        self._begin(native, event.get("index"))
        served = native.get("to") if native.get("type") == "fallback" else None
        if type(served) is dict and type(served.get("model")) is str:
            self._answer().body["model"] = served["model"]  # as the whole answer names who gave it

    def _block_delta(self, event: dict[str, Any]) -> None:
        delta, block = event["delta"], self._find(event.get("index"))
        kind = delta.get("type")
        field = _GROWS.get(kind) if type(kind) is str else None
        if field is not None and type(delta.get(field)) is str:
            self._grow(block or self._begin(dict(_NEW[field]), event.get("index")), field, delta[field])
        elif block is not None and kind == "signature_delta":
            block.block = {**block.block, "signature": delta["signature"]}
        elif block is not None and kind == "citations_delta":
            block.citations.append(delta["citation"])
        elif block is not None and kind == "compaction_delta":
            block.block = _update(dict(block.block), {key: delta[key] for key in delta if key != "type"})
        else:
            self.other(event)

    def _grow(self, block: _Block, field: str, text: str) -> None:
        if not text:
            return
        if field == block.shows:
            block.pieces.append(text)
            self.emit(PartDelta(key=block.key, text=text))
            self.grew(field, block.key, block.pieces)
        else:
            block.others.setdefault(field, []).append(text)

    def _block_stop(self, event: dict[str, Any]) -> None:
        block = self._find(event.get("index"))
        if block is None:
            self.other(event)
            return
        self._open = {index: other for index, other in self._open.items() if other is not block}
        self._end(block)


def _update(held: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """A value replaces; null keeps the previous one."""
    held.update({key: value for key, value in said.items() if value is not None or key not in held})
    return held


def _text(body: dict[str, Any], key: str) -> Any:
    return body[key] if type(body.get(key)) is str else UNSET
