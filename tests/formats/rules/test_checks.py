"""The rules of providers as checks: each is broken once, and together they agree with what writing would repair."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from msgspec import UNSET

from hansard import formats
from hansard.errors import UnknownFormat
from hansard.formats.contract import Target
from hansard.formats.rules.checks import ONLY, PROVIDER_CHECKS, validate
from hansard.formats.rules.conform import conform
from hansard.model import (
    Binding,
    Conversation,
    DataPart,
    FilePart,
    Message,
    Part,
    RawPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hansard.model.tree import active_path
from tests.conftest import GOLDEN
from tests.strategies import conversations

PROVIDERS = ("anthropic", "openai-chat", "openai-responses", "gemini")
HI = TextPart(text="hi")


def message(role: str, *parts: Part, **more: Any) -> Message:
    return Message(role=role, parts=list(parts), **more)  # type: ignore[arg-type]


USER, OK = message("user", HI), message("assistant", HI)


def call(call_id: Any = "c1", name: Any = "f", given: Any = None, **more: Any) -> ToolCallPart:
    return ToolCallPart(tool_call_id=call_id, tool_name=name, input={} if given is None else given, **more)


def result(call_id: Any = "c1", **more: Any) -> ToolResultPart:
    fields = {"tool_name": "f", "output": "1", "is_error": False, **more}
    return ToolResultPart(tool_call_id=call_id, **fields)


def thought(provider: str = "anthropic", **more: Any) -> ReasoningPart:
    return ReasoningPart(text="hm", signature="s", binding=Binding(provider=provider, **more))


def cached(text: str, **point: Any) -> TextPart:
    return TextPart(text=text, extra={"anthropic": {"cache_control": {"type": "ephemeral", **point}}})


SERVER = {"provider_executed": True, "extra": {"anthropic": {"$": {"type": "server_tool_use"}}}}
CALLED = message("assistant", call())
ANSWER = message("tool", result())


@pytest.mark.parametrize(
    ("check", "provider", "path", "messages"),
    [
        ("roles", "anthropic", "[1].role", [USER, message("event", DataPart(name="x"))]),
        ("roles", "gemini", "[0].role", [message("developer", HI), USER]),
        ("part-kinds", "openai-chat", "[1].parts[0]", [USER, message("assistant", FilePart(url="u"))]),
        ("part-kinds", "anthropic", "[0].parts[0]", [message("user", RawPart(format="gemini", value=1), HI)]),
        ("part-kinds", "gemini", "[1].parts[0]", [USER, message("assistant", call(**SERVER), HI)]),
        (
            "part-kinds",
            "openai-chat",
            "[2].parts[0].content[0]",
            [USER, CALLED, message("tool", result(output=UNSET, content=[FilePart(url="u")]))],
        ),
        ("empty", "anthropic", "[0].parts[0].text", [message("user", TextPart(text=""))]),
        ("empty", "anthropic", "[1].parts", [USER, message("assistant")]),
        ("first-user", "anthropic", "[1].role", [message("system", HI), OK, USER]),
        ("system-place", "gemini", "[1]", [USER, message("system", HI), OK]),
        ("system-place", "anthropic", "[2]", [USER, OK, message("system", HI), USER]),
        ("unanswered-call", "anthropic", "[1].parts[0]", [USER, CALLED, USER]),
        ("orphan-result", "openai-chat", "[1].parts[0]", [USER, ANSWER, OK]),
        ("result-place", "openai-responses", "[3].parts[0]", [USER, CALLED, OK, ANSWER]),
        ("server-result", "anthropic", "[1].parts[0]", [USER, message("assistant", call(**SERVER), HI), USER]),
        ("call-id", "anthropic", "[1].parts[0].toolCallId", [USER, message("assistant", call("call.1"))]),
        ("call-id", "openai-chat", "[1].parts[0].toolCallId", [USER, message("assistant", call("x" * 65))]),
        ("call-id", "openai-responses", "[1].parts[0].toolCallId", [USER, message("assistant", call("x" * 65))]),
        ("call-id", "openai-chat", "[1].parts[0].toolCallId", [USER, message("assistant", call(UNSET))]),
        ("duplicate-id", "anthropic", "[3].parts[0].toolCallId", [USER, CALLED, ANSWER, CALLED, ANSWER]),
        ("tool-name", "openai-chat", "[1].parts[0].toolName", [USER, message("assistant", call(name="a b"))]),
        ("input-object", "anthropic", "[1].parts[0].input", [USER, message("assistant", call(given=[1]))]),
        ("signature", "anthropic", "[1].parts[0]", [USER, message("assistant", ReasoningPart(text="hm"), HI)]),
        ("binding", "anthropic", "[1].parts[0].binding", [USER, message("assistant", thought("openai"), HI)]),
        ("binding", "anthropic", "[1].parts[0].binding", [USER, message("assistant", thought(prefix="0" * 32), HI)]),
        (
            "binding",
            "gemini",
            "[1].parts[0].binding",
            [USER, message("assistant", TextPart(text="x", signature="s"))],
        ),
        ("reasoning-first", "anthropic", "[1].parts", [USER, message("assistant", HI, thought(), call()), ANSWER]),
        (
            "reasoning-followed",
            "openai-responses",
            "[1].parts[0]",
            [USER, message("assistant", thought("openai")), USER],
        ),
        ("call-signature", "gemini", "[1].parts[0].signature", [USER, CALLED, ANSWER]),
        ("files", "anthropic", "[0].parts[0].mimeType", [message("user", FilePart(url="u", media_type="audio/wav"))]),
        (
            "files",
            "openai-chat",
            "[0].parts[0].fileId",
            [message("user", FilePart(file_id="f", binding=Binding(provider="anthropic")))],
        ),
        ("files", "gemini", "[0].parts[0]", [message("user", FilePart(media_type="image/png"))]),
        (
            "cache-control",
            "anthropic",
            "[0].parts[4].extra.anthropic.cache_control",
            [message("user", *[cached(str(i)) for i in range(5)])],
        ),
        (
            "cache-control",
            "anthropic",
            "[0].parts[1].extra.anthropic.cache_control",
            [message("user", cached("a", ttl="5m"), cached("b", ttl="1h"))],
        ),
        (
            "cache-control",
            "anthropic",
            "[1].parts[0].extra.anthropic.cache_control",
            [
                USER,
                message(
                    "assistant",
                    ReasoningPart(
                        text="hm",
                        signature="s",
                        binding=Binding(provider="anthropic"),
                        extra={"anthropic": {"cache_control": {}}},
                    ),
                    HI,
                ),
            ],
        ),
        ("surrogates", "openai-chat", "[0].parts[0]", [message("user", TextPart(text="\ud83d"))]),
    ],
)
def test_a_broken_rule_is_found(check: str, provider: str, path: str, messages: list[Message]) -> None:
    found = validate(Conversation(messages=messages), provider)
    assert (check, f"$.messages{path}") in [(finding.check, finding.path) for finding in found]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_usual_talk_breaks_no_rule(provider: str) -> None:
    owner = formats.get(provider).rules.provider  # type: ignore[union-attr]
    signed = {"signature": "s", "binding": Binding(provider=owner)}
    messages = [
        message("system", HI),
        USER,
        message("assistant", HI, call("c1", **(signed if provider == "gemini" else {})), call("c2")),
        message("tool", result("c1"), result("c2")),
        OK,
    ]
    assert validate(Conversation(messages=messages), provider) == []


def test_a_call_at_the_very_end_only_waits() -> None:
    (finding,) = validate(Conversation(messages=[USER, CALLED]), "anthropic")
    assert (finding.check, finding.severity) == ("unanswered-call", "warning")


def test_what_a_provider_sent_against_its_rules_is_found_though_it_is_written_as_it_was() -> None:
    conversation = formats.read((GOLDEN / "anthropic" / "unlawful_order.json").read_bytes(), "anthropic")
    assert [finding for finding in validate(conversation, "anthropic") if finding.severity == "error"]
    assert formats.write(conversation, "anthropic").losses == []


@pytest.mark.parametrize("name", ["pydantic-ai", "nobody"])
def test_only_providers_have_rules(name: str) -> None:
    with pytest.raises(UnknownFormat):
        validate(Conversation(messages=[]), name)


@pytest.mark.parametrize("provider", PROVIDERS)
@given(conversation=conversations)
def test_errors_are_found_if_and_only_if_the_law_would_repair(provider: str, conversation: Conversation) -> None:
    path = active_path(conversation)
    notes: list[Any] = []
    rules: Any = formats.get(provider).rules
    conform([conversation.messages[i] for i in path], rules, Target(), provider, notes, path)
    by_law = PROVIDER_CHECKS.keys() - ONLY.keys() - {"surrogates", "required"}
    found = [finding for finding in validate(conversation, provider) if finding.check in by_law]
    if notes:
        assert found
    else:
        assert [finding for finding in found if finding.severity == "error"] == []


def test_what_a_request_requires_is_an_error_until_it_is_given() -> None:
    asked = {"messages": [{"role": "user", "content": "hi"}], "tools": [{"name": "f", "input_schema": {}}]}
    found = [(one.path, one.severity) for one in validate(asked, "anthropic") if one.check == "required"]
    assert found == [("$.settings.model", "error"), ("$.settings.maxTokens", "error")]
    assert validate({**asked, "model": "m", "max_tokens": 9}, "anthropic") == []
    foreign = formats.read({**asked, "model": "m", "max_tokens": 9}, "anthropic")
    assert [one.path for one in validate(foreign, "gemini")] == ["$.settings.model"]
    assert validate({"messages": asked["messages"]}, "anthropic") == []
