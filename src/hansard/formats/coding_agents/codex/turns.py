"""Turns of a Codex rollout, and a tree of messages as a list with rollbacks."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from hansard.model.conversation import Conversation, Message
from hansard.model.parts import TextPart
from hansard.model.tree import active_path, parents

# Codex itself inserts user messages that begin like this: they do not start a turn.
_CONTEXT = (
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<environment_context>",
    "<skill>",
    "<user_shell_command>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<hook_prompt",
    "<recommended_plugins>",
    "<goal_context>",
    "<codex_internal_context ",
    "<external_",
)


def is_turn(parts: list[Any]) -> bool:
    """Whether a user message with these parts starts a turn."""
    return not any(type(part) is TextPart and part.text.lstrip().startswith(_CONTEXT) for part in parts)


# -- rollbacks -----------------------------------------------------------------------------


class Path:
    """The messages written so far, without those rolled back."""

    def __init__(self) -> None:
        self.indices: list[int] = []
        self.places: dict[int, int] = {}  # of messages in `indices`
        self.turns: list[int] = []  # places in `indices` where a turn begins

    def back_to(self, parent: int | None) -> int | None:
        """How many turns to drop so that `parent` is the last message; None if a rollback cannot express it."""
        place = 0 if parent is None else self.places.get(parent, -2) + 1
        if place == len(self.indices):
            return 0
        turn = bisect_left(self.turns, place)
        if turn == len(self.turns) or self.turns[turn] != place:
            return None
        for dropped in self.indices[place:]:
            del self.places[dropped]
        number = len(self.turns) - turn
        del self.indices[place:], self.turns[turn:]
        return number

    def add(self, i: int, message: Message) -> None:
        if message.role == "user" and is_turn(message.parts) and not compacts(message):
            self.turns.append(len(self.indices))
        self.places[i] = len(self.indices)
        self.indices.append(i)


def compacts(message: Message) -> bool:
    """Whether the message is a compaction and nothing else."""
    return len(message.parts) == 1 and message.parts[0].__struct_config__.tag == "compaction"


def steps(conversation: Conversation) -> list[tuple[int, int | None]]:
    """What to write: `(turns to drop first, message)`; at the end perhaps `(turns, None)`.

    Every branch if rollbacks can express it, else the active path only.
    """
    messages = conversation.messages
    active = active_path(conversation)
    if active == list(range(len(messages))):
        return [(0, i) for i in active]
    links, wanted = parents(messages), set(active)
    path, found = Path(), []
    for i, message in enumerate(messages):
        number = path.back_to(links[i])
        if number is None:
            if i in wanted:
                return [(0, i) for i in active]
            continue
        found.append((number, i))
        path.add(i, message)
    last = path.back_to(active[-1]) if active else 0
    if last is None or path.indices != active:
        return [(0, i) for i in active]
    return [*found, (last, None)] if last else list(found)
