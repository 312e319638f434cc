"""An answer becomes part of the next request: what only answers may say stays in the ledger, and is reported."""

from __future__ import annotations

from typing import Any

import pytest

from hansard import formats
from hansard.model import exact_json
from hansard.model.hashing import append
from tests.laws.test_providers import ANSWERS, PROVIDERS
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
