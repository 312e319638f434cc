"""Content of Sage records: text and blocks, tool calls and results, in the current shape and the older one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from hansard.formats.residue import SchemaMismatch, merge_residue, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model import parts as p
from hansard.model.arguments import read_arguments

NAME = "sage"


# -- parts ---------------------------------------------------------------------------------------------------------


def _read_text(block: dict[str, Any]) -> p.Part:
    return p.TextPart(text=take_str(block, "text"), extra=pack(NAME, block))


def _write_text(part: p.TextPart) -> dict[str, Any]:
    return merge_residue({"type": "text", "text": part.text}, unpack(NAME, part.extra)[0])


def _read_thinking(block: dict[str, Any]) -> p.Part:
    text, signature = take_str(block, "thinking"), take_maybe_str(block, "signature")
    return p.ReasoningPart(text=text, signature=signature, extra=pack(NAME, block))


def _read_redacted(block: dict[str, Any]) -> p.Part:
    return p.ReasoningPart(text="", encrypted=take_str(block, "data"), extra=pack(NAME, block))


def _write_reasoning(part: p.ReasoningPart) -> dict[str, Any]:
    rest, _ = unpack(NAME, part.extra)
    if part.encrypted is not UNSET:
        return merge_residue({"type": "redacted_thinking", "data": part.encrypted}, rest)
    return merge_residue(set_present({"type": "thinking", "thinking": part.text}, signature=part.signature), rest)


def _read_file(block: dict[str, Any]) -> p.Part:
    source = block.pop("source", None)
    if type(source) is not dict:
        raise SchemaMismatch("source")
    held = dict(source)
    key = _SOURCES.get(take_str(held, "type"))
    if key is None:
        raise SchemaMismatch("source")
    fields: dict[str, Any] = {key: take_str(held, key), "media_type": take_maybe_str(held, "media_type")}
    if held:
        block["source"] = held
    return p.FilePart(**fields, name=take_maybe_str(block, "title"), extra=pack(NAME, block))


def _write_file(part: p.FilePart) -> dict[str, Any] | None:
    rest, _ = unpack(NAME, part.extra)
    held = rest.pop("source", None)
    how = next((how for how, key in _SOURCES.items() if getattr(part, key) is not UNSET), None)
    if how is None:
        return None
    source = set_present({"type": how}, media_type=part.media_type)
    source[_SOURCES[how]] = getattr(part, _SOURCES[how])
    image = part.media_type is UNSET or part.media_type.startswith("image/")
    out = {
        "type": "image" if image else "document",
        "source": merge_residue(source, held if type(held) is dict else {}),
    }
    return merge_residue(set_present(out, title=part.name), rest)


_SOURCES = {"base64": "data", "url": "url", "file": "file_id"}


def _write_as_text(part: Any) -> dict[str, Any] | None:
    """A part of a kind that Sage lacks, as text."""
    text = part.content if type(part) is p.RetryPart else part.text
    return {"type": "text", "text": text} if type(text) is str else None


def _read_block(block: Any) -> Any:
    kind = block.get("type") if type(block) is dict else None
    reader = _READERS.get(kind) if type(kind) is str else None
    if reader is not None:
        rest = dict(block)
        del rest["type"]
        try:
            return reader(rest)
        except SchemaMismatch:
            pass
    return p.RawPart(format=NAME, value=block)


def _write_blocks(parts: list[Any]) -> list[Any]:
    blocks = []
    for part in parts:
        if type(part) is p.RawPart:
            blocks.append(part.value)
        elif (writer := _WRITERS.get(type(part))) is not None and (block := writer(part)) is not None:
            blocks.append(block)
    return blocks


_READERS: dict[str, Callable[[dict[str, Any]], p.Part]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted,
    "image": _read_file,
    "document": _read_file,
}
_WRITERS: dict[type, Callable[[Any], dict[str, Any] | None]] = {
    p.TextPart: _write_text,
    p.ReasoningPart: _write_reasoning,
    p.FilePart: _write_file,
    p.RefusalPart: _write_as_text,
    p.RetryPart: _write_as_text,
    p.CompactionPart: _write_as_text,
}


def _is_result_block(block: Any) -> bool:
    """Whether a block may be part of the content of a tool result."""
    kind = block.get("type") if type(block) is dict else None
    return type(kind) is str and kind in ("text", "image", "document")


# -- tool calls and results ----------------------------------------------------------------------------------------


class Shape(NamedTuple):
    """The keys of one of the two shapes, and whether a result has `error: null`."""

    calls: str
    results: str
    call_id: str
    tool_name: str
    null_error: bool


CURRENT = Shape("toolCalls", "toolResults", "toolCallId", "toolName", True)
INNER = CURRENT._replace(null_error=False)
OLDER = Shape("tool_calls", "tool_results", "tool_call_id", "tool_name", True)


def _maybe_str(rest: dict[str, Any], key: str) -> str | UnsetType:
    return take_str(rest, key) if key in rest else UNSET


def _read_call(value: dict[str, Any], shape: Shape) -> p.Part:
    rest = dict(value)
    call_id, name, given = _maybe_str(rest, "id"), _maybe_str(rest, "name"), rest.pop("arguments", UNSET)
    text: str | UnsetType = UNSET
    if type(given) is str and read_arguments(given)[0] is UNSET:
        given, text = UNSET, given
    return p.ToolCallPart(tool_call_id=call_id, tool_name=name, input=given, input_text=text, extra=pack(NAME, rest))


def _write_call(part: p.ToolCallPart) -> dict[str, Any]:
    given = part.input if part.input is not UNSET else part.input_text
    out = set_present({}, id=part.tool_call_id, name=part.tool_name, arguments=given)
    return merge_residue(out, unpack(NAME, part.extra)[0])


def read_result(value: dict[str, Any], shape: Shape) -> p.Part:
    """A failed result has its text in `error` and an empty `content`."""
    rest = dict(value)
    call_id, name = _maybe_str(rest, shape.call_id), _maybe_str(rest, shape.tool_name)
    output, success = rest.pop("content", UNSET), rest.pop("success", True)
    if type(success) is not bool:
        raise SchemaMismatch("success")
    if not success and type(rest.get("error")) is str and type(output) is str and not output:
        output = rest.pop("error")
    elif "error" in rest and rest["error"] is None:
        del rest["error"]
    content: Any = UNSET
    if type(output) is list and output and all(map(_is_result_block, output)):
        content, output = [_read_block(item) for item in output], UNSET
    return p.ToolResultPart(
        tool_call_id=call_id,
        tool_name=name,
        output=output,
        content=content,
        is_error=not success,
        extra=pack(NAME, rest),
    )


def _write_result(part: p.ToolResultPart, shape: Shape) -> dict[str, Any]:
    rest, _ = unpack(NAME, part.extra)
    content, error = part.output, rest.pop("error", None)
    if part.content is not UNSET:
        content = _write_blocks(_own(part.content))
    elif part.is_error is True and type(content) is str and error is None:
        content, error = "", content
    out = set_present({}, **{shape.call_id: part.tool_call_id, shape.tool_name: part.tool_name}, content=content)
    out["success"] = part.is_error is not True
    if error is not None or shape.null_error:
        out["error"] = error
    return merge_residue(out, rest)


def read_tools(
    held: dict[str, Any], key: str, reader: Callable[[dict[str, Any], Shape], p.Part], shape: Shape
) -> list[Any]:
    """A list of calls or results; an invalid one is kept raw, with the name of its list."""
    if type(held.get(key)) is not list:
        return []
    where = {"in": "call" if key == shape.calls else "result"}
    parts: list[Any] = []
    for value in held.pop(key):
        try:
            if type(value) is not dict:
                raise SchemaMismatch(key)
            parts.append(reader(value, shape))
        except SchemaMismatch:
            parts.append(p.RawPart(format=NAME, value=value, extra=pack(NAME, {}, where)))
    return parts


def _own(parts: list[Any]) -> list[Any]:
    """The parts without those that other formats kept raw."""
    return [part for part in parts if type(part) is not p.RawPart or part.format == NAME]


def sorted_parts(parts: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The parts as text and files, calls, and results."""
    contents: list[Any] = []
    calls: list[Any] = []
    results: list[Any] = []
    for part in _own(parts):
        kind = type(part)
        where = unpack(NAME, part.extra)[1].get("in") if kind is p.RawPart else None
        if kind is p.ToolCallPart or where == "call":
            calls.append(part)
        elif kind is p.ToolResultPart or where == "result":
            results.append(part)
        else:
            contents.append(part)
    return contents, calls, results


# -- message bodies ------------------------------------------------------------------------------------------------


def read_body(body: dict[str, Any], shape: Shape) -> list[Any]:
    """Content, calls and results, taken out of the object that holds them."""
    contents: list[Any] = []
    content = body.get("content")
    tools = read_tools(body, shape.calls, _read_call, shape) + read_tools(body, shape.results, read_result, shape)
    if type(content) is str:
        del body["content"]
        contents = [p.TextPart(text=content)] if content or not tools else []
    elif type(content) is list:
        contents = [_read_block(block) for block in body.pop("content")]
    return contents + tools


def write_content(contents: list[Any], tools: bool) -> Any:
    """A string if it is one text, else a list of blocks."""
    if not contents and tools:
        return ""
    if len(contents) == 1 and type(contents[0]) is p.TextPart and (contents[0].text or not tools):
        if not unpack(NAME, contents[0].extra)[0]:
            return contents[0].text
    return _write_blocks(contents)


def write_tools(out: dict[str, Any], calls: list[Any], results: list[Any], shape: Shape) -> dict[str, Any]:
    if calls:
        out[shape.calls] = [_write_call(part) if type(part) is p.ToolCallPart else part.value for part in calls]
    if results:
        out[shape.results] = [
            _write_result(part, shape) if type(part) is p.ToolResultPart else part.value for part in results
        ]
    return out
