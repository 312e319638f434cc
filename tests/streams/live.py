"""What the tests of provider streams share: events to bytes in any cut, and what a message shows."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from hansard import streams
from hansard.model import Message, exact_json
from hansard.model.parts import FilePart, ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart
from hansard.streams.accumulator import fold
from hansard.streams.decoder_base import EventDecoder
from hansard.streams.deltas import Delta, MessageEnd

FRAMES = ("sse", "crlf", "lines", "array", "pretty array")


def framed(events: list[Any], how: str = "sse") -> bytes:
    """The events as a provider would send them."""
    texts = [event if type(event) is bytes else exact_json.encode(event) for event in events]
    if how == "array":
        return b"[" + b",\n".join(texts) + b"]"
    if how == "pretty array":
        return json.dumps([json.loads(text) for text in texts], indent=2).encode() + b"\n"
    if how == "lines":
        return b"".join(text + b"\n" for text in texts)
    end = b"\r\n" if how == "crlf" else b"\n"
    return b"".join(b"data: " + text + end + end for text in texts)


def decode(name: str, *pieces: bytes) -> list[Delta]:
    return decode_with(streams.decoder(name), *pieces)


def decode_with(decoder: EventDecoder, *pieces: bytes) -> list[Delta]:
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return deltas + decoder.finish()


def cut(data: st.DataObject, text: Any, most: int = 4) -> list[Any]:
    """A text or bytes in some pieces, some of them perhaps empty."""
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=most)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def shown(messages: list[Message]) -> dict[str, list[Any]]:
    """The words, thoughts, calls, results and files of messages, each kind in its order."""
    seen: dict[str, list[Any]] = {}
    for message in messages:
        for part in message.parts:
            kind = type(part).__name__
            if isinstance(part, TextPart | ReasoningPart | RefusalPart):
                seen.setdefault(kind, []).append(part.text)
            elif isinstance(part, ToolCallPart):
                said = (part.tool_call_id, part.tool_name, part.input, part.input_text)
                seen.setdefault(kind, []).append(said)
            elif isinstance(part, ToolResultPart):
                seen.setdefault(kind, []).append((part.tool_call_id, part.output))
            elif isinstance(part, FilePart):
                seen.setdefault(kind, []).append((part.media_type, part.url, part.data, part.file_id))
    return seen


def shown_live(deltas: list[Delta]) -> dict[str, list[Any]]:
    """What somebody saw who only folded the deltas, without the last word."""
    return shown(fold([delta for delta in deltas if type(delta) is not MessageEnd]))
