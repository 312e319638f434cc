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
PICTURE = {"type": "image", "format": "image/png", "data": "aGk="}
SOUND = {"type": "audio", "format": "audio/wav", "data": "aGk="}
PAPER = {"type": "file", "format": "application/pdf", "name": "a.pdf", "data": "aGk="}
LINKED = {"type": "file", "format": "application/pdf", "url": "https://example.org/a.pdf"}
DATA_URL = "data:application/pdf;base64,aGk="
# what each provider has for a content part; None where it has nothing
PARTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "text": (
        {"type": "text", "text": "x"},
        {
            "openai-chat": {"type": "text", "text": "x"},
            "gemini": {"text": "x"},
            "anthropic": {"type": "text", "text": "x"},
        },
    ),
    "image, data and format": (
        PICTURE,
        {
            "openai-chat": {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            "gemini": {"inlineData": {"data": "aGk=", "mimeType": "image/png"}},
            "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        },
    ),
    "image, url": (
        {"type": "image", "url": "https://example.org/a.png"},
        {
            "openai-chat": {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            "anthropic": {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        },
    ),
    "image, url and format": (
        {"type": "image", "format": "image/png", "url": "https://example.org/a.png"},
        {"gemini": {"fileData": {"fileUri": "https://example.org/a.png", "mimeType": "image/png"}}},
    ),
    "audio, data and format": (
        SOUND,
        {
            "openai-chat": {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
            "gemini": {"inlineData": {"data": "aGk=", "mimeType": "audio/wav"}},
            "anthropic": None,
        },
    ),
    "audio, url": (
        {"type": "audio", "format": "audio/wav", "url": "https://example.org/a.wav"},
        {
            "openai-chat": None,
            "gemini": {"fileData": {"fileUri": "https://example.org/a.wav", "mimeType": "audio/wav"}},
            "anthropic": None,
        },
    ),
    "file, data, format and name": (
        PAPER,
        {
            "openai-chat": {"type": "file", "file": {"file_data": DATA_URL, "filename": "a.pdf"}},
            "gemini": {"inlineData": {"data": "aGk=", "mimeType": "application/pdf", "displayName": "a.pdf"}},
            "anthropic": {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
                "title": "a.pdf",
            },
        },
    ),
    "file, url": (
        LINKED,
        {
            "openai-chat": None,
            "gemini": {"fileData": {"fileUri": "https://example.org/a.pdf", "mimeType": "application/pdf"}},
            "anthropic": {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
        },
    ),
}
# row: (provider, its content part, the same as a provider message, with the id below its name in `extra`)
FILE_IDS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "OpenAI: file_id": ("openai-chat", {"type": "file", "file": {"file_id": "f1"}}, "file", "openai"),
    "Claude: file_id of an image": (
        "anthropic",
        {"type": "image", "source": {"type": "file", "file_id": "f1"}},
        "image",
        "claude",
    ),
    "Claude: file_id of a file": (
        "anthropic",
        {"type": "document", "source": {"type": "file", "file_id": "f1"}},
        "file",
        "claude",
    ),
}
CALLS = [
    {"name": "f", "arguments": '{"a":1}', "id": "c1"},
    {"name": "g", "arguments": "{}", "id": "c2"},
]
# what each provider has for two calls, their results, and a call of the row `ToolCall.call_id`
TOOLS: dict[str, list[Any]] = {
    "openai-chat": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
        {"role": "tool", "tool_call_id": "c2", "content": "y"},
    ],
    "gemini": [
        model(
            {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"id": "c2", "name": "g", "args": {}}},
        ),
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "x"}}},
                {"functionResponse": {"id": "c2", "name": "g", "response": {"output": "y"}}},
            ],
        },
    ],
    "anthropic": [
        said(
            "assistant",
            [
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "c2", "name": "g", "input": {}},
            ],
        ),
        said(
            "user",
            [
                {"type": "tool_result", "tool_use_id": "c1", "content": "x"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "y"},
            ],
        ),
    ],
}
SIGNED = {"gemini": {"thought_signatures": ["c2ln"]}}
# what a provider has no field for: the field, whose loss of it is of this kind
LEFT_OUT: dict[str, tuple[str, Any, str, str]] = {
    "OpenAI: id": ("openai-chat", said("user", id="m1"), "$.messages[0].id", "metadata"),
    "Gemini: id": ("gemini", said("user", id="m1"), "$.messages[0].id", "metadata"),
    "Claude: id": ("anthropic", said("user", id="m1"), "$.messages[0].id", "metadata"),
    "Gemini: name": ("gemini", said("user", name="ann"), "$.messages[0].name", "metadata"),
    "Claude: name": ("anthropic", said("user", name="ann"), "$.messages[0].name", "metadata"),
    "OpenAI: extra of others": ("openai-chat", said("user", extra={"other": {"y": 2}}), "extra", "metadata"),
    "Gemini: extra of others": ("gemini", said("user", extra={"other": {"y": 2}}), "extra", "metadata"),
    "Claude: extra of others": ("anthropic", said("user", extra={"other": {"y": 2}}), "extra", "metadata"),
    "OpenAI: reasoning": ("openai-chat", said("assistant", reasoning="Hm."), "$.messages[0].parts[0]", "text"),
    "Claude: reasoning, unsigned": (
        "anthropic",
        said("assistant", reasoning="Hm."),
        "$.messages[0].parts[0]",
        "text",
    ),
}
ONE_WAY: dict[str, tuple[str, list[Any], dict[str, Any], list[Any]]] = {
    "OpenAI: refusal, ContentPart[]": (
        "openai-chat",
        [GO["provider-message"], said("assistant", "", refusal=[{"type": "text", "text": "No."}])],
        {"messages": [GO["openai-chat"], said("assistant", None, refusal="No.")]},
        [GO["provider-message"], said("assistant", "", refusal="No.")],
    ),
    "Gemini: refusal is text": (
        "gemini",
        [GO["provider-message"], said("assistant", "", refusal="No.")],
        {"contents": [GO["gemini"], model({"text": "No."})]},
        [GO["provider-message"], said("assistant", "No.")],
    ),
    "Claude: refusal is text": (
        "anthropic",
        [GO["provider-message"], said("assistant", "", refusal="No.")],
        {"messages": [GO["anthropic"], said("assistant", [{"type": "text", "text": "No."}])]},
        [GO["provider-message"], said("assistant", "No.")],
    ),
    **{
        f"{name}: ToolCall.call_id": (
            provider,
            [
                GO["provider-message"],
                {"role": "assistant", "content": "", "tool_calls": [{**CALLS[0], "id": "i1", "call_id": "c1"}]},
                said("tool", call_id="c1"),
            ],
            request,
            [GO["provider-message"], CALL, said("tool", call_id="c1")],
        )
        for name, provider, request in (
            (
                "OpenAI",
                "openai-chat",
                {"messages": [GO["openai-chat"], CHAT_CALL, said("tool", tool_call_id="c1")]},
            ),
            (
                "Claude",
                "anthropic",
                {
                    "messages": [
                        GO["anthropic"],
                        USE,
                        said("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]),
                    ]
                },
            ),
        )
    },
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


def in_a_message(provider: str, parts: list[Any]) -> dict[str, Any]:
    """A user message of a provider with these content parts."""
    return {"role": "user", "parts" if provider == "gemini" else "content": parts}


PLACES = [
    pytest.param(row, provider, id=f"{provider}: ContentPart, {row}")
    for row, (_, found) in PARTS.items()
    for provider in found
]


@pytest.mark.parametrize(("row", "provider"), PLACES)
def test_a_content_part_is_true_in_both_directions(row: str, provider: str) -> None:
    part, found = PARTS[row]
    two = {"type": "text", "text": "two"}
    messages = [in_a_message("provider-message", [part, two])]
    there = hansard.convert(messages, to=provider, from_="provider-message")
    assert problems(provider, there.data) == []
    written = {"text": "two"} if provider == "gemini" else two
    if found[provider] is None:
        assert there.data[LISTS[provider]] == [said("user", "two")]
        assert "files" in {loss.kind for loss in there.losses}
        return
    request = {LISTS[provider]: [in_a_message(provider, [found[provider], written])]}
    assert exact_json.same(there.data, request)
    back = hansard.convert(request, to="provider-message", from_=provider)
    assert exact_json.same(back.data, messages)


@pytest.mark.parametrize("row", FILE_IDS)
def test_a_file_id_goes_back_to_the_provider_that_gave_it_and_to_no_other(row: str) -> None:
    provider, part, kind, name = FILE_IDS[row]
    request = {"messages": [in_a_message(provider, [part])]}
    there = hansard.convert(request, to="provider-message", from_=provider)
    known = {"type": kind, "file_id": "f1"}
    message = {**in_a_message("provider-message", [known]), "extra": {name: {"file_ids": ["f1"]}}}
    assert exact_json.same(there.data, [message])
    assert {loss.kind for loss in there.losses} <= {"spelling"}
    assert exact_json.same(hansard.convert(there.data, to=provider, from_="provider-message").data, request)
    other = "anthropic" if provider == "openai-chat" else "openai-chat"
    refused = hansard.convert(there.data, to=other, from_="provider-message")
    assert refused.data["messages"] == []
    assert "a file id belongs to the provider that gave it" in {loss.why for loss in refused.losses}
    # an id without a provider goes to the one that is asked
    asked = hansard.convert([in_a_message("provider-message", [known])], to=provider, from_="provider-message")
    assert exact_json.same(asked.data, request)


def test_a_file_id_of_a_tools_result_keeps_its_provider() -> None:
    held = {"type": "tool_result", "tool_use_id": "c1", "content": [FILE_IDS["Claude: file_id of an image"][1]]}
    request = {"messages": [GO["anthropic"], USE, said("user", [held])]}
    there = hansard.convert(request, to="provider-message", from_="anthropic")
    assert there.data[2]["extra"] == {"claude": {"file_ids": ["f1"]}}
    assert exact_json.same(hansard.convert(there.data, to="anthropic", from_="provider-message").data, request)


@pytest.mark.parametrize("provider", TOOLS)
def test_tool_calls_and_call_ids_are_true_in_both_directions(provider: str) -> None:
    calls = {
        "role": "assistant",
        "content": "",
        "tool_calls": CALLS,
        **({"extra": SIGNED} if provider == "gemini" else {}),
    }
    messages = [GO["provider-message"], calls, said("tool", "x", call_id="c1"), said("tool", "y", call_id="c2")]
    request = {LISTS[provider]: [GO[provider], *TOOLS[provider]]}
    assert exact_json.same(hansard.convert(messages, to=provider, from_="provider-message").data, request)
    assert exact_json.same(hansard.convert(request, to="provider-message", from_=provider).data, messages)


@pytest.mark.parametrize("row", LEFT_OUT)
def test_what_a_provider_has_no_field_for_is_reported_and_kept_by_the_format_itself(row: str) -> None:
    provider, message, path, kind = LEFT_OUT[row]
    there = hansard.convert([message], to=provider, from_="provider-message")
    assert problems(provider, there.data) == []
    assert any(path in loss.path and loss.kind == kind for loss in there.losses), there.losses
    assert exact_json.same(hansard.convert([message], to="provider-message", from_="provider-message").data, [message])


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
