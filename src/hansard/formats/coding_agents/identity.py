"""Ids and times that an agent requires and a conversation may lack: derived from its content, never random."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.model.conversation import Conversation
from hansard.model.parts import TextPart

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NAMESPACE_URL = bytes.fromhex("6ba7b8119dad11d180b400c04fd430c8")
NO_TIME = "1970-01-01T00:00:00.000Z"  # written where none is known
NO_SESSION = "00000000-0000-8000-8000-000000000000"  # the same for the id of a session


def read_time(value: Any) -> str | UnsetType:
    """The time of a record, if it has one."""
    return value if type(value) is str and value and value != NO_TIME else UNSET


def write_time(value: str | UnsetType) -> str:
    """The time to write into a record."""
    return NO_TIME if value is UNSET else value


def first_time(conversation: Conversation) -> str:
    """The time a conversation began: its own, else that of its first message with one."""
    if conversation.created_at is not UNSET:
        return conversation.created_at
    times = (one.created_at for one in conversation.messages if one.created_at is not UNSET)
    return next(times, NO_TIME)


def is_uuid(text: Any) -> bool:
    """Whether a value is a UUID in its usual spelling."""
    return type(text) is str and UUID.fullmatch(text.lower()) is not None


def _uuid5(name: str) -> str:
    """The UUID (version 5, namespace URL) of a name."""
    digest = hashlib.sha1(_NAMESPACE_URL + name.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    variant = f"{int(digest[16], 16) & 3 | 8:x}"
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def session_uuid(conversation: Conversation) -> str:
    """The conversation's id if that is a UUID, else one derived from its id or its first messages."""
    if type(conversation.id) is str:
        if is_uuid(conversation.id):
            return conversation.id
        return _uuid5("hansard:" + conversation.id)
    texts = [part.text for one in conversation.messages[:2] for part in one.parts if type(part) is TextPart]
    return _uuid5("hansard:" + "\n".join(texts))


def _digest(*values: Any) -> str:
    return hashlib.sha256("/".join(map(str, values)).encode("utf-8", "surrogatepass")).hexdigest()


def derived_hex(*values: Any) -> str:
    """Sixteen hexadecimal digits, always the same for the same values."""
    return _digest(*values)[:16]


def derived_uuid(*values: Any) -> str:
    """A UUID (version 8) that is always the same for the same values.

    >>> derived_uuid(0)
    '5feceb66-ffc8-8f38-9952-786c6d696c79'
    """
    digest = _digest(*values)
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-9{digest[17:20]}-{digest[20:32]}"


def valid_uuid(given: str) -> str:
    """The id itself if it is a UUID, else a UUID derived from it."""
    return given if UUID.fullmatch(given) else derived_uuid("id", given)


def is_derived(uuid: str, *values: Any) -> bool:
    """Whether `derived_uuid` gives this UUID for these values."""
    return uuid[14:15] == "8" and uuid == derived_uuid(*values)
