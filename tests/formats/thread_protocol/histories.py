"""Random histories of Pydantic AI, made with its own classes: what an agent run can leave behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CachePoint,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    RetryPromptPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    VideoUrl,
)
from pydantic_ai.usage import RequestUsage

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
texts = st.one_of(st.sampled_from(["", "hi", "Weather?", '{"a": 1}', "5", "naïve 😀"]), st.text("ab {}\n", max_size=9))
names = st.sampled_from(["get_weather", "search", "pay"])
ids = st.sampled_from(["c1", "c2", "call_3"])
times = st.integers(0, 10**6).map(lambda n: START + timedelta(microseconds=n * 37))
leaves = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), texts)
data = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "kind", "url", "$"]), inner, max_size=3)
    ),
    max_leaves=5,
)
objects = st.dictionaries(st.sampled_from(["city", "n", "$"]), data, max_size=3)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy)


def addresses(kind: Any, ending: str, media: str) -> st.SearchStrategy[Any]:
    return st.builds(
        kind,
        url=st.sampled_from([f"https://example.org/a.{ending}", f"https://example.org/b.{ending}?x=1"]),
        media_type=st.sampled_from([None, media]),
        force_download=st.sampled_from([False, True]),
        vendor_metadata=maybe(objects),
        identifier=maybe(st.sampled_from(["photo-1", "zz"])),
    )


binaries = st.builds(
    BinaryContent,
    data=st.binary(min_size=1, max_size=5),
    media_type=st.sampled_from(["image/png", "application/pdf", "audio/wav"]),
    identifier=maybe(st.sampled_from(["img-1", "zz"])),
    vendor_metadata=maybe(objects),
)
files = st.one_of(
    addresses(ImageUrl, "png", "image/png"),
    addresses(AudioUrl, "mp3", "audio/mpeg"),
    addresses(VideoUrl, "mp4", "video/mp4"),
    addresses(DocumentUrl, "pdf", "application/pdf"),
    binaries,
)
items = st.one_of(texts, files, st.builds(TextContent, content=texts, metadata=maybe(objects)), st.just(CachePoint()))
details = maybe(st.dictionaries(st.sampled_from(["a", "thought_signature"]), texts, min_size=1, max_size=2))
providers = st.sampled_from([None, "openai", "anthropic", "google-gla"])
prompts = st.builds(UserPromptPart, content=st.one_of(texts, st.lists(items, min_size=1, max_size=3)), timestamp=times)
systems = st.builds(SystemPromptPart, content=texts, timestamp=times, dynamic_ref=maybe(st.just("ref")))
returns = st.builds(
    ToolReturnPart,
    tool_name=names,
    content=st.one_of(data, files, st.lists(st.one_of(texts, files), min_size=1, max_size=2)),
    tool_call_id=ids,
    metadata=maybe(objects),
    timestamp=times,
    outcome=st.sampled_from(["success", "failed", "denied", "interrupted", "retried"]),
)
errors = st.just([{"type": "missing", "loc": ("city",), "msg": "Field required", "input": {}}])
feedback = st.builds(RetryInfo, cause=st.sampled_from(["model_retry", "no_output"]), attempt=maybe(st.just(1)))
retries = st.one_of(
    st.builds(
        RetryPromptPart, content=st.one_of(texts, errors), tool_name=maybe(names), tool_call_id=ids, timestamp=times
    ),
    st.builds(RetryFeedbackPart, content=st.one_of(texts, errors), timestamp=times, retry=feedback),
)
calls: dict[str, Any] = {
    "tool_name": names,
    "args": st.one_of(
        st.none(), objects, st.sampled_from(['{"city":"Rome"}', '{"city": "Rome"}', "{bad", "", "5", "[1]"])
    ),
    "tool_call_id": ids,
    "id": maybe(st.just("i1")),
    "provider_name": providers,
    "provider_details": details,
}
answers = st.one_of(
    st.builds(TextPart, content=texts, id=maybe(st.just("t1")), provider_name=providers, provider_details=details),
    st.builds(
        ThinkingPart,
        content=texts,
        id=maybe(st.sampled_from(["th", "redacted_thinking"])),
        signature=maybe(st.just("sig==")),
        provider_name=providers,
        provider_details=details,
    ),
    st.builds(ToolCallPart, **calls),
    st.builds(NativeToolCallPart, **calls),
    st.builds(
        NativeToolReturnPart,
        tool_name=names,
        content=data,
        tool_call_id=ids,
        timestamp=times,
        provider_name=providers,
        provider_details=details,
    ),
    st.builds(FilePart, content=binaries, id=maybe(st.just("f1")), provider_name=providers),
)
usages = st.builds(
    RequestUsage,
    input_tokens=st.integers(0, 9),
    output_tokens=st.integers(0, 9),
    cache_read_tokens=st.integers(0, 3),
    details=st.dictionaries(st.just("reasoning_tokens"), st.integers(0, 5), max_size=1),
)
shared: dict[str, Any] = {
    "run_id": st.sampled_from([None, "run-1", "run-2"]),
    "conversation_id": st.sampled_from([None, "chat"]),
    "metadata": maybe(objects),
}


def requests(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[ModelRequest]:
    return st.builds(
        ModelRequest,
        parts=st.lists(parts, min_size=1, max_size=3),
        timestamp=maybe(times),
        instructions=maybe(texts),
        state=st.sampled_from(["complete", "interrupted"]),
        **shared,
    )


responses = st.builds(
    ModelResponse,
    parts=st.lists(answers, max_size=3),
    usage=usages,
    model_name=maybe(st.just("gpt-5")),
    timestamp=times,
    provider_name=providers,
    provider_url=maybe(st.just("https://api.example.org")),
    provider_details=details,
    provider_response_id=maybe(st.just("resp_1")),
    finish_reason=st.sampled_from([None, "stop", "length", "content_filter", "tool_call", "error"]),
    state=st.sampled_from(["complete", "incomplete", "interrupted"]),
    **shared,
)
request_parts = st.one_of(prompts, returns, retries)
histories: st.SearchStrategy[list[ModelMessage]] = st.lists(st.one_of(requests(request_parts), responses), max_size=6)
with_system_prompts: st.SearchStrategy[list[ModelMessage]] = st.lists(
    st.one_of(requests(st.one_of(request_parts, systems)), responses), max_size=6
)


def without_system_prompts(history: list[ModelMessage]) -> list[ModelMessage]:
    """What ThreadProtocol stores of a history: no system prompts, and no request that held nothing else."""
    kept: list[ModelMessage] = []
    for message in history:
        if isinstance(message, ModelRequest):
            parts = [part for part in message.parts if not isinstance(part, SystemPromptPart)]
            if not parts and message.parts:
                continue
            message = ModelRequest(
                parts=parts,
                timestamp=message.timestamp,
                instructions=message.instructions,
                run_id=message.run_id,
                conversation_id=message.conversation_id,
                metadata=message.metadata,
                state=message.state,
            )
        kept.append(message)
    return kept
