"""Sessions of Claude Code."""

from __future__ import annotations

from itertools import islice
from typing import Any

from hansard.formats.contract import Format

_SESSIONS = frozenset({"sessionId", "session_id"})
_OF_THE_API = frozenset({"tool_use", "tool_result", "thinking"})
_LINES = frozenset({"user", "assistant", "system", "progress", "attachment"})
_NOTES = frozenset({"queue-operation", "pr-link", "permission-mode", "ai-title", "custom-title", "last-prompt"})


def sniff(document: Any) -> int:
    """Lines with Claude Code's own envelope are certain."""
    from hansard.formats.coding_agents.scanner import Record, Scanner

    if type(document) is bytes:
        first = islice(Scanner(whole=is_record).feed(document), 40)
        return max((_sure(one.value) for one in first if isinstance(one, Record)), default=0)
    return max(map(_sure, document[:20] if type(document) is list else [document]), default=0)


def is_record(value: Any) -> bool:
    """Is this object a record, not a part of one? Progress holds the lines of sub-agents, without their session."""
    if type(value) is dict and value.get("type") in ("user", "assistant") and _SESSIONS.isdisjoint(value):
        return False
    return _sure(value) > 1


def _sure(record: Any) -> int:
    kind = record.get("type") if type(record) is dict else None
    if type(kind) is not str:
        return 0
    if kind == "summary":
        return 2 if "leafUuid" in record and type(record.get("summary")) is str else 0
    if kind == "file-history-snapshot":
        return 3 if type(record.get("snapshot")) is dict else 0
    if kind in _LINES and type(record.get("uuid")) is str and "parentUuid" in record and "sessionId" in record:
        if "userType" in record or "cwd" in record:
            return 3
    if kind in ("user", "assistant") and type(record.get("message")) is dict and "context" not in record:
        return _sure_of(record, record["message"], kind)
    if kind == "system" and record.get("subtype") == "init" and type(record.get("session_id")) is str:
        return 3 if type(record.get("tools")) is list else 0
    return 2 if kind in _NOTES and "sessionId" in record else 0


def _sure_of(record: dict[str, Any], body: dict[str, Any], kind: str) -> int:
    """Lines that say less, as programs write them: certain where the message is one of the API."""
    from hansard.formats.coding_agents.identity import is_uuid

    content: Any = body.get("content")
    if (
        body.get("role", kind) != kind
        or type(content) not in (str, list)
        or "toolCalls" in body
        or "toolResults" in record
    ):
        return 0
    blocks = {str(block.get("type")) for block in content if type(block) is dict}
    if body.get("type") == "message" or blocks & _OF_THE_API:
        return 3
    return 2 if is_uuid(record.get("sessionId", record.get("session_id"))) else 1


FORMAT = Format(
    name="claude-code",
    title="Claude Code session files",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"leafUuid", "sessionId", "session_id", "snapshot"}),
    own_provider="anthropic",
    why={
        "id": "Claude Code's ids are UUIDs: one is made of it",
        "parentMessageId": "Claude Code's ids are UUIDs: one is made of it",
    },
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
)
