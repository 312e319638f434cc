"""Another provider takes a conversation over: it thinks, calls tools, gets results and answers, in its own words.

After every step the first provider's turns are intact, what is written for it is valid there, and signatures are
with their makers only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from hansard import formats
from hansard.formats.rules.checks import validate
from hansard.model import exact_json
from hansard.model.hashing import append
from tests.laws.test_providers import ANSWERS, PROVIDERS, own_documents, records
from tests.official_types import problems

LONG_ID = "call_" + "x" * 70
LOOPS: dict[str, list[Any]] = {
    "anthropic": [
        {
            **ANSWERS["anthropic"],
            "stop_reason": "tool_use",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sigA=="},
                {"type": "redacted_thinking", "data": "REDA"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"q": 1.0}},
                {"type": "thinking", "thinking": "more", "signature": "sigB=="},
                {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}},
            ],
        },
        [
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": [
                            {"type": "text", "text": "one"},
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
                            },
                        ],
                    },
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no", "is_error": True},
                    {"type": "text", "text": "Go on."},
                ],
            }
        ],
        ANSWERS["anthropic"],
    ],
    "openai-chat": [
        {
            "object": "chat.completion",
            "model": "gpt-x",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": {
                        "role": "assistant",
                        "content": None,
                        "reasoning_content": "hm",
                        "tool_calls": [
                            {
                                "id": LONG_ID,
                                "type": "function",
                                "function": {"name": "look", "arguments": '{"q": 1.0}'},
                            },
                            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{bad"}},
                        ],
                    },
                }
            ],
        },
        [
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "tool", "tool_call_id": LONG_ID, "content": [{"type": "text", "text": "one"}]},
            {"role": "user", "content": "Go on."},
        ],
        ANSWERS["openai-chat"],
    ],
    "openai-responses": [
        {
            **ANSWERS["openai-responses"],
            "output": [
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "hm"}],
                    "encrypted_content": "gEEE",
                },
                {"type": "function_call", "id": "fc_1", "call_id": "r1", "name": "look", "arguments": '{"q":1}'},
                {"type": "function_call", "id": "fc_2", "call_id": "r2", "name": "look", "arguments": "{}"},
                {
                    "type": "web_search_call",
                    "id": "ws_1",
                    "status": "completed",
                    "action": {"type": "search", "query": "x"},
                },
            ],
        },
        [
            {"type": "function_call_output", "call_id": "r1", "output": "one"},
            {
                "type": "function_call_output",
                "call_id": "r2",
                "output": [
                    {"type": "input_text", "text": "two"},
                    {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
                ],
            },
        ],
        ANSWERS["openai-responses"],
    ],
    "gemini": [
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [
                            {"text": "hm", "thought": True},
                            {"functionCall": {"name": "look", "args": {"q": 1}}, "thoughtSignature": "c2lnRw=="},
                            {"functionCall": {"name": "look", "args": {}}},
                            {"executableCode": {"code": "1", "language": "PYTHON"}},
                            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                        ],
                    },
                    "finishReason": "STOP",
                }
            ],
            "modelVersion": "gemini-x",
        },
        [
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "look", "response": {"output": "one"}}},
                    {"functionResponse": {"name": "look", "response": {"error": "two"}}},
                ],
            }
        ],
        ANSWERS["gemini"],
    ],
}
SECRETS = {"anthropic": ("sigA==", "sigB==", "REDA"), "openai-responses": ("gEEE",), "gemini": ("c2lnRw==",)}


@pytest.mark.parametrize("other", PROVIDERS)
@pytest.mark.parametrize("name", PROVIDERS)
def test_another_provider_may_take_over_with_tools(name: str, other: str, corpus: Path) -> None:
    if name == other:
        return
    for document in own_documents(name, corpus):
        conversation = formats.read(document, name)
        conforms = not any("asIs" in str(message.extra) for message in conversation.messages)
        known = errors(conversation, name)
        for step in LOOPS[other]:
            conversation = append(conversation, formats.read(step, other))
            written = formats.write(conversation, name)
            was, now = records(name, document), records(name, written.data)
            assert exact_json.same(now[: len(was)], was)
            assert problems(name, now[len(was) :]) == []
            if conforms and step is not LOOPS[other][0]:  # behind the first step its calls still wait
                assert errors(formats.read(written.json, name), name) <= known
            models = [message.model.name for message in conversation.messages if message.model is not UNSET]
            back = formats.write(conversation, other, model=models[-1] or None).json
            for secret in SECRETS.get(other, ()):
                assert secret.encode() in back
                assert secret.encode() not in written.json


def errors(conversation: Any, name: str) -> set[str]:
    return {finding.check for finding in validate(conversation, name) if finding.severity == "error"}
