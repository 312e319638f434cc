"""What an agent's session must have and a conversation may lack: an id of its shape, and a time for every record."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.model.conversation import Conversation
from hansard.model.parts import TextPart

NO_TIME = "1970-01-01T00:00:00.000Z"  # says that none is known


def read_time(value: Any) -> str | UnsetType:
    """The time of a record, if it has one."""
    return value if type(value) is str and value and value != NO_TIME else UNSET


def is_uuid(text: Any) -> bool:
    """Is it a UUID as they are written?"""
    from uuid import UUID

    try:
        return type(text) is str and str(UUID(text)) == text.lower()
    except ValueError:
        return False


def session_uuid(conversation: Conversation) -> str:
    """The conversation's id where that is a UUID, else always the same one for the same conversation."""
    from uuid import NAMESPACE_URL, uuid5

    if type(conversation.id) is str:
        if is_uuid(conversation.id):
            return conversation.id
        return str(uuid5(NAMESPACE_URL, "hansard:" + conversation.id.encode("utf-8", "replace").decode()))
    words = [part.text for one in conversation.messages[:2] for part in one.parts if type(part) is TextPart]
    return str(uuid5(NAMESPACE_URL, "hansard:" + "\n".join(words).encode("utf-8", "replace").decode()))
