"""The content of the agent store's messages: a list of parts, in which answers are folded into their calls."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.agent_store.parts import NAME, read_part, write_part
from hansard.formats.residue import fill, pack, put, unpack
from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.parts import RawPart, TextPart, ToolCallPart, ToolResultPart


def read_content(content: Any, role: str, marks: dict[str, Any]) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Parts, results for the tool message behind, and what is left; content that is no list of parts is kept raw."""
    value = _decoded(content) if type(content) is str else content
    if type(value) is not dict or type(value.get("parts")) is not list:
        marks["raw"] = True
        return [RawPart(format=NAME, value=content)], [], {}
    if type(content) is str:
        marks["text"] = content
    held = dict(value)
    parts, results = read_parts(held.pop("parts"), role)
    if "format" not in held:
        marks["format"] = "absent"
    elif type(held["format"]) is int and held["format"] == 2:
        del held["format"]
    if type(held.get("content")) is str and held["content"] == _said(parts):
        del held["content"]
        marks["said"] = True
    return parts, results, held


def read_parts(blocks: list[Any], role: str) -> tuple[list[Any], list[Any]]:
    parts: list[Any] = []
    results: list[Any] = []
    answered: list[int] = []
    waiting = False
    for block in blocks:
        part = read_part(block, role, results)
        if len(results) > len(answered):
            answered.append(len(parts))
        elif type(part) is ToolCallPart:
            waiting = True
        parts.append(part)
    if answered and waiting:
        _mark_waiting(parts, answered)
    return parts, results


def _mark_waiting(parts: list[Any], answered: list[int]) -> None:
    """Mark the calls that wait although a later one of the same id is answered: that answer is not theirs."""
    ids = {(parts[j].tool_call_id, parts[j].tool_name): j for j in answered}
    for j, part in enumerate(parts):
        if type(part) is ToolCallPart and j not in answered and j < ids.get((part.tool_call_id, part.tool_name), 0):
            rest, marks = unpack(NAME, part.extra)
            parts[j] = replace(part, extra=pack(NAME, rest, {"state": "call", **marks}))


def _decoded(text: str) -> Any:
    try:
        return exact_json.decode(text)
    except Unreadable:
        return None


def _said(parts: list[Any]) -> str:
    return "".join(part.text for part in parts if type(part) is TextPart)


def write_parts(parts: list[Any], answers: dict[int, ToolResultPart]) -> list[Any]:
    if not answers:
        blocks = [write_part(part) for part in parts]
    else:
        folded = set(map(id, answers.values()))
        blocks = [write_part(part, answers.get(j)) for j, part in enumerate(parts) if id(part) not in folded]
    return [block for block in blocks if block is not UNSET] if UNSET in blocks else blocks


def write_content(
    message: Message, answers: dict[int, ToolResultPart], held: dict[str, Any], marks: dict[str, Any]
) -> Any:
    """The content with each answer folded into the call at its index."""
    if marks.get("raw") is True and len(message.parts) == 1 and type(message.parts[0]) is RawPart:
        return message.parts[0].value
    blocks = write_parts(message.parts, answers)
    content: dict[str, Any] = {} if marks.get("format") == "absent" else {"format": held.pop("format", 2)}
    content["parts"] = blocks
    if marks.get("said") is True:
        content["content"] = _said(message.parts)
    fill(put(content, metadata=message.metadata), held)
    if "text" not in marks:
        return content
    text = marks["text"]
    if type(text) is str and exact_json.same(_decoded(text), content):
        return text
    return exact_json.encode(content).decode()
