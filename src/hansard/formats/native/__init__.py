"""Hansard's own JSON: a conversation as one object, or as JSON lines with a header.

The types and their JSON are in `model`; `messages` reads and writes whole documents. Lossless. May import: `model`, the
core of `formats`. The JSON is what `hansard schema` prints and what others have stored: fields may be added, and
unknown ones are kept, but none may change its meaning. Free to change: everything else.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hansard.formats.contract import Format


def sniff(document: Any) -> int:
    """Messages with native parts; what only native ones have makes it certain."""
    from hansard.model import native
    from hansard.model.conversation import Conversation

    if isinstance(document, bytes):
        return _sniff_lines(document)
    values = document.get("messages", [document]) if type(document) is dict else document
    if type(values) is not list or not values:
        return 1 if type(document) is dict and document and document.keys() <= native.names(Conversation).keys() else 0
    certain = False
    for value in values:
        if type(value) is not dict or type(value.get("role")) is not str:
            return 0
        metadata, parts = value.get("metadata"), value.get("parts")
        if (type(metadata) is dict and "schemaVersion" in metadata) or "parentMessageId" in value:
            certain = True
        elif type(parts) is not list or not all(map(_is_native, parts)):
            return 3 if certain and type(parts) is list else 0
    return 3 if certain else 1


def _is_native(part: Any) -> bool:
    kind = part.get("type") if type(part) is dict else None
    return type(kind) is str and kind in _types() and (kind != "text" or "text" in part)


def _sniff_lines(raw: bytes) -> int:
    from hansard.errors import Unreadable
    from hansard.formats.native.messages import split
    from hansard.model import exact_json

    if len(many := split(raw)) > 1:
        return sniff(exact_json.decode(many[0]))
    lines = [line for line in raw[:65536].split(b"\n") if line.strip()][:3]
    try:
        values = [exact_json.decode(line) for line in lines]
    except Unreadable:
        return 0
    if values and type(values[0]) is dict and "parts" not in values[0] and "role" not in values[0]:
        values = values[1:]
    return sniff(values)


@cache
def _types() -> frozenset[str]:
    from hansard.model.parts import PART_TYPES

    return frozenset(str(kind.__struct_config__.tag) for kind in PART_TYPES)


FORMAT = Format(
    name="hansard",
    title="Hansard's own JSON and JSON lines",
    module=__name__,
    sniff=sniff,
    text=True,
    trees=True,
)
