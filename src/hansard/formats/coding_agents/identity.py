"""What an agent's session must have and a conversation may lack: an id of its shape, and a time for every record."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.model.conversation import Conversation
from hansard.model.parts import TextPart

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ADDRESSES = bytes.fromhex("6ba7b8119dad11d180b400c04fd430c8")
NO_TIME = "1970-01-01T00:00:00.000Z"  # says that none is known


def read_time(value: Any) -> str | UnsetType:
    """The time of a record, if it has one."""
    return value if type(value) is str and value and value != NO_TIME else UNSET


def is_uuid(text: Any) -> bool:
    """Is it a UUID as they are written?"""
    return type(text) is str and UUID.fullmatch(text.lower()) is not None


def _uuid5(words: str) -> str:
    """The UUID (version 5, of an address) that is always the same for the same words."""
    digest = hashlib.sha1(_ADDRESSES + words.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    variant = f"{int(digest[16], 16) & 3 | 8:x}"
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def session_uuid(conversation: Conversation) -> str:
    """The conversation's id where that is a UUID, else always the same one for the same conversation."""
    if type(conversation.id) is str:
        if is_uuid(conversation.id):
            return conversation.id
        return _uuid5("hansard:" + conversation.id)
    words = [part.text for one in conversation.messages[:2] for part in one.parts if type(part) is TextPart]
    return _uuid5("hansard:" + "\n".join(words))


def made_uuid(*of: Any) -> str:
    """A UUID (version 8) that is always the same for the same values.

    >>> made_uuid(0)
    '5feceb66-ffc8-8f38-9952-786c6d696c79'
    """
    digest = hashlib.sha256("/".join(map(str, of)).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-9{digest[17:20]}-{digest[20:32]}"


def is_made(uuid: str, *of: Any) -> bool:
    """Was this UUID made of these values?"""
    return uuid[14:15] == "8" and uuid == made_uuid(*of)
