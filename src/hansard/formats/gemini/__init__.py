"""generateContent of Gemini."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

ROLES = {"user": "user", "model": "assistant", "function": "user", "tool": "user", "system": "system"}
_RESPONSE_ONLY = frozenset({"promptFeedback", "usageMetadata", "modelVersion"})


def sniff(document: Any) -> int:
    """Only Gemini has `contents` of `parts` without types, a role `model`, and candidates."""
    if type(document) is dict and "contents" not in document:
        first = document.get("candidates")
        candidate = first[0] if type(first) is list and first else None
        if type(candidate) is dict and any(key in candidate for key in ("content", "finishReason", "finish_reason")):
            return 3
        return 0 if _RESPONSE_ONLY.isdisjoint(document) else 2
    contents = document.get("contents") if type(document) is dict else document
    if type(contents) is str and type(document) is dict:
        return 1
    if type(contents) is dict:
        contents = [contents]
    if type(contents) is not list:
        return 0
    roles = set()
    for record in contents:
        if type(record) is str and type(document) is dict:
            continue
        if type(record) is not dict or "kind" in record or "content" in record:
            return 0
        role, parts = record.get("role"), record.get("parts")
        if (record and not ("parts" in record or "role" in record)) or type(parts or []) is not list:
            return 0
        if role is not None and (type(role) is not str or (role not in ROLES and type(document) is not dict)):
            return 0
        if any(type(part) is dict and ("type" in part or "part_kind" in part) for part in parts or ()):
            return 0
        roles.add(role if parts else None)
    if type(document) is dict:
        return 3 if contents else 2
    return 3 if "model" in roles else 2 if "user" in roles else 0


FORMAT = Format(
    name="gemini",
    title="Gemini generateContent (Content)",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"candidates", "contents", "modelVersion", "promptFeedback", "usageMetadata"}),
    binds=True,
    own_provider="google",
)
