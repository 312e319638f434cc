"""Items of the Responses API that only its models can read again: reasoning and compaction.

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

_GAP = "\n\n"


def read_reasoning(kind: str, item: Fields, calls: Calls) -> list[Part]:
    marks: Fields = {}
    if "summary" not in item:
        marks["bare"] = True
    texts = _texts(item.pop("summary", []), "summary_text")
    if not texts and item.get("content"):
        texts, marks["content"] = _texts(item.pop("content"), "reasoning_text"), True
    if len(texts) > 1 or texts == [""]:
        marks["cuts"] = [len(text) for text in texts]
    if "id" not in item:
        marks["anonymous"] = True
    elif item["id"] == "":
        del item["id"]
    encrypted = take_maybe_str(item, "encrypted_content")
    return [ReasoningPart(text=_GAP.join(texts), encrypted=encrypted, extra=pack(NAME, item, marks))]


def _texts(entries: Any, kind: str) -> list[str]:
    """The texts of plain entries of one kind."""
    if type(entries) is not list:
        raise SchemaMismatch(kind)
    for entry in entries:
        if type(entry) is not dict or entry.keys() != {"type", "text"} or entry["type"] != kind:
            raise SchemaMismatch(kind)
        if type(entry["text"]) is not str:
            raise SchemaMismatch(kind)
    return [entry["text"] for entry in entries]


def _cut(text: str, cuts: Any) -> list[str]:
    """The texts that were joined; the whole as one when it is not the text that was cut."""
    if type(cuts) is list and all(type(length) is int for length in cuts):
        texts, at = [], 0
        for length in cuts:
            texts.append(text[at : at + length])
            at += length + len(_GAP)
        if _GAP.join(texts) == text:
            return texts
    return [text] if text else []


def write_reasoning(part: ReasoningPart, rest: Fields, marks: Fields, calls: Calls) -> Fields:
    texts = _cut(part.text, marks.get("cuts"))
    out: Fields = {"type": "reasoning"}
    if "anonymous" not in marks:
        out["id"] = part.id if type(part.id) is str and part.id.startswith("rs_") else ""
    if "content" in marks:
        out["content"] = [{"type": "reasoning_text", "text": text} for text in texts]
        texts = []
    if texts or "bare" not in marks:
        out["summary"] = [{"type": "summary_text", "text": text} for text in texts]
    sealed = part.encrypted if part.encrypted is not UNSET else part.signature
    return {**set_present(out, encrypted_content=sealed), **rest}


def read_compaction(kind: str, item: Fields, calls: Calls) -> list[Part]:
    return [CompactionPart(encrypted=take_str(item, "encrypted_content"), extra=pack(NAME, item))]


def write_compaction(part: CompactionPart, rest: Fields, marks: Fields, calls: Calls) -> Fields | None:
    if part.encrypted is UNSET:
        return None
    return {"type": "compaction", "encrypted_content": part.encrypted, **rest}
