"""Conversation to turns and back: user turns and agent runs.

The messages of one run are one agent turn. User and system messages at the start of a run are user turns before it.
Messages without a run are grouped the same way: a user turn for each user message, then one agent turn for the messages
after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hansard.model.conversation import Conversation, Message, Run

_ASKING = ("system", "developer", "user")


class Turn(Struct, frozen=True, kw_only=True):
    """`kind` is user or agent; an agent turn may name the run it is. `start` is the index of its first message."""

    kind: str
    messages: list[Message]
    run: Run | None = None
    start: int = 0


def _by_role(message: Message) -> str | None:
    return None


def turns(conversation: Conversation, place: Callable[[Message], str | None] = _by_role) -> list[Turn]:
    """Turns of a conversation, in order. `place` may override the kind of turn for a message: `user` or `agent`, or
    `same` for the turn before it.

    >>> from hansard.model import TextPart
    >>> say = lambda role, **more: Message(role=role, parts=[TextPart(text=role)], **more)
    >>> talk = [say("user"), say("assistant"), say("tool"), say("user", run_id="r1"), say("assistant", run_id="r1")]
    >>> [(turn.kind, len(turn.messages), turn.run is not None) for turn in turns(Conversation(messages=talk))]
    [('user', 1, False), ('agent', 2, False), ('user', 1, False), ('agent', 1, True)]
    """
    runs = {run.id: run for run in conversation.runs} if conversation.runs is not UNSET else {}
    found: list[Turn] = []
    for i, message in enumerate(conversation.messages):
        run = _run_of(message, runs)
        last = found[-1] if found else None
        where = place(message)
        if where == "same" and last is not None:
            last.messages.append(message)
            continue
        same = last is not None and last.kind == "agent" and _id(last.run) == _id(run)
        asking = message.role in _ASKING and not (same and run is not None) if where is None else where == "user"
        if asking:
            found.append(Turn(kind="user", messages=[message], start=i))
        elif same and last is not None:
            last.messages.append(message)
        else:
            found.append(Turn(kind="agent", messages=[message], run=run, start=i))
    return found


def from_turns(given: Iterable[Turn]) -> tuple[list[Message], list[Run]]:
    """Messages of turns, each with the id of its run, and the runs.

    >>> from hansard.model import TextPart
    >>> answer = Message(role="assistant", parts=[TextPart(text="hi")])
    >>> messages, runs = from_turns([Turn(kind="agent", messages=[answer], run=Run(id="turn-1"))])
    >>> messages[0].run_id, runs[0].id
    ('turn-1', 'turn-1')
    """
    messages: list[Message] = []
    runs: list[Run] = []
    for turn in given:
        if turn.run is None:
            messages += turn.messages
            continue
        runs.append(turn.run)
        messages += [replace(message, run_id=turn.run.id) for message in turn.messages]
    return messages, runs


def _run_of(message: Message, runs: dict[str, Run]) -> Run | None:
    """Run of a message; a run that the conversation does not list gets its id and agent."""
    if type(message.run_id) is not str:
        return None
    if message.run_id not in runs:
        runs[message.run_id] = Run(id=message.run_id, agent_id=message.agent_id)
    return runs[message.run_id]


def _id(run: Run | None) -> str | None:
    return run.id if run is not None else None
