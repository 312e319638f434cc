"""Reasoning and compaction items of the Responses API, whose encrypted content only OpenAI can read.

canonical                         native
reasoning                         reasoning: its summaries (or its content) joined, encrypted_content
compaction                        compaction
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.openai_responses.content import NAME
from hansard.formats.openai_responses.tools import Calls, Fields
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, take_str
from hansard.model.parts import CompactionPart, Part, ReasoningPart

_SEPARATOR = "\n\n"


def read_reasoning(kind: str, item: Fields, calls: Calls) -> list[Part]:
    hints: Fields = {}
    if "summary" not in item:
        hints["bare"] = True
    texts = _texts(item.pop("summary", []), "summary_text")
    if not texts and item.get("content"):
        texts, hints["content"] = _texts(item.pop("content"), "reasoning_text"), True
    if len(texts) > 1 or texts == [""]:
        hints["cuts"] = [len(text) for text in texts]
    if "id" not in item:
        hints["anonymous"] = True
    elif item["id"] == "":
        del item["id"]
    encrypted = take_maybe_str(item, "encrypted_content")
    return [ReasoningPart(text=_SEPARATOR.join(texts), encrypted=encrypted, extra=pack(NAME, item, hints))]


def _texts(entries: Any, kind: str) -> list[str]:
    """The texts of entries that have only this type and a text."""
    if type(entries) is not list:
        raise SchemaMismatch(kind)
    for entry in entries:
        if type(entry) is not dict or entry.keys() != {"type", "text"} or entry["type"] != kind:
            raise SchemaMismatch(kind)
        if type(entry["text"]) is not str:
            raise SchemaMismatch(kind)
    return [entry["text"] for entry in entries]


def _cut(text: str, cuts: Any) -> list[str]:
    """Split a joined text at the lengths that were read; one text if they do not fit."""
    if type(cuts) is list and all(type(length) is int for length in cuts):
        texts, at = [], 0
        for length in cuts:
            texts.append(text[at : at + length])
            at += length + len(_SEPARATOR)
        if _SEPARATOR.join(texts) == text:
            return texts
    return [text] if text else []


def write_reasoning(part: ReasoningPart, rest: Fields, hints: Fields, calls: Calls) -> Fields:
    texts = _cut(part.text, hints.get("cuts"))
    out: Fields = {"type": "reasoning"}
    if "anonymous" not in hints:
        out["id"] = part.id if type(part.id) is str and part.id.startswith("rs_") else ""
    if "content" in hints:
        out["content"] = [{"type": "reasoning_text", "text": text} for text in texts]
        texts = []
    if texts or "bare" not in hints:
        out["summary"] = [{"type": "summary_text", "text": text} for text in texts]
    encrypted = part.encrypted if part.encrypted is not UNSET else part.signature
    return {**set_present(out, encrypted_content=encrypted), **rest}


def read_compaction(kind: str, item: Fields, calls: Calls) -> list[Part]:
    return [CompactionPart(encrypted=take_str(item, "encrypted_content"), extra=pack(NAME, item))]


def write_compaction(part: CompactionPart, rest: Fields, hints: Fields, calls: Calls) -> Fields | None:
    if part.encrypted is UNSET:
        return None
    return {"type": "compaction", "encrypted_content": part.encrypted, **rest}
