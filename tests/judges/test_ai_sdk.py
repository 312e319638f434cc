"""What is written for a version of the AI SDK, judged by that version: the real npm packages, run in Node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import formats
from hansard.model import Conversation, Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.node_judge import Judge
from tests.strategies import conversations, json_values, texts

VERSIONS = (5, 6, 7)
NAMES = [name for name in formats.names() if not formats.get(name).write_only]
OURS = ("ai-sdk-ui", "ai-sdk-model")
GOLDENS = [
    pytest.param(name, path, id=f"{name}/{path.name}")
    for name in NAMES
    for path in sorted((GOLDEN / name).glob("*"))
    if path.is_file()
]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    if reason := Judge.available():
        pytest.skip(reason)
    with Judge() as asked:
        yield asked


def records(conversation: Conversation, name: str, version: int | None) -> list[Any]:
    """The messages of the written document, whatever its shape."""
    written = formats.write(conversation, name, target=f"v{version}" if version else None)
    document = json.loads(written.json)
    if isinstance(document, list):
        return document
    if "messages" in document:
        return list(document["messages"])
    return [document.get("message", document)]


def assert_accepted(judge: Judge, conversation: Conversation, version: int, profile: int | None) -> None:
    messages = records(conversation, "ai-sdk-ui", profile)
    if messages:
        verdict = judge.ask("validate", v=version, messages=messages)
        assert verdict["ok"], verdict["error"]
        # The types of version 6 have `title`, its validation does not.
        assert [place for place in verdict["lost"] if version != 6 or not place.endswith(".title")] == []
        assert verdict["changed"] == []
        model = judge.ask("to-model", v=version, messages=messages)
        assert model["ok"], model["error"]
    verdict = judge.ask("check-model", v=version, messages=records(conversation, "ai-sdk-model", profile))
    assert verdict["ok"], verdict["error"]


@pytest.mark.parametrize(("name", "path"), GOLDENS)
def test_every_golden_file_of_every_format_is_accepted(judge: Judge, name: str, path: Path) -> None:
    for conversation in formats.read_all(path.read_bytes(), name):
        for version in VERSIONS:
            assert_accepted(judge, conversation, version, version)


@pytest.mark.parametrize(("name", "path"), [one for one in GOLDENS if one.values[0] not in OURS])
def test_other_formats_need_no_profile(judge: Judge, name: str, path: Path) -> None:
    for conversation in formats.read_all(path.read_bytes(), name):
        messages = records(conversation, "ai-sdk-ui", None)
        for version in (6, 7) if messages else ():
            verdict = judge.ask("validate", v=version, messages=messages)
            assert verdict["ok"], verdict["error"]
            assert verdict["lost"] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_corpus_of_every_format_is_accepted(judge: Judge, corpus: Path, name: str) -> None:
    for raw in corpus_documents(corpus, name):
        conversation = formats.read(raw, name)
        for version in VERSIONS:
            assert_accepted(judge, conversation, version, version)


@pytest.mark.parametrize("version", VERSIONS)
@given(conversation=conversations)
def test_any_conversation_is_accepted(judge: Judge, version: int, conversation: Conversation) -> None:
    assert_accepted(judge, conversation, version, version)


# -- the SDK's own way from UIMessages to ModelMessages ---------------------------------------------------------------

# Of a failed call the SDK forgets an input that is null.
inputs = json_values.filter(lambda value: value is not None)
outputs = st.one_of(texts, json_values)


@st.composite
def talks(draw: Any) -> Conversation:
    """Questions, answers in steps, tools that answer or fail: the main cases."""
    messages: list[Message] = []
    calls = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append(Message(role="user", parts=[TextPart(text=draw(texts))]))
        for _ in range(draw(st.integers(0, 3))):
            parts: list[Any] = []
            if draw(st.booleans()):
                parts.append(ReasoningPart(text=draw(texts.filter(bool))))
            if draw(st.booleans()):
                parts.append(TextPart(text=draw(texts)))
            results: list[Any] = []
            for _ in range(draw(st.integers(0, 2))):
                calls += 1
                call_id = f"c{calls}"
                parts.append(ToolCallPart(tool_call_id=call_id, tool_name="look-up", input=draw(inputs)))
                failed = draw(st.booleans())
                output = draw(texts) if failed else draw(outputs)
                results.append(
                    ToolResultPart(tool_call_id=call_id, tool_name="look-up", output=output, is_error=failed)
                )
            if parts:
                messages.append(Message(role="assistant", parts=parts))
            if results:
                messages.append(Message(role="tool", parts=results))
    return Conversation(messages=messages)


def as_javascript(value: Any) -> Any:
    """Numbers as JavaScript keeps them."""
    if isinstance(value, list):
        return [as_javascript(item) for item in value]
    if isinstance(value, dict):
        return {key: as_javascript(item) for key, item in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("version", VERSIONS)
@given(conversation=talks())
def test_the_sdk_converts_ours_as_we_do(judge: Judge, version: int, conversation: Conversation) -> None:
    theirs = judge.ask("to-model", v=version, messages=records(conversation, "ai-sdk-ui", version))
    ours = records(conversation, "ai-sdk-model", version)
    assert theirs["ok"], theirs["error"]
    assert as_javascript(theirs["messages"]) == as_javascript(ours)
