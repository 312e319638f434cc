"""Histories and event streams of Pydantic AI, checked with the library itself."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from msgspec import UNSET
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, ToolDenied, ToolReturn
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from hansard import formats
from hansard.model import Conversation, Message, RawPart, exact_json, native
from hansard.model import TextPart as Text
from hansard.model.times import parse_time
from hansard.streams.accumulator import fold
from hansard.streams.deltas import End, Failure
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.formats.ai_sdk.ui.test_stream import visible, without_end
from tests.formats.pydantic_ai.test_pydantic_ai import NAME, golden
from tests.formats.pydantic_ai.test_stream import decode, live, run_events, said
from tests.formats.pydantic_ai.test_stream import dumped as dumped_events
from tests.strategies import conversations

PROVIDERS = ("anthropic", "openai-chat", "openai-responses", "gemini")


def dumped(messages: list[ModelMessage]) -> Any:
    return json.loads(ModelMessagesTypeAdapter.dump_json(messages))


def differences(ours: Any, theirs: Any, path: str = "$") -> Iterator[str]:
    """Where the two are not the same, but for times: one that they made up, or spelled with more digits, is ours."""
    if type(ours) is dict and type(theirs) is dict:
        for key in {**ours, **theirs}:
            if key == "timestamp" and (key not in ours or parse_time(ours[key]) == parse_time(theirs.get(key))):
                continue
            if key not in ours or key not in theirs:
                yield f"{path}.{key}"
            else:
                yield from differences(ours[key], theirs[key], f"{path}.{key}")
    elif type(ours) is list and type(theirs) is list and len(ours) == len(theirs):
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}[{i}]")
    elif ours != theirs or type(ours) is not type(theirs):
        yield f"{path}: {ours!r} {theirs!r}"


def assert_taken(written: formats.Written) -> None:
    """The real library loads what we wrote, and would have written every field of it just so."""
    ours = json.loads(written.json)
    theirs = ModelMessagesTypeAdapter.dump_python(ModelMessagesTypeAdapter.validate_python(ours), mode="json")
    assert list(differences(ours, theirs)) == []


def run(agent: Agent[Any, Any], prompt: Any = "go", **more: Any) -> list[ModelMessage]:
    return list(asyncio.run(agent.run(prompt, **more)).all_messages())


def with_tools() -> list[ModelMessage]:
    agent = Agent(TestModel(), system_prompt="Be kind.", instructions="Be terse.")

    @agent.tool_plain
    def weather(city: str) -> dict[str, Any]:
        return {"city": city, "temp": 18.0}

    @agent.tool_plain
    def picture() -> ToolReturn:
        return ToolReturn(
            return_value=["see", ImageUrl("https://example.org/a.png")],
            content=["more", ImageUrl("https://example.org/b")],
        )

    return run(agent, ["What is the weather?", BinaryContent(b"\xff\xfehi", media_type="image/png")])


def with_retries() -> list[ModelMessage]:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = sum(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse(
            parts=[
                [ToolCallPart("pick", '{"n": "many"}', "c1"), ToolCallPart("pick", {"n": 3}, "c2")],
                [ToolCallPart("nothing_there", "", "c3")],
                [TextPart("no tool at all")],
                [ToolCallPart("final_result", {"response": 7}, "c4")],
            ][step]
        )

    agent = Agent(FunctionModel(answer), output_type=int, retries=5)

    @agent.tool_plain
    def pick(n: int) -> int:
        raise ModelRetry("another one")

    return run(agent)


def with_thinking() -> list[ModelMessage]:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(
            parts=[
                ThinkingPart("hm", signature="sig", provider_name="anthropic"),
                ThinkingPart("", id="redacted_thinking", signature="data", provider_name="anthropic"),
                TextPart("ok", provider_details={"a": 1}),
                FilePart(BinaryContent(b"\xfb\xff", media_type="image/png")),
                CompactionPart("sum", id="c", provider_name="anthropic"),
            ],
            finish_reason="stop",
        )

    agent = Agent(FunctionModel(answer))
    first = run(agent, conversation_id="one")
    return run(agent, "again", message_history=first)


def with_deferred_tools() -> list[ModelMessage]:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if any(isinstance(message, ModelResponse) for message in messages):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("delete", {"f": "a"}, "d1"), ToolCallPart("delete", {"f": "b"}, "d2")])

    agent = Agent(FunctionModel(answer), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def delete(f: str) -> str:
        return f"deleted {f}"

    pending = run(agent)
    results = DeferredToolResults(approvals={"d1": True, "d2": ToolDenied("policy says no")})
    return run(agent, None, message_history=pending, deferred_tool_results=results)


def with_output_tool() -> list[ModelMessage]:
    return run(Agent(TestModel(), output_type=dict[str, int]))


@pytest.mark.parametrize(
    "history",
    [with_tools, with_retries, with_thinking, with_deferred_tools, with_output_tool],
    ids=lambda made: made.__name__,
)
def test_a_history_of_a_real_agent_is_written_as_it_was_read(history: Any) -> None:
    messages = history()
    document = dumped(messages)
    conversation = formats.read(document, NAME)
    written = formats.write(conversation, NAME)
    assert written.losses == []
    assert exact_json.same(written.data, document)
    assert dumped(ModelMessagesTypeAdapter.validate_json(written.json)) == document
    assert formats.detect(document) == NAME
    assert conversation.extra is UNSET
    marks = [message.extra for message in conversation.messages if "$" in str(message.extra)]
    assert all(set(extra[NAME]["$"]) == {"joined"} for extra in marks)
    assert not any(type(part) is RawPart for message in conversation.messages for part in message.parts)


def test_a_real_history_crosses_to_anthropic_with_its_calls_answered() -> None:
    conversation = formats.read(dumped(with_retries()), NAME)
    written = formats.write(conversation, "anthropic")
    assert not [loss for loss in written.losses if "result was added" in loss.what]


@pytest.mark.parametrize("name", PROVIDERS)
def test_histories_made_of_other_formats_are_taken_by_the_real_library(name: str, corpus: Path) -> None:
    for raw in corpus_documents(corpus, name):
        assert_taken(formats.convert(raw, NAME, name))


@pytest.mark.parametrize(
    "path", [path for name in PROVIDERS for path in sorted((GOLDEN / name).glob("*.json"))], ids=lambda path: path.stem
)
def test_golden_files_of_other_formats_are_taken_by_the_real_library(path: Path) -> None:
    written = formats.convert(path.read_bytes(), NAME, path.parent.name)
    if b"\\ud" not in written.json:  # the library's own parser refuses half characters
        assert_taken(written)


def foreign(conversation: Conversation) -> Conversation:
    """The conversation without anything of Pydantic AI's own, as if it had come from elsewhere."""
    return native.build(Conversation, _stripped(native.plain(conversation)), "$")


def _stripped(value: Any) -> Any:
    if type(value) is list:
        return [_stripped(item) for item in value if not (type(item) is dict and item.get("format") == NAME)]
    if type(value) is dict:
        return {key: _stripped(item) for key, item in value.items() if key != NAME}
    return value


@given(conversation=conversations)
def test_any_foreign_conversation_is_taken_by_the_real_library(conversation: Conversation) -> None:
    written = formats.write(foreign(conversation), NAME)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ModelMessagesTypeAdapter.validate_json(written.json)


def test_a_finish_reason_that_the_library_refuses_is_not_written() -> None:
    message = Message(role="assistant", parts=[Text(text="x")], finish_reason="odd")
    written = formats.write(Conversation(messages=[message]), NAME)
    assert written.data[0]["finish_reason"] is None
    assert [loss.path for loss in written.losses] == ["$.messages[0].finishReason"]
    assert_taken(written)


def test_a_prompt_is_read_by_the_library_as_we_mean_it() -> None:
    messages = ModelMessagesTypeAdapter.validate_python(formats.write(golden("plain"), NAME).data)
    prompts = [part.content for part in messages[0].parts if isinstance(part, UserPromptPart)]
    assert prompts == ["Hello"]


def test_a_run_is_the_history_that_the_library_wrote_of_it() -> None:
    events = run_events()
    history = json.loads(events[-1].result.new_messages_json())
    whole = formats.read(history, NAME).messages[1:]
    assert [message.role for message in whole] == ["assistant", "tool", "assistant"]
    for deltas in (live(events), decode(dumped_events(events))):
        assert deltas[-1] == End(how="done")
        assert said(fold(deltas)) == said(whole)
        assert fold(deltas)[0].usage == whole[0].usage
        assert visible(fold(without_end(deltas))) == visible(whole)


def test_the_events_alone_give_the_same_words() -> None:
    events = run_events()
    whole = formats.read(json.loads(events[-1].result.new_messages_json()), NAME).messages[1:]
    for deltas in (live(events[:-1]), decode(dumped_events(events[:-1]))):
        assert said(fold(deltas)) == said(whole)
        assert deltas[-1] == End(how="done")
        assert not [delta for delta in deltas if type(delta) is Failure]
