"""What a request says besides its messages: the tools the model may call, and the settings of its answer.

They are outside the digest of the content. In a ledger they belong to a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET, UnsetType

from hansard.model.parts import Node

if TYPE_CHECKING:
    Number: TypeAlias = int | float
else:
    Number = Any  # so that native JSON keeps the kind and the digits of every number


class ModelRef(Node, frozen=True, kw_only=True):
    """The model that answered, or is asked: provider, model name, and the provider's id of the response.

    >>> ModelRef(provider="anthropic", name="claude-opus-5").name
    'claude-opus-5'
    """

    provider: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    response_id: str | UnsetType = UNSET


class Tool(Node, frozen=True, kw_only=True):
    """A tool that the model may call: its name, what it does, and the JSON Schema of its input.

    `kind` is `custom` for a tool that takes text (`input_format`: its grammar) and absent for a function. A tool that a
    provider runs is kept as it came, in `value`, with the name of its format in `format`.

    >>> Tool(name="weather", description="Weather of a city", input_schema={"type": "object"}).name
    'weather'
    """

    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    input_schema: dict[str, Any] | UnsetType = UNSET
    strict: bool | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    input_format: dict[str, Any] | UnsetType = UNSET
    format: str | UnsetType = UNSET
    value: Any = UNSET


class ToolChoice(Node, frozen=True, kw_only=True):
    """Whether tools are called: `mode` is auto, none or required; `tools` names those that may be, if not all.

    >>> ToolChoice(mode="required", tools=["weather"]).mode
    'required'
    """

    mode: str
    tools: list[str] | UnsetType = UNSET


class OutputFormat(Node, frozen=True, kw_only=True):
    """The answer is JSON, of this JSON Schema if there is one.

    >>> OutputFormat(name="city", schema={"type": "object"}).name
    'city'
    """

    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    schema: dict[str, Any] | UnsetType = UNSET
    strict: bool | UnsetType = UNSET


class Settings(Node, frozen=True, kw_only=True):
    """Settings of a request. Each is absent unless the request says it.

    `effort` is the thinking effort: none, minimal, low, medium, high, xhigh or max; `thinking_tokens` the most tokens
    to think with. `user` is the end user as the application names them. A model is written only for its own provider.

    >>> Settings(max_tokens=1024, temperature=0.2, stop=["END"])
    Settings(max_tokens=1024, temperature=0.2, stop=['END'])
    """

    model: ModelRef | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET
    temperature: Number | UnsetType = UNSET
    top_p: Number | UnsetType = UNSET
    top_k: Number | UnsetType = UNSET
    stop: list[str] | UnsetType = UNSET
    seed: int | UnsetType = UNSET
    frequency_penalty: Number | UnsetType = UNSET
    presence_penalty: Number | UnsetType = UNSET
    tool_choice: ToolChoice | UnsetType = UNSET
    parallel_tool_calls: bool | UnsetType = UNSET
    output: OutputFormat | UnsetType = UNSET
    effort: str | UnsetType = UNSET
    thinking_tokens: int | UnsetType = UNSET
    verbosity: str | UnsetType = UNSET
    stream: bool | UnsetType = UNSET
    store: bool | UnsetType = UNSET
    user: str | UnsetType = UNSET
    service_tier: str | UnsetType = UNSET
    safety_identifier: str | UnsetType = UNSET
    prompt_cache_key: str | UnsetType = UNSET
    prompt_cache_retention: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
