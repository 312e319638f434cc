"""What the Gemini API accepts: parts by role, names of functions, media types, the order of turns."""

from __future__ import annotations

from hansard.formats.gemini.fields import PROVIDER
from hansard.formats.gemini.tools import NAME_PATTERN
from hansard.formats.rules.conform import Rules
from hansard.model.parts import FilePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

_TEXT_OR_FILE = frozenset({TextPart, FilePart})
RULES = Rules(
    provider=PROVIDER,
    parts={
        "system": frozenset({TextPart}),
        "user": _TEXT_OR_FILE,
        "assistant": frozenset({TextPart, ReasoningPart, ToolCallPart, ToolResultPart, FilePart}),
        "tool": frozenset({ToolResultPart}),
    },
    name_pattern=NAME_PATTERN,
    ids=False,
    object_input=True,
    unsigned_reasoning=True,
    media=frozenset({"image/", "audio/", "video/", "application/pdf", "text/"}),
    linked=frozenset({"image/", "audio/", "video/", "application/pdf", "text/", ""}),
    base64=True,
    result_parts=_TEXT_OR_FILE,
    mid_system="never",
    merges=frozenset({"user"}),
    first_user=True,
)
