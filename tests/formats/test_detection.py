"""Documents that look like those of a format and are others': they are refused, not misread."""

from __future__ import annotations

import json
from typing import Any

import pytest

import hansard
from hansard import formats
from hansard.errors import UnknownFormat

OTHERS: dict[str, Any] = {
    "blocks_without_a_type": {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hi"}]}]},
    "a_list_of_blocks_without_a_type": [{"role": "user", "content": [{"text": "hi"}, {"toolResult": {}}]}],
    "one_item_of_responses": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    "a_bare_list_of_blocks": [{"type": "reasoning", "summary": []}, {"type": "text", "text": "hi"}],
    "input_of_blocks": {"model": "m", "input": [{"type": "text", "text": "hi"}], "generation_config": {}},
    "words_to_embed": {"model": "m", "input": "hi", "encoding_format": "base64"},
    "a_message_of_a_thread": {"role": "user", "content": [{"type": "text", "text": {"value": "hi"}}]},
    "a_piece_of_a_stream": {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]},
    "an_old_completion": {"object": "text_completion", "choices": [{"text": "hi", "finish_reason": "stop"}]},
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_document_of_nobody_is_refused(case: str) -> None:
    with pytest.raises(UnknownFormat):
        formats.detect(OTHERS[case])


_ODD: dict[str, Any] = {"odd": 1}
KNOWN: dict[str, tuple[str, Any]] = {
    "an_odd_block_beside_a_result": (
        "anthropic",
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}, _ODD]}],
    ),
    "an_odd_block_beside_a_picture": (
        "openai-chat",
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}, _ODD]}],
    ),
    "an_odd_block_beside_a_call": (
        "openai-chat",
        [
            {"role": "user", "content": [{"type": "text", "text": "hi"}, "and a string"]},
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f"}}]},
        ],
    ),
    "data_with_content_beside_words": (
        "ai-sdk-ui",
        [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}, {"type": "data-a", "content": "b"}]}],
    ),
}


@pytest.mark.parametrize("case", KNOWN)
def test_what_is_odd_beside_what_only_one_format_has_changes_nothing(case: str) -> None:
    name, document = KNOWN[case]
    assert formats.detect(document) == name


JSON_FORMATS = [
    name for name in formats.names() if formats.get(name).suffix == "json" and not formats.get(name).verbatim
]


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_the_data_of_a_json_format_is_json_data(name: str) -> None:
    """Its types are those of `json.loads`, and it reads back as the bytes do."""
    talk = hansard.Conversation(messages=[hansard.Message.user("hi"), hansard.Message.assistant("ho")])
    for written in (hansard.write(talk, name), hansard.write_all([talk], name)):
        assert type(written.data) in (dict, list)
        assert json.loads(json.dumps(written.data)) == json.loads(written.json)
        assert hansard.read(written.data, name) == hansard.read(written.json, name)
