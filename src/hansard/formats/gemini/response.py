"""A Gemini response body: the first candidate is the message; what is left over of the body keeps its place in it."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.gemini.content import take_content, write_content
from hansard.formats.gemini.fields import NAME, Keys, camel, lacks, spelled, without
from hansard.formats.residue import pack, put, take_maybe_str, unpack
from hansard.model.conversation import Conversation, Message, ModelRef, Usage

PROVIDER = "google"
_FINISH = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
}
_STOP = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
RESPONSE = Keys("usageMetadata", "modelVersion", "responseId", "createTime")
_CANDIDATE = Keys("finishReason")
_COUNTS = {
    "promptTokenCount": "input_tokens",
    "candidatesTokenCount": "output_tokens",
    "totalTokenCount": "total_tokens",
    "thoughtsTokenCount": "reasoning_tokens",
    "cachedContentTokenCount": "cache_read_tokens",
}
_USAGE = Keys(*_COUNTS)


def read_response(document: dict[str, Any], snake: bool) -> Conversation:
    """The first candidate is the message. What is left over of the body keeps its place in it."""
    spelling: dict[str, Any] = {}
    body = camel(document, RESPONSE, snake, spelling)
    candidates = body.get("candidates")
    marks: dict[str, Any] = {}
    parts: list[Any] = []
    finish: str | UnsetType = UNSET
    if type(candidates) is list and candidates and type(candidates[0]) is dict:
        candidate = camel(candidates[0], _CANDIDATE, snake, spelling)
        if type(candidate.get("content")) is dict:
            content = dict(candidate.pop("content"))
            parts, marks = take_content(content, "model", snake, "$.candidates[0].content")
            if content:
                candidate["content"] = content
        else:
            without(marks, "content")
        finish = _take_finish(candidate, marks)
        if "index" not in candidate:
            without(marks, "index")
        elif type(candidate["index"]) is int and candidate["index"] == 0:
            del candidate["index"]
        del body["candidates"]
        if candidate or len(candidates) > 1:
            body["candidates"] = [candidate, *candidates[1:]]
    else:
        without(marks, "candidates")
    usage = _take_usage(body, snake, spelling)
    model = ModelRef(
        provider=PROVIDER,
        name=take_maybe_str(body, "modelVersion"),
        response_id=take_maybe_str(body, "responseId"),
    )
    message = Message(
        role="assistant",
        parts=parts,
        model=model,
        usage=usage,
        finish_reason=finish,
        created_at=take_maybe_str(body, "createTime"),
        extra=pack(NAME, body, {"response": True, **marks, **spelling}),
    )
    return Conversation(messages=[message], extra=pack(NAME, {}, {"case": "snake"} if snake else {}))


def write_response(message: Message, snake: bool) -> dict[str, Any]:
    rest, marks = unpack(NAME, message.extra)
    model = message.model if message.model is not UNSET else ModelRef()
    out = put({}, modelVersion=model.name, responseId=model.response_id, createTime=message.created_at)
    if not lacks(marks, "candidates"):
        left, others = take_candidate(rest)
        candidate: dict[str, Any] = {} if lacks(marks, "index") else {"index": 0}
        if not lacks(marks, "content"):
            role = marks["role"] if "role" in marks else UNSET if lacks(marks, "role") else "model"
            candidate["content"] = write_content(message, role, snake, take_left(left, "content"), marks)
        put(candidate, finishReason=_finish(message, marks))
        out["candidates"] = [spelled({**candidate, **left}, _CANDIDATE, snake, marks), *others]
    _put_usage(out, message.usage, rest, snake, marks)
    return spelled({**out, **rest}, RESPONSE, snake, marks)


def take_candidate(rest: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """What was left over of the first candidate, and the others."""
    kept = rest.pop("candidates", None)
    if type(kept) is not list or not kept or type(kept[0]) is not dict:
        return {}, []
    return dict(kept[0]), kept[1:]


def take_left(rest: dict[str, Any], key: str) -> dict[str, Any]:
    left = rest.pop(key, None)
    return dict(left) if type(left) is dict else {}


def _take_finish(candidate: dict[str, Any], marks: dict[str, Any]) -> str | UnsetType:
    native = take_maybe_str(candidate, "finishReason")
    if native is UNSET:
        return UNSET
    canonical = _FINISH.get(native, native)
    if _STOP.get(canonical, canonical) != native:
        marks["finishReason"] = native
    return canonical


def _finish(message: Message, marks: dict[str, Any]) -> str | UnsetType:
    reason, native = message.finish_reason, marks.get("finishReason")
    if type(native) is str and _FINISH.get(native, native) == reason:
        return native
    return UNSET if reason is UNSET else _STOP.get(reason, reason)


def _take_usage(body: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Usage | UnsetType:
    """Canonical output counts thoughts too, Gemini's candidates do not; what is no plain number is left over."""
    given = body.get("usageMetadata")
    if type(given) is not dict:
        return UNSET
    rest = camel(given, _USAGE, snake, marks)
    counts = {field: rest.pop(key) for key, field in _COUNTS.items() if type(rest.get(key)) is int}
    if "output_tokens" in counts:
        counts["output_tokens"] += counts.get("reasoning_tokens", 0)
    del body["usageMetadata"]
    if rest or not counts:
        body["usageMetadata"] = rest
    return Usage(**counts) if counts else UNSET


def _put_usage(
    out: dict[str, Any], usage: Usage | UnsetType, rest: dict[str, Any], snake: bool, marks: dict[str, Any]
) -> None:
    left = rest.get("usageMetadata")
    if usage is UNSET or (left is not None and type(left) is not dict):
        usage = Usage()
    counts = {key: getattr(usage, field) for key, field in _COUNTS.items() if getattr(usage, field) is not UNSET}
    if "candidatesTokenCount" in counts:
        counts["candidatesTokenCount"] -= counts.get("thoughtsTokenCount", 0)
    if type(left) is dict:
        del rest["usageMetadata"]
    if counts or type(left) is dict:
        out["usageMetadata"] = spelled({**counts, **(left or {})}, _USAGE, snake, marks)
