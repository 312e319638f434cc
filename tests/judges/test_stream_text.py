"""`streamText` of the real `ai` packages accepts everything that is written as ai-sdk-model, from any conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from hansard import formats
from hansard.model import (
    Conversation,
    FilePart,
    Message,
    RawPart,
    RetryPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hansard.streams.accumulator import fold
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents
from tests.laws.test_streams import as_sse, recorded
from tests.laws.test_streams import decode as decode_stream
from tests.node_judge import Judge
from tests.strategies import conversations, json_values, maybe, objects, parts, texts

VERSIONS = (5, 6, 7)
NAME = "ai-sdk-model"
NAMES = [name for name in formats.names() if not formats.get(name).write_only]

call_ids = st.sampled_from(["c1", "c2", "c3"])
approvals = st.one_of(
    objects,
    st.fixed_dictionaries(
        {"id": st.sampled_from(["a1", "a2"])}, optional={"approved": st.booleans(), "reason": st.just("no")}
    ),
)
addresses = [
    "",
    "a.png",
    "http://",
    "data:,",
    "data:image/png,x",
    "https://exa mple/a",
    "https://e.org/a.png",
    "file:///a",
]
addresses += ["data:image/png;base64,aGk=", "data:image/png;base64,%%%"]
files = st.builds(
    FilePart,
    url=maybe(st.sampled_from(addresses)),
    data=maybe(st.sampled_from(["aGk=", "aGk", "", "a", "%%"])),
    media_type=maybe(st.sampled_from(["image/png", "image/*", "", "x"])),
    file_id=maybe(st.just("file_1")),
)
tool_parts = st.one_of(
    st.builds(ToolCallPart, tool_call_id=call_ids, tool_name=st.just("a"), input=objects),
    st.builds(
        ToolCallPart,
        tool_call_id=maybe(call_ids),
        tool_name=maybe(st.sampled_from(["a", "b"])),
        input=maybe(json_values),
        input_text=maybe(st.just("{bad")),
        state=maybe(st.just("partial")),
        provider_executed=maybe(st.booleans()),
        approval=maybe(approvals),
    ),
    st.builds(
        ToolResultPart,
        tool_call_id=maybe(call_ids),
        tool_name=maybe(st.sampled_from(["a", "b"])),
        output=maybe(json_values),
        content=maybe(st.lists(st.one_of(files, st.builds(TextPart, text=texts)), max_size=2)),
        is_error=maybe(st.booleans()),
        status=maybe(st.sampled_from(["denied", "interrupted"])),
        preliminary=maybe(st.booleans()),
        provider_executed=maybe(st.booleans()),
    ),
    st.builds(RetryPart, content=maybe(texts), tool_call_id=maybe(call_ids), tool_name=maybe(st.just("a"))),
)
tool_talks = st.builds(
    Conversation,
    messages=st.lists(
        st.builds(
            Message,
            role=st.sampled_from(["assistant", "assistant", "tool", "tool", "user", "system", "event", "developer"]),
            parts=st.lists(st.one_of(tool_parts, tool_parts, files, parts), max_size=3),
        ),
        max_size=7,
    ),
)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    if reason := Judge.available():
        pytest.skip(reason)
    with Judge() as asked:
        yield asked


def written(conversation: Conversation, profile: str | None) -> list[Any]:
    document = json.loads(formats.write(conversation, NAME, target=profile).json)
    return list(document["messages"] if isinstance(document, dict) else document)


def assert_accepted(judge: Judge, conversation: Conversation, version: int, profile: str | None) -> None:
    """A list without messages is what `streamText` refuses by itself: there is nothing to answer."""
    messages = written(conversation, profile)
    if messages:
        verdict = judge.ask("stream-text", v=version, messages=messages)
        assert verdict["ok"], (verdict["error"], messages)


CALL = ToolCallPart(tool_call_id="c1", tool_name="a", input={})
ASKED = Message(role="user", parts=[TextPart(text="Do it.")])
SAID = Message(role="assistant", parts=[CALL])
ANSWER = Message(role="tool", parts=[ToolResultPart(tool_call_id="c1", tool_name="a", output=1)])
OPEN = Conversation(messages=[ASKED, SAID])


@pytest.mark.parametrize("version", VERSIONS)
@given(conversation=st.one_of(tool_talks, conversations))
@example(conversation=OPEN)
@example(conversation=Conversation(messages=[ASKED, SAID, ASKED, ANSWER]))
@example(conversation=Conversation(messages=[ASKED, SAID, replace(ANSWER, role="assistant"), ASKED]))
@example(conversation=Conversation(messages=[ANSWER, ASKED]))
@example(conversation=Conversation(messages=[ASKED, Message(role="assistant", parts=[CALL, CALL]), ANSWER]))
def test_streamtext_accepts_any_conversation(judge: Judge, version: int, conversation: Conversation) -> None:
    assert_accepted(judge, conversation, version, f"v{version}")


@pytest.mark.parametrize("version", [6, 7])  # version 5 has no approvals
@given(conversation=tool_talks.filter(lambda one: not own_parts(one)))
@example(conversation=OPEN)
def test_no_version_needs_to_be_named_once_the_user_goes_on(
    judge: Judge, version: int, conversation: Conversation
) -> None:
    assert_accepted(judge, replace(conversation, messages=[*conversation.messages, ASKED]), version, None)


def own_parts(conversation: Conversation) -> bool:
    """Whether it holds raw parts of this very format, which are written as they are where no version is named."""
    said: list[Any] = [part for message in conversation.messages for part in message.parts]
    said += [inner for part in said if isinstance(getattr(part, "content", None), list) for inner in part.content]
    return any(type(part) is RawPart and part.format == NAME for part in said)


@given(conversation=tool_talks)
def test_what_was_repaired_is_reported_and_reads_back_the_same(conversation: Conversation) -> None:
    document = formats.write(conversation, NAME, target="v6")
    assert formats.convert(document.data, NAME, NAME).data == document.data
    calls = [part for message in conversation.messages for part in message.parts if type(part) is ToolCallPart]
    if any(call.state == "partial" for call in calls):
        assert any(loss.what == "a call whose input was cut off" for loss in document.losses)


def test_a_call_without_a_result_gets_one_and_the_report_says_so() -> None:
    assert len(formats.write(OPEN, NAME).data) == 2  # it may still be answered
    document = formats.write(OPEN, NAME, target="v6")
    assert document.data[2]["content"][0]["output"]["type"] == "error-text"
    assert {loss.kind for loss in document.losses} == {"repair"}
    assert ("$.messages[2]", "a result was added for c1") in [(loss.path, loss.what) for loss in document.losses]


def test_a_document_of_its_own_is_written_as_it_was() -> None:
    left_open = [*formats.write(OPEN, NAME).data, {"role": "user", "content": "Well?"}]
    assert formats.convert(left_open, NAME, NAME).data == left_open
    assert len(formats.convert(left_open, NAME, NAME, target="v6").data) == 4


def test_a_call_that_the_user_answered_may_be_the_last_word(judge: Judge) -> None:
    approved = replace(CALL, approval={"id": "a1", "approved": True})
    talk = Conversation(messages=[ASKED, replace(SAID, parts=[approved])])
    assert [part["type"] for part in written(talk, None)[-1]["content"]] == ["tool-approval-response"]
    assert [part["type"] for part in written(talk, "v6")[-1]["content"]] == ["tool-approval-response", "tool-result"]
    denied = replace(CALL, approval={"id": "a1", "approved": False, "reason": "no"})
    assert len(written(Conversation(messages=[ASKED, replace(SAID, parts=[denied])]), "v6")[-1]["content"]) == 1
    later = Conversation(messages=[ASKED, replace(SAID, parts=[denied]), ASKED])
    assert written(later, "v6")[2]["content"][-1]["output"] == {"type": "execution-denied", "reason": "no"}
    for version in VERSIONS:
        assert_accepted(judge, later, version, f"v{version}")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        pytest.param(name, path, id=f"{name}/{path.name}")
        for name in NAMES
        for path in sorted((GOLDEN / name).glob("*"))
        if path.is_file()
    ],
)
def test_streamtext_accepts_every_golden_file(judge: Judge, name: str, path: Path) -> None:
    for conversation in formats.read_all(path.read_bytes(), name):
        for version in VERSIONS:
            assert_accepted(judge, conversation, version, f"v{version}")


@pytest.mark.parametrize("name", NAMES)
def test_streamtext_accepts_the_corpus(judge: Judge, corpus: Path, name: str) -> None:
    for raw in corpus_documents(corpus, name):
        conversation = formats.read(raw, name)
        for version in VERSIONS:
            assert_accepted(judge, conversation, version, f"v{version}")


def test_streamtext_accepts_recorded_streams_cut_anywhere(judge: Judge, corpus: Path) -> None:
    cut_calls = 0
    for name, path in recorded(corpus):
        events = as_sse(path).split(b"\n\n")
        for at in {len(events) // 4, len(events) // 2, len(events) * 3 // 4}:
            messages = fold(decode_stream(name, [b"\n\n".join(events[:at])]))
            cut_calls += sum(getattr(part, "state", "") == "partial" for one in messages for part in one.parts)
            for version in VERSIONS:
                assert_accepted(judge, Conversation(messages=[ASKED, *messages]), version, f"v{version}")
    assert cut_calls
