"""Parts of ModelMessages except tool results, and which parts each role may hold."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import UNSET

from hansard.formats.ai_sdk.model.files import NAME, read_file, read_image, write_file
from hansard.formats.ai_sdk.model.tools import read_result, write_result
from hansard.formats.ai_sdk.reasoning import put_opaque, take_opaque
from hansard.formats.residue import SchemaMismatch, pack, take_str, unpack
from hansard.model import parts as p
from hansard.model.display import shown_input
from hansard.model.hashing import opaque


class WriterContext(Protocol):
    """What a part writer needs from the conversation."""

    profile: str | None

    def id_of(self, part: Any, /) -> str: ...
    def name_of(self, part: Any, /) -> str: ...


def _read_text(block: dict[str, Any], role: str) -> p.Part:
    text, fields = take_str(block, "text"), take_opaque(block, "providerOptions", make=True)
    return p.TextPart(text=text, **fields, extra=pack(NAME, block))


def _read_reasoning(block: dict[str, Any], role: str) -> p.Part:
    text, fields = take_str(block, "text"), take_opaque(block, "providerOptions", encrypted=True, item=True, make=True)
    return p.ReasoningPart(text=text, **fields, extra=pack(NAME, block))


def _text_writer(kind: str, item: bool) -> Any:
    def write(part: Any, writing: WriterContext) -> dict[str, Any]:
        if part.extra is UNSET and not opaque(part):
            return {"type": kind, "text": part.text}
        rest, _ = unpack(NAME, part.extra)
        put_opaque(rest, "providerOptions", part, item=item, make=True)
        return {"type": kind, "text": part.text, **rest}

    return write


def _write_as_text(part: Any, writing: WriterContext) -> dict[str, Any] | None:
    """Write a part that the format has no type for, but that belongs to the model's context, as text."""
    text = part.content if type(part) is p.RetryPart else part.text
    return {"type": "text", "text": text} if type(text) is str else None


def _read_call(block: dict[str, Any], role: str) -> p.Part:
    call_id, name = take_str(block, "toolCallId"), take_str(block, "toolName")
    if "input" not in block:
        raise SchemaMismatch("input")
    fields: dict[str, Any] = {"input": block.pop("input")}
    if type(block.get("providerExecuted")) is bool:
        fields["provider_executed"] = block.pop("providerExecuted")
    fields.update(take_opaque(block, "providerOptions", item=True, make=True))
    hints = {"provider": True} if fields.get("provider_executed") is True else {}
    return p.ToolCallPart(tool_call_id=call_id, tool_name=name, **fields, extra=pack(NAME, block, hints))


def _write_call(part: p.ToolCallPart, writing: WriterContext) -> dict[str, Any]:
    name = part.tool_name if type(part.tool_name) is str else ""
    out = {"type": "tool-call", "toolCallId": writing.id_of(part), "toolName": name, "input": shown_input(part)}
    if part.provider_executed is not UNSET:
        out["providerExecuted"] = part.provider_executed
    if part.extra is not UNSET or part.signature is not UNSET:
        rest, _ = unpack(NAME, part.extra)
        put_opaque(rest, "providerOptions", part, item=True, make=True)
        out.update(rest)
    return out


def _write_result(part: Any, writing: WriterContext) -> dict[str, Any]:
    return write_result(part, writing.id_of(part), writing.name_of(part), writing.profile)


def _read_fast(block: dict[str, Any], kind: str, role: str) -> p.Part | None:
    """Fast path for most parts: text, calls and results without further fields; None for all others."""
    if kind == "text" and len(block) == 2 and role != "tool":
        text = block.get("text")
        return p.TextPart(text=text) if type(text) is str else None
    call_id, name = block.get("toolCallId"), block.get("toolName")
    if len(block) != 4 or type(call_id) is not str or type(name) is not str:
        return None
    if kind == "tool-call" and role == "assistant" and "input" in block:
        return p.ToolCallPart(tool_call_id=call_id, tool_name=name, input=block["input"])
    output = block.get("output")
    if kind == "tool-result" and role == "tool" and type(output) is dict and len(output) == 2 and "value" in output:
        value = output["value"]
        if output.get("type") == ("text" if type(value) is str else "json"):
            return p.ToolResultPart(tool_call_id=call_id, tool_name=name, output=value, is_error=False)
    return None


def read_part(block: Any, role: str) -> p.Part:
    """Read a part; keep an unknown or malformed one as a raw part."""
    kind = block.get("type") if type(block) is dict else None
    if type(kind) is str and (fast := _read_fast(block, kind, role)) is not None:
        return fast
    reader = _READERS.get(role, _READERS["user"]).get(kind) if type(kind) is str else None
    if reader is None:
        return p.RawPart(format=NAME, value=block)
    taken = dict(block)
    del taken["type"]
    try:
        return reader(taken, role)  # type: ignore[no-any-return]
    except SchemaMismatch:
        return p.RawPart(format=NAME, value=block)


_READERS: dict[str, dict[str, Any]] = {
    "user": {"text": _read_text, "file": read_file, "image": read_image},
    "assistant": {
        "text": _read_text,
        "file": read_file,
        "reasoning": _read_reasoning,
        "tool-call": _read_call,
        "tool-result": read_result,
    },
    "tool": {"tool-result": read_result},
}
_ANY_ROLE: dict[type, Any] = {
    p.TextPart: _text_writer("text", False),
    p.FilePart: lambda part, writing: write_file(part, writing.profile),
    p.RefusalPart: _write_as_text,
    p.CompactionPart: _write_as_text,
}
WRITERS: dict[str, dict[type, Any]] = {
    "user": {**_ANY_ROLE, p.RetryPart: _write_as_text},
    "assistant": {
        **_ANY_ROLE,
        p.ReasoningPart: _text_writer("reasoning", True),
        p.ToolCallPart: _write_call,
        p.ToolResultPart: _write_result,
    },
    "tool": {p.ToolResultPart: _write_result, p.RetryPart: _write_result},
}
