"""An answer becomes part of the next request: what only answers may say stays in the ledger, and is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hansard import formats
from hansard.model import exact_json
from hansard.model.hashing import append
from tests.corpus_files import corpus_documents
from tests.laws.test_providers import ANSWERS, PROVIDERS, is_request
from tests.official_samples import FILLINGS, samples
from tests.official_types import problems

QUESTIONS: dict[str, Any] = {
    "anthropic": {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]},
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "openai-responses": {"model": "m", "input": [{"role": "user", "content": "hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
SAYING_MORE: dict[str, Any] = {
    "anthropic": {
        **ANSWERS["anthropic"],
        "container": None,
        "stop_details": None,
        "content": [
            {
                "type": "text",
                "text": "As the file says.",
                "citations": [
                    {
                        "type": "char_location",
                        "cited_text": "x",
                        "document_index": 0,
                        "document_title": None,
                        "start_char_index": 0,
                        "end_char_index": 1,
                        "file_id": "file_1",
                    }
                ],
            },
            {"type": "tool_use", "id": "t1", "name": "look", "input": {}, "caller": None},
        ],
    },
    "openai-chat": {
        **ANSWERS["openai-chat"],
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "refusal": None,
                    "tool_calls": None,
                    "annotations": [],
                    "audio": {"id": "a1", "data": "aGk=", "expires_at": 5, "transcript": "Hello."},
                },
            }
        ],
    },
    "openai-responses": {
        **ANSWERS["openai-responses"],
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "content": None, "status": None},
            {
                "type": "shell_call",
                "id": "sh_1",
                "call_id": "c1",
                "status": "completed",
                "action": {"commands": ["ls"], "timeout_ms": None, "max_output_length": None},
                "created_by": "agent",
            },
            {
                "type": "shell_call_output",
                "id": "so_1",
                "call_id": "c1",
                "status": "completed",
                "max_output_length": None,
                "output": [
                    {
                        "stdout": "a",
                        "stderr": "",
                        "outcome": {"type": "exit", "exit_code": 0},
                        "created_by": "agent",
                    }
                ],
                "created_by": "agent",
            },
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Done.", "annotations": [], "logprobs": None}],
            },
        ],
    },
    "gemini": {
        **ANSWERS["gemini"],
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "Hello."}]},
                "groundingMetadata": {"webSearchQueries": ["x"]},
                "avgLogprobs": -0.5,
            }
        ],
    },
}

DIALECT = ("reasoning_content", "reasoning_details", "'reasoning'", "extra_content")  # not OpenAI's, but to be kept


def sent_back(name: str, answer: Any) -> formats.Written:
    question = formats.read(QUESTIONS[name], name)
    return formats.write(append(append(question, formats.read(answer, name)), question), name)


@pytest.mark.parametrize("name", PROVIDERS)
def test_what_only_answers_say_is_not_sent_back_but_reported(name: str) -> None:
    written = sent_back(name, SAYING_MORE[name])
    assert problems(name, written.data) == []
    assert written.losses
    again = formats.write(formats.read(SAYING_MORE[name], name), name)
    assert exact_json.same(again.data, SAYING_MORE[name])


@pytest.mark.parametrize("name", PROVIDERS)
def test_recorded_answers_can_be_sent_back(name: str, corpus: Path) -> None:
    for raw in corpus_documents(corpus, name):
        document = exact_json.decode(raw)
        if not is_request(name, document):
            written = sent_back(name, document)
            assert [problem for problem in problems(name, written.data) if not any(map(problem.count, DIALECT))] == []
            assert exact_json.same(formats.write(formats.read(raw, name), name).data, document)


def every_answer(name: str, filling: str) -> list[Any]:
    """One answer for each thing that the SDK's types let an answer say."""
    if name == "openai-responses":
        from openai.types.responses import ResponseOutputItem

        return [{**ANSWERS[name], "output": [item]} for item in samples(ResponseOutputItem, filling)]
    from anthropic.types import ContentBlock
    from anthropic.types.beta import BetaContentBlock

    blocks = samples(ContentBlock, filling) + samples(BetaContentBlock, filling)
    return [{**ANSWERS[name], "content": [block, {"type": "text", "text": "So."}]} for block in blocks]


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("name", ["anthropic", "openai-responses"])
def test_whatever_an_answer_may_say_can_be_sent_back(name: str, filling: str) -> None:
    for answer in every_answer(name, filling):
        again = formats.write(formats.read(answer, name), name)
        assert exact_json.same(again.data, answer)
        assert again.losses == []
        assert problems(name, sent_back(name, answer).data) == [], answer
