"""What the Responses API accepts: parts by role, ids and names of calls, media types, what reasoning is bound to."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.openai_responses.content import NAME, PROVIDER
from hansard.formats.residue import pack, unpack
from hansard.formats.rules.conform import Rules
from hansard.model import parts as p


def _unbound(part: p.Part) -> p.Part | None:
    """The part to write once its reasoning was dropped: OpenAI rejects ids of items without their reasoning."""
    kind = type(part)
    rest, hints = unpack(NAME, part.extra)
    if isinstance(part, p.RawPart):
        value: Any = part.value
        gone = {"item", "same"} & hints.keys() or (type(value) is dict and value.get("type") == "item_reference")
        return None if gone else part
    if getattr(part, "provider_executed", UNSET) is True:
        return None
    if kind is p.TextPart and {"item", "same"} & hints.keys():
        item = hints.get("item")
        phase = {"phase": item["phase"]} if type(item) is dict and "phase" in item else None
        return replace(part, extra=pack(NAME, {}, {"easy": phase} if phase else None))
    if kind is p.ToolCallPart and "id" in rest and hints.get("type") not in ("computer_call", "local_shell_call"):
        del rest["id"]
        return replace(part, extra=pack(NAME, rest, hints))
    return part


_TEXT_OR_FILE = frozenset({p.TextPart, p.FilePart})
RULES = Rules(
    provider=PROVIDER,
    developer="developer",
    parts={
        "system": _TEXT_OR_FILE,
        "developer": _TEXT_OR_FILE,
        "user": _TEXT_OR_FILE,
        "assistant": frozenset({p.TextPart, p.ReasoningPart, p.ToolCallPart, p.ToolResultPart}),
        "tool": frozenset({p.ToolResultPart}),
    },
    own_reasoning=True,
    own_parts=frozenset({p.RefusalPart, p.CompactionPart}),
    id_pattern=r".{1,64}",
    name_pattern=r"[a-zA-Z0-9_-]{1,64}",
    empty_text=True,
    media=frozenset({"image/", "application/", "text/"}),
    result_parts=_TEXT_OR_FILE,
    leading_reasoning=True,
    unbound=_unbound,
)
