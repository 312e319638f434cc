"""Live streams: chunks a second from bytes to a message, beside the official accumulators; how time and memory grow.

Every event is fed by itself, as it comes off a socket. The official side does the same from the same bytes: it parses
the events, builds its objects and accumulates them.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

from hansard import streams as registry
from hansard.streams.accumulator import Accumulator

CHUNKS = 20_000
WORD = " seven"
MODEL = "model-1"
Measure = Callable[..., list[float]]


def live(measure: Measure) -> None:
    """Everything about streams."""
    known = [name for name in _STREAMS if name in registry.decoders()]
    _speed(measure, known)
    _emitters(measure)
    _official(measure)
    _growth(measure, known)
    _memory(known)


# -- what is measured ------------------------------------------------------------------------------------------------


def folded(name: str, events: list[bytes]) -> Any:
    decoder, accumulator = registry.decoder(name), Accumulator()
    for event in events:
        for delta in decoder.feed(event):
            accumulator.fold(delta)
    for delta in decoder.finish():
        accumulator.fold(delta)
    return accumulator.messages()


def _speed(measure: Measure, known: list[str]) -> None:
    print(f"\nStreams, from bytes to the message: chunks a second ({CHUNKS:,} chunks; goal: at least 300,000)")
    print(f"  {'':<30} {'text deltas':>14} {'tool deltas':>14}")
    for name in known:
        rates = []
        for kind in ("text", "tool"):
            events = list(_STREAMS[name](CHUNKS, kind))
            if not events:
                rates.append(f"{'-':>14}")
                continue
            (taken,) = measure(lambda name=name, events=events: folded(name, events), rounds=5)
            rates.append(f"{CHUNKS / taken * 1000:>14,.0f}")
        print(f"  {name:<30} {' '.join(rates)}")


def _emitters(measure: Measure) -> None:
    print("\nEmitters, from deltas to bytes: chunks a second")
    decoder = registry.decoder("anthropic")
    deltas = [delta for event in anthropic(CHUNKS, "text") for delta in decoder.feed(event)] + decoder.finish()
    for name in registry.emitters():

        def emitted(name: str = name) -> None:
            emitter = registry.emitter(name)
            for delta in deltas:
                emitter.emit(delta)
            emitter.finish()

        (taken,) = measure(emitted, rounds=5)
        print(f"  {name:<30} {CHUNKS / taken * 1000:>14,.0f}")


def _official(measure: Measure) -> None:
    print("\nBeside the official accumulators, end to end (5,000 chunks)")
    print(f"  {'':<58} {'hansard':>12} {'official':>12} {'faster':>8}   goal")
    for name, official, goal in (
        ("openai-chat", _openai_official, "at least 15x"),
        ("anthropic", _anthropic_official, "at least 3x"),
    ):
        if name not in registry.decoders():
            continue
        for kind in ("text", "tool"):
            events = list(_STREAMS[name](5_000, kind))
            try:
                ours, theirs = measure(
                    lambda name=name, events=events: folded(name, events),
                    lambda official=official, events=events: official(events),
                    rounds=3,
                )
            except ImportError as error:
                print(f"  {name}: the official package could not be imported: {error}")
                break
            print(f"  {f'{name}, {kind} deltas':<58} {ours:9.1f} ms {theirs:9.1f} ms {theirs / ours:7.1f}x   {goal}")


def _openai_official(events: list[bytes]) -> Any:
    from openai._models import construct_type
    from openai._streaming import SSEDecoder
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state = ChatCompletionStreamState()
    for event in SSEDecoder().iter_bytes(iter(events)):
        if event.data.startswith("[DONE]"):
            break
        state.handle_chunk(construct_type(type_=ChatCompletionChunk, value=event.json()))  # type: ignore[arg-type]
    return state.current_completion_snapshot


def _anthropic_official(events: list[bytes]) -> Any:
    from anthropic._models import construct_type
    from anthropic._streaming import SSEDecoder
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import RawMessageStreamEvent

    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for event in SSEDecoder().iter_bytes(iter(events)):
        value = construct_type(type_=RawMessageStreamEvent, value=event.json())
        snapshot = accumulate_event(event=value, current_snapshot=snapshot, json_bufs=buffers)  # type: ignore[arg-type]
    return snapshot


def _growth(measure: Measure, known: list[str]) -> None:
    print("\nTime for a chunk of 200,000 against a chunk of 5,000 (goal: 1.0, linear)")
    for name in known:
        ratios = []
        for kind in ("text", "tool"):
            few, many = list(_STREAMS[name](5_000, kind)), list(_STREAMS[name](200_000, kind))
            if not few:
                ratios.append(f"{'-':>14}")
                continue
            short, long = measure(
                lambda name=name, events=few: folded(name, events),
                lambda name=name, events=many: folded(name, events),
                rounds=2,
            )
            ratios.append(f"{long / 40 / short:>14.2f}")
        print(f"  {name:<30} {' '.join(ratios)}")


def _memory(known: list[str]) -> None:
    print(f"\nPeak memory against the size of the message ({CHUNKS:,} chunks of 60 letters; goal: at most 3x)")
    for name in known:
        figures = []
        for kind in ("text", "tool"):
            size = CHUNKS * 60
            events = list(_STREAMS[name](CHUNKS, kind, "x" * 60))
            folded(name, events[:100])  # what is imported late is not the message's, and the bytes are the caller's
            tracemalloc.start()
            folded(name, events)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            figures.append(f"{peak / size:>13.1f}x" if events else f"{'-':>14}")
        print(f"  {name:<30} {' '.join(figures)}")


# -- streams as the providers send them ------------------------------------------------------------------------------


def sse(value: Any, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(value, separators=(',', ':'))}\n\n".encode()


def arguments(count: int, word: str) -> Iterator[str]:
    """The pieces of one JSON object with a long text in it."""
    yield '{"text":"'
    for _ in range(count - 2):
        yield word
    yield '"}'


def anthropic(count: int, kind: str, word: str = WORD) -> Iterator[bytes]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    yield sse({"type": "message_start", "message": message}, "message_start")
    block: dict[str, Any] = {"type": "text", "text": ""}
    if kind == "tool":
        block = {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}}
    yield sse({"type": "content_block_start", "index": 0, "content_block": block}, "content_block_start")
    for piece in arguments(count, word) if kind == "tool" else [word] * count:
        delta = {"type": "text_delta", "text": piece}
        if kind == "tool":
            delta = {"type": "input_json_delta", "partial_json": piece}
        yield sse({"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta")
    yield sse({"type": "content_block_stop", "index": 0}, "content_block_stop")
    yield sse({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}, "message_delta")
    yield sse({"type": "message_stop"}, "message_stop")


def openai_chat(count: int, kind: str, word: str = WORD) -> Iterator[bytes]:
    frame = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return sse({**frame, "system_fingerprint": "fp_1", "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    if kind == "tool":
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "write", "arguments": ""}}
        yield chunk({"tool_calls": [call]})
        for piece in arguments(count, word):
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    else:
        for _ in range(count):
            yield chunk({"content": word})
    yield chunk({}, "tool_calls" if kind == "tool" else "stop")
    yield b"data: [DONE]\n\n"


def openai_responses(count: int, kind: str, word: str = WORD) -> Iterator[bytes]:
    number = 0

    def event(name: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return sse({"type": name, "sequence_number": number, **fields}, name)

    response: dict[str, Any] = {"id": "resp_1", "object": "response", "model": MODEL, "created_at": 1}
    yield event("response.created", response={**response, "status": "in_progress", "output": []})
    place = {"item_id": "item_1", "output_index": 0}
    if kind == "tool":
        call = {"type": "function_call", "id": "item_1", "call_id": "call_1", "name": "write"}
        yield event(
            "response.output_item.added", output_index=0, item={**call, "arguments": "", "status": "in_progress"}
        )
        for piece in arguments(count, word):
            yield event("response.function_call_arguments.delta", **place, delta=piece, obfuscation="a1b2c3")
        whole = "".join(arguments(count, word))
        yield event("response.function_call_arguments.done", **place, arguments=whole)
        item: dict[str, Any] = {**call, "arguments": whole, "status": "completed"}
    else:
        message = {"type": "message", "id": "item_1", "role": "assistant"}
        yield event(
            "response.output_item.added", output_index=0, item={**message, "content": [], "status": "in_progress"}
        )
        place["content_index"] = 0
        part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        yield event("response.content_part.added", **place, part=part)
        for _ in range(count):
            yield event("response.output_text.delta", **place, delta=word, logprobs=[], obfuscation="a1b2c3")
        part = {**part, "text": word * count}
        yield event("response.output_text.done", **place, text=part["text"], logprobs=[])
        yield event("response.content_part.done", **place, part=part)
        item = {**message, "content": [part], "status": "completed"}
    yield event("response.output_item.done", output_index=0, item=item)
    yield event("response.completed", response={**response, "status": "completed", "output": [item]})


def gemini(count: int, kind: str, word: str = WORD) -> Iterator[bytes]:
    if kind == "tool":
        return  # calls come whole, or in pieces of values rather than of text
    for i in range(count):
        candidate: dict[str, Any] = {"content": {"parts": [{"text": word}], "role": "model"}, "index": 0}
        if i == count - 1:
            candidate["finishReason"] = "STOP"
        usage = {"promptTokenCount": 10, "candidatesTokenCount": i + 1, "totalTokenCount": i + 11}
        yield sse({"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL, "responseId": "r1"})


def ai_sdk_ui(count: int, kind: str, word: str = WORD) -> Iterator[bytes]:
    yield sse({"type": "start", "messageId": "m1"})
    yield sse({"type": "start-step"})
    if kind == "tool":
        named = {"toolCallId": "call_1", "toolName": "write"}
        yield sse({"type": "tool-input-start", **named})
        for piece in arguments(count, word):
            yield sse({"type": "tool-input-delta", "toolCallId": "call_1", "inputTextDelta": piece})
        whole = json.loads("".join(arguments(count, word)))
        yield sse({"type": "tool-input-available", **named, "input": whole})
    else:
        yield sse({"type": "text-start", "id": "0"})
        for _ in range(count):
            yield sse({"type": "text-delta", "id": "0", "delta": word})
        yield sse({"type": "text-end", "id": "0"})
    yield sse({"type": "finish-step"})
    yield sse({"type": "finish", "finishReason": "stop"})
    yield b"data: [DONE]\n\n"


def ai_sdk_full(count: int, kind: str, word: str = WORD) -> Iterator[bytes]:
    def line(value: Any) -> bytes:
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"

    yield line({"type": "start"})
    yield line({"type": "start-step", "request": {}, "warnings": []})
    if kind == "tool":
        yield line({"type": "tool-input-start", "id": "call_1", "toolName": "write"})
        for piece in arguments(count, word):
            yield line({"type": "tool-input-delta", "id": "call_1", "delta": piece})
        yield line({"type": "tool-input-end", "id": "call_1"})
        whole = json.loads("".join(arguments(count, word)))
        yield line({"type": "tool-call", "toolCallId": "call_1", "toolName": "write", "input": whole})
    else:
        yield line({"type": "text-start", "id": "0"})
        for _ in range(count):
            yield line({"type": "text-delta", "id": "0", "text": word})
        yield line({"type": "text-end", "id": "0"})
    yield line({"type": "finish-step", "finishReason": "stop", "usage": {}, "response": {"id": "r1"}})
    yield line({"type": "finish", "finishReason": "stop", "totalUsage": {}})


def pydantic_ai(count: int, kind: str, word: str = WORD) -> Iterator[bytes]:
    def line(value: Any) -> bytes:
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"

    part: dict[str, Any] = {"part_kind": "text", "content": ""}
    if kind == "tool":
        part = {"part_kind": "tool-call", "tool_name": "write", "tool_call_id": "call_1", "args": ""}
    yield line({"event_kind": "part_start", "index": 0, "part": part})
    for piece in arguments(count, word) if kind == "tool" else [word] * count:
        delta: dict[str, Any] = {"part_delta_kind": "text", "content_delta": piece}
        if kind == "tool":
            delta = {"part_delta_kind": "tool_call", "args_delta": piece}
        yield line({"event_kind": "part_delta", "index": 0, "delta": delta})
    whole = {**part, **({"args": "".join(arguments(count, word))} if kind == "tool" else {"content": word * count})}
    yield line({"event_kind": "part_end", "index": 0, "part": whole})


_STREAMS: dict[str, Callable[..., Iterator[bytes]]] = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "gemini": gemini,
    "ai-sdk-ui": ai_sdk_ui,
    "ai-sdk-full": ai_sdk_full,
    "pydantic-ai": pydantic_ai,
}
