"""The content of agent-store messages: a list of parts, with results merged into their calls."""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.ai_sdk.reasoning import put_opaque, take_opaque
from hansard.formats.residue import SchemaMismatch, merge_residue, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import Message

NAME = "agent-store"
_METADATA = "providerMetadata"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_DATA = "data"
_PARTIAL_CALL = "partial-call"


# -- opaque reasoning ----------------------------------------------------------------------------------------------


def _read_signed(kind: Any, fields: dict[str, Any], block: dict[str, Any], hints: dict[str, Any] | None = None) -> Any:
    """Read signatures from providerMetadata; what the writer makes again leaves no residue."""
    if _METADATA not in block:
        return kind(**fields, extra=pack(NAME, block, hints))
    given = block.get(_METADATA)
    fields.update(take_opaque(block, _METADATA, encrypted=kind is p.ReasoningPart))
    part = kind(**fields)
    if "binding" in fields:
        made: dict[str, Any] = {}
        put_opaque(made, _METADATA, part, make=True)
        if made.get(_METADATA) == given:
            del block[_METADATA]
    return kind(**fields, extra=pack(NAME, block, hints))


def _with_signature(out: dict[str, Any], part: Any) -> dict[str, Any]:
    """Add residue and signatures."""
    if part.extra is part.signature is UNSET and (type(part) is not p.ReasoningPart or part.encrypted is UNSET):
        return out
    rest, _ = unpack(NAME, part.extra)
    put_opaque(rest, _METADATA, part, make=True)
    return merge_residue(out, rest)


# -- parts ---------------------------------------------------------------------------------------------------------


def _read_text(block: dict[str, Any]) -> Any:
    return _read_signed(p.TextPart, {"text": take_str(block, "text")}, block)


def _write_text(part: p.TextPart) -> Any:
    return _with_signature({"type": "text", "text": part.text}, part)


def _read_reasoning(block: dict[str, Any]) -> Any:
    return _read_signed(p.ReasoningPart, {"text": take_str(block, "reasoning")}, block)


def _write_reasoning(part: p.ReasoningPart) -> Any:
    return _with_signature({"type": "reasoning", "reasoning": part.text}, part)


def _read_file(block: dict[str, Any]) -> Any:
    data = take_str(block, "data")
    where: dict[str, Any] = {"url": data} if _URL.match(data) else {"data": data}
    return p.FilePart(**where, media_type=take_maybe_str(block, "mimeType"), extra=pack(NAME, block))


def _write_file(part: p.FilePart) -> Any:
    data = part.data if part.data is not UNSET else part.url
    if data is UNSET:
        return UNSET
    return _with_signature(set_present({"type": "file", "data": data}, mimeType=part.media_type), part)


def _read_source(block: dict[str, Any]) -> Any:
    fields = {"source_id": "id", "title": "title", "url": "url"}
    taken: dict[str, Any] = {field: take_maybe_str(block, key) for field, key in fields.items()}
    return p.SourcePart(**taken, extra=pack(NAME, block))


def _write_source(part: p.SourcePart) -> Any:
    out = set_present({"type": "source"}, id=part.source_id, title=part.title, url=part.url)
    return merge_residue(out, unpack(NAME, part.extra)[0])


def _read_data(block: dict[str, Any]) -> Any:
    return p.DataPart(name=_DATA, data=block.pop("data", UNSET), extra=pack(NAME, block))


def _write_data(part: p.DataPart) -> Any:
    return merge_residue(set_present({"type": "data"}, data=part.data), unpack(NAME, part.extra)[0])


def _write_as_text(part: Any) -> Any:
    """Write text of a kind that the store does not have as plain text."""
    text = part.content if type(part) is p.RetryPart else part.text
    return {"type": "text", "text": text} if type(text) is str else UNSET


# -- tool invocations ----------------------------------------------------------------------------------------------


def _read_invocation(block: dict[str, Any], role: str, results: list[Any]) -> Any:
    """Read a call; append its result, if present, to `results`. In a row with role tool, read the result itself."""
    keys = {"tool_call_id": "toolCallId", "tool_name": "toolName"}
    ids: dict[str, Any] = {field: take_str(block, key) for field, key in keys.items() if key in block}
    state = take_str(block, "state")
    if state != "result":
        fields: dict[str, Any] = {**ids, "input": block.pop("args", UNSET)}
        if state == _PARTIAL_CALL:
            fields["state"] = p.PARTIAL
            if type(fields["input"]) is str:
                fields["input"], fields["input_text"] = UNSET, fields["input"]
        hints = {} if state in ("call", _PARTIAL_CALL) else {"state": state}
        return _read_signed(p.ToolCallPart, fields, block, hints)
    answer = {**ids, **_read_output(block.pop("result", UNSET)), "is_error": False}
    if role == "tool":
        return _read_signed(p.ToolResultPart, answer, block)
    results.append(p.ToolResultPart(**answer))
    return _read_signed(p.ToolCallPart, {**ids, "input": block.pop("args", UNSET)}, block)


def _read_fast(block: dict[str, Any], kind: str, role: str, results: list[Any]) -> Any:
    """Fast path for most blocks: texts, and calls with all their fields; None for all others."""
    if kind == "text":
        text = block.get("text")
        return p.TextPart(text=text) if type(text) is str and len(block) == 2 else None
    call_id, name = block.get("toolCallId"), block.get("toolName")
    if type(call_id) is not str or type(name) is not str or "args" not in block:
        return None
    if len(block) == 6 and block.get("state") == "result" and "result" in block and role != "tool":
        result = block["result"]
        answer = _read_output(result) if type(result) is list else {"output": result}
        results.append(p.ToolResultPart(tool_call_id=call_id, tool_name=name, **answer, is_error=False))
    elif len(block) != 5 or block.get("state") != "call":
        return None
    return p.ToolCallPart(tool_call_id=call_id, tool_name=name, input=block["args"])


def _write_call(part: p.ToolCallPart, answer: p.ToolResultPart | None) -> Any:
    given = part.input if part.input is not UNSET else part.input_text
    if part.extra is part.signature is part.state is UNSET and type(part.tool_call_id) is type(part.tool_name) is str:
        out = {"type": "tool-invocation", "toolCallId": part.tool_call_id, "toolName": part.tool_name}
        if given is not UNSET:
            out["args"] = given
        result = UNSET if answer is None else _write_output(answer)
        if result is not UNSET:
            out["result"] = result
        out["state"] = "call" if answer is None else "result"
        return out
    out = set_present({"type": "tool-invocation"}, toolCallId=part.tool_call_id, toolName=part.tool_name, args=given)
    state = unpack(NAME, part.extra)[1].get("state")
    if answer is None:
        default = _PARTIAL_CALL if part.state == p.PARTIAL else "call"
        out["state"] = state if type(state) is str else default
    else:
        set_present(out, result=_write_output(answer))["state"] = "result"
    return _with_signature(out, part)


def _write_result(part: p.ToolResultPart) -> Any:
    """Write a result that is not merged into its call."""
    out = set_present({"type": "tool-invocation"}, toolCallId=part.tool_call_id, toolName=part.tool_name)
    set_present(out, result=_write_output(part))["state"] = "result"
    return _with_signature(out, part)


def _read_output(result: Any) -> dict[str, Any]:
    """Read a result: data, or the parts of a list of texts and files."""
    if type(result) is list and result and all(type(item) is dict and "type" in item for item in result):
        parts = [read_part(item, "", []) for item in result]
        if all(type(part) is p.TextPart or type(part) is p.FilePart for part in parts):
            return {"content": parts}
    return {"output": result}


def _write_output(part: p.ToolResultPart) -> Any:
    if part.content is UNSET:
        return part.output
    return [block for block in map(write_part, part.content) if block is not UNSET]


# -- dispatch ------------------------------------------------------------------------------------------------------


def read_part(block: Any, role: str, results: list[Any]) -> Any:
    """Read a part; keep an unknown or malformed one as a raw part."""
    kind = block.get("type") if type(block) is dict else None
    if kind in _FAST and (fast := _read_fast(block, kind, role, results)) is not None:
        return fast
    if type(kind) is str and (kind in _READERS or kind == "tool-invocation"):
        taken = dict(block)
        del taken["type"]
        try:
            return _READERS[kind](taken) if kind in _READERS else _read_invocation(taken, role, results)
        except SchemaMismatch:
            pass
    return p.RawPart(format=NAME, value=block)


def write_part(part: Any, answer: p.ToolResultPart | None = None) -> Any:
    """Write the block of a part, a call with its result; UNSET if the store cannot hold the part."""
    kind = type(part)
    if kind is p.TextPart and part.extra is part.signature is UNSET:
        return {"type": "text", "text": part.text}
    if kind is p.ToolCallPart:
        return _write_call(part, answer)
    if kind is p.RawPart:
        return part.value if part.format == NAME else UNSET
    writer = _WRITERS.get(kind)
    return writer(part) if writer is not None else UNSET


_FAST = ("text", "tool-invocation")
_READERS: dict[str, Any] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "file": _read_file,
    "source": _read_source,
    "data": _read_data,
}
_WRITERS: dict[type, Any] = {
    p.TextPart: _write_text,
    p.ReasoningPart: _write_reasoning,
    p.ToolResultPart: _write_result,
    p.FilePart: _write_file,
    p.SourcePart: _write_source,
    p.DataPart: _write_data,
    p.RefusalPart: _write_as_text,
    p.RetryPart: _write_as_text,
    p.CompactionPart: _write_as_text,
}


# -- content -------------------------------------------------------------------------------------------------------


def read_content(content: Any, role: str, hints: dict[str, Any]) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Parts, results for a tool message after it, and residue; content without a list of parts is kept raw."""
    value = _decoded(content) if type(content) is str else content
    if type(value) is not dict or type(value.get("parts")) is not list:
        hints["raw"] = True
        return [p.RawPart(format=NAME, value=content)], [], {}
    if type(content) is str:
        hints["text"] = content
    held = dict(value)
    parts, results = read_parts(held.pop("parts"), role)
    if "format" not in held:
        hints["format"] = "absent"
    elif type(held["format"]) is int and held["format"] == 2:
        del held["format"]
    if type(held.get("content")) is str and held["content"] == _text_of(parts):
        del held["content"]
        hints["said"] = True
    return parts, results, held


def read_parts(blocks: list[Any], role: str) -> tuple[list[Any], list[Any]]:
    parts: list[Any] = []
    results: list[Any] = []
    answered: list[int] = []
    waiting = False
    for block in blocks:
        part = read_part(block, role, results)
        if len(results) > len(answered):
            answered.append(len(parts))
        elif type(part) is p.ToolCallPart:
            waiting = True
        parts.append(part)
    if answered and waiting:
        _mark_waiting(parts, answered)
    return parts, results


def _mark_waiting(parts: list[Any], answered: list[int]) -> None:
    """Mark unanswered calls before an answered one with the same id: the result belongs to the later call."""
    ids = {(parts[j].tool_call_id, parts[j].tool_name): j for j in answered}
    for j, part in enumerate(parts):
        if type(part) is not p.ToolCallPart or part.state == p.PARTIAL:  # no result is merged into a partial call
            continue
        if j not in answered and j < ids.get((part.tool_call_id, part.tool_name), 0):
            rest, hints = unpack(NAME, part.extra)
            parts[j] = replace(part, extra=pack(NAME, rest, {"state": "call", **hints}))


def _decoded(text: str) -> Any:
    try:
        return exact_json.decode(text)
    except Unreadable:
        return None


def _text_of(parts: list[Any]) -> str:
    return "".join(part.text for part in parts if type(part) is p.TextPart)


def write_parts(parts: list[Any], answers: dict[int, p.ToolResultPart]) -> list[Any]:
    if not answers:
        blocks = [write_part(part) for part in parts]
    else:
        merged = set(map(id, answers.values()))
        blocks = [write_part(part, answers.get(j)) for j, part in enumerate(parts) if id(part) not in merged]
    return [block for block in blocks if block is not UNSET] if UNSET in blocks else blocks


def write_content(
    message: Message, answers: dict[int, p.ToolResultPart], held: dict[str, Any], hints: dict[str, Any]
) -> Any:
    """Write the content, each result merged into the call at its index."""
    if hints.get("raw") is True and len(message.parts) == 1 and type(message.parts[0]) is p.RawPart:
        return message.parts[0].value
    blocks = write_parts(message.parts, answers)
    content: dict[str, Any] = {} if hints.get("format") == "absent" else {"format": held.pop("format", 2)}
    content["parts"] = blocks
    if hints.get("said") is True:
        content["content"] = _text_of(message.parts)
    merge_residue(set_present(content, metadata=message.metadata), held)
    if "text" not in hints:
        return content
    text = hints["text"]
    if type(text) is str and exact_json.same(_decoded(text), content):
        return text
    return exact_json.encode(content).decode()
