"""Sessions of Sage."""

from __future__ import annotations

from itertools import islice
from typing import Any

from hansard.formats.contract import Format

_KINDS = ("user", "assistant", "system", "tool_result")


def sniff(document: Any) -> int:
    """Records with Sage's own objects are certain; lines of the older shape are possible."""
    from hansard.formats.coding_agents.sage.records import is_older, is_record
    from hansard.formats.coding_agents.sage.session import pieces_of

    if type(document) is bytes:
        found = [piece.value for piece in islice(pieces_of(document), 20) if type(piece.value) is dict]
        older = any(map(is_older, found)) and all(map(is_record, found))
        return max(map(_sure, found), default=0) or int(older)
    found = document[:20] if type(document) is list else [document]
    return max(map(_sure, found), default=0)


def _sure(record: Any) -> int:
    from hansard.formats.coding_agents.identity import is_uuid

    kind = record.get("type") if type(record) is dict else None
    if kind == "file_history_snapshot":
        return 3 if "messageId" in record else 0
    if type(kind) is not str or kind not in _KINDS or type(record.get("uuid")) is not str:
        return 0
    if type(record.get("toolResults")) is list or type(record.get("context")) is dict:
        return 3
    if type(record.get("message")) is not dict or "cwd" in record or "userType" in record:
        return 0
    claude_s = is_uuid(record.get("sessionId")) and "toolCalls" not in record["message"]  # its lines may look so too
    return 1 if claude_s else 2


FORMAT = Format(
    name="sage",
    title="Sage session files",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"messageId", "uuid"}),
    text=True,
    trees=True,
    verbatim=True,
    coding_agent=True,
)
