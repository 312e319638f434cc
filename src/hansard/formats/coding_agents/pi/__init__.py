"""Sessions of pi."""

from __future__ import annotations

from itertools import islice
from typing import Any

from hansard.formats.contract import Format

_KINDS = frozenset({"message", "model_change", "thinking_level_change", "compaction", "branch_summary", "custom"})
_KINDS |= {"custom_message", "label", "session_info", "context_transform", "ephemeral"}


def sniff(document: Any) -> int:
    """pi's header comes first."""
    from hansard.formats.coding_agents.scanner import Record, Scanner

    found: Any = document[:1] if type(document) is list else [document]
    if type(document) is bytes:
        found = (one.value for one in islice(Scanner(whole=is_record).feed(document), 20) if isinstance(one, Record))
    return max(map(_sure, found), default=0)


def is_record(value: Any) -> bool:
    """Is this object an entry, not a part of one?"""
    kind = value.get("type") if type(value) is dict else None
    return type(kind) is str and (kind == "session" or (kind in _KINDS and "timestamp" in value))


def _sure(entry: Any) -> int:
    if type(entry) is not dict or type(entry.get("type")) is not str:
        return 0
    if entry["type"] == "session":
        return 3 if type(entry.get("id")) is str and "timestamp" in entry and "cwd" in entry else 0
    if entry["type"] == "message" and type(entry.get("message")) is dict and "timestamp" in entry:
        return 2 if type(entry["message"].get("role")) is str and "uuid" not in entry else 0
    return 0


FORMAT = Format(
    name="pi",
    title="pi session files",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"timestamp"}),
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
)
