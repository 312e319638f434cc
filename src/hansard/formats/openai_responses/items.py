"""Items of the OpenAI Responses API: what an assistant and its tools say, one after the other.

    canonical                         native
    reasoning                         reasoning: its summaries (or its content) joined, encrypted_content
    text, refusal                     a message of the assistant; its short form where there is no residue
    tool-call, tool-result            see `openai_responses_tools`
    compaction                        compaction
    raw(openai-responses)             any other item, word for word

One item may be several parts. The first keeps the item's own fields as residue, the others the mark `same`.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.openai_responses.content import NAME, NOTHING, read_block, write_block
from hansard.formats.openai_responses.tools import (
    OUTPUTS,
    READERS,
    Calls,
    Fields,
    join_result,
    write_call,
    write_output,
)
from hansard.formats.residue import Unfit, pack, put, take_maybe_str, take_str, unpack
from hansard.model.parts import CompactionPart, Part, RawPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

_GAP = "\n\n"


# -- reasoning -----------------------------------------------------------------------------------------------------


def _read_reasoning(kind: str, item: Fields, calls: Calls) -> list[Part]:
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
        raise Unfit(kind)
    for entry in entries:
        if type(entry) is not dict or entry.keys() != {"type", "text"} or entry["type"] != kind:
            raise Unfit(kind)
        if type(entry["text"]) is not str:
            raise Unfit(kind)
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


def _write_reasoning(part: ReasoningPart, rest: Fields, marks: Fields, calls: Calls) -> Fields:
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
    return {**put(out, encrypted_content=sealed), **rest}


def _read_compaction(kind: str, item: Fields, calls: Calls) -> list[Part]:
    return [CompactionPart(encrypted=take_str(item, "encrypted_content"), extra=pack(NAME, item))]


def _write_compaction(part: CompactionPart, rest: Fields, marks: Fields, calls: Calls) -> Fields | None:
    if part.encrypted is UNSET:
        return None
    return {"type": "compaction", "encrypted_content": part.encrypted, **rest}


# -- items ---------------------------------------------------------------------------------------------------------


def is_item(value: Any) -> bool:
    """An object that says of what kind it is, who said it, or which item it stands for."""
    if type(value) is not dict:
        return False
    return type(value.get("type")) is str or type(value.get("role")) is str or type(value.get("id")) is str


def read_item(item: Fields, calls: Calls) -> tuple[str, list[Part]]:
    """Who says an item that is no message and no plain function's, and its parts; an unknown one is kept raw."""
    kind = item.get("type")
    reader = _READERS.get(kind) if type(kind) is str else None
    if reader is not None:
        taken = dict(item)
        del taken["type"]
        try:
            parts: list[Part] = reader(kind, taken, calls)
        except Unfit:
            pass
        else:
            asked = type(parts[0]) is ToolResultPart and parts[0].provider_executed is not True
            return "tool" if asked else "assistant", parts
    raw: list[Part] = [RawPart(format=NAME, value=item)]
    if kind == "mcp_approval_response" or (type(kind) is str and kind in OUTPUTS):
        return "tool", raw
    if kind in ("compaction_trigger", "configuration_update"):
        return "developer", raw
    return item["role"] if item.get("role") in ("user", "system", "developer") else "assistant", raw


def write_items(parts: list[Any], role: str, calls: Calls, items: list[Any]) -> None:
    """Add the items of an assistant's or a tool's message."""
    last: Fields | None = None  # the item that a part marked `same` belongs to
    for part in parts:
        rest, marks = unpack(NAME, part.extra) if part.extra is not UNSET else NOTHING
        if "same" in marks and last is not None and _join(last, part, marks):
            continue
        kind = type(part)
        if kind is TextPart and not marks and role == "assistant":  # words and nothing else, as most are
            last = {"role": "assistant", "content": part.text}
        elif (writer := _WRITERS.get(kind)) is not None:
            last = writer(part, rest, marks, calls)
        elif role == "assistant":
            last = _write_message(part, marks)
        else:
            last = None
        if last is not None:
            items.append(last)
        elif kind is RawPart and part.format == NAME and not {"item", "same"} & marks.keys():
            items += [part.value] if is_item(part.value) else []


def _join(item: Fields, part: Any, marks: Fields) -> bool:
    """Put a part into the item that the part before it is of."""
    if type(part) is ToolResultPart:
        return join_result(item, part, marks)
    if item.get("type") not in (None, "message") or type(item.get("content")) is not list:
        return False
    block = write_block(part, "output_text")
    if block is not UNSET:
        item["content"].append(block)
    return block is not UNSET


def _write_message(part: Any, marks: Fields) -> Fields | None:
    """What the model says: a list of blocks if it was one, else the short form, which asks for no id."""
    if type(marks.get("item")) is dict:
        block = write_block(part, "output_text")
        return {**marks["item"], "role": "assistant", "content": [block]} if block is not UNSET else None
    if type(part) is not TextPart:
        return None
    easy = marks.get("easy")
    return {**(easy if type(easy) is dict else {}), "role": "assistant", "content": part.text}


def read_message(item: Fields) -> list[Part] | None:
    """The parts of an assistant's message, or None when it is not one."""
    content = item.get("content")
    if len(item) == 2 and type(content) is str:
        return [TextPart(text=content)]
    rest = {key: value for key, value in item.items() if key not in ("role", "content")}
    if type(content) is str:
        return [TextPart(text=content, extra=pack(NAME, {}, {"easy": rest} if rest else None))]
    if type(content) is not list or not content:
        return None
    same: Fields = {"same": True}
    return [read_block(block, "output_text", {"item": rest} if i == 0 else same) for i, block in enumerate(content)]


def unbound(part: Part) -> Part | None:
    """The part when its reasoning is gone: OpenAI, which knows items by their ids, takes both or neither."""
    kind = type(part)
    rest, marks = unpack(NAME, part.extra)
    if isinstance(part, RawPart):
        value: Any = part.value
        gone = {"item", "same"} & marks.keys() or (type(value) is dict and value.get("type") == "item_reference")
        return None if gone else part
    if getattr(part, "provider_executed", UNSET) is True:
        return None
    if kind is TextPart and {"item", "same"} & marks.keys():
        item = marks.get("item")
        phase = {"phase": item["phase"]} if type(item) is dict and "phase" in item else None
        return replace(part, extra=pack(NAME, {}, {"easy": phase} if phase else None))
    if kind is ToolCallPart and "id" in rest and marks.get("type") not in ("computer_call", "local_shell_call"):
        del rest["id"]
        return replace(part, extra=pack(NAME, rest, marks))
    return part


_READERS: dict[str, Any] = {
    "reasoning": _read_reasoning,
    "compaction": _read_compaction,
    **READERS,
}
KINDS = frozenset({*_READERS, "function_call", "item_reference", "mcp_list_tools", "mcp_approval_request"})
_WRITERS: dict[type, Any] = {
    ReasoningPart: _write_reasoning,
    CompactionPart: _write_compaction,
    ToolCallPart: write_call,
    ToolResultPart: write_output,
}


_MAY_BE_NULL = frozenset({"arguments", "result", "code", "outputs", "param", "keys", "strict"})
_NEEDED = {
    "code_interpreter_call": ("code", "outputs"),
    "image_generation_call": ("result",),
    "function": ("parameters", "strict"),
}
_DATA = frozenset({"parameters", "attributes", "metadata", "defs"})


def sent_back(item: Any) -> Any:
    """An item of an answer as a request may hold it: answers say more than requests may, and write nulls."""
    if type(item) is list:
        made = list(map(sent_back, item))
        return made if any(new is not old for new, old in zip(made, item, strict=True)) else item
    if type(item) is not dict:
        return item
    kept = {
        key: value if key in _DATA else sent_back(value)
        for key, value in item.items()
        if key != "created_by" and (value is not None or key in _MAY_BE_NULL or key in _DATA)
    }
    kind = item.get("type")
    if kind in ("custom_tool_call", "custom_tool_call_output"):
        kept.pop("status", None)
    elif kind == "computer_call_output" and kept.get("status") == "failed":
        kept["status"] = "incomplete"
    elif kind == "additional_tools":
        kept["role"] = "developer"
    for key in _NEEDED.get(kind, ()) if type(kind) is str else ():
        kept.setdefault(key, None)
    return item if len(kept) == len(item) and all(kept[key] is item.get(key) for key in kept) else kept
