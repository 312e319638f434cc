"""The four request formats the provider speaks: what a request says (`Seen`), and an answer, whole and as a stream.

A block of an answer is ("think", text), ("say", text) or ("call", tool, arguments); the arguments of a free-form tool
are a text, and a dot in the name of a tool separates its namespace.
"""

from __future__ import annotations

import base64
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from tests.lab.provider import Answer

Block = tuple[Any, ...]
Send = Callable[..., None]


class Seen(NamedTuple):
    """A request: names of the offered tools, and its turns in order: ("user", text) or ("result", text)."""

    model: str
    tools: set[str]
    turns: list[tuple[str, str]]


class Wire(Protocol):
    """One request format."""

    counts_cache_writes: bool

    def streams(self, path: str, request: dict[str, Any]) -> bool: ...
    def read(self, path: str, request: dict[str, Any]) -> Seen: ...
    def whole(self, answer: Answer) -> Any: ...
    def stream(self, answer: Answer, send: Send) -> None: ...


def _id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:24]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in content or [] if isinstance(part, dict))


def _pieces(text: str, size: int = 24) -> Iterator[str]:
    return (text[i : i + size] for i in range(0, len(text), size))


def _signature() -> str:
    return base64.b64encode(os.urandom(24)).decode()


class Responses:
    """OpenAI Responses."""

    counts_cache_writes = False

    def streams(self, path: str, request: dict[str, Any]) -> bool:
        return bool(request.get("stream"))

    def read(self, path: str, request: dict[str, Any]) -> Seen:
        tools: set[str] = set()
        for tool in request.get("tools") or []:
            inner = tool.get("tools") or [] if tool.get("type") == "namespace" else [tool]
            tools |= {one["name"] for one in inner if "name" in one}
        given = request.get("input") or []
        turns = []
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            if str(item.get("type", "message")).endswith("_output"):
                turns.append(("result", _text(item.get("output"))))
            elif item.get("role") == "user":
                turns.append(("user", _text(item.get("content"))))
        return Seen(request.get("model", ""), tools, turns)

    def _items(self, answer: Answer) -> Iterator[dict[str, Any]]:
        for kind, *given in answer.blocks:
            if kind == "think":
                summary = [{"type": "summary_text", "text": given[0]}]
                yield {"type": "reasoning", "id": _id("rs_"), "summary": summary, "encrypted_content": _signature()}
            elif kind == "say":
                part = {"type": "output_text", "text": given[0], "annotations": []}
                message = {"type": "message", "id": _id("msg_"), "role": "assistant", "status": "completed"}
                yield {**message, "content": [part]}
            elif isinstance(given[1], str):
                call = {"type": "custom_tool_call", "id": _id("ctc_"), "status": "completed", "call_id": _id("call_")}
                yield {**call, "name": given[0], "input": given[1]}
            else:
                space, _, name = given[0].rpartition(".")
                call = {"type": "function_call", "id": _id("fc_"), "status": "completed", "call_id": _id("call_")}
                yield {
                    **call,
                    "name": name,
                    "arguments": json.dumps(given[1]),
                    **({"namespace": space} if space else {}),
                }

    def whole(self, answer: Answer) -> Any:
        usage = answer.usage
        given = usage["input"] + usage["cacheRead"]
        counted = {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": usage["cacheRead"]},
            "output_tokens": usage["output"],
            "output_tokens_details": {"reasoning_tokens": usage["reasoning"]},
            "total_tokens": given + usage["output"],
        }
        head = {"id": _id("resp_"), "object": "response", "created_at": int(time.time()), "model": answer.model}
        return {**head, "status": "completed", "output": list(self._items(answer)), "usage": counted}

    def stream(self, answer: Answer, send: Send) -> None:
        whole = self.whole(answer)
        number = iter(range(1 << 30))

        def event(kind: str, **fields: Any) -> None:
            send({"type": kind, "sequence_number": next(number), **fields}, kind)

        event("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
        for i, item in enumerate(whole["output"]):
            at = {"item_id": item["id"], "output_index": i}
            event("response.output_item.added", output_index=i, item={**item, **_emptied(item)})
            if item["type"] == "message":
                text = item["content"][0]["text"]
                for piece in _pieces(text):
                    event("response.output_text.delta", **at, content_index=0, delta=piece, logprobs=[])
                event("response.output_text.done", **at, content_index=0, text=text, logprobs=[])
            elif item["type"] == "reasoning":
                text = item["summary"][0]["text"]
                event("response.reasoning_summary_part.added", **at, summary_index=0, part=item["summary"][0])
                event("response.reasoning_summary_text.delta", **at, summary_index=0, delta=text)
                event("response.reasoning_summary_text.done", **at, summary_index=0, text=text)
            event("response.output_item.done", output_index=i, item=item)
        event("response.completed", response=whole)


def _emptied(item: dict[str, Any]) -> dict[str, Any]:
    """What an output item has not yet when its stream begins."""
    empty: dict[str, Any] = {"summary": [], "content": [], "input": "", "arguments": ""}
    return {key: value for key, value in empty.items() if key in item}


class Chat:
    """OpenAI Chat Completions."""

    counts_cache_writes = False

    def streams(self, path: str, request: dict[str, Any]) -> bool:
        return bool(request.get("stream"))

    def read(self, path: str, request: dict[str, Any]) -> Seen:
        tools = {tool["function"]["name"] for tool in request.get("tools") or [] if "function" in tool}
        kinds = {"tool": "result", "user": "user"}
        turns = [(kinds[one["role"]], _text(one.get("content"))) for one in request["messages"] if one["role"] in kinds]
        return Seen(request.get("model", ""), tools, turns)

    def _usage(self, answer: Answer) -> dict[str, Any]:
        usage = answer.usage
        given = usage["input"] + usage["cacheRead"]
        return {
            "prompt_tokens": given,
            "completion_tokens": usage["output"],
            "total_tokens": given + usage["output"],
            "prompt_tokens_details": {"cached_tokens": usage["cacheRead"]},
            "completion_tokens_details": {"reasoning_tokens": usage["reasoning"]},
        }

    def _head(self, answer: Answer, kind: str) -> dict[str, Any]:
        return {"id": _id("chatcmpl-"), "object": kind, "created": int(time.time()), "model": answer.model}

    def _calls(self, answer: Answer) -> list[dict[str, Any]]:
        return [
            {"id": _id("call_"), "type": "function", "function": {"name": one[1], "arguments": json.dumps(one[2])}}
            for one in answer.blocks
            if one[0] == "call"
        ]

    def whole(self, answer: Answer) -> Any:
        calls = self._calls(answer)
        message = {"role": "assistant", "content": "".join(one[1] for one in answer.blocks if one[0] == "say") or None}
        choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop"}
        choice["message"] = {**message, **({"tool_calls": calls} if calls else {})}
        return {**self._head(answer, "chat.completion"), "choices": [choice], "usage": self._usage(answer)}

    def stream(self, answer: Answer, send: Send) -> None:
        head, calls = self._head(answer, "chat.completion.chunk"), self._calls(answer)

        def chunk(delta: dict[str, Any], finish: str | None = None) -> None:
            send({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

        chunk({"role": "assistant", "content": ""})
        for kind, *given in answer.blocks:
            if kind == "think":
                chunk({"reasoning_content": given[0]})
            elif kind == "say":
                for piece in _pieces(given[0]):
                    chunk({"content": piece})
        for i, call in enumerate(calls):
            function = call["function"]
            chunk({"tool_calls": [{"index": i, **call, "function": {"name": function["name"], "arguments": ""}}]})
            for piece in _pieces(function["arguments"]):
                chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
        chunk({}, "tool_calls" if calls else "stop")
        send({**head, "choices": [], "usage": self._usage(answer)})
        send("[DONE]")


class Messages:
    """Anthropic Messages."""

    counts_cache_writes = True

    def streams(self, path: str, request: dict[str, Any]) -> bool:
        return bool(request.get("stream"))

    def read(self, path: str, request: dict[str, Any]) -> Seen:
        turns: list[tuple[str, str]] = []
        for message in request["messages"]:
            if message["role"] == "user":
                content = message["content"]
                for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                    result = part.get("type") == "tool_result"
                    turns.append(("result", _text(part.get("content"))) if result else ("user", part.get("text", "")))
        return Seen(request.get("model", ""), {tool["name"] for tool in request.get("tools") or []}, turns)

    def _usage(self, answer: Answer) -> dict[str, Any]:
        usage = answer.usage
        names = {"input": "input_tokens", "cacheWrite": "cache_creation_input_tokens"}
        names |= {"cacheRead": "cache_read_input_tokens", "output": "output_tokens"}
        return {name: usage[key] for key, name in names.items()}

    def whole(self, answer: Answer) -> Any:
        thinks = (answer.request.get("thinking") or {}).get("type") in ("enabled", "adaptive")
        content: list[dict[str, Any]] = []
        for kind, *given in answer.blocks:
            if kind == "think" and thinks:
                content.append({"type": "thinking", "thinking": given[0], "signature": _signature()})
            elif kind == "say":
                content.append({"type": "text", "text": given[0]})
            elif kind == "call":
                content.append({"type": "tool_use", "id": _id("toolu_"), "name": given[0], "input": given[1]})
        stop = "tool_use" if any(one["type"] == "tool_use" for one in content) else "end_turn"
        head = {"id": _id("msg_"), "type": "message", "role": "assistant", "model": answer.model, "content": content}
        return {**head, "stop_reason": stop, "stop_sequence": None, "usage": self._usage(answer)}

    def stream(self, answer: Answer, send: Send) -> None:
        whole = self.whole(answer)

        def event(kind: str, **fields: Any) -> None:
            send({"type": kind, **fields}, kind)

        begun = {**whole["usage"], "output_tokens": 1}
        event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": begun})
        for i, block in enumerate(whole["content"]):
            if block["type"] == "thinking":
                event("content_block_start", index=i, content_block={**block, "thinking": "", "signature": ""})
                deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            elif block["type"] == "text":
                event("content_block_start", index=i, content_block={**block, "text": ""})
                deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
            else:
                event("content_block_start", index=i, content_block={**block, "input": {}})
                given = _pieces(json.dumps(block["input"]))
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in given]
            for delta in deltas:
                event("content_block_delta", index=i, delta=delta)
            event("content_block_stop", index=i)
        event("message_delta", delta={"stop_reason": whole["stop_reason"], "stop_sequence": None}, usage=whole["usage"])
        event("message_stop")


class Gemini:
    """Gemini's generateContent. A request that wants JSON is a question of the agent itself."""

    counts_cache_writes = False

    def streams(self, path: str, request: dict[str, Any]) -> bool:
        return "stream" in path

    def read(self, path: str, request: dict[str, Any]) -> Seen:
        config = request.get("generationConfig") or {}
        wants_json = config.get("responseMimeType") == "application/json" or _schema(request) is not None
        declared = [one for group in request.get("tools") or [] for one in group.get("functionDeclarations") or []]
        turns = []
        for content in request.get("contents") or []:
            for part in content["parts"] if content.get("role") != "model" else []:
                result = part.get("functionResponse")
                turns.append(("result", json.dumps(result)) if result else ("user", part.get("text", "")))
        model = path.rpartition("models/")[2].partition(":")[0]
        return Seen(model, set() if wants_json else {one["name"] for one in declared}, turns)

    def _chunk(self, answer: Answer, response: str, parts: list[dict[str, Any]], last: bool) -> dict[str, Any]:
        usage = answer.usage
        given = usage["input"] + usage["cacheRead"]
        counted = {
            "promptTokenCount": given,
            "cachedContentTokenCount": usage["cacheRead"],
            "candidatesTokenCount": usage["output"] - usage["reasoning"],
            "thoughtsTokenCount": usage["reasoning"],
            "totalTokenCount": given + usage["output"],
        }
        candidate = {
            "content": {"role": "model", "parts": parts},
            "index": 0,
            **({"finishReason": "STOP"} if last else {}),
        }
        return {
            "candidates": [candidate],
            "usageMetadata": counted,
            "modelVersion": answer.model,
            "responseId": response,
        }

    def _parts(self, answer: Answer) -> list[dict[str, Any]]:
        schema = _schema(answer.request)
        if schema is not None:
            wanted = {key: _sample(key, one) for key, one in (schema.get("properties") or {}).items()}
            return [{"text": json.dumps(wanted)}]
        parts: list[dict[str, Any]] = []
        for kind, *given in answer.blocks:
            if kind == "call":
                call = {"name": given[0], "args": given[1], "id": _id("fc_")}
                parts.append({"functionCall": call, "thoughtSignature": _signature()})
            else:
                parts.append({"text": given[0], **({"thought": True} if kind == "think" else {})})
        return parts

    def whole(self, answer: Answer) -> Any:
        return self._chunk(answer, _id(""), self._parts(answer), True)

    def stream(self, answer: Answer, send: Send) -> None:
        parts, response = self._parts(answer), _id("")
        for i, part in enumerate(parts):
            send(self._chunk(answer, response, [part], i == len(parts) - 1))


def _schema(request: dict[str, Any]) -> dict[str, Any] | None:
    config = request.get("generationConfig") or {}
    found = config.get("responseJsonSchema") or config.get("responseSchema")
    return found if isinstance(found, dict) else None


def _sample(name: str, schema: dict[str, Any]) -> Any:
    """Some value that a schema allows."""
    if schema.get("enum"):
        return schema["enum"][-1]
    values: dict[Any, Any] = {"number": 1, "integer": 1, "boolean": False, "array": [], "object": {}}
    return values.get(str(schema.get("type")).lower(), "flash" if "model" in name else "x")


WIRES: tuple[tuple[str, Wire], ...] = (
    (r"/responses$", Responses()),
    (r"/chat/completions$", Chat()),
    (r"/messages$", Messages()),
    (r":(stream)?[gG]enerateContent$", Gemini()),
)
"""The end of a request's path, and the format."""
