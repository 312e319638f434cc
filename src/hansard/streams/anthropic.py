"""Anthropic's message stream, GA and beta: events of content blocks.

message_start          the message without its content; a second one begins another message
content_block_start    a block opens; redacted_thinking and tool results come whole
content_block_delta    text, thinking and partial JSON grow; signature and compaction replace; citations append
content_block_stop     the block is whole
message_delta          stop reason and usage (counts overwrite, null keeps); message_stop is the end
ping, error            nothing; a failure
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard.errors import HansardError
from hansard.formats.anthropic_blocks import read_block
from hansard.model import exact_json
from hansard.model.conversation import Message, ModelRef
from hansard.model.parts import ToolCallPart
from hansard.streams.accumulator import joined
from hansard.streams.event_decoder import EventDecoder, read_whole
from hansard.streams.deltas import MessageDelta, MessageStart, Other, PartDelta, PartEnd, PartStart, StepStart

NAME = "anthropic"
_GROWS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


class _Grown(Struct, forbid_unknown_fields=True):
    type: str
    text: str = ""
    thinking: str = ""
    partial_json: str = ""


class _Quick(Struct, forbid_unknown_fields=True, tag="content_block_delta"):
    index: int
    delta: _Grown


_QUICK = msgspec.json.Decoder(_Quick)


class _Block:
    """A block that is growing: its words as they came, and its pieces."""

    __slots__ = ("block", "key", "pieces")

    def __init__(self, block: dict[str, Any], key: str) -> None:
        self.block, self.key = block, key
        self.pieces: list[str] = []

    def native(self) -> dict[str, Any]:
        """The block as a whole answer would have it."""
        block, kind = self.block, self.block.get("type")
        if not self.pieces:
            return block
        text = joined(self.pieces)
        if kind in ("text", "thinking"):
            return {**block, kind: block.get(kind, "") + text}
        try:
            return {**block, "input": exact_json.decode(text)}
        except HansardError:
            return {key: value for key, value in block.items() if key != "input"}

    def part(self) -> Any:
        return self.patched(read_block(self.native(), {}))

    def patched(self, part: Any) -> Any:
        """A call whose input is no JSON, or none yet, keeps the text of it."""
        if type(part) is ToolCallPart and part.input is UNSET and self.pieces:
            return replace(part, input_text=joined(self.pieces))
        return part


class AnthropicDecoder(EventDecoder):
    """One answer, or several one after the other."""

    name = NAME

    def __init__(self) -> None:
        super().__init__()
        self._bodies: list[tuple[dict[str, Any], list[_Block]]] = []
        self._open: dict[int, _Block] = {}
        self._stopped = True
        self._handlers = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._error,
        }

    def quick(self, data: bytes) -> bool:
        try:
            event = _QUICK.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        delta, block = event.delta, self._open.get(event.index)
        if block is None or delta.type not in _GROWS:
            return False
        self._grow(block, delta.text or delta.thinking or delta.partial_json)
        return True

    def handle(self, event: Any, kind: str) -> None:
        handler = self._handlers.get(event.get("type", kind)) if type(event) is dict else None
        if handler is None:
            self.emit(Other(format=NAME, value=event))
        else:
            handler(event)

    def whole(self) -> list[Message]:
        messages: list[Message] = []
        for body, blocks in self._bodies:
            content = [*body.get("content", []), *[block.native() for block in blocks]]
            read = read_whole(NAME, {**body, "role": "assistant", "content": content})
            parts: list[Any] = list(read[0].parts)
            first = len(content) - len(blocks)
            for i, block in enumerate(blocks):
                parts[first + i] = block.patched(parts[first + i])
            messages.append(replace(read[0], parts=parts))
        if messages and not self._stopped:
            messages[-1] = replace(messages[-1], state="partial")
        return messages

    def _grow(self, block: _Block, text: str) -> None:
        if text:
            block.pieces.append(text)
        self.emit(PartDelta(key=block.key, text=text))

    def _message_start(self, event: dict[str, Any]) -> None:
        body = dict(event["message"])
        if self._bodies and not self._stopped:
            current, blocks = self._bodies[-1]
            if current.get("id") == body.get("id") and not blocks:
                self._bodies[-1] = (body, blocks)  # said twice
                return
            self.fail("another message began before the last one ended")
        if self._bodies:
            self.emit(StepStart())
        else:
            model = ModelRef(provider=NAME, name=_text(body, "model"), response_id=_text(body, "id"))
            self.emit(MessageStart(model=model))
        self._stopped = False
        self._open = {}
        self._bodies.append((body, []))
        for i, block in enumerate(body.get("content") or []):  # calls that a tool of the provider made come first
            part, key = read_block(block, {}), f"{len(self._bodies)}.first.{i}"
            self.emit(PartStart(key=key, part=part))
            self.emit(PartEnd(key=key, part=part))

    def _block_start(self, event: dict[str, Any]) -> None:
        if not self._bodies:
            self._bodies.append(({}, []))
            self._stopped = False
        blocks = self._bodies[-1][1]
        block = _Block(dict(event["content_block"]), f"{len(self._bodies)}.{len(blocks)}")
        blocks.append(block)
        self._open[event["index"]] = block
        part = block.part()
        if type(part) is ToolCallPart:
            part = replace(part, input=UNSET)
        self.emit(PartStart(key=block.key, part=part))

    def _block_delta(self, event: dict[str, Any]) -> None:
        block, delta = self._open[event["index"]], event["delta"]
        kind = delta.get("type")
        if kind in _GROWS:
            self._grow(block, delta.get(_GROWS[kind]) or "")
        elif kind == "signature_delta":
            block.block["signature"] = delta["signature"]
        elif kind == "citations_delta":
            block.block["citations"] = [*(block.block.get("citations") or []), delta["citation"]]
        elif kind == "compaction_delta":
            block.block.update({key: value for key, value in delta.items() if key != "type"})
        else:
            self.emit(Other(format=NAME, value=event))

    def _block_stop(self, event: dict[str, Any]) -> None:
        block = self._open.pop(event["index"])
        self.emit(PartEnd(key=block.key, part=block.part()))

    def _message_delta(self, event: dict[str, Any]) -> None:
        body, _ = self._bodies[-1]
        body.update(event.get("delta") or {})
        usage = event.get("usage")
        if type(usage) is dict:
            said = {key: value for key, value in usage.items() if value is not None}
            body["usage"] = {**usage, **(body.get("usage") or {}), **said}
        for key in event.keys() - {"type", "delta", "usage"}:
            body[key] = event[key]
        (message,) = read_whole(NAME, {**body, "role": "assistant", "content": []})
        self.emit(MessageDelta(usage=message.usage, finish_reason=message.finish_reason))

    def _message_stop(self, event: dict[str, Any]) -> None:
        self._stopped = True

    def complete(self) -> bool:
        return self._stopped and bool(self._bodies)

    def _error(self, event: dict[str, Any]) -> None:
        error = event.get("error")
        text = error.get("message") if type(error) is dict else None
        self.fail(text if type(text) is str else "the provider reported an error", error)


def _text(body: dict[str, Any], key: str) -> Any:
    return body[key] if type(body.get(key)) is str else UNSET
