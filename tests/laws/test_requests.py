"""Tools and settings of requests: what two providers both have comes back equal, by every way between them."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.model import Conversation, Message, OutputFormat, Settings, Tool, ToolChoice, native
from tests.laws.test_providers import PROVIDERS
from tests.strategies import maybe, schemas

CHAT, RESPONSES, ANTHROPIC, GEMINI = "openai-chat", "openai-responses", "anthropic", "gemini"
HAS = {
    "max_tokens": {CHAT, RESPONSES, ANTHROPIC, GEMINI},
    "temperature": {CHAT, RESPONSES, ANTHROPIC, GEMINI},
    "top_p": {CHAT, RESPONSES, ANTHROPIC, GEMINI},
    "top_k": {ANTHROPIC, GEMINI},
    "stop": {CHAT, ANTHROPIC, GEMINI},
    "seed": {CHAT, GEMINI},
    "frequency_penalty": {CHAT, GEMINI},
    "presence_penalty": {CHAT, GEMINI},
    "tool_choice": {CHAT, RESPONSES, ANTHROPIC, GEMINI},
    "parallel_tool_calls": {CHAT, RESPONSES, ANTHROPIC},
    "effort": {CHAT, RESPONSES, ANTHROPIC, GEMINI},
    "thinking_tokens": {ANTHROPIC, GEMINI},
    "verbosity": {CHAT, RESPONSES},
    "stream": {CHAT, RESPONSES, ANTHROPIC},
    "store": {CHAT, RESPONSES},
    "user": {CHAT, RESPONSES, ANTHROPIC},
    "service_tier": {CHAT, RESPONSES, ANTHROPIC},
    "safety_identifier": {CHAT, RESPONSES},
    "prompt_cache_key": {CHAT, RESPONSES},
    "prompt_cache_retention": {CHAT, RESPONSES},
    "metadata": {CHAT, RESPONSES},
    "model": set(),  # `test_a_model_is_written_for_its_own_provider_only`
    "output": set(),  # compared by its fields
}
HAS_OF_OUTPUT = {
    "name": {CHAT, RESPONSES},
    "description": {CHAT, RESPONSES},
    "schema": {CHAT, RESPONSES, ANTHROPIC, GEMINI},
    "strict": {CHAT, RESPONSES},
}
HAS_OF_TOOL = {
    "name": {CHAT, RESPONSES, ANTHROPIC, GEMINI},
    "description": {CHAT, RESPONSES, ANTHROPIC, GEMINI},
    "input_schema": {CHAT, RESPONSES, ANTHROPIC, GEMINI},
    "strict": {CHAT, RESPONSES, ANTHROPIC},
    "kind": {CHAT, RESPONSES},
    "input_format": {CHAT, RESPONSES},
    "format": set(),
    "value": set(),
}

words = st.sampled_from(["tea", "a b", "é"])
share = st.sampled_from([0, 0.25, 1.0])
functions = st.builds(
    Tool,
    name=st.sampled_from(["weather", "get_time", "find-it"]),
    description=maybe(words),
    input_schema=schemas,
    strict=maybe(st.just(True)),
)
custom = st.builds(
    Tool,
    name=st.just("shell"),
    description=maybe(words),
    kind=st.just("custom"),
    input_format=st.sampled_from([{"type": "text"}, {"type": "grammar", "syntax": "regex", "definition": "a+"}]),
)
choices = st.builds(
    ToolChoice,
    mode=st.sampled_from(["auto", "none", "required"]),
    tools=st.just(UNSET),
) | st.builds(ToolChoice, mode=st.just("required"), tools=st.just(["weather"]))
outputs = st.builds(
    OutputFormat, name=st.just("answer"), description=maybe(words), schema=schemas, strict=maybe(st.booleans())
)
settings = st.builds(
    Settings,
    max_tokens=maybe(st.sampled_from([4096, 10000])),
    temperature=maybe(share),
    top_p=maybe(share),
    top_k=maybe(st.integers(1, 40)),
    stop=maybe(st.lists(words, min_size=1, max_size=4)),
    seed=maybe(st.integers(0, 9)),
    frequency_penalty=maybe(share),
    presence_penalty=maybe(share),
    tool_choice=maybe(choices),
    parallel_tool_calls=maybe(st.booleans()),
    output=maybe(outputs),
    effort=maybe(st.sampled_from(["none", "low", "medium", "high"])),
    verbosity=maybe(st.sampled_from(["low", "medium", "high"])),
    stream=maybe(st.booleans()),
    store=maybe(st.booleans()),
    user=maybe(words),
    service_tier=maybe(st.sampled_from(["auto", "default"])),
    safety_identifier=maybe(words),
    prompt_cache_key=maybe(words),
    prompt_cache_retention=maybe(st.just("24h")),
    metadata=maybe(st.just({"team": "tea"})),
)
thinking = st.builds(Settings, thinking_tokens=st.just(2048), max_tokens=maybe(st.just(4096)))
requests = st.builds(
    Conversation,
    messages=st.just([Message.user("hi")]),
    tools=maybe(st.lists(functions | custom, min_size=1, max_size=3)),
    settings=maybe(settings | thinking),
)


def in_both(conversation: Conversation, *names: str) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
    """Tools and settings as far as all these formats have them, without defaults."""
    said = conversation.settings if conversation.settings is not UNSET else Settings()
    if said.tool_choice == ToolChoice(mode="auto"):
        said = replace(said, tool_choice=UNSET)
    if said.tool_choice == ToolChoice(mode="none"):  # nothing is called, in parallel or not
        said = replace(said, parallel_tool_calls=UNSET)
    output = said.output if said.output is not UNSET else OutputFormat()
    every = [tool for tool in conversation.tools or () if tool.kind is UNSET or HAS_OF_TOOL["kind"] >= {*names}]
    return (
        [fields(tool, HAS_OF_TOOL, names) for tool in every],
        fields(said, HAS, names),
        fields(output, HAS_OF_OUTPUT, names),
    )


def fields(value: Any, table: dict[str, set[str]], names: tuple[str, ...]) -> dict[str, Any]:
    found = {name: native.plain(getattr(value, name)) for name, has in table.items() if has >= {*names}}
    return {name: item for name, item in found.items() if item is not UNSET}


def test_the_tables_name_every_field() -> None:
    for kind, table in ((Settings, HAS), (OutputFormat, HAS_OF_OUTPUT), (Tool, HAS_OF_TOOL)):
        assert table.keys() | {"extra", "unknown"} == set(kind.__struct_fields__)


@pytest.mark.parametrize("name", PROVIDERS)
@given(request=requests)
def test_what_a_provider_has_is_written_and_read(name: str, request: Conversation) -> None:
    again = formats.read(formats.write(request, name).json, name)
    assert in_both(again, name) == in_both(request, name)


@pytest.mark.parametrize(("name", "other"), [*permutations(PROVIDERS, 2)])
@given(request=requests)
def test_what_two_providers_have_comes_back_equal(name: str, other: str, request: Conversation) -> None:
    first = formats.write(request, name).data
    there = formats.convert(first, other, name).data
    back = formats.convert(there, name, other).data
    assert in_both(formats.read(there, other), name, other) == in_both(formats.read(first, name), name, other)
    assert in_both(formats.read(back, name), name, other) == in_both(formats.read(first, name), name, other)


@pytest.mark.parametrize(("name", "other"), [*permutations(PROVIDERS, 2)])
def test_a_model_is_written_for_its_own_provider_only(name: str, other: str) -> None:
    asked = formats.write(Conversation(messages=[Message.user("hi")]), name, model="a-model").data
    written = formats.convert(asked, other, name)
    assert written.data.get("model") == ("a-model" if {name, other} == {CHAT, RESPONSES} else None)
