"""`hansard.instrument(client, ledger)`: the calls of the real SDKs become messages and runs, however they are made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anthropic
import httpx2 as httpx
import openai
import pytest
from google import genai
from google.genai import types

import hansard
from hansard.errors import StorageError
from hansard.model import ReasoningPart, ToolCallPart
from tests.ledger.live.test_stream_tee import CHAT, CLAUDE, GEMINI, sse

ASK: Any = {"messages": [{"role": "user", "content": "hi"}]}
CHAT_ANSWER = {
    "id": "c9",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
}
CLAUDE_ANSWER = {
    "id": "msg_2",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [{"type": "text", "text": "Hello."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "m",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "id": "msg_r",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
        }
    ],
}
GEMINI_ANSWER = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello."}]}, "finishReason": "STOP"}],
    "modelVersion": "g",
}


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Pieces that cut events in the middle; with `error` the line breaks after them."""

    def __init__(self, data: bytes, error: Exception | None = None) -> None:
        self.pieces = [data[start : start + 50] for start in range(0, len(data), 50)]
        self.error = error

    def __iter__(self) -> Iterator[bytes]:
        yield from self.pieces
        if self.error is not None:
            raise self.error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class Provider:
    """Answers requests in turn: a list of events is streamed, a dict is a whole answer, a number an error status."""

    def __init__(self, *answers: Any, named: bool = False) -> None:
        self.answers, self.named, self.asked = list(answers), named, list[Any]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(json.loads(request.content))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, int):
            return httpx.Response(answer, json={"error": {"message": "too busy", "type": "busy"}})
        if isinstance(answer, dict):
            return httpx.Response(200, json=answer)
        error = answer.pop() if isinstance(answer[-1], Exception) else None
        data = sse(answer, self.named)
        body = Body(data.removesuffix(b"data: [DONE]\n\n") if error or "candidates" in answer[0] else data, error)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=body)

    def http(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self))

    def http_async(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self))

    def openai(self) -> openai.OpenAI:
        return openai.OpenAI(api_key="none", base_url="http://here/v1", http_client=self.http(), max_retries=2)

    def openai_async(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(api_key="none", base_url="http://here/v1", http_client=self.http_async())

    def anthropic(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(api_key="none", base_url="http://here", http_client=self.http())

    def anthropic_async(self) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(api_key="none", base_url="http://here", http_client=self.http_async())

    def google(self) -> genai.Client:
        options: Any = {"base_url": "http://here", "httpx_client": self.http(), "httpx_async_client": self.http_async()}
        return genai.Client(api_key="none", http_options=types.HttpOptions(**options))


@pytest.fixture
def ledger() -> Iterator[hansard.Ledger]:
    with hansard.open(":memory:") as opened:
        yield opened


def said(ledger: hansard.Ledger, thread: str) -> list[tuple[str, str]]:
    return [(m.role, "".join(getattr(part, "text", "") for part in m.parts)) for m in ledger.transcript(thread)]


BOTH = [("user", "hi"), ("assistant", "Hello.")]


def chat(client: openai.OpenAI) -> object:
    return client.chat.completions.create(model="m", **ASK)


def chat_raw(client: openai.OpenAI) -> object:
    return client.chat.completions.with_raw_response.create(model="m", **ASK).parse()


def chat_streaming_response(client: openai.OpenAI) -> object:
    with client.chat.completions.with_streaming_response.create(model="m", **ASK) as response:
        return response.parse()


def chat_parse(client: openai.OpenAI) -> object:
    return client.chat.completions.parse(model="m", **ASK)


def chat_stream(client: openai.OpenAI) -> object:
    return list(client.chat.completions.create(model="m", stream=True, **ASK))


def chat_helper(client: openai.OpenAI) -> object:
    with client.chat.completions.stream(model="m", **ASK) as stream:
        return stream.get_final_completion()


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        (CHAT_ANSWER, chat),
        (CHAT_ANSWER, chat_raw),
        (CHAT_ANSWER, chat_streaming_response),
        (CHAT_ANSWER, chat_parse),
        (CHAT, chat_stream),
        (CHAT, chat_helper),
        (RESPONSE, lambda client: client.responses.create(model="m", input="hi")),
    ],
)
def test_every_way_to_call_openai(ledger: hansard.Ledger, answer: Any, call: Callable[[Any], object]) -> None:
    plain = call(Provider(answer).openai())
    client = Provider(answer).openai()
    with hansard.instrument(client, ledger, thread="t", agent_id="gpt"):
        assert call(client) == plain
    assert said(ledger, "t") == BOTH
    (run,) = ledger.runs("t")
    assert (run.status, run.agent_id, run.metadata["request"]["model"]) == ("committed", "gpt", "m")  # type: ignore[index]
    exported = ledger.export_conversation("t").settings
    assert exported == run.settings == hansard.Settings(model=exported.model, stream=exported.stream)  # type: ignore[union-attr]
    assert exported.model == hansard.ModelRef(provider="openai", name="m")  # type: ignore[union-attr]
    call(client)
    assert len(ledger.runs("t")) == 1  # it was taken off


@pytest.mark.parametrize("streamed", [False, True])
def test_anthropic_and_its_helpers(ledger: hansard.Ledger, streamed: bool) -> None:
    client = Provider(CLAUDE if streamed else CLAUDE_ANSWER, named=True).anthropic()
    hansard.instrument(client, ledger, thread="t")
    if streamed:
        with client.messages.stream(model="claude", max_tokens=9, **ASK) as stream:
            assert stream.get_final_message().content
        assert [type(part) for part in ledger.transcript("t")[-1].parts] == [ReasoningPart, ToolCallPart]
    else:
        client.messages.create(model="claude", max_tokens=9, **ASK)
        assert said(ledger, "t") == BOTH


@pytest.mark.parametrize("streamed", [False, True])
def test_google_and_its_async_side(ledger: hansard.Ledger, streamed: bool) -> None:
    client = Provider(GEMINI if streamed else GEMINI_ANSWER).google()
    hansard.instrument(client, ledger, thread="t")

    async def go() -> None:
        with hansard.recording(thread="a"):
            if streamed:
                async for _ in await client.aio.models.generate_content_stream(model="g", contents="hi"):
                    pass
            else:
                await client.aio.models.generate_content(model="g", contents="hi")

    if streamed:
        list(client.models.generate_content_stream(model="g", contents="hi"))
    else:
        client.models.generate_content(model="g", contents="hi")
    asyncio.run(go())
    assert said(ledger, "t") == BOTH
    assert said(ledger, "a") == BOTH


def test_async_clients_and_threads_of_tasks(ledger: hansard.Ledger) -> None:
    async def go() -> None:
        client = Provider(CHAT).openai_async()
        claude = Provider(CLAUDE_ANSWER).anthropic_async()
        hansard.instrument(client, ledger)
        hansard.instrument(claude, ledger)

        async def call(name: str) -> None:
            with hansard.recording(thread=name):
                async for _ in await client.chat.completions.create(model="m", stream=True, **ASK):
                    pass
                await claude.messages.create(model="claude", max_tokens=9, messages=[{"role": "user", "content": "yo"}])

        await asyncio.gather(*(call(f"t{i}") for i in range(5)))

    asyncio.run(go())
    for i in range(5):
        assert {run.status for run in ledger.runs(f"t{i}")} == {"committed"}
        assert said(ledger, f"t{i}")[-1] == ("assistant", "Hello.")


def test_the_thread_is_an_id_a_callable_or_one_of_its_own(ledger: hansard.Ledger) -> None:
    client = Provider(CHAT_ANSWER).openai()
    hansard.instrument(client, ledger, thread=lambda: "called")
    chat(client)
    with hansard.recording(thread="outer"):
        chat(client)
        with hansard.recording(thread="inner"):
            chat(client)
    assert {thread.id for thread in ledger.threads().items} == {"called", "outer", "inner"}
    other = Provider(CHAT_ANSWER).openai()
    hansard.instrument(other, ledger, thread=lambda body: f"of {body['model']}")
    chat(other)
    assert said(ledger, "of m") == BOTH
    third = Provider(CHAT_ANSWER).openai()
    hansard.instrument(third, ledger)
    chat(third), chat(third)
    assert len(ledger.threads().items) == 6


def test_a_history_that_is_sent_again_is_stored_once_and_an_edit_is_a_branch(ledger: hansard.Ledger) -> None:
    client = Provider(CHAT_ANSWER).openai()
    hansard.instrument(client, ledger, thread="t")
    history: list[Any] = [{"role": "user", "content": "hi"}]
    for text in ("more", "again"):
        answer = client.chat.completions.create(model="m", messages=history).choices[0].message
        history += [answer.model_dump(exclude_unset=True), {"role": "user", "content": text}]
    client.chat.completions.create(model="m", messages=history)
    assert [role for role, _ in said(ledger, "t")] == ["user", "assistant"] * 3
    assert len(ledger.branches("t")) == 1
    client.chat.completions.create(model="m", messages=history)  # regenerated: a second answer beside the first
    assert [role for role, _ in said(ledger, "t")] == ["user", "assistant"] * 3
    assert len(ledger.branches("t")) == 2
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "something else"}])
    assert said(ledger, "t") == [("user", "something else"), ("assistant", "Hello.")]


def test_a_response_that_continues_another_comes_after_it(ledger: hansard.Ledger) -> None:
    client = Provider(RESPONSE).openai()
    hansard.instrument(client, ledger, thread="t")
    client.responses.create(model="m", input="hi")
    client.responses.create(model="m", input="more", previous_response_id="resp_1")
    assert [text for _, text in said(ledger, "t")] == ["hi", "Hello.", "more", "Hello."]


def test_attempts_that_failed_are_runs_and_the_answer_stands_once(ledger: hansard.Ledger) -> None:
    provider = Provider(503, CHAT_ANSWER)
    client = provider.openai()
    hansard.instrument(client, ledger, thread="t")
    chat(client)
    assert len(provider.asked) == 2
    assert said(ledger, "t") == BOTH
    failed, done = sorted(ledger.runs("t"), key=lambda run: run.status == "committed")
    assert (failed.status, done.status) == ("failed", "committed")
    assert "HTTP 503" in failed.error["message"]  # type: ignore[index]


def test_a_stream_that_breaks_or_is_left_keeps_what_came(ledger: hansard.Ledger) -> None:
    client = Provider([*CHAT[:2], httpx.ReadError("gone")]).openai()
    hansard.instrument(client, ledger, thread="broken")
    with pytest.raises(openai.APIConnectionError):
        list(client.chat.completions.create(model="m", stream=True, **ASK))
    (run,) = ledger.runs("broken")
    assert run.status == "failed"
    assert ledger.run_messages("broken", run.id)[0].parts[0].text == "Hello."  # type: ignore[union-attr]

    client = Provider([CHAT[0]] + [CHAT[1]] * 50 + [CHAT[2]]).openai()
    hansard.instrument(client, ledger, thread="left")
    with client.chat.completions.create(model="m", stream=True, **ASK) as stream:
        next(iter(stream))
    (run,) = ledger.runs("left")
    assert run.status == "aborted"


def test_other_requests_pass(ledger: hansard.Ledger) -> None:
    client = Provider({"data": [{"embedding": [1.0], "index": 0, "object": "embedding"}], "object": "list"}).openai()
    hansard.instrument(client, ledger)
    client.embeddings.create(model="m", input="hi")
    assert ledger.threads().items == []


def test_a_ledger_that_fails_raises_or_warns() -> None:
    ledger = hansard.open(":memory:")
    strict, lax = Provider(CHAT_ANSWER).openai(), Provider(CHAT_ANSWER).openai()
    hansard.instrument(strict, ledger, thread="t")
    hansard.instrument(lax, ledger, thread="t", on_error="warn")
    ledger.close()
    with pytest.raises(StorageError, match="closed"):
        chat(strict)
    with pytest.warns(RuntimeWarning, match="could not record a call: .*closed"):
        assert chat(lax) is not None


def test_what_is_no_client_and_what_is_recorded_already_is_refused(ledger: hansard.Ledger) -> None:
    with pytest.raises(hansard.HansardError, match="cannot record the calls of object"):
        hansard.instrument(object(), ledger)
    client = Provider(CHAT_ANSWER).openai()
    hansard.instrument(client, ledger)
    with pytest.raises(hansard.HansardError, match="recorded already"):
        hansard.instrument(client, ledger)
    with pytest.raises(hansard.HansardError, match="unknown on_error 'ignore'"):
        hansard.instrument(client, ledger, on_error="ignore")  # type: ignore[arg-type]
