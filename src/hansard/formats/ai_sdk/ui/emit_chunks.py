"""The chunks of the AI SDK's UI message stream: which version of the client takes which type, and which fields of it.

A chunk of an unknown type ends the client's stream in every version, a chunk with an unknown field in those released
before July 2026. So a chunk goes out only to a version that knows it, and with the fields it had then:

    oldest    what 5.0.0, 6.0.0 and 7.0.0 all take
    v5        the newest of version 5: also a reason to finish, errors in inputs, preliminary outputs
    v6        also approvals, denials, titles, metadata of tools
    v7        also files of reasoning, custom parts, answers to approvals, citations

The numbers are the versions a thing came with; 5.1 is a later version 5, and so on.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

LEVELS = {"oldest": 5.0, "v5": 5.9, "v6": 6.9, "v7": 7.9}
_META = {"providerMetadata": 5.0}
_INPUT = {
    "toolCallId": 5.0,
    "toolName": 5.0,
    "providerExecuted": 5.0,
    "dynamic": 5.0,
    "title": 6.0,
    "toolMetadata": 6.1,
}
_OUTPUT = {"toolCallId": 5.0, "providerExecuted": 5.0, "dynamic": 5.0, "providerMetadata": 6.1, "toolMetadata": 6.1}
_APPROVAL = {"approvalId": 6.0, "toolCallId": 6.0, "signature": 6.1, "approvalDescriptor": 6.1, "inputSchemaInput": 6.1}
_CHUNKS: dict[str, tuple[float, dict[str, float]]] = {
    "start": (5.0, {"messageId": 5.0, "messageMetadata": 5.0}),
    "start-step": (5.0, {}),
    "text-start": (5.0, {"id": 5.0, **_META}),
    "text-end": (5.0, {"id": 5.0, "citations": 7.1, **_META}),
    "reasoning-start": (5.0, {"id": 5.0, **_META}),
    "reasoning-end": (5.0, {"id": 5.0, **_META}),
    "tool-input-start": (5.0, {**_INPUT, "providerMetadata": 6.1, "inputEncoding": 6.1}),
    "tool-input-available": (5.0, {**_INPUT, **_META, "input": 5.0}),
    "tool-input-error": (5.1, {**_INPUT, **_META, "input": 5.0, "errorText": 5.0}),
    "tool-approval-request": (6.0, {**_APPROVAL, "reason": 7.1, "isAutomatic": 7.0}),
    "tool-approval-response": (7.0, {"approvalId": 7.0, "approved": 7.0, "reason": 7.0, "providerExecuted": 7.0}),
    "tool-output-available": (5.0, {**_OUTPUT, "output": 5.0, "preliminary": 5.1}),
    "tool-output-error": (5.0, {**_OUTPUT, "errorText": 5.0}),
    "tool-output-denied": (6.0, {"toolCallId": 6.0}),
    "source-url": (5.0, {"sourceId": 5.0, "url": 5.0, "title": 5.0, **_META}),
    "source-document": (5.0, {"sourceId": 5.0, "mediaType": 5.0, "title": 5.0, "filename": 5.0, **_META}),
    "file": (5.0, {"url": 5.0, "mediaType": 5.0, **_META}),
    "reasoning-file": (7.0, {"url": 7.0, "mediaType": 7.0, **_META}),
    "custom": (7.0, {"kind": 7.0, **_META}),
    "steering-message": (7.1, {"id": 7.1, "parts": 7.1}),
    "message-metadata": (5.0, {"messageMetadata": 5.0}),
    "finish-step": (5.0, {}),
    "reset-step": (7.1, {}),
    "finish": (5.0, {"finishReason": 5.1, "messageMetadata": 5.0}),
    "abort": (5.0, {"reason": 5.1}),
    "error": (5.0, {"errorText": 5.0}),
}
_DATA: tuple[float, dict[str, float]] = (5.0, {"id": 5.0, "data": 5.0, "transient": 5.0})


def fitted_chunk(kind: str, fields: dict[str, Any], level: float) -> dict[str, Any] | None:
    """The chunk with the fields that a client of this level takes; None if it does not take the chunk at all."""
    since, known = _DATA if kind.startswith("data-") else _CHUNKS.get(kind, (99.0, {}))
    if since > level:
        return None
    out: dict[str, Any] = {"type": kind}
    for key, value in fields.items():
        if value is not UNSET and known.get(key, 99.0) <= level:
            out[key] = value
    return out


def is_forbidden(raw: bytes) -> bool:
    """Might this JSON have a key that JavaScript's safe parsers refuse?"""
    return b'"__proto__"' in raw or (b'"constructor"' in raw and b'"prototype"' in raw)


def without_forbidden(value: Any) -> Any:
    """The data without such keys."""
    if type(value) is dict:
        return {key: without_forbidden(item) for key, item in value.items() if not _refused(key, item)}
    return [without_forbidden(item) for item in value] if type(value) is list else value


def _refused(key: str, item: Any) -> bool:
    return key == "__proto__" or (key == "constructor" and type(item) is dict and "prototype" in item)
