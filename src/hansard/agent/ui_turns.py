"""A thread as an AI SDK client sees it: turns, each with the id the client knows it by.

An answer with its tools is one message there, named by the first of ours; it goes on until the user speaks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hansard.formats.residue import pack, unpack
from hansard.model.conversation import Message
from hansard.model.parts import ToolResultPart

_FORMAT = "ai-sdk-ui"


class Turn(NamedTuple):
    """The messages `start` to before `end` of a path."""

    id: str
    role: str
    start: int
    end: int


def wire_id(message: Message) -> str | None:
    """The id a client knows a message by."""
    rest, _ = unpack(_FORMAT, message.extra)
    given = rest.get("id", message.id)
    return given if type(given) is str else None


def with_wire_id(message: Message, known_as: str) -> Message:
    """The message under its own id, known to the client by another."""
    from msgspec.structs import replace

    rest, marks = unpack(_FORMAT, message.extra)
    return replace(message, extra=pack(_FORMAT, {**rest, "id": known_as}, marks))


def with_approval(part: ToolResultPart, approval: dict[str, Any]) -> ToolResultPart:
    """The result of a call that somebody approved, with their words: a denial's are the result itself."""
    from msgspec.structs import replace

    rest, marks = unpack(_FORMAT, part.extra)
    return replace(part, extra=pack(_FORMAT, {**rest, "approval": approval}, marks))


def turns_of(path: Sequence[Message]) -> list[Turn]:
    """The turns of a path; what a client is not shown belongs to the turn before it."""
    starts: list[int] = []
    for i, message in enumerate(path):
        if message.role == "user" or (message.role == "assistant" and not (starts and _answers(path[starts[-1]]))):
            starts.append(i)
    ends = [*starts[1:], len(path)][: len(starts)]
    return [
        Turn(wire_id(path[start]) or "", path[start].role, start, end) for start, end in zip(starts, ends, strict=True)
    ]


def _answers(message: Message) -> bool:
    return message.role == "assistant"
