"""A provider's stream that is recorded passes unchanged, and its answer is what the format reads of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import httpx2 as httpx
import openai
import pytest
from google.genai.types import GenerateContentResponse

import hansard
from hansard.model import Message, ReasoningPart, TextPart, ToolCallPart

CHAT = [
    {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    for choice in (
        {"index": 0, "delta": {"role": "assistant", "content": "Hel"}, "finish_reason": None},
        {"index": 0, "delta": {"content": "lo."}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    )
]
CLAUDE = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"x":1}'}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
]
GEMINI = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}}], "modelVersion": "g"},
    {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "lo."}]}, "finishReason": "STOP"}],
        "modelVersion": "g",
    },
]


def sse(events: list[Any], named: bool = False) -> bytes:
    lines = []
    for event in events:
        lines.append((f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n")
    return "".join(lines).encode() + (b"" if named else b"data: [DONE]\n\n")


@pytest.fixture
def ledger() -> Iterator[hansard.Ledger]:
    with hansard.open(":memory:") as opened:
        opened.create_thread("t")
        opened.append("t", Message(role="user", parts=[TextPart(text="hi")]))
        yield opened


def answering(data: bytes) -> httpx.MockTransport:
    """A provider that gives this answer over HTTP, in small pieces."""

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(data), 50):
            yield data[start : start + 50]

    class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            return pieces()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in pieces():
                yield piece

    return httpx.MockTransport(
        lambda request: httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())
    )


def test_openai_s_own_objects(ledger: hansard.Ledger) -> None:
    http = httpx.Client(transport=answering(sse(CHAT)))
    client = openai.OpenAI(api_key="none", base_url="http://here/v1", http_client=http)
    ask: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    plain = list(client.chat.completions.create(**ask))
    recorded = ledger.record(client.chat.completions.create(**ask), format="openai-chat", thread="t", agent_id="gpt")
    assert list(recorded) == plain
    assert recorded.response.status_code == 200  # what the stream has, the recording has
    answer = ledger.transcript("t")[-1]
    assert (answer.role, answer.parts[0].text, answer.agent_id) == ("assistant", "Hello.", "gpt")  # type: ignore[union-attr]
    assert recorded.messages == [answer]


@pytest.mark.parametrize("helper", [False, True])
def test_anthropic_s_own_objects_async(ledger: hansard.Ledger, helper: bool) -> None:
    async def go() -> None:
        http = httpx.AsyncClient(transport=answering(sse(CLAUDE, named=True)))
        client = anthropic.AsyncAnthropic(api_key="none", base_url="http://here", http_client=http)
        ask: Any = {"model": "claude", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
        if helper:
            stream: Any = client.messages.stream(**ask)
        else:
            stream = await client.messages.create(**ask, stream=True)
        async with ledger.record(stream, format="anthropic", thread="t", durable=True) as recorded:
            seen = [event.type async for event in recorded]
        assert [kind for kind in seen if kind.startswith(("message", "content_block"))] == [e["type"] for e in CLAUDE]

    asyncio.run(go())
    thought, call = ledger.transcript("t")[-1].parts
    assert isinstance(thought, ReasoningPart)
    assert isinstance(call, ToolCallPart)
    assert (thought.text, thought.signature, call.input) == ("Hm.", "sig", {"x": 1})
    written = hansard.write(ledger.export_conversation("t"), "anthropic").data["messages"][1]["content"]
    assert written[0] == {"type": "thinking", "thinking": "Hm.", "signature": "sig"}  # it stands where it was made


def test_gemini_s_own_objects(ledger: hansard.Ledger) -> None:
    objects = [GenerateContentResponse.model_validate(event) for event in GEMINI]
    assert list(ledger.record(iter(objects), format="gemini", thread="t")) == objects
    assert ledger.transcript("t")[-1].parts[0].text == "Hello."  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_raw_bytes_in_any_cut(ledger: hansard.Ledger, size: int) -> None:
    data = sse(CLAUDE, named=True)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert b"".join(ledger.record(iter(pieces), format="anthropic", thread="t")) == data
    assert len(ledger.transcript("t")[-1].parts) == 2


def test_lines_as_http_libraries_give_them(ledger: hansard.Ledger) -> None:
    with httpx.Client(transport=answering(sse(CHAT))).stream("GET", "http://here") as response:
        lines = list(ledger.record(response.iter_lines(), format="openai-chat", thread="new"))
    assert "data: [DONE]" in lines
    assert ledger.transcript("new")[-1].parts[0].text == "Hello."  # type: ignore[union-attr]


def test_a_stream_that_breaks_leaves_what_came(ledger: hansard.Ledger) -> None:
    def broken() -> Iterator[Any]:
        yield CHAT[0]
        raise OSError("the line broke")

    with pytest.raises(OSError, match="broke"):
        list(ledger.record(broken(), format="openai-chat", thread="t"))
    (run,) = ledger.runs("t")
    (partial,) = ledger.run_messages("t", run.id)
    assert (run.status, partial.state, partial.parts[0].text) == ("failed", "interrupted", "Hel")  # type: ignore[union-attr]
    assert ledger.transcript("t")[-1] == partial


def test_a_stream_that_just_ends_is_cut(ledger: hansard.Ledger) -> None:
    list(ledger.record(iter(CHAT[:2]), format="openai-chat", thread="t"))
    (run,) = ledger.runs("t")
    assert (run.status, ledger.run_messages("t", run.id)[0].state) == ("failed", "interrupted")


def test_a_reader_that_leaves(ledger: hansard.Ledger) -> None:
    pieces = iter(ledger.record(iter(CHAT), format="openai-chat", thread="t"))
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    (run,) = ledger.runs("t")
    assert run.status == "aborted"
    assert ledger.run_messages("t", run.id)[0].parts[0].text == "Hel"  # type: ignore[union-attr]


def test_a_reader_that_leaves_in_a_with_block_has_ended_the_run_after_it(ledger: hansard.Ledger) -> None:
    async def pieces() -> AsyncIterator[Any]:
        for piece in CHAT:
            yield piece

    async def leave() -> list[Any]:
        async with ledger.record(pieces(), format="openai-chat", thread="t") as recorded:
            async for _ in recorded:
                break
        return ledger.runs("t")

    (run,) = asyncio.run(leave())
    assert run.status == "aborted"
    with ledger.record(iter(CHAT), format="openai-chat", thread="u") as recorded:
        left = iter(recorded)  # held by somebody
        next(left)
    assert ledger.runs("u")[0].status == "aborted"
    for thread in "tu":
        assert [(m.text, m.state) for m in ledger.transcript(thread)][-1] == ("Hel", "interrupted")


def test_a_stream_is_recorded_once(ledger: hansard.Ledger) -> None:
    recorded = ledger.record(CHAT, format="openai-chat", thread="t")
    list(recorded)
    with pytest.raises(hansard.HansardError, match="once"):
        list(recorded)
    with pytest.raises(hansard.HansardError, match="unknown stream 'gpt'"):
        ledger.record([], format="gpt", thread="t")


# -- what cannot be read is said at once; stream helpers and whole responses are recorded ---------------------------


def openai_client(data: bytes) -> openai.OpenAI:
    return openai.OpenAI(api_key="none", base_url="http://here/v1", http_client=httpx.Client(transport=answering(data)))


def anthropic_client(data: bytes) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        api_key="none", base_url="http://here", http_client=httpx.Client(transport=answering(data))
    )


ASK: Any = {"messages": [{"role": "user", "content": "hi"}]}


def test_the_stream_helper_of_openai(ledger: hansard.Ledger) -> None:
    manager = openai_client(sse(CHAT)).chat.completions.stream(model="m", **ASK)
    with ledger.record(manager, format="openai-chat", thread="t") as recorded:
        kinds = {event.type for event in recorded}
    assert {"chunk", "content.delta", "content.done"} <= kinds
    assert ledger.transcript("t")[-1].parts[0].text == "Hello."  # type: ignore[union-attr]


@pytest.mark.parametrize("way", ["text_stream", "until_done", "get_final_message", "get_final_text"])
def test_the_stream_helper_of_anthropic_however_it_is_read(ledger: hansard.Ledger, way: str) -> None:
    events = [*CLAUDE[:5], *TEXT, *CLAUDE[-2:]]
    manager = anthropic_client(sse(events, named=True)).messages.stream(model="claude", max_tokens=9, **ASK)
    with ledger.record(manager, format="anthropic", thread="t") as recorded:
        found = list(recorded.text_stream) if way == "text_stream" else getattr(recorded, way)()
    assert found == ["Hello."] if way == "text_stream" else True
    assert ledger.transcript("t")[-1].parts[-1].text == "Hello."  # type: ignore[union-attr]


@pytest.mark.parametrize("way", ["text_stream", "until_done", "get_final_message"])
def test_the_async_stream_helper_of_anthropic_however_it_is_read(ledger: hansard.Ledger, way: str) -> None:
    events = [*CLAUDE[:5], *TEXT, *CLAUDE[-2:]]

    async def go() -> None:
        http = httpx.AsyncClient(transport=answering(sse(events, named=True)))
        client = anthropic.AsyncAnthropic(api_key="none", base_url="http://here", http_client=http)
        manager = client.messages.stream(model="claude", max_tokens=9, **ASK)
        async with ledger.record(manager, format="anthropic", thread="t") as recorded:
            if way == "text_stream":
                assert [text async for text in recorded.text_stream] == ["Hello."]
            else:
                await getattr(recorded, way)()

    asyncio.run(go())
    assert ledger.transcript("t")[-1].parts[-1].text == "Hello."  # type: ignore[union-attr]


TEXT: list[Any] = [
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hello."}},
    {"type": "content_block_stop", "index": 1},
]


@pytest.mark.parametrize(
    ("pieces", "format", "said"),
    [
        (["Hel", "lo."], "anthropic", "text that does not begin an event"),
        (CHAT, "anthropic", "an item of type dict"),
        (CLAUDE, "openai-chat", "an item of type dict"),
        (GEMINI, "openai-responses", "an item of type dict"),
        ([object()], "openai-chat", "an item of type object"),
        ([sse(CLAUDE, named=True)], "openai-responses", "nothing that can be read in 1 pieces"),
        ([b"Hello there"], "gemini", "nothing that can be read in 1 pieces"),
        ([], "gemini", "nothing that can be read in 0 pieces"),
    ],
)
def test_what_cannot_be_read_is_said_and_kept_with_the_run(
    ledger: hansard.Ledger, pieces: list[Any], format: str, said: str
) -> None:
    with pytest.raises(hansard.HansardError, match=said):
        list(ledger.record(pieces, format=format, thread="t"))
    (run,) = ledger.runs("t")
    assert run.status == "failed"
    assert run.error["message"]  # type: ignore[index]
    assert len(ledger.transcript("t")) == 1


def test_a_whole_response_is_recorded_at_once(ledger: hansard.Ledger) -> None:
    body = {
        "id": "c9",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    }
    response = openai.types.chat.ChatCompletion.model_validate(body)
    for given in (response, body):
        recorded = ledger.record(given, format="openai-chat", thread="t")
        assert [message.parts[0].text for message in recorded.messages] == ["Hello."]  # type: ignore[union-attr]
    assert [message.role for message in ledger.transcript("t")] == ["user", "assistant", "assistant"]


@pytest.mark.parametrize("given", [7, None, "Hello", b"Hello", object()])
def test_what_is_neither_a_stream_nor_a_response_is_refused(ledger: hansard.Ledger, given: Any) -> None:
    with pytest.raises(hansard.HansardError, match="give a stream, its bytes or lines, or a whole response"):
        ledger.record(given, format="openai-chat", thread="t")
    assert ledger.runs("t") == []
