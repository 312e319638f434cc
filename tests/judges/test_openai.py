"""What OpenAI's Python SDK accepts and makes of our documents and streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.formats.openai_responses.stream.decoder import OpenAIResponsesDecoder
from hansard.model import Conversation, RefusalPart, TextPart, ToolCallPart, exact_json
from hansard.streams.accumulator import fold
from tests.corpus_files import corpus_documents
from tests.judges.emitted import answers, emit
from tests.laws.test_streams import as_sse, decode, recorded
from tests.official_types import problems
from tests.strategies import conversations


def completion(raw: bytes) -> Any:
    """What the official accumulator makes of the chunks."""
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state = ChatCompletionStreamState()
    *events, done, _ = raw.split(b"\n\n")
    assert done == b"data: [DONE]"
    for event in events:
        state.handle_chunk(ChatCompletionChunk.model_validate(json.loads(event.removeprefix(b"data: ")), strict=True))
    return state.current_completion_snapshot.to_dict()


@given(answer=answers())
def test_the_official_accumulator_has_the_words_and_the_calls(answer: Any) -> None:
    messages, deltas = answer
    message = completion(emit(deltas, "openai-chat", message_id="m1"))["choices"][0]["message"]
    said = [part for one in messages for part in one.parts]
    assert (message["content"] or "") == "".join(part.text for part in said if type(part) is TextPart)
    assert (message.get("refusal") or "") == "".join(part.text for part in said if type(part) is RefusalPart)
    calls = [part for part in said if type(part) is ToolCallPart and part.provider_executed is not True]
    made = [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or []
    ]
    assert [one[:2] for one in made] == [(call.tool_call_id, call.tool_name) for call in calls]
    assert [exact_json.decode(one[2]) for one in made] == [call.input for call in calls]


def test_recorded_streams_become_completions(corpus: Path) -> None:
    for name, path in recorded(corpus):
        deltas = decode(name, [as_sse(path)])
        raw = emit(deltas, "openai-chat")
        if b'data: {"error"' in raw or path.name.startswith("interleaved"):
            continue  # of blocks that grow at once a completion makes one text
        said = [part for one in fold(deltas) for part in one.parts]
        message = completion(raw)["choices"][0]["message"]
        assert (message["content"] or "") == "".join(part.text for part in said if type(part) is TextPart), path.name


def test_every_event_of_the_official_package_has_a_handler() -> None:
    responses = pytest.importorskip("openai.types.responses")
    union = responses.response_stream_event.ResponseStreamEvent.__origin__.__args__
    kinds = {member.model_fields["type"].annotation.__args__[0] for member in union}
    assert len(kinds) == 59
    assert kinds <= OpenAIResponsesDecoder()._handlers.keys()


def test_anthropic_conversations_become_valid_requests(corpus: Path) -> None:
    documents = corpus_documents(corpus, "anthropic")
    assert documents
    for raw in documents:
        document = formats.convert(raw, "openai-chat", "anthropic")
        assert problems("openai-chat", document.data) == []


@given(conversation=conversations)
def test_any_conversation_becomes_a_valid_request(conversation: Conversation) -> None:
    """Residue of our own is whatever it is; everybody else's must not reach the wire."""

    def clean(node: Any) -> Any:
        return replace(node, extra=UNSET) if node.extra and "openai-chat" in node.extra else node

    messages = [
        replace(
            clean(message),
            parts=[clean(part) for part in message.parts if getattr(part, "format", "") != "openai-chat"],
        )
        for message in conversation.messages
    ]
    document = formats.write(replace(clean(conversation), messages=messages), "openai-chat")
    assert problems("openai-chat", document.data) == []
