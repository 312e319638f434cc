"""Parts of a Gemini `Content`: text and thoughts, dispatch to files and tools, and the typed (fast) writer."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.field_table.records import Written
from hansard.formats.gemini.fields import NAME, assemble, is_omitted, mark_omitted, take_fields
from hansard.formats.gemini.files import READERS as FILE_READERS
from hansard.formats.gemini.files import write_file
from hansard.formats.gemini.reasoning import DUMMY, is_signed, put_signature, take_signature
from hansard.formats.gemini.tools import READERS as TOOL_READERS
from hansard.formats.gemini.tools import is_client_call, read_common, write_call, write_response, write_result
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_str, unpack
from hansard.model.conversation import Message
from hansard.model.parts import FilePart, Part, RawPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

_SIGNED = ("thought", "thoughtSignature")

# -- text and thoughts -----------------------------------------------------------------------------------------------


def _read_text(taken: dict[str, Any], snake: bool, hints: dict[str, Any]) -> Part:
    text = take_str(taken, "text") if "text" in taken else ""
    signature = take_signature(taken)
    if taken.get("thought") is not True:
        return TextPart(text=text, signature=signature, extra=pack(NAME, taken, hints))
    del taken["thought"]
    return ReasoningPart(text=text, signature=signature, extra=pack(NAME, taken, hints))


def _write_text(part: Any, rest: dict[str, Any], hints: dict[str, Any], snake: bool) -> Any:
    out: dict[str, Any] = {} if is_omitted(hints, "text") and not part.text else {"text": part.text}
    if type(part) is ReasoningPart:
        out["thought"] = True
    return {**put_signature(out, part), **rest}


# -- parts -----------------------------------------------------------------------------------------------------------


def read_part(block: Any, snake: bool) -> Any:
    """Read a part; keep one with no known key, several of them or malformed values as a raw part."""
    if type(block) is not dict:
        return RawPart(format=NAME, value=block)
    hints: dict[str, Any] = {}
    taken = take_fields(block, snake, hints)
    kinds = [key for key in taken if key in _READERS]
    if not kinds and "thoughtSignature" in taken and all(key in _SIGNED for key in taken):
        mark_omitted(hints, "text")
        kinds = ["text"]
    if len(kinds) != 1:
        return RawPart(format=NAME, value=block)
    try:
        return _READERS[kinds[0]](taken, snake, hints)
    except SchemaMismatch:
        return RawPart(format=NAME, value=block)


def write_part(part: Any, snake: bool, first: bool) -> Any:
    """Write a part; UNSET if Gemini has no key for it. `first`: no call precedes it in the model's turn."""
    kind = type(part)
    if kind is RawPart:
        return part.value if part.format == NAME else UNSET
    if first and is_client_call(part) and not is_signed(part):
        part = _write_unsigned(part)
    writer = _WRITERS.get(kind)
    return UNSET if writer is None else assemble(part, writer, snake)


def read_parts(blocks: list[Any], snake: bool, model: bool) -> list[Any]:
    """Read the parts of one content. In a model's turn only the first call must have a signature."""
    parts: list[Any] = []
    first = model
    for block in blocks:
        part: Any = None
        if type(block) is dict:
            if len(block) == 1 and type(text := block.get("text")) is str:
                parts.append(TextPart(text=text))
                continue
            if not snake:
                part = read_common(block, first)
        if part is None:
            part = read_part(block, snake)
            if first and is_client_call(part) and part.signature is UNSET:
                part = _read_unsigned(part)
        if first and is_client_call(part):
            first = False
        parts.append(part)
    return parts


def write_parts(parts: list[Any], snake: bool, model: bool) -> list[Any]:
    out: list[Any] = []
    first = model
    for part in parts:
        block = write_part(part, snake, first)
        if block is not UNSET:
            out.append(block)
        if first and is_client_call(part):
            first = False
    return out


def _read_unsigned(part: ToolCallPart) -> ToolCallPart:
    """Mark a call without a signature: the writer would add the dummy signature, which the document did not have."""
    rest, hints = unpack(NAME, part.extra)
    if rest.get("thoughtSignature") == DUMMY:
        del rest["thoughtSignature"]
    elif "thoughtSignature" not in rest:
        hints = {**hints, "unsigned": True}
    return replace(part, extra=pack(NAME, rest, hints))


def _write_unsigned(part: ToolCallPart) -> ToolCallPart:
    rest, hints = unpack(NAME, part.extra)
    if "unsigned" in hints or "thoughtSignature" in rest:
        return part
    return replace(part, signature=DUMMY)


# -- parts without residue, as typed records ---------------------------------------------------------------------------


class _Text(Written):
    text: str


class _Call(Written):
    functionCall: Any
    thoughtSignature: Any


class _InnerCall(Written):
    id: Any
    name: Any
    args: dict[str, Any]


class _Result(Written):
    functionResponse: Any


class _InnerResult(Written):
    id: Any
    name: Any
    response: Any


def write_typed(parts: list[Any], model: bool) -> list[Any] | None:
    """Write text, client tool calls and results that have no residue and no signature; None if there is another part.

    The first call of a model's turn must have a signature: the dummy stands for a missing one.
    """
    out: list[Any] = []
    first = model
    for part in parts:
        if part.extra is not UNSET:
            return None
        kind = type(part)
        if kind is TextPart:
            if part.signature is not UNSET:
                return None
            out.append(_Text(part.text))
        elif kind is ToolCallPart:
            if part.signature is not UNSET or part.provider_executed is True or type(part.input) is not dict:
                return None
            inner = _InnerCall(part.tool_call_id, part.tool_name, part.input)
            out.append(_Call(inner, DUMMY if first else UNSET))
            first = False
        elif kind is ToolResultPart:
            if part.signature is not UNSET or part.provider_executed is True or part.content is not UNSET:
                return None
            response = write_response(part.output, part.is_error is True, {})
            out.append(_Result(_InnerResult(part.tool_call_id, part.tool_name, response)))
        else:
            return None
    return out


# -- contents --------------------------------------------------------------------------------------------------------


def take_content(
    record: dict[str, Any], default_role: str | UnsetType, snake: bool, path: str
) -> tuple[list[Any], dict[str, Any]]:
    """Take the parts out of a content, with hints for spellings; the residue stays in the record."""
    hints: dict[str, Any] = {}
    role, blocks = record.pop("role", UNSET), record.pop("parts", UNSET)
    if role is UNSET:
        if default_role is not UNSET:
            mark_omitted(hints, "role")
    elif role != default_role:
        hints["role"] = role
    if type(blocks) is list:
        return read_parts(blocks, snake, default_role == "model"), hints
    if blocks is UNSET:
        mark_omitted(hints, "parts")
    elif blocks is None:
        hints["parts"] = None
    else:
        raise Unreadable("parts is not a list", f"{path}.parts")
    return [], hints


def write_content(
    message: Message, role: Any, snake: bool, rest: dict[str, Any], hints: dict[str, Any]
) -> dict[str, Any]:
    out = set_present({}, role=role)
    parts = write_parts(message.parts, snake, message.role == "assistant")
    if parts or not (is_omitted(hints, "parts") or "parts" in hints):
        out["parts"] = parts
    elif "parts" in hints:
        out["parts"] = None
    out.update(rest)
    return out


_READERS: dict[str, Any] = {"text": _read_text, **FILE_READERS, **TOOL_READERS}
_WRITERS: dict[type, Any] = {
    TextPart: _write_text,
    ReasoningPart: _write_text,
    ToolCallPart: write_call,
    ToolResultPart: write_result,
    FilePart: write_file,
}
