"""Every row of the specification's tables in both directions: a provider message, and what a provider has for it.

The tests are named by the rows. `BOTH` rows are equal after either conversion; what comes back otherwise, and why, is
said in `ONE_WAY`.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

import hansard
from hansard.model import Conversation, Message, ReasoningPart, TextPart, exact_json
from tests.laws.test_provider_turns import talks
from tests.official_types import problems

LISTS = {"openai-chat": "messages", "gemini": "contents", "anthropic": "messages"}
GO: dict[str, Any] = {
    "provider-message": {"role": "user", "content": "go"},
    "openai-chat": {"role": "user", "content": "go"},
    "gemini": {"role": "user", "parts": [{"text": "go"}]},
    "anthropic": {"role": "user", "content": "go"},
}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": '{"a":1}', "id": "c1"}]}
CHAT_CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "b3BhcXVl"}


def said(role: str, content: Any = "x", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def function_call(**more: Any) -> dict[str, Any]:
    return {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}, **more}


# row: (provider, provider messages, the provider's request)
BOTH: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "OpenAI: system": ("openai-chat", [said("system")], {"messages": [said("system")]}),
    "OpenAI: developer": ("openai-chat", [said("developer")], {"messages": [said("developer")]}),
    "OpenAI: user": ("openai-chat", [said("user")], {"messages": [said("user")]}),
    "OpenAI: assistant": ("openai-chat", [said("assistant")], {"messages": [said("assistant")]}),
    "OpenAI: tool, call_id": (
        "openai-chat",
        [GO["provider-message"], CALL, said("tool", call_id="c1")],
        {"messages": [GO["openai-chat"], CHAT_CALL, said("tool", tool_call_id="c1")]},
    ),
    "OpenAI: name of every role": (
        "openai-chat",
        [
            said("system", name="rules"),
            said("developer", name="dev"),
            said("user", name="alice"),
            {**CALL, "name": "bob"},
            said("tool", call_id="c1", name="f"),
        ],
        {
            "messages": [
                said("system", name="rules"),
                said("developer", name="dev"),
                said("user", name="alice"),
                {**CHAT_CALL, "name": "bob"},
                said("tool", tool_call_id="c1", name="f"),
            ]
        },
    ),
    "OpenAI: refusal": (
        "openai-chat",
        [said("assistant", "", refusal="No.")],
        {"messages": [said("assistant", None, refusal="No.")]},
    ),
    "Gemini: system": (
        "gemini",
        [said("system"), GO["provider-message"]],
        {"systemInstruction": {"parts": [{"text": "x"}]}, "contents": [GO["gemini"]]},
    ),
    "Gemini: user": ("gemini", [GO["provider-message"]], {"contents": [GO["gemini"]]}),
    "Gemini: assistant": (
        "gemini",
        [GO["provider-message"], said("assistant")],
        {"contents": [GO["gemini"], model({"text": "x"})]},
    ),
    "Gemini: reasoning, thought": (
        "gemini",
        [GO["provider-message"], said("assistant", reasoning="Hm.")],
        {"contents": [GO["gemini"], model({"text": "Hm.", "thought": True}, {"text": "x"})]},
    ),
    "Gemini: extra.gemini.thought_signatures": (
        "gemini",
        [
            GO["provider-message"],
            {**CALL, "reasoning": "Hm.", "extra": {"gemini": {"thought_signatures": ["c2ln"]}}},
        ],
        {
            "contents": [
                GO["gemini"],
                model({"text": "Hm.", "thought": True}, function_call(thoughtSignature="c2ln")),
            ]
        },
    ),
    "Claude: system": (
        "anthropic",
        [said("system"), GO["provider-message"]],
        {"system": "x", "messages": [GO["anthropic"]]},
    ),
    "Claude: user": ("anthropic", [GO["provider-message"]], {"messages": [GO["anthropic"]]}),
    "Claude: assistant": (
        "anthropic",
        [GO["provider-message"], said("assistant")],
        {"messages": [GO["anthropic"], said("assistant", [{"type": "text", "text": "x"}])]},
    ),
    "Claude: tool": (
        "anthropic",
        [GO["provider-message"], CALL, said("tool", call_id="c1")],
        {
            "messages": [
                GO["anthropic"],
                USE,
                said("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]),
            ]
        },
    ),
    "Claude: reasoning, thinking": (
        "anthropic",
        [
            GO["provider-message"],
            said("assistant", reasoning="Hm.", extra={"claude": {"thinking_blocks": [THINKING]}}),
        ],
        {"messages": [GO["anthropic"], said("assistant", [THINKING, {"type": "text", "text": "x"}])]},
    ),
    "Claude: extra.claude.thinking_blocks, redacted": (
        "anthropic",
        [
            GO["provider-message"],
            said("assistant", reasoning="Hm.", extra={"claude": {"thinking_blocks": [THINKING, REDACTED]}}),
        ],
        {"messages": [GO["anthropic"], said("assistant", [THINKING, REDACTED, {"type": "text", "text": "x"}])]},
    ),
}
ONE_WAY: dict[str, tuple[str, list[Any], dict[str, Any], list[Any]]] = {
    "OpenAI: tool, falling back to id": (
        "openai-chat",
        [GO["provider-message"], CALL, said("tool", id="c1")],
        {"messages": [GO["openai-chat"], CHAT_CALL, said("tool", tool_call_id="c1")]},
        [GO["provider-message"], CALL, said("tool", call_id="c1")],
    ),
    "Gemini: developer": (
        "gemini",
        [said("developer"), GO["provider-message"]],
        {"systemInstruction": {"parts": [{"text": "x"}]}, "contents": [GO["gemini"]]},
        [said("system"), GO["provider-message"]],
    ),
    "Claude: developer, joined": (
        "anthropic",
        [said("system", "a"), said("developer", "b"), GO["provider-message"], said("assistant"), said("system", "c")],
        {
            "system": "a\n\nb\n\nc",
            "messages": [GO["anthropic"], said("assistant", [{"type": "text", "text": "x"}])],
        },
        [said("system", "a\n\nb\n\nc"), GO["provider-message"], said("assistant")],
    ),
    "Claude: tool, merged into the user turn": (
        "anthropic",
        [GO["provider-message"], CALL, said("user", "wait"), said("tool", call_id="c1"), said("user", "on")],
        {
            "messages": [
                GO["anthropic"],
                USE,
                said(
                    "user",
                    [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "x"},
                        {"type": "text", "text": "wait"},
                        {"type": "text", "text": "on"},
                    ],
                ),
            ]
        },
        [
            GO["provider-message"],
            CALL,
            said("tool", call_id="c1"),
            said("user", [{"type": "text", "text": "wait"}, {"type": "text", "text": "on"}]),
        ],
    ),
    "Claude: consecutive assistant messages": (
        "anthropic",
        [GO["provider-message"], said("assistant", "a"), said("assistant", "b")],
        {
            "messages": [
                GO["anthropic"],
                said("assistant", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
            ]
        },
        [
            GO["provider-message"],
            said("assistant", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ],
    ),
}


@pytest.mark.parametrize("row", BOTH)
def test_a_row_is_true_in_both_directions(row: str) -> None:
    provider, messages, request = BOTH[row]
    there = hansard.convert(messages, to=provider, from_="provider-message")
    assert exact_json.same(there.data, request)
    back = hansard.convert(request, to="provider-message", from_=provider)
    assert exact_json.same(back.data, messages)
    if "name" not in row:  # chat's own types have no name of a tool, its servers take one
        assert problems(provider, there.data) == []


@pytest.mark.parametrize("row", ONE_WAY)
def test_a_row_is_true_and_comes_back_in_the_usual_form(row: str) -> None:
    provider, messages, request, usual = ONE_WAY[row]
    there = hansard.convert(messages, to=provider, from_="provider-message")
    assert exact_json.same(there.data, request)
    assert problems(provider, there.data) == []
    assert exact_json.same(hansard.convert(request, to="provider-message", from_=provider).data, usual)


names = st.sampled_from(["alice", "bob", "ü x", UNSET])


@given(conversation=talks(), data=st.data())
def test_names_survive_between_openai_and_provider_messages(conversation: Conversation, data: Any) -> None:
    messages = [
        message if message.role == "tool" else replace(message, name=data.draw(names))
        for message in conversation.messages
    ]
    for first, second in (("openai-chat", "provider-message"), ("provider-message", "openai-chat")):
        document = hansard.write(Conversation(messages=messages), first).data
        there = hansard.convert(document, to=second, from_=first)
        back = hansard.convert(there.data, to=first, from_=second)
        assert exact_json.same(back.data, document)
        assert [message.name for message in hansard.read(there.data, second).messages] == [
            message.name for message in messages
        ]


@given(conversation=talks(), thoughts=st.lists(st.sampled_from(["Hm.", "So.", ""]), max_size=3))
def test_unsigned_thoughts_come_back_from_gemini(conversation: Conversation, thoughts: list[str]) -> None:
    parts = [*(ReasoningPart(text=text) for text in thoughts if text), TextPart(text="x")]
    messages = [*conversation.messages, Message(role="user", parts=[TextPart(text="go")])]
    messages.append(Message(role="assistant", parts=parts))
    document = hansard.write(Conversation(messages=messages), "gemini").data
    wanted = [{"text": text, "thought": True} for text in thoughts if text]
    assert document["contents"][-1]["parts"][:-1] == wanted
    there = hansard.convert(document, to="provider-message", from_="gemini")
    back = hansard.convert(there.data, to="gemini", from_="provider-message")
    assert exact_json.same(back.data["contents"][-1], document["contents"][-1])
