"""Between providers: A's own turns are intact after B has answered; signatures stay with their provider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hansard import formats
from hansard.model import Conversation, exact_json
from hansard.model.hashing import append
from tests.conftest import GOLDEN
from tests.corpus_files import corpus_documents

PROVIDERS = ["anthropic", "openai-chat", "openai-responses", "gemini"]
RECORDS = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}
ANSWERS: dict[str, Any] = {
    "anthropic": {
        "id": "msg_9",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig=="},
            {"type": "text", "text": "From Anthropic."},
        ],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
    "openai-chat": {
        "id": "chatcmpl-9",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-x",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "From OpenAI."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    },
    "openai-responses": {
        "id": "resp_9",
        "object": "response",
        "status": "completed",
        "model": "gpt-x",
        "output": [
            {"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "gAAA"},
            {
                "type": "message",
                "id": "msg_9",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "From Responses.", "annotations": []}],
            },
        ],
    },
    "gemini": {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "From Gemini.", "thoughtSignature": "c2ln"}]},
                "finishReason": "STOP",
            }
        ],
        "modelVersion": "gemini-x",
    },
}


def records(name: str, document: Any) -> list[Any]:
    found = document if type(document) is list else document[RECORDS[name]]
    assert type(found) is list
    return found


def is_request(name: str, document: Any) -> bool:
    if type(document) is dict and document.get("object") == "response":
        return False  # a response of OpenAI may repeat the input
    return type(document) is list or type(document.get(RECORDS[name])) is list


def own_documents(name: str, corpus: Path) -> list[Any]:
    raws = [path.read_bytes() for path in sorted((GOLDEN / name).glob("*.json"))] + corpus_documents(corpus, name)
    return [document for raw in raws if is_request(name, document := exact_json.decode(raw))]


@pytest.mark.parametrize("other", PROVIDERS)
@pytest.mark.parametrize("name", PROVIDERS)
def test_own_turns_are_intact_after_another_provider_answered(name: str, other: str, corpus: Path) -> None:
    documents = own_documents(name, corpus)
    assert documents
    for document in documents:
        mine = formats.read(document, name)
        formats.write(mine, other)
        answer = formats.read(ANSWERS[other], other)
        both = append(mine, answer)
        again = formats.write(both, name).data
        was = records(name, document)
        assert exact_json.same(records(name, again)[: len(was)], was)
        assert len(records(name, again)) > len(was)
        if type(document) is dict and type(again) is dict:
            for key in document.keys() - {RECORDS[name]}:
                assert exact_json.same(again[key], document[key])


def without_residue_of(name: str, conversation: Conversation) -> Conversation:
    """Random residue of the target itself is whatever it is; everybody else's must not reach the wire."""

    def clean(node: Any) -> Any:
        if node.extra and name in node.extra:
            return replace(node, extra={key: value for key, value in node.extra.items() if key != name})
        return node

    messages = []
    for message in conversation.messages:
        parts = [clean(part) for part in message.parts if getattr(part, "format", None) != name]
        messages.append(replace(clean(message), parts=parts))
    return replace(clean(conversation), messages=messages)


@pytest.mark.parametrize("name", PROVIDERS)
def test_signatures_go_only_to_the_provider_they_came_from(name: str) -> None:
    for other in PROVIDERS:
        for owner in PROVIDERS:
            question = {"role": "user", "content": "hi"}
            start = formats.read([question], "anthropic")
            answer = formats.read(ANSWERS[owner], owner)
            text = formats.write(append(start, answer), other).json
            for secret, maker in (("sig==", "anthropic"), ("gAAA", "openai-responses"), ("c2ln", "gemini")):
                if other != maker:
                    assert secret.encode() not in text


def test_a_signature_returns_to_its_owner_until_the_words_before_it_change() -> None:
    start = formats.read([{"role": "user", "content": "hi"}], "anthropic")
    answered = append(start, formats.read(ANSWERS["anthropic"], "anthropic"))
    assert b"sig==" in formats.write(answered, "anthropic").json
    changed = formats.read([{"role": "user", "content": "hello"}], "anthropic").messages
    edited = replace(answered, messages=[*changed, *answered.messages[1:]])
    written = formats.write(edited, "anthropic")
    assert b"sig==" not in written.json
    assert [loss.why for loss in written.losses if "reasoning" in loss.what] == [
        "the messages before it are not those it was made for"
    ]
    other_model = formats.write(answered, "anthropic", target=formats.Target(model="another"))
    assert b"sig==" not in other_model.json
