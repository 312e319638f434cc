"""Random conversations: all roles, all kinds of part, residue of any format, forks, runs, odd ids and texts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.model import (
    ROLES,
    Agent,
    Binding,
    CompactionPart,
    Context,
    Conversation,
    DataPart,
    FilePart,
    Message,
    ModelRef,
    OutputFormat,
    RawPart,
    ReasoningPart,
    RefusalPart,
    RetryPart,
    Run,
    Settings,
    SourcePart,
    TextPart,
    Thinking,
    Todo,
    Tool,
    ToolCallPart,
    ToolChoice,
    ToolResultPart,
    Usage,
)
from hansard.model.request import EFFORTS

texts = st.one_of(
    st.sampled_from(["", "hi", "What is the weather?", "  \n", "\x00", "😀 naïve", '{"a": 1}', "x" * 200]),
    st.text(max_size=12),
)
short = st.sampled_from(["a", "b", "toolu_1", "call_2", "get_weather", "image/png", "2026-01-02T03:04:05Z", "", "ü x"])
ids = st.sampled_from(["c1", "c2", "c3", "call.4", "", "x" * 70])
numbers = st.one_of(st.integers(-(10**30), 10**30), st.sampled_from([0, 1, 1.0, 0.5, -0.0, 1e22]), st.booleans())
json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), numbers, texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "type", "b", "$", "é"]), inner, max_size=3),
    ),
    max_leaves=5,
)
objects = st.dictionaries(st.sampled_from(["city", "n", "$"]), json_values, max_size=3)
format_names = st.sampled_from(formats.names())
extras = st.one_of(
    st.just(UNSET),
    st.just(UNSET),
    st.just(UNSET),
    st.dictionaries(format_names, objects, min_size=1, max_size=1),
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.just(UNSET), strategy)


bindings = st.builds(
    Binding,
    provider=maybe(st.sampled_from(["anthropic", "openai", "google"])),
    model=maybe(short),
    prefix=maybe(st.just("0" * 32)),
)
signed: dict[str, Any] = {"signature": maybe(st.sampled_from(["sig==", "EqQB"])), "binding": maybe(bindings)}
common: dict[str, Any] = {"id": maybe(short), "extra": extras}
_MEDIA = ["image/png", "image/bmp", "image/*", "application/pdf", "text/plain", "text/csv", "audio/wav", "audio/*", ""]
files = st.builds(
    FilePart,
    media_type=maybe(st.sampled_from(_MEDIA)),
    url=maybe(st.sampled_from(["https://example.org/a.png", "data:image/png;base64,aGk="])),
    data=maybe(st.sampled_from(["aGk=", ""])),
    file_id=maybe(short),
    name=maybe(short),
    **signed,
    **common,
)
plain_texts = st.builds(TextPart, text=texts)
raws = st.builds(RawPart, format=format_names, value=json_values, **common)
parts = st.one_of(
    plain_texts,
    st.builds(TextPart, text=texts, **signed, **common),
    st.builds(ReasoningPart, text=texts, encrypted=maybe(texts), **signed, **common),
    st.builds(
        ToolCallPart,
        tool_call_id=maybe(ids),
        tool_name=maybe(short),
        input=maybe(st.one_of(objects, json_values)),
        input_text=maybe(st.sampled_from(["{}", '{"a": 1}', "{bad"])),
        provider_executed=maybe(st.booleans()),
        approval=maybe(objects),
        state=maybe(st.just("partial")),
        **signed,
        **common,
    ),
    st.builds(ToolCallPart, tool_call_id=ids, tool_name=st.just("get_weather"), input=objects),
    st.builds(
        ToolResultPart,
        tool_call_id=maybe(ids),
        tool_name=maybe(short),
        output=maybe(json_values),
        content=maybe(st.lists(st.one_of(plain_texts, files, raws), max_size=2)),
        is_error=maybe(st.booleans()),
        status=maybe(st.sampled_from(["denied", "interrupted", "retried", "error", "success"])),
        provider_executed=maybe(st.booleans()),
        preliminary=maybe(st.booleans()),
        **common,
    ),
    st.builds(
        ToolResultPart,
        tool_call_id=ids,
        tool_name=st.just("get_weather"),
        output=texts,
        is_error=st.booleans(),
    ),
    files,
    st.builds(
        SourcePart,
        source_id=maybe(short),
        url=maybe(short),
        title=maybe(short),
        media_type=maybe(short),
        **common,
    ),
    st.builds(RefusalPart, text=texts, **common),
    st.builds(DataPart, name=short, data=maybe(json_values), **common),
    st.builds(RetryPart, content=maybe(texts), tool_call_id=maybe(ids), tool_name=maybe(short), **common),
    st.builds(CompactionPart, text=maybe(texts), encrypted=maybe(texts), **signed, **common),
    raws,
)
counts = maybe(st.integers(0, 10**6))
usages = st.builds(Usage, input_tokens=counts, output_tokens=counts, total_tokens=counts, cache_read_tokens=counts)
plain_messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "system"]),
    parts=st.lists(plain_texts, min_size=1, max_size=2),
)
rich_messages = st.builds(
    Message,
    role=st.sampled_from(ROLES),
    parts=st.lists(parts, max_size=4),
    id=maybe(st.sampled_from(["m1", "m2", "m3", ""])),
    parent_message_id=maybe(st.sampled_from([None, "m1", "m2"])),
    created_at=maybe(st.sampled_from(["2026-01-02T03:04:05Z", "2026-01-02 03:04:05+00", "yesterday"])),
    agent_id=maybe(short),
    run_id=maybe(st.sampled_from(["r1", "r2"])),
    model=maybe(st.builds(ModelRef, provider=maybe(short), name=maybe(short), response_id=maybe(short))),
    usage=maybe(usages),
    finish_reason=maybe(st.sampled_from(["stop", "length", "tool_call", "odd"])),
    context=maybe(st.builds(Context, cwd=maybe(short), git_branch=maybe(short))),
    thinking=maybe(st.builds(Thinking, level=maybe(short), disabled=maybe(st.booleans()))),
    todos=maybe(st.lists(st.builds(Todo, content=maybe(short), status=maybe(short)), max_size=2)),
    sidechain=maybe(st.booleans()),
    state=maybe(st.sampled_from(["complete", "partial", "interrupted"])),
    metadata=maybe(objects),
    extra=extras,
)
numeric = st.one_of(st.integers(0, 3), st.sampled_from([0.0, 0.25, 1.5, 1e-7]))
schemas = st.sampled_from(
    [
        {"type": "object"},
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}, "additionalProperties": False},
    ]
)
tool_names = st.sampled_from(["weather", "get_time", "a.b", "find it", "x" * 70])
tools = st.one_of(
    st.builds(
        Tool,
        name=tool_names,
        description=maybe(texts),
        input_schema=maybe(schemas),
        strict=maybe(st.booleans()),
        extra=extras,
    ),
    st.builds(Tool, name=tool_names, kind=st.just("custom"), input_format=maybe(st.just({"type": "text"}))),
    st.builds(Tool, format=format_names, value=objects),
    st.builds(Tool, name=maybe(tool_names), kind=maybe(st.just("odd")), input_schema=maybe(objects)),
)
tool_choices = st.builds(
    ToolChoice,
    mode=st.sampled_from(["auto", "none", "required", "odd"]),
    tools=maybe(st.lists(tool_names, min_size=1, max_size=2)),
)
outputs = st.builds(
    OutputFormat,
    name=maybe(st.sampled_from(["answer", "a b"])),
    description=maybe(texts),
    schema=maybe(schemas),
    strict=maybe(st.booleans()),
)
settings = st.builds(
    Settings,
    model=maybe(st.builds(ModelRef, provider=maybe(st.sampled_from(["openai", "anthropic", "google"])), name=short)),
    max_tokens=maybe(st.sampled_from([1, 4096])),
    temperature=maybe(numeric),
    top_p=maybe(numeric),
    top_k=maybe(numeric),
    stop=maybe(st.lists(texts, min_size=1, max_size=6)),
    seed=maybe(st.integers(0, 9)),
    frequency_penalty=maybe(numeric),
    presence_penalty=maybe(numeric),
    tool_choice=maybe(tool_choices),
    parallel_tool_calls=maybe(st.booleans()),
    output=maybe(outputs),
    effort=maybe(st.sampled_from([*EFFORTS, "odd"])),
    thinking_tokens=maybe(st.sampled_from([0, 1, 1024, 2048])),
    verbosity=maybe(st.sampled_from(["low", "high"])),
    stream=maybe(st.booleans()),
    store=maybe(st.booleans()),
    user=maybe(texts),
    service_tier=maybe(st.sampled_from(["auto", "default", "flex"])),
    metadata=maybe(st.just({"team": "tea"})),
)
requests: dict[str, Any] = {
    "tools": maybe(st.lists(tools, max_size=3)),
    "settings": maybe(settings),
}
plain_conversations = st.builds(Conversation, messages=st.lists(plain_messages, max_size=5))
rich_conversations = st.builds(
    Conversation,
    messages=st.lists(st.one_of(plain_messages, rich_messages), max_size=5),
    id=maybe(short),
    title=maybe(short),
    resource_id=maybe(short),
    agents=maybe(st.dictionaries(short, st.builds(Agent, id=short, name=maybe(short)), max_size=2)),
    runs=maybe(st.lists(st.builds(Run, id=st.sampled_from(["r1", "r2"]), agent_id=maybe(short)), max_size=2)),
    head=maybe(st.sampled_from([None, "m1", "m2"])),
    created_at=maybe(short),
    metadata=maybe(objects),
    extra=extras,
    **requests,
)
requesting = st.builds(Conversation, messages=st.lists(plain_messages, max_size=2), **requests)
conversations = st.one_of(plain_conversations, rich_conversations, requesting)


def with_extra(conversation: Conversation, extra: dict[str, Any]) -> Conversation:
    """The conversation with this residue on it, on every message and on every part."""
    messages = [
        replace(message, parts=[replace(part, extra=extra) for part in message.parts], extra=extra)
        for message in conversation.messages
    ]
    return replace(conversation, messages=messages, extra=extra)
