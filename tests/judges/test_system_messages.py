"""The AI SDK judges system events: its real clients read them from a stream as they are written in a message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard import formats
from hansard.agent.ui_turns import replay
from hansard.model import Conversation, DataPart, Message, TextPart
from hansard.streams.deltas import End
from tests.judges.test_ai_sdk import VERSIONS, assert_accepted, client_message, comparable
from tests.node_judge import Judge
from tests.strategies import objects


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    if reason := Judge.available():
        pytest.skip(reason)
    with Judge() as asked:
        yield asked


def event(name: str, data: Any, at: int) -> Message:
    sides = {"source_agent": "a1", "target_agents": ["a2"]}
    part = DataPart(name=name, data=data)
    return Message(role="event", parts=[part], created_at=f"2026-01-15T10:00:0{at}Z", metadata=sides)


@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=15)
@given(
    names=st.lists(st.sampled_from(["agent.handoff", "tool.grant", "x"]), min_size=1, max_size=3),
    data=objects,
    before=st.booleans(),
)
def test_a_client_has_the_events_as_they_are_written(
    judge: Judge, version: int, names: list[str], data: Any, before: bool
) -> None:
    answers = [Message(role="assistant", id="m1", parts=[TextPart(text=text)]) for text in ("one", "two")]
    events = [event(name, data, at) for at, name in enumerate(names)]
    messages = [*events[:1], answers[0], *events[1:], answers[1]] if before else [*answers, *events]
    read, errors = client_message(judge, [*replay(messages), End(how="done")], version)
    assert errors == []
    (written,) = json.loads(formats.write(Conversation(messages=messages), "ai-sdk-ui", target=f"v{version}").json)
    assert read == comparable(written)
    assert [part["type"] for part in read["parts"] if part["type"][:4] == "data"] == [f"data-{name}" for name in names]
    assert [told["event_type"] for told in read["metadata"]["systemMessages"]] == names
    assert_accepted(judge, Conversation(messages=messages), version, version)
