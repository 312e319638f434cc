"""The functions of the specification: to the letter, and equal to Pydantic AI's own history on the way back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, SystemPromptPart, TextPart
from pydantic_ai.models.test import TestModel

from hansard import thread_protocol as protocol
from hansard.errors import HansardError
from hansard.model import exact_json
from tests.formats.thread_protocol.histories import histories, with_system_prompts, without_system_prompts

TIME = "2026-01-02T03:04:05Z"


def dumped(history: list[ModelMessage]) -> Any:
    return exact_json.decode(ModelMessagesTypeAdapter.dump_json(history))


def loaded(history: list[ModelMessage]) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(history))


# -- from_agent_run and back -----------------------------------------------------------------------------------------


def ran() -> list[ModelMessage]:
    """A real agent run: a prompt, a call, its return, an answer."""
    agent = Agent(TestModel(), system_prompt="You are Fred.")

    @agent.tool_plain
    def get_weather(city: str) -> str:
        return f"18 degrees in {city}"

    return agent.run_sync("weather tokyo").new_messages()


def test_an_agent_run_is_one_turn_with_all_its_messages() -> None:
    messages = ran()
    turn: Any = protocol.from_agent_run(messages, "agent_001")
    dump = dumped(messages)
    assert (turn["turn_type"], turn["agent_id"]) == ("agent", "agent_001")
    assert (turn["started_at"], turn["completed_at"]) == (dump[0]["timestamp"], dump[-1]["timestamp"])
    assert [one["message_type"] for one in turn["messages"]] == ["request", "response", "request", "response"]
    assert [one["timestamp"] for one in turn["messages"]] == [one["timestamp"] for one in dump]
    assert {one["agent_id"] for one in turn["messages"]} == {"agent_001"}
    kinds = [[part["part_kind"] for part in one["parts"]] for one in turn["messages"]]
    assert kinds == [["user-prompt"], ["tool-call"], ["tool-return"], ["text"]]
    assert [one.get("model_name") for one in turn["messages"]] == [None, "test", None, "test"]
    used = [one["usage"] for one in turn["messages"] if "usage" in one]
    sums = {key: sum(one[key] for one in used) for key in ("input_tokens", "output_tokens")}
    assert turn["total_usage"] == {**sums, "total_tokens": sum(sums.values())}
    assert protocol.get_pending_tool_calls(turn) == []


def test_the_prompt_belongs_to_the_user_turn_before() -> None:
    messages = ran()
    turn = protocol.from_agent_run(messages[1:], "a")
    prompt: Any = {"turn_type": "user", "submitted_at": TIME, "parts": [{"part_kind": "user-prompt", "content": "hi"}]}
    back = protocol.to_model_messages([prompt, turn], "a")
    assert exact_json.same(dumped(back[1:]), dumped(messages[1:]))
    assert dumped(back)[0]["parts"][0]["content"] == "hi"
    assert dumped(back)[0]["timestamp"] == TIME


@given(history=histories)
def test_messages_become_a_turn_and_the_same_messages_again(history: list[ModelMessage]) -> None:
    if history:
        turn = protocol.from_agent_run(history, "a")
        assert exact_json.same(dumped(protocol.to_model_messages([turn], "a")), dumped(loaded(history)))


@given(history=with_system_prompts)
def test_system_prompts_are_left_out_of_a_turn(history: list[ModelMessage]) -> None:
    stored = without_system_prompts(history)
    if stored:
        turn = protocol.from_agent_run(history, "a")
        assert exact_json.same(dumped(protocol.to_model_messages([turn], "a")), dumped(loaded(stored)))


@pytest.mark.parametrize(("messages", "agent_id"), [([], "a"), (b"{}", "a"), ([{"kind": 1}], "a"), (ran(), "")])
def test_what_is_no_run_is_refused(messages: Any, agent_id: str) -> None:
    with pytest.raises(HansardError):
        protocol.from_agent_run(messages, agent_id)


# -- to_model_messages -----------------------------------------------------------------------------------------------


def say(agent_id: str, *parts: Any) -> dict[str, Any]:
    return {"message_type": "response", "timestamp": TIME, "agent_id": agent_id, "parts": list(parts)}


TEXT = {"part_kind": "text", "content": "Sunny."}
CALL = {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "c1", "args": {"a": 1}}
THOUGHT = {"part_kind": "thinking", "content": "hm", "provider_name": "anthropic", "signature": "sig"}
EVENT = {"message_type": "system", "timestamp": TIME, "event_type": "agent.handoff", "event_data": {}}
AGENTS = {
    "a1": {"agent_id": "a1", "agent_name": "Weather", "created_at": TIME},
    "a2": {"agent_id": "a2", "agent_name": "Travel", "created_at": TIME, "config_ref": "configs/travel@3"},
}


def thread(*messages: Any) -> Any:
    turn = {"turn_type": "agent", "agent_id": "a1", "started_at": TIME, "completed_at": TIME}
    return {"agents": AGENTS, "turns": [{**turn, "messages": list(messages)}]}


def test_the_others_text_begins_with_their_name_and_nothing_else_is_changed() -> None:
    (message,) = dumped(protocol.to_model_messages(thread(say("a1", THOUGHT, TEXT, CALL)), "a2"))
    assert [part.get("content", part.get("args")) for part in message["parts"]] == [
        "hm",
        "{agent:Weather}: Sunny.",
        {"a": 1},
    ]
    assert message["parts"][0]["signature"] == "sig"
    (own,) = protocol.to_model_messages(thread(say("a1", TEXT)), "a1")
    assert isinstance(own.parts[0], TextPart)
    assert own.parts[0].content == "Sunny."


def test_names_come_from_the_registry_that_is_given_else_the_id_is_the_name() -> None:
    turns = thread(say("a1", TEXT))["turns"]
    for agents, name in ((AGENTS, "Weather"), (None, "a1")):
        (message,) = dumped(protocol.to_model_messages(turns, "a2", agents=agents))
        assert message["parts"][0]["content"] == f"{{agent:{name}}}: Sunny."


def test_system_messages_are_skipped() -> None:
    assert len(protocol.to_model_messages(thread(EVENT, say("a1", TEXT), EVENT), "a1")) == 1
    assert protocol.to_model_messages(thread(EVENT), "a1") == []
    (turn,) = thread(EVENT, say("a1", TEXT), EVENT)["turns"]
    assert protocol.process_agent_turn(turn, "a1") == [say("a1", TEXT)]
    assert protocol.process_agent_turn(turn, "a2", AGENTS)[0]["parts"][0]["content"] == "{agent:Weather}: Sunny."


def test_the_system_prompt_comes_back_from_the_config_ref_of_the_viewer() -> None:
    asked: list[str] = []

    def prompt(ref: str) -> str | None:
        asked.append(ref)
        return f"You follow {ref}." if ref.startswith("configs/") else None

    first, *rest = protocol.to_model_messages(thread(say("a1", TEXT)), "a2", system_prompt=prompt)
    assert isinstance(first, ModelRequest)
    assert isinstance(first.parts[0], SystemPromptPart)
    assert first.parts[0].content == "You follow configs/travel@3."
    assert len(rest) == 1
    assert len(protocol.to_model_messages(thread(say("a1", TEXT)), "a1", system_prompt=prompt)) == 1
    assert asked == ["configs/travel@3", "a1"]


@pytest.mark.parametrize("given_", [{}, {"turns": 1}, [1], [{"turn_type": 5}], b"{"])
def test_what_is_no_thread_has_no_messages(given_: Any) -> None:
    with pytest.raises(HansardError):
        protocol.to_model_messages(given_, "a")


# -- from_stream_event -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "mapped"),
    [
        ({"type": "text-delta", "id": "0", "delta": "Hi"}, {"part_kind": "text", "content": "Hi"}),
        ({"type": "thinking-delta", "delta": "hm"}, {"part_kind": "thinking", "content": "hm"}),
        ({"type": "reasoning-delta", "id": "0", "delta": "hm"}, {"part_kind": "thinking", "content": "hm"}),
        (
            {"type": "tool-input-available", "toolCallId": "c1", "toolName": "f", "input": {"a": [1]}},
            {"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "c1", "args": {"a": [1]}},
        ),
        (
            {"type": "tool-output-available", "toolCallId": "c1", "toolName": "f", "output": {"t": 18}},
            {
                "part_kind": "tool-return",
                "tool_name": "f",
                "tool_call_id": "c1",
                "status": "success",
                "content": {"t": 18},
            },
        ),
        (
            {"type": "tool-output-available", "toolCallId": "c1", "output": None},
            {"part_kind": "tool-return", "tool_call_id": "c1", "status": "success", "content": None},
        ),
        (
            {"type": "data-ui.update", "data": {"x": 1}},
            {"message_type": "system", "timestamp": TIME, "event_type": "ui.update", "event_data": {"x": 1}},
        ),
        ({"type": "finish"}, None),
        ({"type": "tool-output-error", "toolCallId": "c1", "errorText": "x"}, None),
        ({"type": "something-new"}, None),
    ],
    ids=lambda value: value.get("type", "")[:30] if isinstance(value, dict) else "",
)
def test_a_stream_event_is_a_part_a_system_message_or_nothing(event: Any, mapped: Any) -> None:
    assert protocol.from_stream_event(event, at=TIME) == mapped


def test_a_system_message_is_of_now() -> None:
    said: Any = protocol.from_stream_event({"type": "data-x", "data": 1})
    assert said["timestamp"][:2] == "20"
    assert said["timestamp"].endswith("Z")


@pytest.mark.parametrize("event", [None, [], {}, {"type": 5}, {"type": "text-delta"}, {"type": "tool-input-available"}])
def test_what_is_no_event_is_refused(event: Any) -> None:
    with pytest.raises(HansardError):
        protocol.from_stream_event(event)


# -- get_pending_tool_calls ------------------------------------------------------------------------------------------


def test_calls_without_returns_are_pending() -> None:
    other = {**CALL, "tool_call_id": "c2"}
    back = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "c1", "status": "success", "content": 1}
    request = {"message_type": "request", "timestamp": TIME, "agent_id": "a1", "parts": [back]}
    (turn,) = thread(say("a1", CALL, other), EVENT, request)["turns"]
    assert protocol.get_pending_tool_calls(turn) == [other]
    denied = {**back, "tool_call_id": "c2", "status": "error", "content": "denied"}
    (later,) = thread({**request, "parts": [denied]})["turns"]
    assert protocol.get_pending_tool_calls([turn, later]) == []
    assert protocol.get_pending_tool_calls(thread(say("a1", CALL))) == [CALL]
