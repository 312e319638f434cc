"""Finds where a run starts in a thread: compares the given history with the thread by content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET
from pydantic_ai.messages import ModelMessage

from hansard.agent.model_messages import HistoryReader
from hansard.ledger.hash_chain import said
from hansard.ledger.ledger import Ledger
from hansard.model.conversation import Message
from hansard.model.stored import plain_messages


class Place(NamedTuple):
    """The path up to the start of the run; `fork_from` is UNSET at the head."""

    before: list[Message]
    fork_from: Any = UNSET
    knows_last: bool = True


async def find_place(ledger: Ledger, thread_id: str, history: Sequence[ModelMessage], *, resumed: bool) -> Place:
    """The place after the common part of thread and history; messages that the thread lacks are appended.

    A history that is only the end of the thread continues at its head. The request that a run answers (`resumed`) is
    left to the run if it is new.
    """
    path = plain_messages(await ledger.aio.transcript(thread_id))
    if not history:
        return Place([], None if path else UNSET)
    given = HistoryReader(thread_id, []).read(history)
    words, known = [said(message) for message in given], [said(message) for message in path]
    if len(words) <= len(known) and known[-len(words) :] == words:
        return Place(path)
    count = 0
    while count < min(len(words), len(known)) and words[count] == known[count]:
        count += 1
    before, new = path[:count], given[count:]
    keep = 0
    if resumed and new:
        keep = len(HistoryReader(thread_id, given[: len(given) - 1][-1:]).read(history[-1:]))
        new = new[: max(0, len(new) - keep)]
    fork = UNSET if count == len(path) else before[-1].id if before else None
    if new:
        stored = plain_messages(await ledger.aio.append(thread_id, new, parent=fork))
        return Place([*before, *stored], UNSET, knows_last=not keep)
    return Place(before, fork, knows_last=not keep)
