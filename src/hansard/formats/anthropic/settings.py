"""Tools and settings of a request of the Messages API."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.anthropic.fields import NAME
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
from hansard.model.request import OutputFormat, Settings, Tool, ToolChoice

_ROWS = (
    Row("max_tokens", "max_tokens", is_int),
    Row("temperature", "temperature", is_number),
    Row("top_p", "top_p", is_number),
    Row("top_k", "top_k", is_number),
    Row("stop_sequences", "stop", is_strings),
    Row("stream", "stream", is_bool),
)
_TOOL = (
    Row("name", "name", is_str),
    Row("description", "description", is_str),
    Row("input_schema", "input_schema", is_object),
    Row("strict", "strict", is_bool),
)
_MODES = {"auto": "auto", "any": "required", "none": "none"}
_NATIVE_MODES = {mode: native for native, mode in _MODES.items()}
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_NEAREST = {"minimal": "low", **{effort: effort for effort in _EFFORTS}}
_TIERS = {"auto": "auto", "standard_only": "default"}
_NATIVE_TIERS = {tier: native for native, tier in _TIERS.items()}
_LEAST_THINKING = 1024


# -- tools ---------------------------------------------------------------------------------------------------------


def _read_tool(item: Any) -> Tool:
    """A client's tool has a name and a schema; those of a type of their own are Anthropic's."""
    own = type(item) is not dict or item.get("type") not in (None, "custom")
    if own or type(item.get("input_schema")) is not dict:
        return Tool(format=NAME, value=item)
    rest = dict(item)
    fields: Fields = {}
    take_rows(rest, _TOOL, fields)
    return Tool(**fields, extra=pack(NAME, rest)) if "name" in fields else Tool(format=NAME, value=item)


def _write_tool(tool: Tool) -> Any:
    if tool.format == NAME:
        return tool.value
    if type(tool.name) is not str or tool.format is not UNSET or tool.kind is not UNSET:
        return UNSET
    schema = {} if tool.input_schema is UNSET else tool.input_schema
    if schema.get("type") != "object":
        schema = {**schema, "type": "object"}
    out = set_present({"name": tool.name}, description=tool.description, input_schema=schema, strict=tool.strict)
    return merge_residue(out, unpack(NAME, tool.extra)[0])


def _read_choice(value: Fields, fields: Fields) -> bool:
    """The choice, and whether calls may be parallel; `auto` beside the latter is the default."""
    rest = dict(value)
    kind, parallel = rest.pop("type", None), rest.pop("disable_parallel_tool_use", UNSET)
    if kind == "tool" and type(rest.get("name")) is str:
        fields["tool_choice"] = ToolChoice(mode="required", tools=[rest.pop("name")])
    elif type(kind) is str and kind in _MODES:
        if kind != "auto" or parallel is UNSET:
            fields["tool_choice"] = ToolChoice(mode=_MODES[kind])
    else:
        return False
    if type(parallel) is bool:
        fields["parallel_tool_calls"] = not parallel
    return True


def _write_choice(settings: Settings) -> Any:
    choice, parallel = settings.tool_choice, settings.parallel_tool_calls
    if choice is UNSET and parallel is UNSET:
        return UNSET
    mode = "auto" if choice is UNSET else choice.mode
    if mode not in _NATIVE_MODES:
        return UNSET
    out: Fields = {"type": _NATIVE_MODES[mode]}
    if choice is not UNSET and mode == "required" and choice.tools is not UNSET and len(choice.tools) == 1:
        out = {"type": "tool", "name": choice.tools[0]}
    if parallel is not UNSET and mode != "none":
        out["disable_parallel_tool_use"] = not parallel
    return out


# -- thinking ------------------------------------------------------------------------------------------------------


def _read_thinking(body: Fields, fields: Fields) -> None:
    thinking = body.get("thinking")
    kind = thinking.get("type") if type(thinking) is dict else None
    if kind == "enabled":
        rest = take_inner(body, "thinking")
        take_rows(rest, (Row("budget_tokens", "thinking_tokens", is_int),), fields)
        if "thinking_tokens" in fields:
            del rest["type"]
            put_inner(body, "thinking", rest)
    elif kind == "disabled" and "effort" not in fields:
        fields["effort"] = "none"
        del body["thinking"]
    elif kind == "adaptive" and "effort" in fields:
        rest = take_inner(body, "thinking")
        del rest["type"]
        put_inner(body, "thinking", rest)


def _write_thinking(settings: Settings, out: Fields) -> None:
    """Thinking goes with no forced tool, and with the default sampling only."""
    choice = settings.tool_choice
    forced = choice is not UNSET and choice.mode == "required"
    if settings.effort in _NEAREST:
        out.setdefault("output_config", {})["effort"] = _NEAREST[settings.effort]
    if settings.thinking_tokens is not UNSET:
        enough = settings.max_tokens is UNSET or settings.max_tokens > settings.thinking_tokens
        if not forced and enough and settings.thinking_tokens >= _LEAST_THINKING:
            out["thinking"] = {"type": "enabled", "budget_tokens": settings.thinking_tokens}
            for key in ("temperature", "top_k"):
                out.pop(key, None)
    elif settings.effort == "none":
        out["thinking"] = {"type": "disabled"}
    elif settings.effort in _NEAREST and not forced and out.keys().isdisjoint(("temperature", "top_k")):
        out["thinking"] = {"type": "adaptive"}


# -- requests --------------------------------------------------------------------------------------------------------


def _read(body: Fields) -> tuple[Tools, Fields]:
    tools: Tools = UNSET
    fields: Fields = {}
    if type(body.get("tools")) is list and body["tools"]:
        tools = list(map(_read_tool, body.pop("tools")))
    take_model(body, NAME, fields)
    take_rows(body, _ROWS, fields)
    if type(body.get("tool_choice")) is dict and _read_choice(body["tool_choice"], fields):
        del body["tool_choice"]
    config = take_inner(body, "output_config")
    take_rows(config, (Row("effort", "effort", lambda value: value in _EFFORTS),), fields)
    for holder, key in ((config, "format"), (body, "output_format")):  # the second is an older key of the beta
        given = holder.get(key)
        if type(given) is dict and given.get("type") == "json_schema" and type(given.get("schema")) is dict:
            if "output" not in fields:
                fields["output"] = OutputFormat(schema=given["schema"])
                del holder[key]
    put_inner(body, "output_config", config)
    _read_thinking(body, fields)
    metadata = take_inner(body, "metadata")
    take_rows(metadata, (Row("user_id", "user", is_str),), fields)
    put_inner(body, "metadata", metadata)
    if body.get("service_tier") in ("auto", "standard_only"):
        fields["service_tier"] = _TIERS[body.pop("service_tier")]
    return tools, fields


def _write(tools: Tools, settings: Settings) -> Fields:
    out: Fields = set_present({}, model=own_model(settings, NAME), tool_choice=_write_choice(settings))
    if tools is not UNSET and (made := [item for item in map(_write_tool, tools) if item is not UNSET]):
        out["tools"] = made
    put_rows(settings, _ROWS, out)
    if "temperature" in out and out["temperature"] > 1:
        out["temperature"] = 1
    if settings.output is not UNSET and settings.output.schema is not UNSET:
        out["output_config"] = {"format": {"type": "json_schema", "schema": settings.output.schema}}
    _write_thinking(settings, out)
    if settings.user is not UNSET:
        out["metadata"] = {"user_id": settings.user}
    if settings.service_tier in _NATIVE_TIERS:
        out["service_tier"] = _NATIVE_TIERS[settings.service_tier]
    return out


DIALECT = Dialect(
    name=NAME,
    provider=NAME,
    said=("messages",),
    keys=frozenset(
        {row.key for row in _ROWS}
        | {"model", "tools", "tool_choice", "output_config", "output_format", "thinking", "metadata", "service_tier"}
    ),
    read=_read,
    write=_write,
    name_pattern=r"[a-zA-Z0-9_-]{1,128}",
    required=(("model", "model"), ("max_tokens", "maxTokens")),
)
