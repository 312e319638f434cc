"""Agent Store, content format 2."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """Content with a format and parts is unique to this format."""
    records = document
    if type(document) is dict:
        records = document["messages"] if type(document.get("messages")) is list else [document]
    if type(records) is not list or not records:
        return 0
    best = 3
    for record in records[:50]:
        content = record.get("content") if type(record) is dict else None
        if type(content) is not dict or type(content.get("parts")) is not list or "role" not in record:
            return 0
        if "format" not in content:
            best = min(best, 2)
    return best


FORMAT = Format(
    name="agent-store",
    title="Agent store, content format 2",
    module=__name__,
    sniff=sniff,
    binds=True,
)
