"""What the Messages API accepts."""

from __future__ import annotations

from hansard.formats.rules.conform import Rules
from hansard.model.parts import CompactionPart, FilePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

_SAID = frozenset({TextPart, FilePart})
RULES = Rules(
    provider="anthropic",
    parts={
        "system": frozenset({TextPart}),
        "user": _SAID,
        "assistant": frozenset({TextPart, ReasoningPart, ToolCallPart, ToolResultPart}),
        "tool": frozenset({ToolResultPart}),
    },
    id_pattern=r"[a-zA-Z0-9_-]+",
    name_pattern=r"[a-zA-Z0-9_-]{1,128}",
    object_input=True,
    own_parts=frozenset({CompactionPart}),
    media=frozenset({"image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf", "text/plain"}),
    linked=frozenset({"image/", "application/pdf"}),
    result_parts=_SAID,
    mid_system="after-user",
    joins_system=True,
    merges=frozenset({"user", "assistant"}),
    shares_results=True,
    first_user=True,
)
