"""Tools and settings of a request of the Responses API."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.openai_chat.settings import (
    PROVIDER,
    SHARED,
    is_effort,
    read_choice,
    read_definition,
    read_output,
    write_choice,
    write_definition,
    write_output,
    write_tools,
)
from hansard.formats.openai_responses.content import NAME
from hansard.formats.requests import (
    Dialect,
    Fields,
    Row,
    Tools,
    is_int,
    is_str,
    own_model,
    put_inner,
    put_rows,
    take_inner,
    take_model,
    take_rows,
)
from hansard.formats.residue import pack, set_present, unpack
from hansard.model.request import OutputFormat, Settings, Tool

_ROWS = (*SHARED, Row("max_output_tokens", "max_tokens", is_int))


# -- tools ---------------------------------------------------------------------------------------------------------


def _read_tool(item: Any) -> Tool:
    """`parameters` and `strict` are required keys here; `strict` is true where a request leaves it out."""
    kind = item.get("type") if type(item) is dict else None
    if kind not in ("function", "custom"):
        return Tool(format=NAME, value=item)
    block = {key: value for key, value in item.items() if key != "type"}
    hints: Fields = {}
    if kind == "function":
        if absent := [key for key in ("parameters", "strict") if key not in block]:
            hints["without"] = absent
        if block.get("parameters", UNSET) is None:
            del block["parameters"]
        if block.get("strict") is False:
            del block["strict"]
    tool = read_definition(block, NAME, kind)
    if tool is None:
        return Tool(format=NAME, value=item)
    return replace(tool, extra=pack(NAME, unpack(NAME, tool.extra)[0], hints)) if hints else tool


def _write_tool(tool: Tool) -> Any:
    if tool.format == NAME:
        return tool.value
    block = write_definition(tool, NAME)
    if block is None:
        return UNSET
    if tool.kind is not UNSET:
        return {"type": "custom", **block}
    without = unpack(NAME, tool.extra)[1].get("without")
    defaults = {"parameters": None, "strict": False}
    absent = {key: value for key, value in defaults.items() if type(without) is not list or key not in without}
    return {"type": "function", **absent, **block}


def _name_of(item: Any) -> str | None:
    if type(item) is not dict or item.get("type") not in ("function", "custom") or item.keys() != {"type", "name"}:
        return None
    return item["name"] if type(item["name"]) is str else None


def _named(name: str, kind: str) -> Fields:
    return {"type": kind, "name": name}


# -- requests --------------------------------------------------------------------------------------------------------


def _read(body: Fields) -> tuple[Tools, Fields]:
    tools: Tools = UNSET
    fields: Fields = {}
    if type(body.get("tools")) is list and body["tools"]:
        tools = [_read_tool(item) for item in body.pop("tools")]
    take_model(body, PROVIDER, fields)
    take_rows(body, _ROWS, fields)
    choice = read_choice(body["tool_choice"], _name_of) if "tool_choice" in body else None
    if choice is not None:
        fields["tool_choice"] = choice
        del body["tool_choice"]
    text = take_inner(body, "text")
    take_rows(text, (Row("verbosity", "verbosity", is_str),), fields)
    given = text.get("format")
    kind = given.get("type") if type(given) is dict else None
    if kind == "json_object":
        fields["output"] = OutputFormat()
    elif kind == "json_schema" and type(given) is dict and "schema" in given:
        fields["output"] = read_output(given)
    if "output" in fields:
        del text["format"]
    put_inner(body, "text", text)
    reasoning = take_inner(body, "reasoning")
    take_rows(reasoning, (Row("effort", "effort", is_effort),), fields)
    put_inner(body, "reasoning", reasoning)
    return tools, fields


def _write(tools: Tools, settings: Settings) -> Fields:
    out: Fields = set_present({}, model=own_model(settings, PROVIDER), tools=write_tools(tools, _write_tool))
    put_rows(settings, _ROWS, out)
    if settings.tool_choice is not UNSET:
        choice, allowed = write_choice(settings.tool_choice, tools, _named)
        if allowed is not UNSET:
            choice = {"type": "allowed_tools", "mode": choice, "tools": allowed}
        set_present(out, tool_choice=choice)
    text: Fields = {}
    if settings.output is not UNSET:
        schema = write_output(settings.output)
        text["format"] = {"type": "json_schema", **schema} if schema is not None else {"type": "json_object"}
    set_present(text, verbosity=settings.verbosity)
    if text:
        out["text"] = text
    if settings.effort is not UNSET:
        out["reasoning"] = {"effort": settings.effort}
    return out


DIALECT = Dialect(
    name=NAME,
    provider=PROVIDER,
    said=("input", "prompt", "conversation", "previous_response_id"),
    keys=frozenset({row.key for row in _ROWS} | {"model", "tools", "tool_choice", "text", "reasoning"}),
    read=_read,
    write=_write,
    name_pattern=r"[a-zA-Z0-9_-]{1,64}",
    required=(("model", "model"),),
)
