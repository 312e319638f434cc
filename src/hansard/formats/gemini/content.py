"""A Gemini `Content`: its parts, read and written one by one, and the signature of a turn's first call."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.errors import Unreadable
from hansard.formats.field_table import Written
from hansard.formats.gemini.fields import NAME, lacks, put_together, taken_apart, without
from hansard.formats.gemini.files import READERS as FILE_READERS
from hansard.formats.gemini.files import write_file
from hansard.formats.gemini.reasoning import DUMMY, is_signed, put_signature, take_signature
from hansard.formats.gemini.tools import READERS as TOOL_READERS
from hansard.formats.gemini.tools import is_client_call, read_plain, write_call, write_response, write_result
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_str, unpack
from hansard.model.conversation import Message
from hansard.model.parts import FilePart, Part, RawPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

_SIGNED = ("thought", "thoughtSignature")

# -- text and thoughts -----------------------------------------------------------------------------------------------


def _read_text(taken: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Part:
    text = take_str(taken, "text") if "text" in taken else ""
    signature = take_signature(taken)
    if taken.get("thought") is not True:
        return TextPart(text=text, signature=signature, extra=pack(NAME, taken, marks))
    del taken["thought"]
    if signature is UNSET:
        marks["thought"] = True
    return ReasoningPart(text=text, signature=signature, extra=pack(NAME, taken, marks))


def _write_text(part: Any, rest: dict[str, Any], marks: dict[str, Any], snake: bool) -> Any:
    out: dict[str, Any] = {} if lacks(marks, "text") and not part.text else {"text": part.text}
    if type(part) is ReasoningPart:
        out["thought"] = True
    return {**put_signature(out, part), **rest}


# -- parts -----------------------------------------------------------------------------------------------------------


def read_part(block: Any, snake: bool) -> Any:
    """A part; one that says nothing known, two things at once or not what it promises is kept raw."""
    if type(block) is not dict:
        return RawPart(format=NAME, value=block)
    marks: dict[str, Any] = {}
    taken = taken_apart(block, snake, marks)
    about = [key for key in taken if key in _READERS]
    if not about and "thoughtSignature" in taken and all(key in _SIGNED for key in taken):
        without(marks, "text")
        about = ["text"]
    if len(about) != 1:
        return RawPart(format=NAME, value=block)
    try:
        return _READERS[about[0]](taken, snake, marks)
    except SchemaMismatch:
        return RawPart(format=NAME, value=block)


def write_part(part: Any, snake: bool, first: bool) -> Any:
    """The part as Gemini has it; UNSET for what it cannot say. `first`: no call came before it in a model's turn."""
    kind = type(part)
    if kind is RawPart:
        return part.value if part.format == NAME else UNSET
    if first and is_client_call(part) and not is_signed(part):
        part = _write_unsigned(part)
    writer = _WRITERS.get(kind)
    return UNSET if writer is None else put_together(part, writer, snake)


def read_parts(blocks: list[Any], snake: bool, model: bool) -> list[Any]:
    """The parts of one content. The first call of a model's turn is the one that must be signed."""
    parts: list[Any] = []
    first = model
    for block in blocks:
        part: Any = None
        if type(block) is dict:
            if len(block) == 1 and type(text := block.get("text")) is str:
                parts.append(TextPart(text=text))
                continue
            if not snake:
                part = read_plain(block, first)
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
    """Usually the dummy stands in for a signature that is foreign or lost: a call that has neither is marked."""
    rest, marks = unpack(NAME, part.extra)
    if rest.get("thoughtSignature") == DUMMY:
        del rest["thoughtSignature"]
    elif "thoughtSignature" not in rest:
        marks = {**marks, "unsigned": True}
    return replace(part, extra=pack(NAME, rest, marks))


def _write_unsigned(part: ToolCallPart) -> ToolCallPart:
    rest, marks = unpack(NAME, part.extra)
    if "unsigned" in marks or "thoughtSignature" in rest:
        return part
    return replace(part, signature=DUMMY)


# -- parts without residue, as typed records ---------------------------------------------------------------------------


class _Text(Written):
    text: str


class _Call(Written):
    functionCall: Any
    thoughtSignature: Any


class _HeldCall(Written):
    id: Any
    name: Any
    args: dict[str, Any]


class _Result(Written):
    functionResponse: Any


class _HeldResult(Written):
    id: Any
    name: Any
    response: Any


def write_usual(parts: list[Any], model: bool) -> list[Any] | None:
    """Words, calls and results of a client's tools without residue and signatures; None when there is anything else.

    Where the model speaks, its first call must be signed: the dummy says that there is no signature.
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
            held = _HeldCall(part.tool_call_id, part.tool_name, part.input)
            out.append(_Call(held, DUMMY if first else UNSET))
            first = False
        elif kind is ToolResultPart:
            if part.signature is not UNSET or part.provider_executed is True or part.content is not UNSET:
                return None
            response = write_response(part.output, part.is_error is True, {})
            out.append(_Result(_HeldResult(part.tool_call_id, part.tool_name, response)))
        else:
            return None
    return out


# -- contents --------------------------------------------------------------------------------------------------------


def take_content(
    record: dict[str, Any], usual: str | UnsetType, snake: bool, path: str
) -> tuple[list[Any], dict[str, Any]]:
    """The parts of a content, and marks for what is not as usual in it; what is left stays in the record."""
    marks: dict[str, Any] = {}
    role, blocks = record.pop("role", UNSET), record.pop("parts", UNSET)
    if role is UNSET:
        if usual is not UNSET:
            without(marks, "role")
    elif role != usual:
        marks["role"] = role
    if type(blocks) is list:
        return read_parts(blocks, snake, usual == "model"), marks
    if blocks is UNSET:
        without(marks, "parts")
    elif blocks is None:
        marks["parts"] = None
    else:
        raise Unreadable("parts is not a list", f"{path}.parts")
    return [], marks


def write_content(
    message: Message, role: Any, snake: bool, rest: dict[str, Any], marks: dict[str, Any]
) -> dict[str, Any]:
    out = set_present({}, role=role)
    parts = write_parts(message.parts, snake, message.role == "assistant")
    if parts or not (lacks(marks, "parts") or "parts" in marks):
        out["parts"] = parts
    elif "parts" in marks:
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
