"""ModelMessages of Pydantic AI and its events."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """Nobody else has requests and responses with parts in one list."""
    if type(document) is not list or not document or not all(type(record) is dict for record in document):
        return 0
    known = sum(
        record.get("kind") in ("request", "response") and type(record.get("parts")) is list for record in document
    )
    if not known or any(type(record.get("kind")) is not str for record in document):
        return 0
    return 3 if known == len(document) else 2


FORMAT = Format(
    name="pydantic-ai",
    title="Pydantic AI message history",
    module=__name__,
    sniff=sniff,
    keys=frozenset(),
    profiles=("2.62", "2.66"),
    binds=True,
    strict_unicode=True,
    why={
        "finishReason": "Pydantic AI refuses a history with a finish reason it does not know",
        "agentId": "Pydantic AI messages do not say which agent they are of",
        "createdAt": "Pydantic AI takes only dates and times of ISO 8601",
    },
)
