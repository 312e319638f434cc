"""Tools and settings of a generateContent request; the SDK's snake_case is read and written too."""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET

from hansard.formats.gemini.fields import NAME, PROVIDER
from hansard.formats.gemini.tools import NAME_PATTERN
from hansard.formats.requests import (
    Dialect,
    Fields,
    Row,
    Tools,
    is_int,
    is_number,
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
from hansard.model.request import OutputFormat, Settings, Tool, ToolChoice

_GENERATION = (
    Row("maxOutputTokens", "max_tokens", is_int),
    Row("temperature", "temperature", is_number),
    Row("topP", "top_p", is_number),
    Row("topK", "top_k", is_number),
    Row("stopSequences", "stop", is_strings),
    Row("seed", "seed", is_int),
    Row("frequencyPenalty", "frequency_penalty", is_number),
    Row("presencePenalty", "presence_penalty", is_number),
)
_FUNCTION = (Row("name", "name", is_str), Row("description", "description", is_str))
_MODES = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}
_LEVELS = ("minimal", "low", "medium", "high")
_NEAREST = {**{level: level.upper() for level in _LEVELS}, "xhigh": "HIGH", "max": "HIGH"}
_MAX_STOP = 5


# -- schemas ---------------------------------------------------------------------------------------------------------


def json_schema(value: Any) -> Any:
    """JSON Schema of a schema of OpenAPI as Gemini has it: types in lower case, `nullable` as a type.

    >>> json_schema({"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": True}}})
    {'type': 'object', 'properties': {'n': {'type': ['integer', 'null']}}}
    """
    if type(value) is list:
        return [json_schema(item) for item in value]
    if type(value) is not dict:
        return value
    out: Fields = {}
    nullable = value.get("nullable") is True
    for key, item in value.items():
        if key == "type" and type(item) is str:
            out[key] = [item.lower(), "null"] if nullable else item.lower()
        elif key == "properties" and type(item) is dict:
            out[key] = {name: json_schema(inner) for name, inner in item.items()}
        elif key in ("items", "anyOf"):
            out[key] = json_schema(item)
        elif key != "nullable" or not nullable or "type" not in value:
            out[key] = item
    return out


def openapi_schema(value: Any) -> Any:
    """The same the other way, for what `json_schema` gave.

    >>> openapi_schema({"type": ["integer", "null"]})
    {'type': 'INTEGER', 'nullable': True}
    """
    if type(value) is list:
        return [openapi_schema(item) for item in value]
    if type(value) is not dict:
        return value
    out: Fields = {}
    for key, item in value.items():
        if key == "type" and type(item) is str:
            out[key] = item.upper()
        elif key == "type" and type(item) is list and len(item) == 2 and item[1] == "null" and type(item[0]) is str:
            out["type"], out["nullable"] = item[0].upper(), True
        elif key == "properties" and type(item) is dict:
            out[key] = {name: openapi_schema(inner) for name, inner in item.items()}
        elif key in ("items", "anyOf"):
            out[key] = openapi_schema(item)
        else:
            out[key] = item
    return out


# -- tools -----------------------------------------------------------------------------------------------------------


def _read_function(item: Any) -> Tool | None:
    if type(item) is not dict or type(item.get("name")) is not str:
        return None
    rest = dict(item)
    fields: Fields = {}
    hints: Fields = {}
    take_rows(rest, _FUNCTION, fields)
    if type(rest.get("parametersJsonSchema")) is dict:
        fields["input_schema"] = rest.pop("parametersJsonSchema")
    elif type(rest.get("parameters")) is dict:
        given = rest["parameters"]
        schema = fields["input_schema"] = json_schema(given)
        if schema == given:
            hints["parameters"] = "json"
        elif openapi_schema(schema) == given:
            hints["parameters"] = "openapi"
        if hints:
            del rest["parameters"]
    return Tool(**fields, extra=pack(NAME, rest, hints))


def _write_function(tool: Tool) -> Fields:
    rest, hints = unpack(NAME, tool.extra)
    out = set_present({"name": tool.name}, description=tool.description)
    if tool.input_schema is not UNSET:
        if hints.get("parameters") == "json":
            out["parameters"] = tool.input_schema
        elif hints.get("parameters") == "openapi":
            out["parameters"] = openapi_schema(tool.input_schema)
        elif "parameters" not in rest or json_schema(rest["parameters"]) != tool.input_schema:
            rest.pop("parameters", None)
            out["parametersJsonSchema"] = tool.input_schema
    return merge_residue(out, rest)


def _read_tools(items: list[Any]) -> list[Tool]:
    """Functions, each a tool; whatever else is Gemini's own stays as it came."""
    tools: list[Tool] = []
    for item in items:
        functions = item.get("functionDeclarations") if type(item) is dict and len(item) == 1 else None
        found = list(map(_read_function, functions)) if type(functions) is list and functions else [None]
        if None in found:
            tools.append(Tool(format=NAME, value=item))
        else:
            tools += [tool for tool in found if tool is not None]
    return tools


def _write_tools(tools: list[Tool]) -> list[Any]:
    out: list[Any] = []
    group: list[Fields] | None = None
    for tool in tools:
        if tool.format == NAME:
            out.append(tool.value)
            group = None
        elif type(tool.name) is str and tool.format is UNSET and tool.kind is UNSET:
            if group is None:
                group = []
                out.append({"functionDeclarations": group})
            group.append(_write_function(tool))
    return out


def _read_choice(config: Fields, fields: Fields) -> None:
    mode = config.get("mode")
    if type(mode) is str and mode in _MODES:
        named: Fields = {}
        take_rows(config, (Row("allowedFunctionNames", "tools", is_strings),), named)
        fields["tool_choice"] = ToolChoice(mode=_MODES[mode], **named)
        del config["mode"]


def _write_choice(choice: ToolChoice) -> Any:
    native = {"auto": "AUTO", "required": "ANY", "none": "NONE"}.get(choice.mode)
    if native is None:
        return UNSET
    if choice.tools is UNSET or choice.mode == "none":
        return {"mode": native}
    return {"mode": "VALIDATED" if choice.mode == "auto" else native, "allowedFunctionNames": choice.tools}


# -- requests --------------------------------------------------------------------------------------------------------


def _read_thinking(config: Fields, fields: Fields) -> None:
    thinking = take_inner(config, "thinkingConfig")
    level, tokens = thinking.get("thinkingLevel"), thinking.get("thinkingBudget")
    if type(level) is str and level.lower() in _LEVELS:
        fields["effort"] = level.lower()
        del thinking["thinkingLevel"]
    elif type(tokens) is int and tokens >= 0:
        fields.update({"thinking_tokens": tokens} if tokens else {"effort": "none"})
        del thinking["thinkingBudget"]
    put_inner(config, "thinkingConfig", thinking)


def _read(body: Fields) -> tuple[Tools, Fields]:
    given, snake = body, not _CAMEL.keys().isdisjoint(body)
    if snake:
        body = {_CAMEL.get(key, key): value for key, value in given.items()}
        given.clear()
        given.update(body)
        body = given
    for key in ("tools", "toolConfig", "generationConfig"):
        if key in body:
            body[key] = _camel(body[key])
    tools: Tools = UNSET
    fields: Fields = {}
    if type(body.get("tools")) is list and body["tools"]:
        tools = _read_tools(body.pop("tools"))
    take_model(body, PROVIDER, fields)
    holder = take_inner(body, "toolConfig")
    calling = take_inner(holder, "functionCallingConfig")
    _read_choice(calling, fields)
    put_inner(holder, "functionCallingConfig", calling)
    put_inner(body, "toolConfig", holder)
    config = take_inner(body, "generationConfig")
    take_rows(config, _GENERATION, fields)
    _read_thinking(config, fields)
    if config.get("responseMimeType") == "application/json":
        fields["output"] = OutputFormat()
        for key in ("responseJsonSchema", "responseSchema"):
            if type(config.get(key)) is dict and fields["output"].schema is UNSET:
                fields["output"] = OutputFormat(schema=json_schema(config[key]) if key[8] == "S" else config[key])
                del config[key]
        del config["responseMimeType"]
    put_inner(body, "generationConfig", config)
    return tools, fields


def _write(tools: Tools, settings: Settings) -> Fields:
    out: Fields = set_present({}, model=own_model(settings, PROVIDER))
    if tools is not UNSET and (made := _write_tools(tools)):
        out["tools"] = made
    if settings.tool_choice is not UNSET and (choice := _write_choice(settings.tool_choice)) is not UNSET:
        out["toolConfig"] = {"functionCallingConfig": choice}
    config = put_rows(settings, _GENERATION, {})
    if "stopSequences" in config:
        config["stopSequences"] = config["stopSequences"][:_MAX_STOP]
    if settings.output is not UNSET:
        config["responseMimeType"] = "application/json"
        set_present(config, responseJsonSchema=settings.output.schema)
    if settings.effort in _NEAREST:
        config["thinkingConfig"] = {"thinkingLevel": _NEAREST[str(settings.effort)]}
    elif settings.effort == "none":
        config["thinkingConfig"] = {"thinkingBudget": 0}
    elif settings.thinking_tokens is not UNSET:
        config["thinkingConfig"] = {"thinkingBudget": settings.thinking_tokens}
    if config:
        out["generationConfig"] = config
    return out


# -- the SDK's spelling ----------------------------------------------------------------------------------------------

_INNER = (
    *("functionDeclarations", "parametersJsonSchema", "functionCallingConfig", "allowedFunctionNames"),
    *("responseMimeType", "responseJsonSchema", "responseSchema", "thinkingConfig", "thinkingLevel"),
    *("thinkingBudget", "includeThoughts", "candidateCount", *(row.key for row in _GENERATION)),
)
_SNAKE = {
    name: re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)
    for name in ("toolConfig", "generationConfig", *_INNER)
}
_CAMEL = {snake: name for name, snake in _SNAKE.items() if snake != name}
_DATA = frozenset({"parametersJsonSchema", "parameters", "responseJsonSchema", "responseSchema", "response"})


def _camel(value: Any) -> Any:
    """The value with the keys that are known here in camelCase; schemas are left alone."""
    if type(value) is list:
        return list(map(_camel, value))
    if type(value) is not dict:
        return value
    out: Fields = {}
    for key, item in value.items():
        name = _CAMEL.get(key) or key
        if name in value and name != key:  # both spellings
            name = key
        out[name] = item if name in _DATA else _camel(item)
    return out


DIALECT = Dialect(
    name=NAME,
    provider=PROVIDER,
    said=("contents",),
    keys=frozenset({"model", "tools", "toolConfig", "generationConfig", "tool_config", "generation_config"}),
    read=_read,
    write=_write,
    name_pattern=NAME_PATTERN,
    required=(("model", "model"),),
)
