"""What Anthropic's Python SDK declares, compared with what the decoder handles."""

from __future__ import annotations

from typing import Any

import pytest

from hansard.formats.anthropic.stream import AnthropicDecoder
from hansard.streams.deltas import Failure, Other
from tests.formats.anthropic.test_stream import START, block_delta, block_start, decode


def test_every_event_and_delta_of_the_official_package_is_known() -> None:
    anthropic = pytest.importorskip("anthropic")
    for union in (
        anthropic.types.raw_message_stream_event.RawMessageStreamEvent,
        anthropic.types.beta.beta_raw_message_stream_event.BetaRawMessageStreamEvent,
    ):
        kinds = {member.model_fields["type"].annotation.__args__[0] for member in union.__origin__.__args__}
        assert kinds <= AnthropicDecoder()._handlers.keys()
    for union in (
        anthropic.types.raw_content_block_delta.RawContentBlockDelta,
        anthropic.types.beta.beta_raw_content_block_delta.BetaRawContentBlockDelta,
    ):
        for member in union.__origin__.__args__:
            kind = member.model_fields["type"].annotation.__args__[0]
            fields: dict[str, Any] = {name: "x" for name in member.model_fields if name != "type"}
            deltas = decode([START, block_start(), block_delta({"type": kind, **fields, "estimated_tokens": None})])
            assert not [delta for delta in deltas if isinstance(delta, Other | Failure)], kind
