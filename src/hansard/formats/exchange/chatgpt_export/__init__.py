"""The data export of ChatGPT."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

CAPTURED = "raw_provider_payload"


def sniff(document: Any) -> int:
    """A mapping of nodes is unique to this export."""
    records = document[:3] if type(document) is list else [document]
    for record in records:
        if is_capture(record):
            record = record[CAPTURED]
        mapping = record.get("mapping") if type(record) is dict else None
        if type(mapping) is not dict or not all(type(node) is dict and "message" in node for node in mapping.values()):
            return 0
    return 3 if records else 0


def is_capture(document: Any) -> bool:
    """Whether it is a capture of a browser extension, with the conversation inside."""
    return type(document) is dict and "mapping" not in document and type(document.get(CAPTURED)) is dict


FORMAT = Format(
    name="chatgpt-export",
    title="ChatGPT's data export, conversations.json",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"mapping", "raw_provider_payload"}),
    item_keys=frozenset({"mapping", "raw_provider_payload"}),
    trees=True,
)
