"""Reasoning in provider messages, and its signatures, which `extra` carries for Claude and Gemini.

`extra.claude.thinking_blocks` holds Anthropic's blocks; `reasoning` repeats their text.
`extra.gemini.thought_signatures` holds the signatures of the tool calls, in order. If another part is signed, it holds
one entry for each part (reasoning, content, calls), null for unsigned ones.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import force_setattr

from hansard.formats.provider_message.content import (
    NAME,
    find_extra,
    is_text,
    put_extra,
    take_extra,
    write_part,
    write_texts,
)
from hansard.formats.residue import HINTS, SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model.hashing import opaque
from hansard.model.parts import Binding, FilePart, RawPart, ReasoningPart, TextPart, ToolCallPart

_ANTHROPIC = Binding(provider="anthropic")
_GOOGLE = Binding(provider="google")
_SEPARATORS = ("\n", "\n\n")
_SIGNED = (ReasoningPart, TextPart, FilePart, ToolCallPart)


# -- reasoning -----------------------------------------------------------------------------------------------------


def _read_block(item: Any) -> ReasoningPart | RawPart:
    if type(item) is dict:
        taken = dict(item)
        try:
            kind = take_str(taken, "type")
            if kind == "redacted_thinking":
                data = take_str(taken, "data")
                return ReasoningPart(text="", encrypted=data, binding=_ANTHROPIC, extra=pack(NAME, taken))
            if kind == "thinking":
                text, signature = take_str(taken, "thinking"), take_maybe_str(taken, "signature")
                bound = UNSET if signature is UNSET else _ANTHROPIC
                return ReasoningPart(text=text, signature=signature, binding=bound, extra=pack(NAME, taken))
        except SchemaMismatch:
            pass
    return RawPart(format=NAME, value=item, extra={NAME: {HINTS: {"at": "thinking_blocks"}}})


def _write_block(part: Any) -> Any:
    if type(part) is RawPart:
        return part.value
    rest, _ = unpack(NAME, part.extra)
    own = _made_by(part, "anthropic")
    if part.encrypted is not UNSET and own:
        return {"type": "redacted_thinking", "data": part.encrypted, **rest}
    return {
        **set_present({"type": "thinking", "thinking": part.text}, signature=part.signature if own else UNSET),
        **rest,
    }


def _made_by(part: Any, provider: str) -> bool:
    return opaque(part) and part.binding is not UNSET and part.binding.provider == provider


def _signed_by_google(part: Any) -> bool:
    """Whether the part has a signature of Google."""
    return getattr(part, "signature", UNSET) is not UNSET and _made_by(part, "google")


def read_reasoning(record: dict[str, Any], hints: dict[str, Any]) -> list[Any]:
    """Read and remove `reasoning` and the thinking blocks of a record."""
    parts: list[Any] = [_read_block(item) for item in find_extra(record, "claude", "thinking_blocks")]
    text = record.get("reasoning")
    if parts:
        take_extra(record, "claude", "thinking_blocks")
        if not any(_made_by(part, "anthropic") for part in parts):
            hints["blocks"] = True
        texts = _texts(parts)
        separator = next((separator for separator in _SEPARATORS if separator.join(texts) == text), None)
        if text == "".join(texts) and text:
            del record["reasoning"]
        elif separator is not None and text:
            hints["reasoning"] = separator
            del record["reasoning"]
        elif texts and "reasoning" not in record:
            hints["reasoning"] = "missing"
        return parts
    if type(text) is str and text:
        return [ReasoningPart(text=record.pop("reasoning"))]
    if type(text) is list and text:
        parts = [_read_entry(block) for block in record.pop("reasoning")]
        if len(parts) == 1 and parts[0].extra is UNSET:
            hints["reasoning"] = "list"
        return parts
    return []


def _read_entry(block: Any) -> ReasoningPart | RawPart:
    if is_text(block):
        rest = dict(block)
        del rest["type"]
        return ReasoningPart(text=rest.pop("text"), extra=pack(NAME, rest))
    return RawPart(format=NAME, value=block, extra={NAME: {HINTS: {"at": "reasoning"}}})


def _texts(parts: list[Any]) -> list[str]:
    return [part.text for part in parts if type(part) is ReasoningPart and part.text]


def write_reasoning(parts: list[Any], hints: dict[str, Any], out: dict[str, Any]) -> bool:
    """`reasoning`, and the thinking blocks if a part has Anthropic's signature. Returns whether there was any."""
    how = hints.get("reasoning")
    if _as_blocks(parts, hints):
        put_extra(out, "claude", "thinking_blocks", [_write_block(part) for part in parts])
        texts = _texts(parts)
        if texts and how != "missing":
            out.setdefault("reasoning", (how if how in _SEPARATORS else "").join(texts))
        return True
    reasoning = write_texts(parts, how)
    set_present(out, reasoning=reasoning)
    return reasoning is not UNSET


def _as_blocks(parts: list[Any], hints: dict[str, Any]) -> bool:
    return bool(parts) and ("blocks" in hints or any(_made_by(part, "anthropic") for part in parts))


# -- signatures ----------------------------------------------------------------------------------------------------


def read_signatures(record: dict[str, Any], parts: list[Any], hints: dict[str, Any]) -> None:
    """Assign thought signatures to the parts just read; a list that cannot be assigned stays in `extra`."""
    given = find_extra(record, "gemini", "thought_signatures")
    if not given or not all(item is None or type(item) is str for item in given):
        return
    slots = [part for part in parts if type(part) in _SIGNED and part.signature is UNSET]
    calls = [part for part in slots if type(part) is ToolCallPart]
    if len(given) == len(slots):
        places = slots
    elif len(given) <= len(calls):
        places = calls[: len(given)]
    elif len(given) == 1 and slots:
        places, hints["signatures"] = slots[-1:], "last"
    else:
        return
    for part, signature in zip(places, given, strict=True):
        if signature is not None:
            force_setattr(part, "signature", signature)
            force_setattr(part, "binding", _GOOGLE)
    if _signatures(slots, hints) == given:
        take_extra(record, "gemini", "thought_signatures")
        return
    hints.pop("signatures", None)
    for part in places:
        force_setattr(part, "signature", UNSET)
        force_setattr(part, "binding", UNSET)


def _signatures(slots: list[Any], hints: dict[str, Any]) -> list[str | None]:
    """The list of signatures for the parts."""
    signed = [part for part in slots if _signed_by_google(part)]
    if not signed:
        return []
    if hints.get("signatures") == "last" and len(signed) == 1 and signed[0] is slots[-1]:
        return [signed[0].signature]
    if all(type(part) is ToolCallPart for part in signed):
        slots = [part for part in slots if type(part) is ToolCallPart]
        while slots[-1] is not signed[-1]:
            slots.pop()
    return [part.signature if _signed_by_google(part) else None for part in slots]


def write_signatures(
    reasoning: list[Any], content: list[Any], calls: list[Any], hints: dict[str, Any], out: dict[str, Any]
) -> None:
    """Write the thought signatures of all written parts."""
    parts = [*reasoning, *content, *calls]
    if not any(_signed_by_google(part) for part in parts):
        return
    blocks = _as_blocks(reasoning, hints)
    slots = [part for part in reasoning if type(part) is not RawPart and (blocks or part.text)]
    slots = [part for part in slots if not _made_by(part, "anthropic")]
    slots += [part for part in content if type(part) is not RawPart and write_part(part) is not UNSET]
    slots += [part for part in calls if type(part) is not RawPart]
    if signatures := _signatures(slots, hints):
        put_extra(out, "gemini", "thought_signatures", signatures)
