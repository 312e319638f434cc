"""Thinking metadata: the agent's level, or that of the message answered, reaches the provider and is recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard.agent import Agent, ScriptedModel
from hansard.agent.thinking import LEVELS, model_settings, resolve_thinking
from hansard.errors import HansardError
from hansard.model import Message, TextPart, Thinking
from tests.agent.test_replay_server import FORMATS, WORDS, playing, provider_model

HIGH = Thinking(level="high", disabled=False, triggers=[])


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[hansard.Ledger]:
    with hansard.open(str(tmp_path / "ledger.db")) as opened:
        yield opened


def prompt(text: str = "Why?", **more: Any) -> Message:
    return Message(role="user", parts=[TextPart(text=text)], **more)


def effort(name: str, body: dict[str, Any]) -> Any:
    """What a provider's own request says of thinking."""
    if name == "anthropic":
        return body.get("output_config", {}).get("effort") or body.get("thinking")
    if name == "gemini":
        return body.get("generationConfig", {}).get("thinkingConfig")
    return body.get("reasoning_effort") if name == "openai-chat" else body.get("reasoning", {}).get("effort")


def asked(ledger: hansard.Ledger, name: str, *prompts: Any, **agent: Any) -> list[Any]:
    """The effort in each request that a real provider model sends."""

    async def run() -> None:
        it = Agent(provider_model(name, server.url), ledger=ledger, name="seer", **agent)
        for one in prompts:
            await it.run("t", one)

    with playing(name, WORDS[name]) as server:
        asyncio.run(run())
        return [effort(name, one.body) for one in server.requests]


@pytest.mark.parametrize("name", FORMATS)
def test_the_level_of_the_agent_reaches_the_provider_and_is_recorded(ledger: hansard.Ledger, name: str) -> None:
    (low,) = asked(ledger, name, "Why?", thinking="low")
    (high,) = asked(ledger, name, "Why?", thinking="high")
    assert low != high
    assert "high" in json.dumps(high).lower()
    thinking = [message.thinking for message in ledger.transcript("t") if message.role == "user"]
    assert thinking == [Thinking(level="low", disabled=False, triggers=[]), HIGH]
    recorded = [run.metadata["thinking"] for run in ledger.runs("t")]
    assert recorded[-1] == {"level": "high", "disabled": False, "triggers": []}


@pytest.mark.parametrize("name", FORMATS)
def test_the_metadata_of_a_message_outranks_the_agent(ledger: hansard.Ledger, name: str) -> None:
    off = prompt(thinking=Thinking(level="high", disabled=True, triggers=[]))
    one, two, three = asked(ledger, name, prompt(thinking=HIGH), off, "Why?", thinking="low")
    assert "high" in json.dumps(one).lower()
    assert "high" not in json.dumps(two).lower()
    assert "low" in json.dumps(three).lower()
    assert [m.thinking.disabled for m in ledger.transcript("t") if m.role == "user"] == [False, True, False]


def test_triggers_activate_thinking_and_those_found_are_recorded(ledger: hansard.Ledger) -> None:
    thinking = Thinking(level="high", triggers=["think hard", "ultrathink"])
    plain, found = asked(ledger, "openai-chat", "Why?", "THINK HARD: why?", thinking=thinking)
    assert (plain, found) == (None, "high")
    users = [message for message in ledger.transcript("t") if message.role == "user"]
    assert [message.thinking for message in users] == [
        None,
        Thinking(level="high", disabled=False, triggers=["think hard"]),
    ]


def test_an_answer_to_an_imported_message_thinks_as_it_says(ledger: hansard.Ledger) -> None:
    record = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "t", "message": {"role": "user"}}
    record["message"] = {"role": "user", "content": "Why?"}
    record["thinkingMetadata"] = {"level": "high", "disabled": False, "triggers": []}
    ledger.sync("t", hansard.read(json.dumps(record).encode(), "sage"))
    assert asked(ledger, "openai-responses", None) == ["high"]


def test_a_chat_client_requests_thinking_in_its_metadata(ledger: hansard.Ledger) -> None:
    async def served(level: Any) -> None:
        agent = Agent(provider_model("openai-chat", server.url), ledger=ledger)
        words = {"id": f"u-{level}", "role": "user", "parts": [{"type": "text", "text": "Why?"}]}
        message = {**words, "metadata": {"thinkingMetadata": {"level": level, "disabled": False}}}
        async for _ in await agent.sse({"id": "t", "message": message}):
            pass

    with playing("openai-chat", WORDS["openai-chat"]) as server:
        asyncio.run(served("high"))
        assert effort("openai-chat", server.requests[0].body) == "high"
        with pytest.raises(HansardError, match="unknown thinking level 'huge'") as refused:
            asyncio.run(served("huge"))
    assert refused.value.status == 400
    assert len(ledger.transcript("t")) == 2


@pytest.mark.parametrize(
    ("thinking", "problem"),
    [
        ("hihg", "unknown thinking level 'hihg'"),
        (Thinking(), "no level"),
        (Thinking(level="high", triggers=["a", 1]), "invalid thinking.triggers"),  # type: ignore[list-item]
        (Thinking(level="high", disabled="no"), "invalid thinking.disabled"),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_a_level_is_refused(ledger: hansard.Ledger, thinking: Any, problem: str) -> None:
    with pytest.raises(HansardError, match=problem):
        Agent(ScriptedModel(["x"]), ledger=ledger, thinking=thinking)


@given(
    default=st.none() | st.builds(Thinking, level=st.sampled_from(LEVELS), disabled=st.booleans()),
    own=st.none() | st.builds(Thinking, level=st.sampled_from(LEVELS), disabled=st.booleans()),
)
def test_a_law_of_levels(default: Thinking | None, own: Thinking | None) -> None:
    message = prompt() if own is None else prompt(thinking=own)
    applied = resolve_thinking(default, [message, Message(role="assistant", parts=[])])
    assert applied == (own or default)
    settings = model_settings(applied)
    if applied is None:
        assert settings is None
    else:
        off = applied.disabled or applied.level == "none"
        assert settings == {"thinking": False if off else applied.level}
