"""The whole way from a provider's bytes: what is recorded of a stream is what its format reads of the whole answer.

The official SDKs and Pydantic AI's own models ask a real server over HTTP, which plays streams as providers send them.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google import genai
from msgspec import UNSET
from msgspec.structs import replace
from pydantic_ai import Agent as PydanticAgent

import hansard
from hansard import Conversation, Message
from hansard.agent import Agent, Recorder
from hansard.agent.replay_server import ReplayServer, framed
from hansard.streams.accumulator import fold
from tests.agent.recordings import CALLS, FORMATS, WHOLE, WORDS
from tests.streams.live import decode

_FOLDERS = {"anthropic": "anthropic", "openai-chat": "openai-chat", "openai-responses": "openai-responses"}
_FOLDERS |= {"google": "gemini"}
_CORPUS = os.environ.get("HANSARD_CORPUS")


def recorded_streams() -> list[Any]:
    """The streams of the corpus, each with the format it is in."""
    if not _CORPUS:
        unread = pytest.mark.skip("HANSARD_CORPUS is not set: recorded data is not read")
        return [pytest.param("", Path(), marks=unread)]
    found = []
    for folder, name in _FOLDERS.items():
        home = Path(_CORPUS) / "provider-streams" / folder
        found += [pytest.param(name, path, id=path.name) for path in sorted(home.glob("*.chunks.txt"))]
        found += [pytest.param(name, path, id=path.name) for path in sorted(home.glob("*.sse"))]
    return found


@pytest.fixture
def ledger() -> Iterator[hansard.Ledger]:
    with hansard.open(":memory:") as opened:
        yield opened


def playing(name: str, *recordings: bytes) -> ReplayServer:
    return ReplayServer(**{name.replace("-", "_"): list(recordings)})


def said(messages: list[Message]) -> list[Message]:
    """Messages without what a ledger adds to them."""
    return [replace(m, id=UNSET, run_id=UNSET, created_at=UNSET, parent_message_id=UNSET) for m in messages]


_PATHS = {
    "anthropic": ("/v1/messages", {"stream": True}),
    "openai-chat": ("/v1/chat/completions", {"stream": True}),
    "openai-responses": ("/v1/responses", {"stream": True}),
    "gemini": ("/v1beta/models/m:streamGenerateContent?alt=sse", {}),
}


def by_http(name: str, url: str) -> Any:
    path, body = _PATHS[name]
    with httpx.stream("POST", url + path, json=body) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        yield from response.iter_raw()


def by_google(url: str) -> Any:
    client = genai.Client(api_key="none", http_options={"base_url": url})  # type: ignore[arg-type]
    yield from client.models.generate_content_stream(model="m", contents="Where?")


def by_sdk(name: str, url: str) -> Any:
    """The stream as the official package gives it."""
    words: Any = [{"role": "user", "content": "Where?"}]
    if name == "anthropic":
        client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
        return client.messages.create(model="m", max_tokens=99, messages=words, stream=True)
    if name == "gemini":
        return by_google(url)
    ai = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    if name == "openai-chat":
        return ai.chat.completions.create(model="m", messages=words, stream=True)
    return ai.responses.create(model="m", input=words, stream=True)


@pytest.mark.parametrize(("name", "path"), recorded_streams())
def test_what_is_recorded_of_the_bytes_is_what_they_say(ledger: hansard.Ledger, name: str, path: Path) -> None:
    sent = b"".join(framed(path.read_bytes(), name))
    with playing(name, path.read_bytes()) as server:
        recording = ledger.record(by_http(name, server.url), format=name, thread="t")
        assert b"".join(recording) == sent
    bound = hansard.append_answer(Conversation(messages=[]), fold(decode(name, sent)))
    assert said(recording.messages) == said(bound.messages)
    (run,) = ledger.runs("t")
    assert ledger.run_messages("t", run.id) == recording.messages
    assert (ledger.transcript("t") == recording.messages) == (run.status == "committed")


@pytest.mark.parametrize("way", [by_http, by_sdk])
@pytest.mark.parametrize("name", FORMATS)
def test_a_recorded_stream_is_the_whole_answer(ledger: hansard.Ledger, name: str, way: Any) -> None:
    (whole,) = hansard.read(WHOLE[name], name).messages
    with playing(name, CALLS[name]) as server:
        for _ in ledger.record(way(name, server.url), format=name, thread="t"):
            pass
    (answer,) = ledger.transcript("t")
    assert visible(answer) == visible(whole)
    assert answer.finish_reason == whole.finish_reason


def visible(message: Message) -> list[Any]:
    """Kind and content of each part, with signatures."""
    kept = ("text", "signature", "tool_name", "tool_call_id", "input")
    return [
        (type(part).__name__, *(value for key in kept if (value := getattr(part, key, UNSET)) is not UNSET))
        for part in message.parts
    ]


def provider_model(name: str, url: str) -> Any:
    """Pydantic AI's own model of a provider, asking the server."""
    if name == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel("claude-opus-5", provider=AnthropicProvider(base_url=url, api_key="none"))
    if name == "gemini":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel("gemini-3-pro", provider=GoogleProvider(base_url=url, api_key="none"))
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=f"{url}/v1", api_key="none")
    kind = OpenAIChatModel if name == "openai-chat" else OpenAIResponsesModel
    return kind("gpt-5", provider=provider)


def look(place: str) -> str:
    """See what is there."""
    return f"the {place} is empty"


@pytest.mark.parametrize("name", FORMATS)
def test_a_recorder_keeps_what_a_real_model_said(ledger: hansard.Ledger, name: str) -> None:
    async def asked() -> Any:
        with playing(name, CALLS[name], WORDS[name]) as server:
            agent = PydanticAgent(provider_model(name, server.url), tools=[look], capabilities=[Recorder(ledger, "t")])
            return await agent.run("Where is it?")

    result = asyncio.run(asked())
    assert hansard.write(ledger.export_conversation("t"), "pydantic-ai").data == json.loads(result.all_messages_json())


@pytest.mark.parametrize("name", FORMATS)
def test_an_agent_serves_what_a_real_model_said(ledger: hansard.Ledger, name: str) -> None:
    async def served() -> bytes:
        agent = Agent(provider_model(name, server.url), ledger=ledger, name="seer", tools=[look])
        part = {"type": "text", "text": "Where is it?"}
        body = {"id": "t", "messages": [{"id": "u", "role": "user", "parts": [part]}], "trigger": "submit-message"}
        return b"".join([data async for data in agent.sse(body)])

    with playing(name, CALLS[name], WORDS[name]) as server:
        sent = asyncio.run(served())
        second = json.dumps(server.requests[1].body)
    assert "the north is empty" in second  # the tool's result went to the provider
    user, answer, result, last = ledger.transcript("t")
    assert [m.role for m in (user, answer, result, last)] == ["user", "assistant", "tool", "assistant"]
    (whole,) = hansard.read(WHOLE[name], name).messages
    assert [kind for kind, *_ in visible(answer)] == [kind for kind, *_ in visible(whole)]
    shown = [part.text for m in fold(decode("ai-sdk-ui", sent)) for part in m.parts if hasattr(part, "text")]
    kept = [part.text for m in (answer, last) for part in m.parts if hasattr(part, "text")]
    assert [text for text in shown if text] == [text for text in kept if text]


def test_what_cannot_be_played_is_refused_with_a_way_out() -> None:
    with playing("anthropic", WORDS["anthropic"]) as server:
        for path, body, words in (
            ("/v1/messages", b"{}", "request a stream"),
            ("/v1/messages", b"not json", "not valid JSON"),
            ("/v1/messages", b"[1]", "not an object"),
            ("/v1/elsewhere", b"{}", "nothing is served at '/v1/elsewhere'"),
            ("/v1/responses", b'{"stream": true}', "no recording of openai-responses"),
        ):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(urllib.request.Request(server.url + path, data=body, method="POST"))
            assert words in json.loads(caught.value.read())["error"]["message"]
    with pytest.raises(hansard.HansardError, match="no recordings"):
        ReplayServer()
