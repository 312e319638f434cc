"""Thought signatures of Gemini: which parts have a signature, and the dummy that stands for a missing one.

Thoughts are text parts with `thought: true`, see `content`. A signature is base64 in either alphabet; the documented
dummies, which tell the API to skip validation, are residue and not signatures.
"""

from __future__ import annotations

import base64
from typing import Any, TypeGuard

from msgspec import UNSET, UnsetType

_DUMMY_TEXTS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_DUMMIES = {*_DUMMY_TEXTS, *(base64.b64encode(word.encode()).decode() for word in _DUMMY_TEXTS)}
DUMMY = base64.b64encode(_DUMMY_TEXTS[0].encode()).decode()
FROM_URL_SAFE = str.maketrans("-_", "+/")


def take_signature(taken: dict[str, Any]) -> str | UnsetType:
    """Take the signature; dummies and values that are not base64 stay in the part as residue."""
    value = taken.get("thoughtSignature")
    if not is_signature(value):
        return UNSET
    del taken["thoughtSignature"]
    return value


def is_signature(value: Any) -> TypeGuard[str]:
    return type(value) is str and value not in _DUMMIES and is_base64(value)


def put_signature(out: dict[str, Any], part: Any) -> dict[str, Any]:
    if is_signed(part):
        out["thoughtSignature"] = part.signature
    return out


def is_signed(part: Any) -> bool:
    return part.signature is not UNSET and is_base64(part.signature)


def is_base64(text: str) -> bool:
    """Whether the text is base64 in either alphabet, padded or not."""
    try:
        base64.b64decode(text.translate(FROM_URL_SAFE) + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return False
    return True
