"""Tools and settings of a Chat Completions request. The Responses API shares the rows and the schema of an answer."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.openai_chat.content import NAME
from hansard.formats.requests import (
    Dialect,
    Fields,
    Row,
    Tools,
    is_bool,
    is_int,
    is_number,
    is_object,
    is_str,
    is_strings,
    own_model,
    put_inner,
    put_rows,
    take_inner,
    take_model,
    take_rows,
)
from hansard.formats.residue import merge_residue, pack, set_present, unpack
from hansard.model.request import EFFORTS, OutputFormat, Settings, Tool, ToolChoice

PROVIDER = "openai"


def is_effort(value: Any) -> bool:
    return value in EFFORTS if type(value) is str else False


SHARED = (
    Row("temperature", "temperature", is_number),
    Row("top_p", "top_p", is_number),
    Row("parallel_tool_calls", "parallel_tool_calls", is_bool),
    Row("stream", "stream", is_bool),
    Row("store", "store", is_bool),
    Row("user", "user", is_str),
    Row("service_tier", "service_tier", is_str),
    Row("safety_identifier", "safety_identifier", is_str),
    Row("prompt_cache_key", "prompt_cache_key", is_str),
    Row("prompt_cache_retention", "prompt_cache_retention", is_str),
    Row("metadata", "metadata", is_object),
)
_ROWS = (
    *SHARED,
    Row("max_completion_tokens", "max_tokens", is_int),
    Row("reasoning_effort", "effort", is_effort),
    Row("verbosity", "verbosity", is_str),
    Row("seed", "seed", is_int),
    Row("frequency_penalty", "frequency_penalty", is_number),
    Row("presence_penalty", "presence_penalty", is_number),
)
_MAX_STOP = 4


# -- tools ---------------------------------------------------------------------------------------------------------


def read_definition(block: Any, name: str, kind: str) -> Tool | None:
    """A function or custom tool; the name, description and schema of it are keys of this object."""
    if type(block) is not dict or type(block.get("name")) is not str:
        return None
    rest = dict(block)
    fields: Fields = {"name": rest.pop("name")}
    take_rows(rest, _DEFINITION[kind], fields)
    if kind == "custom":
        fields["kind"] = kind
    return Tool(**fields, extra=pack(name, rest))


_DEFINITION = {
    "function": (
        Row("description", "description", is_str),
        Row("parameters", "input_schema", is_object),
        Row("strict", "strict", is_bool),
    ),
    "custom": (Row("description", "description", is_str), Row("format", "input_format", is_object)),
}


def write_definition(tool: Tool, name: str) -> Fields | None:
    """The same for writing; None for a tool without a name, or of another kind."""
    if type(tool.name) is not str or tool.format is not UNSET or tool.kind not in (UNSET, "custom"):
        return None
    out: Fields = {"name": tool.name}
    for row in _DEFINITION["function" if tool.kind is UNSET else "custom"]:
        value = getattr(tool, row.field)
        if value is not UNSET:
            out[row.key] = value
    return merge_residue(out, unpack(name, tool.extra)[0])


def _read_tool(item: Any) -> Tool:
    kind = item.get("type") if type(item) is dict else None
    if type(kind) is str and kind in _DEFINITION and item.keys() == {"type", kind}:
        tool = read_definition(item[kind], NAME, kind)
        if tool is not None:
            return tool
    return Tool(format=NAME, value=item)


def _write_tool(tool: Tool) -> Any:
    if tool.format == NAME:
        return tool.value
    block = write_definition(tool, NAME)
    kind = "function" if tool.kind is UNSET else "custom"
    if block is None:
        return UNSET
    if kind == "custom" and type(block.get("format")) is dict and "grammar" in block["format"].values():
        block["format"] = _nested_grammar(block["format"])
    return {"type": kind, kind: block}


def _nested_grammar(value: Fields) -> Fields:
    """Chat Completions puts a grammar into an object of its own; the canonical form is that of the Responses API."""
    if value.get("type") != "grammar" or "grammar" in value:
        return value
    return {"type": "grammar", "grammar": {key: item for key, item in value.items() if key != "type"}}


def _flat_grammar(tool: Tool) -> Tool:
    from msgspec.structs import replace

    value = tool.input_format
    if type(value) is dict and value.keys() == {"type", "grammar"} and type(value["grammar"]) is dict:
        if value["type"] == "grammar" and "type" not in value["grammar"]:
            return replace(tool, input_format={"type": "grammar", **value["grammar"]})
    return tool


def write_tools(tools: Tools, write: Any) -> Any:
    """The definitions that the format can say; UNSET if there are none."""
    if tools is UNSET:
        return UNSET
    return [item for item in map(write, tools) if item is not UNSET] or UNSET


# -- the choice of tools -------------------------------------------------------------------------------------------


def read_choice(value: Any, name_of: Any) -> ToolChoice | None:
    """A mode, or an object that names tools; `name_of` gives the name of the tool that an item means."""
    if type(value) is str:
        return ToolChoice(mode=value) if value in ("auto", "none", "required") else None
    if type(value) is not dict:
        return None
    if (name := name_of(value)) is not None:
        return ToolChoice(mode="required", tools=[name])
    allowed = value.get("allowed_tools", value)
    if value.get("type") != "allowed_tools" or type(allowed) is not dict or type(allowed.get("tools")) is not list:
        return None
    names = [name_of(item) for item in allowed["tools"]]
    if not names or None in names or allowed.get("mode") not in ("auto", "required"):
        return None
    return ToolChoice(mode=allowed["mode"], tools=names)


def write_choice(choice: ToolChoice, tools: Tools, named: Any) -> tuple[Any, Any]:
    """The mode or the one named tool, and else the mode and the list of the allowed ones."""
    if choice.mode not in ("auto", "none", "required"):
        return UNSET, UNSET
    if choice.tools is UNSET or choice.mode == "none":
        return choice.mode, UNSET
    custom = {tool.name for tool in tools or () if tool.kind == "custom"}
    items = [named(name, "custom" if name in custom else "function") for name in choice.tools]
    if choice.mode == "required" and len(items) == 1:
        return items[0], UNSET
    return choice.mode, items


def _name_of(item: Any) -> str | None:
    kind = item.get("type") if type(item) is dict else None
    if kind not in ("function", "custom") or item.keys() != {"type", kind} or type(item[kind]) is not dict:
        return None
    name = item[kind].get("name")
    return name if type(name) is str and len(item[kind]) == 1 else None


def _named(name: str, kind: str) -> Fields:
    return {"type": kind, kind: {"name": name}}


# -- the format of the answer ----------------------------------------------------------------------------------------


_OUTPUT = (
    Row("name", "name", is_str),
    Row("description", "description", is_str),
    Row("schema", "schema", is_object),
    Row("strict", "strict", is_bool),
)


def read_output(value: Fields) -> OutputFormat:
    """The name, description and schema of a JSON answer."""
    fields: Fields = {}
    take_rows(dict(value), _OUTPUT, fields)
    return OutputFormat(**fields)


def write_output(output: OutputFormat) -> Fields | None:
    """The same for writing; None for JSON without a schema. OpenAI requires a name."""
    if output.schema is UNSET:
        return None
    out = set_present({}, name=output.name, description=output.description, schema=output.schema)
    return set_present({"name": "output", **out}, strict=output.strict)


# -- requests --------------------------------------------------------------------------------------------------------


def _read(body: Fields) -> tuple[Tools, Fields]:
    tools: Tools = UNSET
    fields: Fields = {}
    if type(body.get("tools")) is list and body["tools"]:
        tools = [_flat_grammar(_read_tool(item)) for item in body.pop("tools")]
    elif type(body.get("functions")) is list and body["functions"]:  # the deprecated key
        found = [read_definition(item, NAME, "function") for item in body["functions"]]
        if None not in found:
            tools = [tool for tool in found if tool is not None]
            del body["functions"]
    take_model(body, PROVIDER, fields)
    take_rows(body, _ROWS, fields)
    if "max_tokens" not in fields:
        take_rows(body, (Row("max_tokens", "max_tokens", is_int),), fields)
    if type(body.get("stop")) is str:
        fields["stop"] = [body.pop("stop")]
    elif is_strings(body.get("stop")):
        fields["stop"] = body.pop("stop")
    for key in ("tool_choice", "function_call"):
        value = body.get(key)
        if key == "function_call" and type(value) is dict:
            value = {"type": "function", "function": value}
        if value is not None and "tool_choice" not in fields and (choice := read_choice(value, _name_of)) is not None:
            fields["tool_choice"] = choice
            del body[key]
    rest = take_inner(body, "response_format")
    kind = rest.get("type")
    if kind == "json_object":
        fields["output"] = OutputFormat()
    elif kind == "json_schema" and type(rest.get("json_schema")) is dict and "schema" in rest["json_schema"]:
        fields["output"] = read_output(rest["json_schema"])
    put_inner(body, "response_format", {} if "output" in fields else rest)
    return tools, fields


def _write(tools: Tools, settings: Settings) -> Fields:
    out: Fields = set_present({}, model=own_model(settings, PROVIDER), tools=write_tools(tools, _write_tool))
    put_rows(settings, _ROWS, out)
    if settings.stop is not UNSET:
        out["stop"] = settings.stop[:_MAX_STOP]
    if settings.tool_choice is not UNSET:
        choice, allowed = write_choice(settings.tool_choice, tools, _named)
        if allowed is not UNSET:
            choice = {"type": "allowed_tools", "allowed_tools": {"mode": choice, "tools": allowed}}
        set_present(out, tool_choice=choice)
    if settings.output is not UNSET:
        schema = write_output(settings.output)
        json = {"type": "json_schema", "json_schema": schema} if schema is not None else {"type": "json_object"}
        out["response_format"] = json
    return out


DIALECT = Dialect(
    name=NAME,
    provider=PROVIDER,
    said=("messages",),
    keys=frozenset(
        {row.key for row in _ROWS}
        | {"model", "tools", "functions", "max_tokens", "stop", "tool_choice", "function_call", "response_format"}
    ),
    read=_read,
    write=_write,
    name_pattern=r"[a-zA-Z0-9_-]{1,64}",
    required=(("model", "model"),),
)
