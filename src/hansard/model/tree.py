"""The tree of messages and its active path.

A message without `parent_message_id` follows the message before it in the list.
"""

from __future__ import annotations

from msgspec import UNSET

from hansard.model.conversation import Conversation, Message


def parents(messages: list[Message]) -> list[int | None]:
    """Index of each message's parent; None for a root or a missing parent."""
    index: dict[str, int] = {}
    found: list[int | None] = []
    for i, message in enumerate(messages):
        parent = message.parent_message_id
        if parent is UNSET:
            found.append(i - 1 if i else None)
        else:
            found.append(index.get(parent) if isinstance(parent, str) else None)
        if isinstance(message.id, str):
            index[message.id] = i
    return found


def is_linear(messages: list[Message]) -> bool:
    """Whether each message follows the one before it."""
    if all(message.parent_message_id is UNSET for message in messages):
        return True
    return all(parent == (i - 1 if i else None) for i, parent in enumerate(parents(messages)))


def active_path(conversation: Conversation) -> list[int]:
    """Indices of the messages from the root to the head; without a head, to the last message outside sidechains.

    A linear conversation whose head is its last message (or unset) gives every index.
    """
    messages = conversation.messages
    head = len(messages) - 1
    if isinstance(conversation.head, str):
        head = next((i for i, message in enumerate(messages) if message.id == conversation.head), head)
    if head == len(messages) - 1 and is_linear(messages):
        return list(range(len(messages)))
    if conversation.head is UNSET:
        head = next((i for i in range(head, -1, -1) if messages[i].sidechain is not True), head)
    links = parents(messages)
    path: list[int] = []
    at: int | None = head
    while at is not None and at >= 0:
        path.append(at)
        at = links[at]
    return path[::-1]
