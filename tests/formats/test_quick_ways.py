"""Formats read and write what is usual in a quick way: it must say the same as the general way does.

An empty `extra` and a key that no format knows both lead the general way.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from msgspec import UNSET
from msgspec.structs import replace

from hansard import formats
from hansard.formats.contract import Target
from hansard.formats.gemini.reasoning import DUMMY
from hansard.model import exact_json, native
from tests.strategies import conversations, plain_conversations

NAMES = ("provider-message", "agent-store", "openai-chat", "gemini", "ai-sdk-ui", "ai-sdk-model")


def with_a_key(value: Any) -> Any:
    """The document with a key nobody knows in every object but the data of tools."""
    if type(value) is list:
        return [with_a_key(item) for item in value]
    if type(value) is not dict:
        return value
    data = ("args", "input", "result", "response", "arguments", "output")
    return {**{key: item if key in data else with_a_key(item) for key, item in value.items()}, "zz": "unknown"}


def without_extra(value: Any) -> Any:
    if type(value) is list:
        return [without_extra(item) for item in value]
    if type(value) is dict:
        return {key: without_extra(item) for key, item in value.items() if key != "extra"}
    return value


@pytest.mark.parametrize("name", NAMES)
@given(conversation=plain_conversations)
def test_what_is_read_quickly_is_read_the_same_in_general(name: str, conversation: Any) -> None:
    chosen = formats.get(name)
    document = formats.write(conversation, name).data
    quick = chosen.read(exact_json.copied(document))
    general = chosen.read(with_a_key(document))
    assert exact_json.same(without_extra(native.plain(quick)), without_extra(native.plain(general)))


@pytest.mark.parametrize("name", NAMES)
@given(conversation=conversations)
def test_what_is_written_quickly_is_written_the_same_in_general(name: str, conversation: Any) -> None:
    messages = []
    for message in conversation.messages:
        parts = [replace(part, extra={}) if part.extra is UNSET else part for part in message.parts]
        extra = {} if message.extra is UNSET and message.role != "tool" else message.extra
        messages.append(replace(message, parts=parts, extra=extra))
    write = formats.get(name).write
    general = write(replace(conversation, messages=messages), Target())
    assert exact_json.encode(write(conversation, Target())) == exact_json.encode(general)


def stored(*blocks: Any, role: str = "assistant", **more: Any) -> dict[str, Any]:
    kind = "tool" if any(block["type"] != "text" for block in blocks) else "text"
    return {"role": role, "type": kind, "content": {"format": 2, "parts": list(blocks), **more}}


CALL = {"type": "tool-invocation", "toolCallId": "c1", "toolName": "t", "args": {}, "state": "call"}
ANSWERED = {**CALL, "state": "result", "result": "x"}
SIGNED = {"functionCall": {"id": "c1", "name": "t", "args": {}}, "thoughtSignature": DUMMY}
ASKED = {"role": "assistant", "content": "", "tool_calls": [{"name": "t", "arguments": "{}", "id": "c1"}]}
WAITS = {"type": "tool-t", "toolCallId": "c1", "state": "input-available", "input": {}}
DONE = {**WAITS, "state": "output-available", "output": "x"}
RESULT = {"type": "tool-result", "toolCallId": "c1", "toolName": "t", "output": {"type": "json", "value": "x"}}


def shown(*blocks: Any, role: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"id": "m1", "role": role, "parts": list(blocks), **more}


NEARLY_USUAL = [
    ("ai-sdk-ui", [shown(WAITS, DONE)]),
    ("ai-sdk-ui", [shown(DONE, DONE, role="user")]),
    ("ai-sdk-ui", [shown({**DONE, "providerExecuted": True})]),
    ("ai-sdk-ui", [shown({**DONE, "providerExecuted": None})]),
    ("ai-sdk-ui", [shown({**DONE, "input": {"__proto__": 1}})]),
    ("ai-sdk-ui", [shown({"type": "text", "text": "a", "state": None})]),
    ("ai-sdk-ui", [shown({"type": "step-start"}, role="user")]),
    ("ai-sdk-ui", [shown({"type": "steering-message", "id": "s", "parts": []})]),
    ("ai-sdk-ui", [shown(metadata=None)]),
    ("ai-sdk-ui", [{"role": "assistant", "parts": [], "metadata": {}}]),
    ("ai-sdk-ui", [{"role": "assistant", "parts": [], "idless": 1, "$": {"__proto__": 1}}]),
    ("ai-sdk-model", [{"role": "tool", "content": [RESULT]}]),
    ("ai-sdk-model", [{"role": "tool", "content": [{**RESULT, "output": {"type": "text", "value": 1}}]}]),
    ("ai-sdk-model", [{"role": "tool", "content": [{"type": "text", "text": "a"}]}]),
    ("ai-sdk-model", [{"role": "user", "content": [RESULT]}]),
    ("ai-sdk-model", [{"role": "assistant", "content": [RESULT]}]),
    ("agent-store", [stored({"type": "text", "text": "a"}, format=3)]),
    ("agent-store", [stored({"type": "text", "text": "a"}, format=2.0)]),
    ("agent-store", [stored(CALL, ANSWERED)]),
    ("agent-store", [stored(ANSWERED, CALL)]),
    ("agent-store", [stored(ANSWERED, role="tool")]),
    ("agent-store", [stored(CALL), stored(ANSWERED, role="tool")]),
    ("agent-store", [{**stored(CALL), "type": "text"}]),
    ("agent-store", [{**stored(CALL), "id": None}]),
    ("provider-message", [ASKED, {"role": "tool", "content": "x", "call_id": "c1", "id": "m1"}]),
    ("provider-message", [ASKED, {"role": "tool", "content": "x", "id": "c1"}]),
    ("provider-message", [{**ASKED, "tool_calls": []}]),
    ("provider-message", [{"role": "stranger", "content": "x"}]),
    ("gemini", [{"role": "model", "parts": [SIGNED, SIGNED]}]),
    ("gemini", [{"role": "model", "parts": [{"text": "a"}]}, {"role": "model", "parts": [SIGNED]}]),
]


@pytest.mark.parametrize(("name", "document"), NEARLY_USUAL)
def test_what_is_nearly_usual_comes_back_as_it_was(name: str, document: Any) -> None:
    chosen = formats.get(name)
    written = exact_json.plain(chosen.write(chosen.read(exact_json.copied(document)), Target()))
    assert exact_json.same(written, document)
