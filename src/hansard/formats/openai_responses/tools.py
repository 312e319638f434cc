"""Tools of the OpenAI Responses API: the items that are calls and outputs.

canonical                         native
tool-call                         function_call, custom_tool_call; a client's: computer_call, shell_call ...
tool-call, provider-executed      web_search_call, code_interpreter_call, mcp_call and others of `_TOOLS`
tool-result                       the *_output that answers the kind of call
tool-result, provider-executed    the result inside the item of the call (hint `same`), or its *_output
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.formats.openai_responses.content import NAME, read_block, write_block, write_blocks
from hansard.formats.residue import SchemaMismatch, pack, residue_of, set_present, take_maybe_str, take_str
from hansard.model import exact_json
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.parts import FilePart, Part, RawPart, TextPart, ToolCallPart, ToolResultPart

Fields: TypeAlias = dict[str, Any]


Call: TypeAlias = tuple[str, str, bool]  # of the call of an output: item type, tool name, whether the provider ran it


class Calls(dict[str, Call]):
    """The calls so far by id, and the id of the last tool search."""

    searched: str | UnsetType = UNSET


class _Tool(NamedTuple):
    """An item type that is a call: its tool name, and the keys of id, input (several make an object) and result."""

    name: str
    id: str
    input: str | tuple[str, ...]
    result: str = ""
    executed: bool = True


_TOOLS = {
    "web_search_call": _Tool("web_search", "id", "action"),
    "file_search_call": _Tool("file_search", "id", ("queries",), "results"),
    "code_interpreter_call": _Tool("code_interpreter", "id", ("code",), "outputs"),
    "image_generation_call": _Tool("image_generation", "id", ("revised_prompt",), "result"),
    "tool_search_call": _Tool("tool_search", "call_id", "arguments"),
    "program": _Tool("program", "call_id", ("code",)),
    "computer_call": _Tool("computer", "call_id", ("action", "actions"), executed=False),
    "local_shell_call": _Tool("local_shell", "call_id", "action", executed=False),
    "shell_call": _Tool("shell", "call_id", "action", executed=False),
    "apply_patch_call": _Tool("apply_patch", "call_id", "operation", executed=False),
}
_OUTPUT_TYPES = {
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
    "program": "program_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
_CALL_TYPES = {answer: kind for kind, answer in _OUTPUT_TYPES.items()}


# -- calls ---------------------------------------------------------------------------------------------------------


def id_key(kind: Any) -> str | None:
    """The key of the call id in items of built-in tools; None for other items."""
    return _TOOLS[kind].id if kind in _TOOLS else None


def read_function(item: Fields, calls: Calls) -> list[Part] | None:
    """Read a function call; None if it is malformed."""
    call_id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
    if type(call_id) is not str or type(name) is not str or type(arguments) is not str:
        return None
    given, text = read_arguments(arguments)
    calls[call_id] = ("function_call", name, False)
    extra = UNSET if len(item) == 4 else residue_of(NAME, item, _FUNCTION)
    return [ToolCallPart(tool_call_id=call_id, tool_name=name, input=given, input_text=text, extra=extra)]


_FUNCTION = frozenset({"type", "call_id", "name", "arguments"})


def _write_function(part: ToolCallPart, rest: Fields) -> Fields:
    call_id, name = part.tool_call_id, part.tool_name
    if call_id is UNSET or name is UNSET:
        out = set_present({"type": "function_call"}, call_id=call_id, name=name)
        return {**out, "arguments": write_arguments(part), **rest}
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": write_arguments(part), **rest}


def _read_custom(kind: str, item: Fields, calls: Calls) -> list[Part]:
    call_id, name, arguments = take_str(item, "call_id"), take_str(item, "name"), take_str(item, "input")
    calls[call_id] = (kind, name, False)
    extra = pack(NAME, item, {"type": kind})
    return [ToolCallPart(tool_call_id=call_id, tool_name=name, input=arguments, extra=extra)]


def _read_mcp(kind: str, item: Fields, calls: Calls) -> list[Part]:
    """Read a call of a tool on an MCP server, with its output or error."""
    call_id, name = take_str(item, "id"), take_str(item, "name")
    given, text = read_arguments(take_str(item, "arguments"))
    key = "output" if item.get("output") is not None else "error"
    result = item.pop(key) if item.get(key) is not None else None
    extra = pack(NAME, item, {"type": kind})
    call = ToolCallPart(
        tool_call_id=call_id, tool_name=name, input=given, input_text=text, provider_executed=True, extra=extra
    )
    if result is None:
        return [call]
    failed = key == "error" or item.get("error") is not None
    return [call, _own_result(call, result, failed, {"key": "error"} if key == "error" else {})]


def _read_tool(kind: str, item: Fields, calls: Calls) -> list[Part]:
    """Read a call of a built-in tool, and its result if the item has one."""
    tool, hints = _TOOLS[kind], {"type": kind}
    if kind == "tool_search_call" and item.get("call_id") is None:  # run by the server: no output refers to it
        hints["by"] = "id"
    call_id = take_str(item, hints.get("by", tool.id))
    executed = tool.executed
    if kind == "tool_search_call":
        executed = item.get("execution") != "client"
        calls.searched = call_id
    elif kind == "shell_call":
        executed = _in_container(item.get("environment"))
    calls[call_id] = (kind, tool.name, executed)
    given: Any
    if type(tool.input) is str:
        given = item.pop(tool.input, UNSET)
    else:
        given = {key: item.pop(key) for key in tool.input if key in item} or UNSET
    result = item.pop(tool.result) if tool.result and item.get(tool.result) is not None else None
    call = ToolCallPart(
        tool_call_id=call_id,
        tool_name=tool.name,
        input=given,
        provider_executed=True if executed else UNSET,
        extra=pack(NAME, item, hints),
    )
    if result is None:
        return [call]
    if kind == "image_generation_call":
        if type(result) is not str:
            raise SchemaMismatch("result")
        image_format = item.get("output_format")
        image = FilePart(data=result, media_type=f"image/{image_format if type(image_format) is str else 'png'}")
        return [call, replace(_own_result(call, UNSET, False, {}), content=[image])]
    return [call, _own_result(call, result, False, {})]


def _in_container(environment: Any) -> bool:
    return type(environment) is dict and environment.get("type") == "container_reference"


def _own_result(call: ToolCallPart, output: Any, failed: bool, hints: Fields) -> ToolResultPart:
    return ToolResultPart(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        output=output,
        is_error=failed,
        provider_executed=True,
        extra=pack(NAME, {}, {"same": True, **hints}),
    )


def write_call(part: ToolCallPart, rest: Fields, hints: Fields, calls: Calls) -> Fields | None:
    """Write the item of a call; None for tools that another provider ran."""
    kind = hints.get("type")
    out: Fields
    if kind is None and part.provider_executed is not True:
        out = _write_function(part, rest)
    elif kind == "custom_tool_call" and type(part.input) is str:
        out = set_present({"type": kind}, call_id=part.tool_call_id, name=part.tool_name, input=part.input)
        out.update(rest)
    elif kind == "mcp_call":
        out = set_present({"type": kind}, id=part.tool_call_id, name=part.tool_name)
        out = {**out, "arguments": write_arguments(part), **rest}
    elif type(kind) is str and kind in _TOOLS:
        tool = _TOOLS[kind]
        out = set_present({"type": kind}, **{"id" if hints.get("by") == "id" else tool.id: part.tool_call_id})
        if type(tool.input) is str:
            set_present(out, **{tool.input: part.input})
        elif type(part.input) is dict:
            out.update({key: part.input[key] for key in tool.input if key in part.input})
        out.update(rest)
    elif part.provider_executed is True:
        return None
    else:
        out = _write_function(part, rest)
    if type(part.tool_call_id) is str:
        calls[part.tool_call_id] = (out["type"], "", False)
    return out


# -- outputs -------------------------------------------------------------------------------------------------------


def read_plain_output(item: Fields, calls: Calls) -> list[Part] | None:
    """Fast path: read a function output that is only text; None for all others."""
    call_id, output = item.get("call_id"), item.get("output")
    if len(item) != 3 or type(call_id) is not str or type(output) is not str:
        return None
    kind, name, _ = calls.get(call_id, _NO_CALL)
    if kind != "function_call":
        return None
    return [ToolResultPart(tool_call_id=call_id, tool_name=name, output=output, is_error=False)]


_NO_CALL: tuple[str, Any, bool] = ("function_call", UNSET, False)


def _read_output(kind: str, item: Fields, calls: Calls) -> list[Part]:
    call_id = take_maybe_str(item, "id" if kind == "local_shell_call_output" else "call_id")
    by: Fields = {}
    if kind == "tool_search_output" and call_id is UNSET:
        call_id = calls.searched
        by = {"unnamed": True} if call_id is not UNSET else {}
    call = calls.get(call_id) if call_id is not UNSET else None
    hints: Fields = {} if kind == _output_type(call) else {"type": kind}
    hints.update(by)
    asked = _CALL_TYPES.get(kind)
    name: Any = call[1] if call else _TOOLS[asked].name if asked in _TOOLS else UNSET
    if kind == "function_call_output" and type(item.get("name")) is str:
        name, hints["named"] = item.pop("name"), True
    fields: Fields = {"is_error": False}
    _OUTPUTS[kind](item, fields)
    if kind in ("program_output", "tool_search_output"):
        executed = item.get("execution") != "client"
    else:
        executed = call is not None and call[2]
    if executed:
        fields["provider_executed"] = True
        hints["type"] = kind
    return [ToolResultPart(tool_call_id=call_id, tool_name=name, extra=pack(NAME, item, hints), **fields)]


def _output_type(call: Call | None) -> str:
    return _OUTPUT_TYPES.get(call[0], "function_call_output") if call else "function_call_output"


def _read_text_or_blocks(item: Fields, fields: Fields) -> None:
    output = item.pop("output", None)
    if type(output) is list:
        fields["content"] = [read_block(block, "input_text", {}) for block in output]
    elif type(output) is str:
        fields["output"] = output
    else:
        raise SchemaMismatch("output")


def _read_screenshot(item: Fields, fields: Fields) -> None:
    if "output" not in item:
        raise SchemaMismatch("output")
    fields["content"] = [read_block(item.pop("output"), "input_text", {})]


def _read_string(key: str) -> Any:
    def read(item: Fields, fields: Fields) -> None:
        fields["output"] = take_str(item, key)

    return read


def _read_list(key: str) -> Any:
    def read(item: Fields, fields: Fields) -> None:
        if type(item.get(key)) is not list:
            raise SchemaMismatch(key)
        fields["output"] = item.pop(key)

    return read


def _read_patch_status(item: Fields, fields: Fields) -> None:
    if item.get("status") not in ("completed", "failed"):
        raise SchemaMismatch("status")
    fields["is_error"] = item.pop("status") == "failed"
    fields["output"] = take_maybe_str(item, "output")


_OUTPUTS = {
    "function_call_output": _read_text_or_blocks,
    "custom_tool_call_output": _read_text_or_blocks,
    "computer_call_output": _read_screenshot,
    "local_shell_call_output": _read_string("output"),
    "shell_call_output": _read_list("output"),
    "apply_patch_call_output": _read_patch_status,
    "tool_search_output": _read_list("tools"),
    "program_output": _read_string("result"),
}


def write_output(part: ToolResultPart, rest: Fields, hints: Fields, calls: Calls) -> Fields | None:
    kind, call_id = hints.get("type"), part.tool_call_id
    if type(kind) is not str or kind not in _OUTPUTS:
        if part.provider_executed is True:
            return None
        kind = _output_type(calls.get(call_id) if type(call_id) is str else None)
        if kind == "function_call_output" and type(part.output) is str and part.content is UNSET and not hints:
            if call_id is not UNSET:
                return {"type": kind, "call_id": call_id, "output": part.output, **rest}
    if kind == "local_shell_call_output":
        return {**set_present({"type": kind}, id=call_id), "output": _text_of(part), **rest}
    out = set_present({"type": kind}, call_id=UNSET if "unnamed" in hints else call_id)
    if "named" in hints:
        set_present(out, name=part.tool_name)
    if kind == "program_output":
        out["result"] = _text_of(part)
    elif kind == "tool_search_output":
        out["tools"] = part.output if type(part.output) is list else []
    elif kind == "shell_call_output":
        out["output"] = part.output if type(part.output) is list else [_shell_run(part)]
    elif kind == "apply_patch_call_output":
        out["status"] = "failed" if part.is_error is True else "completed"
        if part.output is not UNSET or part.content is not UNSET:
            out["output"] = _text_of(part)
    elif kind == "computer_call_output":
        out["output"] = _screenshot(part)
    elif part.content is not UNSET:
        out["output"] = write_blocks(part.content, "input_text")
    else:
        out["output"] = _text_of(part)
    return {**out, **rest}


def _shell_run(part: ToolResultPart) -> Fields:
    """Output of one shell command, for a result that another tool returned."""
    outcome = {"type": "exit", "exit_code": 1 if part.is_error is True else 0}
    return {"stdout": _text_of(part), "stderr": "", "outcome": outcome}


def _screenshot(part: ToolResultPart) -> Any:
    out: Fields = {"type": "computer_screenshot"}
    for inner in part.content if part.content is not UNSET else ():
        if type(inner) is RawPart:
            return inner.value
        block = write_block(inner, "input_text") if type(inner) is FilePart else {}
        if block and block["type"] == "computer_screenshot":
            return block
        if block and block["type"] == "input_image":
            return {**out, **{key: block[key] for key in ("image_url", "file_id") if key in block}}
    return out


def _text_of(part: ToolResultPart) -> str:
    if part.content is not UNSET:
        return "\n".join(inner.text for inner in part.content if type(inner) is TextPart)
    if part.output is UNSET:
        return ""
    return part.output if type(part.output) is str else exact_json.encode(part.output).decode()


def join_result(item: Fields, part: ToolResultPart, hints: Fields) -> bool:
    """Add a result to the item of its call; False if the item belongs to another call."""
    kind = item.get("type")
    if kind == "mcp_call":
        name, key = "id", "error" if hints.get("key") == "error" else "output"
    elif kind in _TOOLS and _TOOLS[kind].result:
        name, key = _TOOLS[kind].id, _TOOLS[kind].result
    else:
        return False
    if item.get(name, UNSET) != part.tool_call_id:
        return False
    value = part.output
    if value is UNSET and part.content is not UNSET and part.content and type(part.content[0]) is FilePart:
        value = part.content[0].data
    set_present(item, **{key: value})
    return True


READERS: dict[str, Any] = {
    "custom_tool_call": _read_custom,
    "mcp_call": _read_mcp,
    **dict.fromkeys(_TOOLS, _read_tool),
    **dict.fromkeys(_OUTPUTS, _read_output),
}
OUTPUTS = frozenset(_OUTPUTS)
