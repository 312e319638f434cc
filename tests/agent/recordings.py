"""One small answer of each provider, whole and as its stream: thoughts, words and a call, or only words."""

from __future__ import annotations

import json
from typing import Any

_CLAUDE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5", "stop_sequence": None}
_CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"place": "north"}}
_GPT: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1700000000, "model": "gpt-5"}
_GPT |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
_USED = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
_DETAILS = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
_ITEM = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "status": "completed"}


def _lines(events: list[Any]) -> bytes:
    return b"\n".join(json.dumps(event).encode() for event in events)


def _anthropic(words: str, call: bool) -> tuple[Any, list[Any]]:
    thought = {"type": "thinking", "thinking": "Where is it?", "signature": "c2lnbmVk"}
    content: list[Any] = [thought, {"type": "text", "text": words}, *([_CALL] if call else [])]
    stop, usage = "tool_use" if call else "end_turn", {"input_tokens": 9, "output_tokens": 5}
    events: list[Any] = [{"type": "message_start", "message": _CLAUDE | {"content": [], "usage": usage}}]
    for i, block in enumerate(content):
        empty = {**block, "thinking": "", "signature": ""} if block is thought else {"type": "text", "text": ""}
        begun = {**block, "input": {}} if block is _CALL else empty
        events.append({"type": "content_block_start", "index": i, "content_block": begun})
        if block is thought:
            deltas: list[Any] = [{"type": "thinking_delta", "thinking": piece} for piece in ("Where ", "is it?")]
            deltas.append({"type": "signature_delta", "signature": thought["signature"]})
        elif block is _CALL:
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"place": "n', 'orth"}')]
        else:
            deltas = [{"type": "text_delta", "text": piece} for piece in (words[:4], words[4:])]
        events += [{"type": "content_block_delta", "index": i, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": i})
    ended = {"stop_reason": stop, "stop_sequence": None}
    events += [{"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]
    return _CLAUDE | {"content": content, "stop_reason": stop, "usage": usage}, events


def _openai_chat(words: str, call: bool) -> tuple[Any, list[Any]]:
    reason = "tool_calls" if call else "stop"
    made = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"place": "north"}'}}
    message: dict[str, Any] = {"role": "assistant", "content": words} | ({"tool_calls": [made]} if call else {})
    deltas: list[Any] = [{"role": "assistant", "content": ""}, {"content": words[:4]}, {"content": words[4:]}]
    if call:
        begun = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": ""}}
        deltas.append({"tool_calls": [begun]})
        for piece in ('{"place": "n', 'orth"}'):
            deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "gpt-4.1"}
    events = [chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append(chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return chunk | {"object": "chat.completion", "choices": [choice]}, events


def _openai_responses(words: str, call: bool) -> tuple[Any, list[Any]]:
    text = {"type": "output_text", "text": words, "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    output: list[Any] = [said, *([_ITEM | {"arguments": '{"place": "north"}'}] if call else [])]
    open_answer = _GPT | {"status": "in_progress", "output": []}
    whole = _GPT | {"status": "completed", "output": output, "usage": _USED | _DETAILS}
    events: list[Any] = [{"type": "response.created", "response": open_answer}]
    begun = {**said, "status": "in_progress", "content": []}
    events.append({"type": "response.output_item.added", "output_index": 0, "item": begun})
    at: dict[str, Any] = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    events.append({"type": "response.content_part.added", **at, "part": {**text, "text": ""}})
    for piece in (words[:4], words[4:]):
        events.append({"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []})
    events.append({"type": "response.output_text.done", **at, "text": words, "logprobs": []})
    events.append({"type": "response.content_part.done", **at, "part": text})
    events.append({"type": "response.output_item.done", "output_index": 0, "item": said})
    if call:
        at = {"item_id": "fc_1", "output_index": 1}
        begun = {**_ITEM, "arguments": "", "status": "in_progress"}
        events.append({"type": "response.output_item.added", "output_index": 1, "item": begun})
        for piece in ('{"place": "n', 'orth"}'):
            events.append({"type": "response.function_call_arguments.delta", **at, "delta": piece})
        done = {
            "type": "response.function_call_arguments.done",
            **at,
            "name": "look",
            "arguments": '{"place": "north"}',
        }
        events += [done, {"type": "response.output_item.done", "output_index": 1, "item": output[1]}]
    events.append({"type": "response.completed", "response": whole})
    return whole, [{**event, "sequence_number": i} for i, event in enumerate(events)]


def _gemini(words: str, call: bool) -> tuple[Any, list[Any]]:
    made = {"functionCall": {"name": "look", "args": {"place": "north"}}, "thoughtSignature": "c2lnbmVk"}
    named = {"modelVersion": "gemini-3-pro", "responseId": "r1"}

    def answer(parts: list[Any], **more: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": parts, "role": "model"}, **more, "index": 0}], **named}

    events = [answer([{"text": words[:4]}]), answer([{"text": words[4:]}])]
    events.append(answer([made] if call else [{"text": ""}], finishReason="STOP"))
    used = {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}
    events = [event | {"usageMetadata": used} for event in events]
    return answer([{"text": words}, *([made] if call else [])], finishReason="STOP") | {"usageMetadata": used}, events


_MAKERS = {
    "anthropic": _anthropic,
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "gemini": _gemini,
}
FORMATS = list(_MAKERS)
WHOLE = {name: make("It lies in the north.", True)[0] for name, make in _MAKERS.items()}
CALLS = {name: _lines(make("It lies in the north.", True)[1]) for name, make in _MAKERS.items()}
WORDS = {name: _lines(make("There it is.", False)[1]) for name, make in _MAKERS.items()}
