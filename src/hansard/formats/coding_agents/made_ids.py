"""Ids for what has none: always the same for the same values, and known again by their look."""

from __future__ import annotations

import hashlib
from typing import Any


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
