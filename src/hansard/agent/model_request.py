"""Tools and settings of a request to a model, as the run in the ledger keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, UnsetType
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from hansard.formats.pydantic_ai.reasoning import provider_of
from hansard.model.request import EFFORTS, ModelRef, OutputFormat, Settings, Tool, ToolChoice

_SAME = {
    "max_tokens": int,
    "temperature": (int, float),
    "top_p": (int, float),
    "top_k": int,
    "seed": int,
    "frequency_penalty": (int, float),
    "presence_penalty": (int, float),
    "parallel_tool_calls": bool,
    "service_tier": str,
}


def tools_of(context: ModelRequestContext) -> list[Tool] | UnsetType:
    """The tools that the model may call, those for its output included."""
    asked = context.model_request_parameters
    return [_tool(one) for one in (*asked.function_tools, *asked.output_tools)] or UNSET


def settings_of(context: ModelRequestContext) -> Settings:
    """The settings of the request, as far as they have a canonical field; headers of a client's own have none."""
    given: Mapping[str, Any] = context.model_settings or {}
    fields: dict[str, Any] = {
        name: given[name]
        for name, kind in _SAME.items()
        if isinstance(given.get(name), kind) and (kind is bool or not isinstance(given[name], bool))  # type: ignore[arg-type]
    }
    if isinstance(given.get("stop_sequences"), list):
        fields["stop"] = list(given["stop_sequences"])
    if given.get("tool_choice") in ("auto", "none", "required"):
        fields["tool_choice"] = ToolChoice(mode=given["tool_choice"])
    if given.get("thinking") in EFFORTS:
        fields["effort"] = given["thinking"]
    elif given.get("thinking") is False:
        fields["effort"] = "none"
    asked = context.model_request_parameters
    if asked.output_mode == "native" and (output := asked.output_object) is not None:
        fields["output"] = OutputFormat(
            schema=output.json_schema,
            name=_given(output.name),
            description=_given(output.description),
            strict=_given(output.strict),
        )
    return Settings(model=ModelRef(provider=provider_of(context.model.system), name=context.model.model_name), **fields)


def _tool(one: ToolDefinition) -> Tool:
    return Tool(
        name=one.name,
        description=_given(one.description or None),
        input_schema=one.parameters_json_schema,
        strict=_given(one.strict),
    )


def _given(value: Any) -> Any:
    return UNSET if value is None else value
