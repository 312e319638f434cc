"""Versions of the native schema: `metadata.schemaVersion` of a message.

The whole part is the major version. Older versions are upgraded here, one function per step; a newer version is read,
what this release does not know of it is kept as unknown fields, and it is written back unchanged. `finding` is what
`validate` reports.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from msgspec import UNSET

CURRENT = 1


def finding(version: Any) -> tuple[str, str, str] | None:
    """Severity, problem and fix of a version; None for one that this release reads completely."""
    fix = 'write the version as a number, "metadata": {"schemaVersion": 1}'
    if version is UNSET:
        return "error", "the message has no schema version", fix
    if isinstance(version, bool) or not isinstance(version, int | float | Decimal):
        return "error", f"the schema version {version!r} is not a number", fix
    if int(version) > CURRENT:
        problem = f"schema version {version} is newer than {CURRENT}, the newest this release knows"
        return "warning", problem, "upgrade with `pip install -U hansard`; what it does not know is kept"
    return None


def upgrade(message: Any) -> Any:
    """Upgrade a message of an older version to the current one; others pass unchanged."""
    if type(message) is not dict or type(message.get("metadata")) is not dict:
        return message
    version = message["metadata"].get("schemaVersion")
    for step in range(version, CURRENT) if type(version) is int and version >= 0 else ():
        message = _UPGRADES[step](message)
    return message


def downgrade(message: dict[str, Any], version: Any) -> dict[str, Any]:
    """Write a message in the older version it was read from."""
    if version == 0 and type(version) is int and message.get("metadata", {}).get("v0"):
        parts = message["parts"]
        metadata = {key: value for key, value in message["metadata"].items() if key != "v0"}
        if len(parts) == 1 and set(parts[0]) == {"type", "text"} and parts[0]["type"] == "text":
            rest = {key: value for key, value in message.items() if key != "parts"}
            return {**rest, "content": parts[0]["text"], "metadata": metadata}
    return message


def _from_0(message: dict[str, Any]) -> dict[str, Any]:
    """Version 0, the draft: `content` was a string where version 1 has parts."""
    if type(message.get("content")) is not str or "parts" in message:
        return message
    rest = {key: value for key, value in message.items() if key != "content"}
    return {
        **rest,
        "parts": [{"type": "text", "text": message["content"]}],
        "metadata": {**message["metadata"], "v0": True},
    }


_UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {0: _from_0}
