"""Turns from runs and back, and a thread as one of its agents sees it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.model import (
    Agent,
    Binding,
    CompactionPart,
    Conversation,
    DataPart,
    Message,
    ReasoningPart,
    Run,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    exact_json,
    native,
)
from hansard.model.agent_view import to_model_messages
from hansard.model.calls import pending_calls
from hansard.model.hashing import digests
from hansard.model.turns import Turn, from_turns, turns
from hansard.model.validate import validate
from tests.conftest import GOLDEN
from tests.strategies import conversations


def say(role: str, text: str = "hi", **more: Any) -> Message:
    return Message(role=role, parts=[TextPart(text=text)], **more)


def shape(conversation: Conversation) -> list[tuple[str, str | None, int]]:
    return [(turn.kind, turn.run.id if turn.run else None, len(turn.messages)) for turn in turns(conversation)]


def test_each_user_message_is_a_turn_and_what_follows_is_one() -> None:
    talk = [say("user"), say("user"), say("assistant"), say("tool"), say("event"), say("assistant"), say("user")]
    assert shape(Conversation(messages=talk)) == [
        ("user", None, 1),
        ("user", None, 1),
        ("agent", None, 4),
        ("user", None, 1),
    ]


def test_the_messages_of_a_run_are_a_turn_and_its_first_words_the_users() -> None:
    talk = [
        say("system", run_id="r1"),
        say("user", run_id="r1"),
        say("assistant", run_id="r1"),
        say("user", run_id="r1"),
        say("assistant", run_id="r1"),
        say("assistant", run_id="r2"),
    ]
    assert shape(Conversation(messages=talk)) == [
        ("user", None, 1),
        ("user", None, 1),
        ("agent", "r1", 3),
        ("agent", "r2", 1),
    ]


def test_a_run_that_is_only_named_has_the_agent_of_its_message() -> None:
    (turn,) = turns(Conversation(messages=[say("assistant", run_id="r1", agent_id="a1")]))
    assert turn.run == Run(id="r1", agent_id="a1")


@given(conversation=conversations)
def test_turns_hold_every_message_once_and_in_order(conversation: Conversation) -> None:
    found = turns(conversation)
    assert [message for turn in found for message in turn.messages] == conversation.messages
    assert [turn.start for turn in found] == [sum(len(turn.messages) for turn in found[:k]) for k in range(len(found))]


def test_back_from_turns_the_messages_name_their_runs() -> None:
    messages, runs = from_turns(
        [Turn(kind="user", messages=[say("user")]), Turn(kind="agent", messages=[say("assistant")], run=Run(id="r"))]
    )
    assert ([message.run_id for message in messages], [run.id for run in runs]) == ([UNSET, "r"], ["r"])


# -- views ---------------------------------------------------------------------------------------------------------

AGENTS = {"a1": Agent(id="a1", name="Weather"), "a2": Agent(id="a2", name="Travel"), "a3": Agent(id="a3")}


def thread(*messages: Message) -> Conversation:
    return Conversation(messages=list(messages), agents=AGENTS)


def words(conversation: Conversation) -> list[Any]:
    return [native.plain(part).get("text") for message in conversation.messages for part in message.parts]


def test_others_texts_say_by_whom_they_are() -> None:
    seen = to_model_messages(
        thread(
            say("user", "What now?"),
            say("assistant", "Sunny.", agent_id="a1"),
            say("assistant", "Temples.", agent_id="a2"),
            say("assistant", "Who?", agent_id="a3"),
            say("assistant", "Lost.", agent_id="a9"),
        ),
        viewing_agent="a2",
    )
    assert words(seen) == ["What now?", "{agent:Weather}: Sunny.", "Temples.", "{agent:a3}: Who?", "{agent:a9}: Lost."]


def test_only_texts_of_answers_are_prefixed() -> None:
    call = ToolCallPart(tool_call_id="c", tool_name="f", input={})
    seen = to_model_messages(
        thread(
            Message(role="assistant", parts=[call, TextPart(text="x")], agent_id="a1"),
            say("user", "asked by an agent", agent_id="a1"),
        ),
        viewing_agent="a2",
    )
    assert seen.messages[0].parts[0] == call
    assert words(seen)[1:] == ["{agent:Weather}: x", "asked by an agent"]


def test_events_are_not_shown_and_runs_tell_the_agent() -> None:
    event = Message(role="event", parts=[DataPart(name="agent.handoff")], id="e", parent_message_id="m1")
    after = say("assistant", "y", run_id="r", parent_message_id="e", id="m2")
    given = replace(
        thread(say("user", id="m1", parent_message_id=None), event, after), runs=[Run(id="r", agent_id="a1")]
    )
    seen = to_model_messages(given, viewing_agent="a2")
    assert words(seen) == ["hi", "{agent:Weather}: y"]
    assert len(formats.write(seen, "anthropic").data["messages"]) == 2


def test_storage_is_left_as_it_is() -> None:
    given = formats.read((GOLDEN / "thread-protocol" / "two_agents_and_a_handoff.json").read_bytes())
    before = native.encode(given)
    to_model_messages(given, viewing_agent="a1")
    assert native.encode(given) == before


def test_reasoning_and_ciphers_of_others_are_left_out() -> None:
    bound = Binding(provider="anthropic")
    seen = to_model_messages(
        thread(
            Message(role="assistant", parts=[ReasoningPart(text="hm", signature="s", binding=bound)], agent_id="a1"),
            Message(
                role="assistant",
                agent_id="a1",
                parts=[
                    ReasoningPart(text="plain"),
                    TextPart(text="x", signature="s", binding=bound),
                    CompactionPart(text="sum", encrypted="e", binding=bound),
                ],
            ),
        ),
        viewing_agent="a2",
    )
    assert seen.messages == [
        Message(
            role="assistant", agent_id="a1", parts=[TextPart(text="{agent:Weather}: x"), CompactionPart(text="sum")]
        )
    ]


def test_the_viewers_own_reasoning_is_bound_to_what_it_saw() -> None:
    stored = [say("user"), say("assistant", "Sunny.", agent_id="a1"), say("assistant", agent_id="a2")]
    prefix = digests(stored, {2})[2]
    own = ReasoningPart(text="hm", signature="s", binding=Binding(provider="anthropic", prefix=prefix))
    moved = ReasoningPart(text="hm", signature="s", binding=Binding(provider="anthropic", prefix="0" * 32))
    stored[2] = replace(stored[2], parts=[own, moved])
    seen: Any = to_model_messages(thread(*stored), viewing_agent="a2")
    shown = digests(seen.messages, {2})[2]
    assert shown != prefix
    assert [part.binding.prefix for part in seen.messages[2].parts] == [shown, "0" * 32]


@given(conversation=conversations)
def test_a_conversation_without_agents_and_events_is_seen_as_it_is(conversation: Conversation) -> None:
    messages = [
        replace(message, agent_id=UNSET, run_id=UNSET, parent_message_id=UNSET, sidechain=UNSET)
        for message in conversation.messages
        if message.role != "event"
    ]
    given_ = replace(conversation, messages=messages, head=UNSET)
    assert exact_json.same(native.plain(to_model_messages(given_, "a")), native.plain(given_))


def test_what_a_provider_runs_itself_is_not_pending() -> None:
    search = ToolCallPart(tool_call_id="s1", tool_name="web_search", input={}, provider_executed=True)
    pay = ToolCallPart(tool_call_id="c1", tool_name="pay", input={})
    thread = Conversation(
        messages=[
            Message(role="assistant", parts=[search, pay]),
            Message(role="tool", parts=[ToolResultPart(tool_call_id="c1", output="paid")]),
            Message(role="assistant", parts=[search, pay]),
        ]
    )
    assert [path for path, _ in pending_calls(thread)] == ["$.messages[2].parts[1]"]
    assert [finding.check for finding in validate(thread)] == []
