"""A thread as an AI SDK client sees it: turns, each with the id that the client knows, and the replay of the last turn.

For a client an answer with its tool results is one message, with the id of our first message; it continues until
the next user message. A client that resumes discards its part of the answer and rebuilds it from the stream alone, so
the stream starts with the earlier steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hansard.formats.ai_sdk.ui.emit import event_deltas
from hansard.formats.residue import pack, unpack
from hansard.model.conversation import Message
from hansard.model.parts import ToolResultPart
from hansard.streams.deltas import Delta, MessageStart, PartEnd, PartStart, StepStart

_FORMAT = "ai-sdk-ui"


class Turn(NamedTuple):
    """The messages of a path from `start` to before `end`."""

    id: str
    role: str
    start: int
    end: int


def wire_id(message: Message) -> str | None:
    """The client's id of a message."""
    rest, _ = unpack(_FORMAT, message.extra)
    given = rest.get("id", message.id)
    return given if type(given) is str else None


def with_wire_id(message: Message, known_as: str) -> Message:
    """The message with the id that the client knows."""
    from msgspec.structs import replace

    rest, marks = unpack(_FORMAT, message.extra)
    return replace(message, extra=pack(_FORMAT, {**rest, "id": known_as}, marks))


def with_approval(part: ToolResultPart, approval: dict[str, Any]) -> ToolResultPart:
    """The result of an approved call with the reason of the approval; a denial's reason is the result itself."""
    from msgspec.structs import replace

    rest, marks = unpack(_FORMAT, part.extra)
    return replace(part, extra=pack(_FORMAT, {**rest, "approval": approval}, marks))


def turns_of(path: Sequence[Message]) -> list[Turn]:
    """The turns of a path; messages that clients do not see belong to the turn before."""
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


def answer_so_far(path: Sequence[Message], shown_id: str) -> list[Message]:
    """The messages of the last turn of a path, if it has this client id."""
    turns = turns_of(path)
    if not turns or turns[-1].id != shown_id:
        return []
    start = turns[-1].start
    while start and path[start - 1].role == "event":  # a hand-over stands before the answer
        start -= 1
    return list(path[start : turns[-1].end])


def replay(messages: list[Message]) -> Iterator[Delta]:
    """Complete messages as deltas; each further answer of the model is another step."""
    said = False
    for i, message in enumerate(messages):
        if message.role == "assistant":
            yield StepStart() if said else MessageStart(id=message.id)
            said = True
        if message.role == "event":
            yield from event_deltas(message)
            continue
        for j, part in enumerate(message.parts):
            yield PartStart(key=f"before.{i}.{j}", part=part)
            yield PartEnd(key=f"before.{i}.{j}", part=part)
