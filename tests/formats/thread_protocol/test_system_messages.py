"""SystemMessages are `data-*` parts and chunks of the AI SDK, and these are SystemMessages, word for word."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hansard import formats
from hansard.formats.ai_sdk.ui.emit import event_deltas
from hansard.formats.contract import Target
from hansard.model import Conversation, DataPart, Message, TextPart, exact_json
from hansard.streams import decoder, emitter
from hansard.streams.accumulator import fold
from hansard.streams.deltas import End, MessageEnd, MessageStart, PartEnd, PartStart
from tests.strategies import json_values

TIME = "2026-01-15T10:00:0{}Z"
SYSTEM = ("event_type", "event_data", "timestamp", "source_agent", "target_agents")


def thread(*events: dict[str, Any], before: bool = True) -> dict[str, Any]:
    """A thread in which these events stand around an answer."""
    answer = {
        "message_type": "response",
        "timestamp": TIME.format(1),
        "agent_id": "a1",
        "parts": [{"part_kind": "text", "content": "Sunny."}],
    }
    told = [{"message_type": "system", **event} for event in events]
    messages = [*told[:1], answer, *told[1:]] if before else [answer, *told]
    agent = {"agent_id": "a1", "agent_name": "Weather", "created_at": TIME.format(0)}
    prompt = {"part_kind": "user-prompt", "content": "hi"}
    return {
        "version": "2.0.0",
        "thread_id": "t",
        "created_at": TIME.format(0),
        "updated_at": TIME.format(9),
        "agents": {"a1": agent, "a2": {**agent, "agent_id": "a2"}},
        "turns": [
            {"turn_type": "user", "submitted_at": TIME.format(0), "parts": [prompt]},
            {
                "turn_type": "agent",
                "agent_id": "a1",
                "started_at": TIME.format(1),
                "completed_at": TIME.format(9),
                "messages": messages,
            },
        ],
    }


HANDOFF = {
    "timestamp": TIME.format(2),
    "event_type": "agent.handoff",
    "event_data": {"from": "a1", "to": "a2", "reason": "explicit_mention"},
    "source_agent": "a1",
    "target_agents": ["a2"],
}
events = st.fixed_dictionaries(
    {
        "timestamp": st.sampled_from([TIME.format(1), TIME.format(3)]),
        "event_type": st.sampled_from(["agent.handoff", "tool.grant", "tool.revoke", "state.update", "x"]),
        "event_data": json_values,
    },
    optional={"source_agent": st.just("a1"), "target_agents": st.lists(st.sampled_from(["a1", "a2"]), max_size=2)},
)


def told(document: Any) -> list[dict[str, Any]]:
    """What the system messages of a thread say."""
    records = [record for turn in document["turns"] for record in turn.get("messages", ())]
    return [
        {key: record[key] for key in SYSTEM if key in record}
        for record in records
        if record["message_type"] == "system"
    ]


def test_a_system_message_is_a_data_part_with_its_data_word_for_word() -> None:
    records = formats.convert(thread(HANDOFF), "ai-sdk-ui", "thread-protocol").data
    (asked, answer) = records
    assert asked["role"] == "user"
    assert answer["parts"] == [
        {"type": "data-agent.handoff", "data": HANDOFF["event_data"]},
        {"type": "step-start"},
        {"type": "text", "text": "Sunny.", "state": "done"},
    ]
    assert answer["metadata"] == {
        "systemMessages": [
            {
                "event_type": "agent.handoff",
                "timestamp": HANDOFF["timestamp"],
                "source_agent": "a1",
                "target_agents": ["a2"],
            }
        ]
    }


@given(
    given_=st.lists(events, min_size=1, max_size=3), before=st.booleans(), profile=st.sampled_from(["v5", "v6", "v7"])
)
def test_system_messages_come_back_from_ui_messages(given_: list[dict[str, Any]], before: bool, profile: str) -> None:
    document = thread(*given_, before=before)
    shown = formats.convert(document, "ai-sdk-ui", "thread-protocol", target=profile)
    back = formats.convert(shown.json, "thread-protocol", "ai-sdk-ui", target=Target(at=TIME.format(9)))
    assert exact_json.same(told(back.data), told(document))


@given(given_=st.lists(events, min_size=1, max_size=3))
def test_system_messages_come_back_from_a_stream(given_: list[dict[str, Any]]) -> None:
    conversation = formats.read(exact_json.encode(thread(*given_)), "thread-protocol")
    said, sender = conversation.messages[1:], emitter("ai-sdk-ui", target="v6")
    answer = next(message for message in said if message.role == "assistant")
    raw = sender.emit(MessageStart(id="m1"))
    for message in said:
        for delta in event_deltas(message):
            raw += sender.emit(delta)
    raw += sender.emit(PartStart(key="p", part=answer.parts[0])) + sender.emit(PartEnd(key="p", part=answer.parts[0]))
    raw += sender.emit(End(how="done")) + sender.finish()
    receiver = decoder("ai-sdk-ui")
    deltas = [*receiver.feed(raw), *receiver.finish()]
    assert any(isinstance(delta, MessageEnd) for delta in deltas)
    back = formats.write(Conversation(messages=fold(deltas)), "thread-protocol", target=Target(at=TIME.format(9)))
    assert exact_json.same(told(back.data), told(thread(*given_)))


def test_data_of_an_answer_is_a_system_message_and_data_of_its_answer_again() -> None:
    parts = [TextPart(text="a"), DataPart(name="state.update", data={"x": 1}, id="d1"), TextPart(text="b")]
    answer = Message(role="assistant", parts=list(parts), created_at=TIME.format(1))
    written = formats.write(Conversation(messages=[answer], id="t"), "thread-protocol")
    assert written.losses == []
    assert told(written.data) == [{"event_type": "state.update", "event_data": {"x": 1}, "timestamp": TIME.format(1)}]
    assert formats.read(written.json).messages[0].parts == parts


def test_what_a_user_posts_stays_data_of_the_user() -> None:
    posted = {
        "id": "u1",
        "role": "user",
        "metadata": {"systemMessages": [{"event_type": "tool.grant", "timestamp": TIME.format(1)}]},
        "parts": [{"type": "text", "text": "hi"}, {"type": "data-tool.grant", "data": {"tool": "pay"}}],
    }
    (message,) = formats.read(exact_json.encode([posted]), "ai-sdk-ui").messages
    assert (message.role, message.parts[1]) == ("user", DataPart(name="tool.grant", data={"tool": "pay"}))
    written = formats.convert([posted], "thread-protocol", "ai-sdk-ui", target=Target(at=TIME.format(1)))
    assert told(written.data) == []
    assert [(loss.path, loss.kind) for loss in written.losses if "parts" in loss.path] == [
        ("$.messages[0].parts[1]", "text")
    ]


def test_entries_that_are_not_those_of_the_parts_stay_metadata() -> None:
    for entries in ([{"event_type": "y"}], [{"event_type": 5}], [1], [{"event_type": "x"}] * 2, "x"):
        record = {
            "id": "a",
            "role": "assistant",
            "metadata": {"systemMessages": entries},
            "parts": [{"type": "step-start"}, {"type": "data-x", "data": 1}],
        }
        raw = exact_json.encode([record])
        conversation = formats.read(raw, "ai-sdk-ui")
        assert [message.role for message in conversation.messages] == ["assistant"]
        assert formats.write(conversation, "ai-sdk-ui").data == [record]
