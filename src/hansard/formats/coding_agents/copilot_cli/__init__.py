"""Event logs of Copilot CLI."""

from __future__ import annotations

from itertools import islice
from typing import Any

from hansard.formats.contract import Format

_OWNERS = frozenset({"session", "system", "user", "assistant", "tool", "hook", "permission"})


def sniff(document: Any) -> int:
    """Events with dotted types."""
    from hansard.formats.coding_agents.scanner import Record, Scanner

    found: Any = document[:20] if type(document) is list else [document]
    if type(document) is bytes:
        found = (one.value for one in islice(Scanner(whole=is_record).feed(document), 20) if isinstance(one, Record))
    return max(map(_sure, found), default=0)


def is_record(value: Any) -> bool:
    """Is this object an event, not a part of one?"""
    return type(value) is dict and type(value.get("type")) is str and "data" in value and "parentId" in value


def _sure(event: Any) -> int:
    if not is_record(event) or type(event["data"]) is not dict or "." not in event["type"]:
        return 0
    return 3 if event["type"].partition(".")[0] in _OWNERS and "timestamp" in event else 1


FORMAT = Format(
    name="copilot-cli",
    title="GitHub Copilot CLI event logs",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"parentId"}),
    text=True,
    verbatim=True,
    trees=True,
)
