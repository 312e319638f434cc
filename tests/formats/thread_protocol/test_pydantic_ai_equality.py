"""Pydantic AI to ThreadProtocol to Pydantic AI is equal, judged by Pydantic AI itself."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from hansard import formats
from hansard.model import exact_json
from tests.formats.thread_protocol.histories import histories, with_system_prompts, without_system_prompts

Adapter = ModelMessagesTypeAdapter


def dumped(history: list[ModelMessage]) -> Any:
    """A history as its own JSON: equality of the classes ignores identifiers and media types."""
    return exact_json.decode(Adapter.dump_json(history))


def through_a_thread(history: list[ModelMessage]) -> tuple[formats.Written, list[ModelMessage]]:
    thread = formats.convert(Adapter.dump_json(history), "thread-protocol", "pydantic-ai")
    assert isinstance(thread, formats.Written)
    back = formats.convert(thread.json, "pydantic-ai", "thread-protocol")
    return thread, Adapter.validate_json(back.json)


def loaded(history: list[ModelMessage]) -> list[ModelMessage]:
    return Adapter.validate_json(Adapter.dump_json(history))


@given(history=histories)
def test_a_history_without_system_prompts_comes_back_equal(history: list[ModelMessage]) -> None:
    thread, back = through_a_thread(history)
    assert exact_json.same(dumped(back), dumped(loaded(history)))
    assert [loss for loss in thread.losses if loss.kind not in ("metadata", "spelling")] == []


@given(history=with_system_prompts)
def test_system_prompts_are_left_out_and_reported(history: list[ModelMessage]) -> None:
    thread, back = through_a_thread(history)
    stored = without_system_prompts(history)
    assert exact_json.same(dumped(back), dumped(loaded(stored)))
    assert thread.losses != [] or stored == history
