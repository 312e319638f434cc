"""ThreadProtocol: turns and runs, agents, events, and what a thread does not store."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from hansard import formats
from hansard.errors import Unreadable
from hansard.formats.contract import Target
from hansard.model import (
    Agent,
    Conversation,
    DataPart,
    Message,
    RawPart,
    RetryPart,
    Run,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    exact_json,
    native,
)
from hansard.model.calls import pending_calls
from tests.conftest import GOLDEN

NAME = "thread-protocol"
TIME = "2026-01-01T00:00:00Z"
ASSISTANT = Agent(id="assistant", name="assistant", created_at=TIME)


def golden(name: str) -> Conversation:
    return formats.read((GOLDEN / NAME / f"{name}.json").read_bytes(), NAME)


def say(role: str, text: str = "hi", **more: Any) -> Message:
    return Message(role=role, parts=[TextPart(text=text)], **more)


def test_a_thread_is_messages_runs_and_agents() -> None:
    conversation = golden("two_agents_and_a_handoff")
    assert [message.role for message in conversation.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "event",
        "user",
        "assistant",
    ]
    assert [message.run_id for message in conversation.messages] == [UNSET] + ["turn-2"] * 4 + ["turn-3"] * 2
    assert conversation.runs == [
        Run(
            id="turn-2",
            agent_id="a1",
            started_at="2026-01-15T10:00:01Z",
            completed_at="2026-01-15T10:00:05Z",
            usage=Usage(input_tokens=20, output_tokens=8, reasoning_tokens=3, total_tokens=31),
        ),
        Run(id="turn-3", agent_id="a2", started_at="2026-01-15T10:00:05Z", completed_at="2026-01-15T10:00:08Z"),
    ]
    assert conversation.agents["a2"] == Agent(  # type: ignore[index]
        id="a2", name="Travel", config_ref="configs/travel@3", created_at="2026-01-15T10:00:00Z"
    )
    assert (conversation.title, conversation.metadata) == ("Weather", {"tags": ["x"]})
    assert conversation.extra is UNSET


def test_an_event_is_named_data() -> None:
    event = golden("two_agents_and_a_handoff").messages[4]
    assert event.parts == [DataPart(name="agent.handoff", data={"to": "a2"})]
    assert event.metadata == {"source_agent": "a1", "target_agents": ["a2"]}
    assert event.extra is UNSET


def test_thinking_is_bound_to_its_provider() -> None:
    thought: Any = golden("two_agents_and_a_handoff").messages[6].parts[0]
    assert (thought.text, thought.id, thought.signature, thought.binding.provider) == (
        "mild",
        "th_1",
        "EqQB",
        "anthropic",
    )


def test_a_status_says_whether_it_failed() -> None:
    results: Any = golden("results_and_retries").messages[2].parts
    assert [(part.is_error, part.status) for part in results] == [
        (True, UNSET),
        (True, "retried"),
        (True, "retried"),
        (False, UNSET),
    ]
    assert type(golden("results_and_retries").messages[3].parts[0]) is RetryPart


def test_a_call_without_a_result_is_pending_even_over_two_turns() -> None:
    conversation = golden("pending_calls")
    assert pending_calls(conversation) == []
    cut = Conversation(messages=conversation.messages[:2])
    assert [path for path, _ in pending_calls(cut)] == ["$.messages[1].parts[0]"]


def test_a_plain_conversation_is_written_and_read_back_the_same() -> None:
    first = say("user", created_at="2026-01-01T00:00:00Z")
    conversation = Conversation(
        id="t",
        messages=[first, say("assistant"), say("user", "more"), say("assistant", "a"), say("assistant", "b")],
    )
    written = formats.write(conversation, NAME)
    assert written.losses == []
    assert [turn["turn_type"] for turn in written.data["turns"]] == ["user", "agent", "user", "agent"]
    assert written.data["agents"] == {
        "assistant": {
            "agent_id": "assistant",
            "agent_name": "assistant",
            "created_at": first.created_at,
            "derived": ["agent_id", "agent_name", "created_at"],
        }
    }
    assert written.data["turns"][1] == {
        "turn_type": "agent",
        "agent_id": "assistant",
        "started_at": first.created_at,
        "completed_at": first.created_at,
        "messages": [
            {
                "message_type": "response",
                "timestamp": first.created_at,
                "agent_id": "assistant",
                "parts": [{"part_kind": "text", "content": "hi"}],
                "derived": ["agent_id", "timestamp"],
            }
        ],
        "run_id": None,
        "derived": ["agent_id", "started_at", "completed_at"],
    }


def test_runs_become_turns_and_what_they_begin_with_a_turn_of_the_user() -> None:
    messages = [say("user", run_id="r1"), say("assistant", run_id="r1"), say("assistant", run_id="r2")]
    runs = [Run(id="r1", agent_id="a1"), Run(id="r2", agent_id="a2")]
    data = formats.write(Conversation(messages=messages, runs=runs), NAME).data
    assert [(turn["turn_type"], turn.get("agent_id")) for turn in data["turns"]] == [
        ("user", None),
        ("agent", "a1"),
        ("agent", "a2"),
    ]


def test_system_prompts_are_not_stored_and_that_is_reported() -> None:
    asked = say("user", created_at="2026-01-01T00:00:00Z")
    conversation = Conversation(messages=[say("system", "Be kind."), asked, say("assistant")])
    written = formats.write(conversation, NAME)
    assert b"Be kind" not in written.json
    assert [(loss.path, loss.kind) for loss in written.losses] == [("$.messages[0]", "instructions")]


def test_a_system_prompt_that_a_thread_has_passes_through() -> None:
    first = golden("unknown_things").messages[0]
    assert first.role == "system"
    assert first.parts == [
        RawPart(format="pydantic-ai", value={"part_kind": "system-prompt", "content": "You are kind"})
    ]


def test_a_turn_outside_all_runs_is_told_from_a_run_of_the_same_agent() -> None:
    listed = Conversation(
        messages=[say("assistant", agent_id="assistant", run_id="r")], agents={"assistant": ASSISTANT}
    )
    for conversation in (Conversation(messages=[say("assistant")]), listed):
        back = formats.read(formats.write(conversation, NAME, target=Target(at=TIME)).json)
        assert back.agents == conversation.agents
        assert [message.run_id for message in back.messages] == [message.run_id for message in conversation.messages]


def test_a_pydantic_ai_history_goes_through_a_thread_with_its_words() -> None:
    history = formats.read((GOLDEN / "pydantic-ai" / "parallel_tools.json").read_bytes(), "pydantic-ai")
    back = formats.read(formats.write(history, NAME).json, NAME)
    assert [message.role for message in back.messages] == [message.role for message in history.messages]
    words = [[native.plain(part).get("text") for part in message.parts] for message in history.messages]
    assert [[native.plain(part).get("text") for part in message.parts] for message in back.messages] == words


def test_an_event_of_another_format_is_a_system_message() -> None:
    event = Message(
        role="event", parts=[DataPart(name="tool.grant", data={"tool": "x"})], created_at="2026-01-01T00:00:00Z"
    )
    written = formats.write(Conversation(messages=[say("user"), event]), NAME)
    assert written.losses == []
    assert written.data["turns"][1]["messages"] == [
        {
            "message_type": "system",
            "timestamp": "2026-01-01T00:00:00Z",
            "event_type": "tool.grant",
            "event_data": {"tool": "x"},
        }
    ]


def test_calls_and_results_without_ids_are_given_the_same() -> None:
    call, result = ToolCallPart(tool_name="f", input={}), ToolResultPart(tool_name="f", output=1, is_error=False)
    messages = [Message(role="assistant", parts=[call]), Message(role="tool", parts=[result])]
    (turn,) = formats.write(Conversation(messages=messages), NAME).data["turns"]
    assert turn["messages"][0]["parts"][0]["tool_call_id"] == turn["messages"][1]["parts"][0]["tool_call_id"]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ([], "$"),
        ({"messages": []}, "$.turns"),
        ({"turns": [1]}, "$.turns[0]"),
        ({"turns": [{"parts": []}]}, "$.turns[0].turn_type"),
        ({"turns": [{"turn_type": "agent", "messages": [5]}]}, "$.turns[0].messages[0]"),
        (
            {"turns": [{"turn_type": "agent", "messages": [{"message_type": "request"}]}]},
            "$.turns[0].messages[0].parts",
        ),
    ],
)
def test_what_is_no_thread_is_refused_with_the_place(document: Any, path: str) -> None:
    with pytest.raises(Unreadable) as caught:
        formats.read(exact_json.encode(document), NAME)
    assert caught.value.path == path


@pytest.mark.parametrize("value", [None, 1, "x", b"x", [], {}, {"turns": 1}, {"turns": [1]}, {"turns": [{}]}])
def test_other_things_do_not_fit(value: Any) -> None:
    assert formats.get(NAME).sniff(value) == 0
