"""Documents that look like those of a format and are others': they are refused, not misread."""

from __future__ import annotations

from typing import Any

import pytest

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
