"""What Chat Completions accept; fine-tuning files have the same rules."""

from __future__ import annotations

from hansard.formats.openai_chat.content import PROVIDER, SOUND_FORMATS
from hansard.formats.rules.conform import Rules
from hansard.model.parts import FilePart, RefusalPart, TextPart, ToolCallPart, ToolResultPart

RULES = Rules(
    provider=PROVIDER,
    developer="developer",
    parts={
        "system": frozenset({TextPart}),
        "developer": frozenset({TextPart}),
        "user": frozenset({TextPart, FilePart}),
        "assistant": frozenset({TextPart, RefusalPart, ToolCallPart}),
        "tool": frozenset({ToolResultPart}),
    },
    id_pattern=r".{1,64}",
    empty_text=True,
    media=frozenset({"image/", *SOUND_FORMATS, "application/pdf"}),
    linked=frozenset({"image/"}),
    result_parts=frozenset({TextPart}),
)
