"""Sessions of Gemini CLI."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

EVENTS = ("info", "error", "warning")
_LOOK = 64 * 1024


def sniff(document: Any) -> int:
    """Nobody else has a project's hash, these two commands, or messages of the type gemini."""
    from hansard.formats.coding_agents.gemini_cli.versions import DocumentScanner
    from hansard.formats.coding_agents.scanner import Record
    from hansard.model.exact_json import decode_record

    if type(document) is bytes:
        scanner = DocumentScanner(decode_record, is_record)
        found = [*scanner.feed(document[:_LOOK]), *scanner.finish()][:20]
        return max((_sure(one.value) for one in found if type(one) is Record), default=0)
    return _sure(document)


def is_record(value: Any) -> bool:
    """Is it a record, not an object inside one?"""
    return _sure(value) > 0


def _sure(value: Any) -> int:
    if type(value) is not dict:
        return 0
    if type(value.get("sessionId")) is str and ("projectHash" in value or type(value.get("startTime")) is str):
        return 3
    if "$rewindTo" in value or type(value.get("$set")) is dict:
        return 3
    if not is_message(value) or "content" not in value or "timestamp" not in value:
        return 0
    return 3 if value["type"] == "gemini" else 2 if value["type"] in ("user", *EVENTS) else 0


def is_message(value: Any) -> bool:
    """A record with an id and a type, which is not a session's header."""
    if type(value) is not dict or "sessionId" in value:
        return False
    return type(value.get("id")) is str and type(value.get("type")) is str


FORMAT = Format(
    name="gemini-cli",
    title="Gemini CLI sessions",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"$rewindTo", "$set", "sessionId", "timestamp"}),
    own_provider="google",
    text=True,
    verbatim=True,
    trees=True,
    coding_agent=True,
)
