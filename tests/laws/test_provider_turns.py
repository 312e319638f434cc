"""Between messages and turns: what a provider wants as one turn is merged, reported, and taken apart again."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

import hansard
from hansard import formats
from hansard.model import Conversation, Message, TextPart, ToolCallPart, ToolResultPart
from tests.laws.test_providers import ANSWERS, without_residue_of
from tests.official_types import problems
from tests.strategies import conversations, objects

_texts = st.sampled_from(["hi", "Be kind.", "What is the weather?", "On.", "ü x", "a\n\nb"])


def _exchange(number: int, given: Any, said: str) -> list[Message]:
    """A call and its result, as one turn of an assistant and one of a tool."""
    name: dict[str, Any] = {"tool_call_id": f"call_{number}", "tool_name": "look"}
    call = Message(role="assistant", parts=[ToolCallPart(input=given, **name)])
    return [call, Message(role="tool", parts=[ToolResultPart(output=said, is_error=False, **name)])]


@st.composite
def talks(draw: st.DrawFn) -> Conversation:
    """Messages of all roles in any order, several of one role after another, with calls that were answered."""
    messages: list[Message] = []
    kinds = st.sampled_from(["system", "developer", "user", "user", "assistant", "call"])
    for number, kind in enumerate(draw(st.lists(kinds, max_size=9))):
        if kind == "call":
            messages += _exchange(number, draw(objects), draw(_texts))
        else:
            texts = draw(st.lists(_texts, min_size=1, max_size=2))
            messages.append(Message(role=kind, parts=[TextPart(text=text) for text in texts]))
    return Conversation(messages=messages)


def _roles(name: str, data: Any) -> list[str]:
    return [record["role"] for record in data["messages" if name == "anthropic" else "contents"]]


def _texts_of(conversation: Conversation, *roles: str) -> list[str]:
    return [part.text for m in conversation.messages if m.role in roles for part in m.parts]  # type: ignore[union-attr]


@given(conversation=talks())
def test_turns_of_claude_alternate_and_the_system_prompt_is_one_string(conversation: Conversation) -> None:
    written = hansard.write(conversation, "anthropic")
    roles = _roles("anthropic", written.data)
    assert all(one != other for one, other in pairwise(roles)), roles
    assert set(roles) <= {"user", "assistant"}
    said = _texts_of(conversation, "system", "developer")
    assert written.data.get("system") == ("\n\n".join(said) if said else None)
    assert problems("anthropic", written.data) == []


@given(conversation=talks())
def test_turns_of_gemini_are_of_different_roles_but_for_function_responses(conversation: Conversation) -> None:
    data = hansard.write(conversation, "gemini").data
    for one, other in pairwise(data["contents"]):
        if one["role"] == other["role"] == "user":
            assert any("functionResponse" in part for part in (*one["parts"], *other["parts"]))
    assert problems("gemini", data) == []
    said = _texts_of(conversation, "system", "developer")
    assert [part["text"] for part in data.get("systemInstruction", {"parts": []})["parts"]] == said


@pytest.mark.parametrize("name", ["anthropic", "gemini"])
@given(conversation=talks())
def test_every_merge_is_reported_as_a_repair(name: str, conversation: Conversation) -> None:
    written = hansard.write(conversation, name)
    if len(conversation.messages) > 1:  # an assistant's message by itself is marked when it is read
        assert {loss.kind for loss in written.losses} <= {"repair", "spelling"}
    repaired = [loss.path for loss in written.losses if loss.kind == "repair"]
    before = ""
    for i, message in enumerate(conversation.messages):
        role = {"developer": "system"}.get(message.role, message.role)
        if role == before == "user" or (name == "anthropic" and (before, role) == ("tool", "user")):
            assert any(path.startswith(f"$.messages[{i}]") for path in repaired)
        before = role


@pytest.mark.parametrize("name", ["anthropic", "gemini"])
@given(conversation=talks())
def test_a_merge_is_undone_when_the_answer_is_joined_to_the_original(name: str, conversation: Conversation) -> None:
    answer = hansard.read(ANSWERS[name], name)
    expected = hansard.append(conversation, answer)
    assert expected.messages[:-1] == conversation.messages
    request = hansard.write(conversation, name).data
    records = request["messages" if name == "anthropic" else "contents"]
    last = ANSWERS[name] if name == "anthropic" else ANSWERS[name]["candidates"][0]["content"]
    question = {"role": "user", **({"content": "On?"} if name == "anthropic" else {"parts": [{"text": "On?"}]})}
    turn = {"role": last["role"], **({k: last[k] for k in ("content", "parts") if k in last})}
    for tail in ([question], [question, turn]):
        if records and records[-1]["role"] == "user" and name == "anthropic":
            own = records[-1]["content"]
            blocks = [{"type": "text", "text": own}] if isinstance(own, str) else own
            grown = {"role": "user", "content": [*blocks, {"type": "text", "text": "On?"}]}
            sent = {**request, "messages": [*records[:-1], grown, *tail[1:]]}
        else:
            sent = {**request, ("messages" if name == "anthropic" else "contents"): [*records, *tail]}
        joined = hansard.rejoin(conversation, hansard.read(sent, name))
        kept = joined.messages[: len(conversation.messages)]
        assert kept == conversation.messages
        new = joined.messages[len(conversation.messages) :]
        assert [message.role for message in new] == ["user", "assistant"][: len(tail)]
    assert hansard.rejoin(conversation, hansard.read(request, name)) == conversation


@given(conversation=talks())
def test_a_signature_stays_valid_when_the_answer_is_joined_to_the_original(conversation: Conversation) -> None:
    request = hansard.write(conversation, "anthropic").data
    if _roles("anthropic", request)[-1:] != ["user"]:
        return
    turn = {"role": "assistant", "content": ANSWERS["anthropic"]["content"]}
    sent = hansard.read({**request, "messages": [*request["messages"], turn]}, "anthropic")
    again = hansard.write(hansard.rejoin(conversation, sent), "anthropic").data
    assert again["messages"][-1] == turn
    assert again["messages"] == [*request["messages"], turn]


@given(conversation=conversations)
def test_turns_of_any_conversation_alternate_for_claude(conversation: Conversation) -> None:
    """Only what Claude gave for one place, and an answer after a start that was given, stay turns of their own."""
    bare = without_residue_of("anthropic", conversation)
    messages = [replace(message, model=UNSET) for message in bare.messages]
    roles = _roles("anthropic", formats.write(replace(bare, messages=messages), "anthropic").data)
    kinds = {type(part).__name__ for message in messages for part in message.parts}
    if not kinds & {"RawPart", "CompactionPart"}:
        assert all(one != other for one, other in pairwise(roles)), roles


def test_what_was_read_as_two_turns_stays_two_turns() -> None:
    said = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert hansard.convert(said, to="anthropic", from_="anthropic").data == said
    joined = hansard.convert(said, to="anthropic", from_="provider-message")
    assert joined.data["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ]


def test_a_system_prompt_is_a_list_only_for_cache_control() -> None:
    cached = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]
    asked = [{"role": "user", "content": "hi"}]
    own = hansard.read({"system": cached, "messages": asked}, "anthropic")
    late = Message(role="system", parts=[TextPart(text="b")])
    more = replace(own, messages=[*own.messages[:1], late, *own.messages[1:]])
    assert hansard.write(more, "anthropic").data["system"] == [*cached, {"type": "text", "text": "b"}]
    plain = hansard.read(
        [{"role": "system", "content": "a"}, {"role": "developer", "content": "b"}, *asked], "openai-chat"
    )
    assert hansard.write(plain, "anthropic").data["system"] == "a\n\nb"
