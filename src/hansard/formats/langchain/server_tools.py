"""Tools that the provider ran, in LangChain's content: in the standard wording and in the providers' own.

tool-call, provider-executed      server_tool_call; server_tool_use, mcp_tool_use of Anthropic (a streamed one has its
                                  input in `partial_json`); web_search_call and others of OpenAI
tool-result, provider-executed    server_tool_result; *_tool_result of Anthropic

What one item of OpenAI's says of the result stays with the call, as residue.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.langchain.files import NAME
from hansard.formats.residue import Unfit, pack, put, take_maybe_str, take_str
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.parts import Part, ToolCallPart, ToolResultPart

_NAMED = ("server_tool_use", "mcp_tool_use")
_ITEMS = {  # the tool's name and the key of its input; None: the item has a name and arguments
    "web_search_call": ("web_search", "action"),
    "file_search_call": ("file_search", "queries"),
    "code_interpreter_call": ("code_interpreter", "code"),
    "image_generation_call": ("image_generation", "revised_prompt"),
    "tool_search_call": ("tool_search", "arguments"),
    "mcp_call": None,
}
CALLS = frozenset({*_NAMED, *_ITEMS})


def read_call(kind: str, block: dict[str, Any]) -> Part:
    """A call in a provider's own wording."""
    marks: dict[str, Any] = {"type": kind}
    call_id, text = take_str(block, "id"), UNSET  # type: Any, Any
    item = _ITEMS.get(kind)
    if item is not None:
        name, given = item[0], block.pop(item[1], UNSET)
    elif kind == "mcp_call":
        name = take_str(block, "name")
        given, text = read_arguments(take_str(block, "arguments"))
    elif block.get("input") == {} and type(block.get("partial_json")) is str:
        name, marks["streamed"] = take_str(block, "name"), True
        given, text = read_arguments(block.pop("partial_json"))
        del block["input"]
    elif "input" in block:
        name, given = take_str(block, "name"), block.pop("input")
    else:
        raise Unfit("input")
    fields: dict[str, Any] = {"tool_call_id": call_id, "tool_name": name, "input": given, "input_text": text}
    return ToolCallPart(**fields, provider_executed=True, extra=pack(NAME, block, marks))


def write_call(kind: str, part: ToolCallPart, rest: dict[str, Any], marks: dict[str, Any]) -> dict[str, Any]:
    out = put({"type": kind}, id=part.tool_call_id)
    item = _ITEMS.get(kind)
    if item is not None:
        return {**put(out, **{item[1]: part.input}), **rest}
    put(out, name=part.tool_name)
    if kind == "mcp_call":
        out["arguments"] = write_arguments(part)
    elif "streamed" in marks:
        out |= {"input": {}, "partial_json": write_arguments(part)}
    else:
        out["input"] = {} if part.input is UNSET else part.input
    return {**out, **rest}


def is_result(kind: str) -> bool:
    """Is a block of this type a result in Anthropic's wording?"""
    return kind.endswith("_tool_result")


def read_result(kind: str, block: dict[str, Any]) -> Part:
    call_id = take_str(block, "tool_use_id")
    if "content" not in block:
        raise Unfit("content")
    output = block.pop("content")
    inner = output.get("type") if type(output) is dict else None
    failed = block.get("is_error") is True or (type(inner) is str and inner.endswith("_error"))
    return ToolResultPart(
        tool_call_id=call_id,
        output=output,
        is_error=failed,
        provider_executed=True,
        id=take_maybe_str(block, "id"),
        extra=pack(NAME, block, {"type": kind}),
    )


def write_result(kind: str, part: ToolResultPart, rest: dict[str, Any]) -> dict[str, Any]:
    out = put({"type": kind}, tool_use_id=part.tool_call_id, id=part.id)
    return {**put(out, content=part.output), **rest}
