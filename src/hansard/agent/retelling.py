"""What an answer that goes on has said before, for a client that begins it anew.

A client that resumes throws away what it has of the answer and builds it from the stream alone, so that the stream
must say the earlier steps too, in the order they were said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hansard.agent.ui_turns import turns_of
from hansard.model.conversation import Message
from hansard.streams.deltas import Delta, MessageStart, PartEnd, PartStart, StepStart


def answer_so_far(path: Sequence[Message], shown_id: str) -> list[Message]:
    """The messages of the last turn of a path, if a client knows it by this id."""
    turns = turns_of(path)
    if not turns or turns[-1].id != shown_id:
        return []
    return list(path[turns[-1].start : turns[-1].end])


def retold(messages: list[Message]) -> Iterator[Delta]:
    """Whole messages as deltas; each further answer of the model is another step."""
    said = False
    for i, message in enumerate(messages):
        if message.role == "assistant":
            yield StepStart() if said else MessageStart(id=message.id)
            said = True
        for j, part in enumerate(message.parts):
            yield PartStart(key=f"before.{i}.{j}", part=part)
            yield PartEnd(key=f"before.{i}.{j}", part=part)
