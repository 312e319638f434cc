"""Spans and events of OpenTelemetry's GenAI conventions."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_TOP_LEVEL_KEYS = frozenset({"resourceSpans", "resourceLogs", "attributes", "spans", "logRecords"})
_DISTINCTIVE_TYPES = frozenset({"tool_call", "tool_call_response", "blob", "uri"})
_TEXT_TYPES = frozenset({"text", "reasoning", "thinking"})


def sniff(document: Any) -> int:
    """Attributes of generative AI with messages are unique to this format."""
    if is_bare(document):
        return 3
    first = document[0] if type(document) is list and document else document
    if type(first) is not dict or _TOP_LEVEL_KEYS.isdisjoint(first):
        return 0
    from hansard.formats.exchange.otel_genai.messages import INPUT, OUTPUT, records_in

    for record in records_in(document, []):
        if INPUT in record.attributes or OUTPUT in record.attributes:
            return 3
    return 0


def is_bare(document: Any) -> bool:
    """Whether it is a list of messages with at least one part that only these conventions spell so."""
    if type(document) is not list or not all(type(item) is dict and type(item.get("role")) is str for item in document):
        return False
    parts = [part for item in document for part in _parts(item)]
    if not parts or not all(type(part) is dict and type(part.get("type")) is str for part in parts):
        return False
    return any(
        part["type"] in _DISTINCTIVE_TYPES or (part["type"] in _TEXT_TYPES and "content" in part and "text" not in part)
        for part in parts
    )


def _parts(item: dict[str, Any]) -> list[Any]:
    parts = item.get("parts")
    return parts if type(parts) is list else [None]


FORMAT = Format(
    name="otel-genai",
    title="OpenTelemetry spans of generative AI",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"resourceSpans", "resourceLogs", "attributes", "spans", "logRecords"}),
    item_keys=frozenset({"resourceSpans", "resourceLogs", "attributes", "spans", "logRecords", "parts"}),
)
