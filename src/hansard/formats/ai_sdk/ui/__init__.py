"""UIMessages of the AI SDK, their stream and its emitter."""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_DISTINCTIVE = ("tool-", "data-", "dynamic-tool", "source-", "step-start", "reasoning-file", "steering-message")


def sniff(document: Any) -> int:
    """UIMessages have parts of types that only the SDK has; plain text parts fit other formats too."""
    body = document if type(document) is dict else {}
    if type(document) is list:
        records = document
    elif type(body.get("messages")) is list:
        records = body["messages"]
    else:
        records = [body.get("message", body)]
    if not records:
        return 0
    sure = 3 if body.get("trigger") in ("submit-message", "regenerate-message") else 0
    for record in records:
        if type(record) is not dict or record.get("role") not in ("system", "user", "assistant", "data"):
            return 0
        found = _sniff_record(record)
        if not found:
            return 0
        sure = max(sure, found)
    return sure


def _sniff_record(record: dict[str, Any]) -> int:
    parts = record.get("parts")
    if type(parts) is not list:
        return _sniff_v4(record)
    if "parentMessageId" in record or not all(type(part) is dict and type(part.get("type")) is str for part in parts):
        return 0
    metadata = record.get("metadata")
    if type(metadata) is dict and "schemaVersion" in metadata:
        return 0
    if any(part["type"] in ("text", "reasoning") and "content" in part and "text" not in part for part in parts):
        return 0  # OpenTelemetry
    kinds = {part["type"] for part in parts}
    if kinds & {"tool-call", "tool-result", "tool_call", "tool_call_response", "raw"}:
        return 0
    if any(kind.startswith(_DISTINCTIVE) for kind in kinds) or _sniff_v4(record) == 3:
        return 3
    return 2 if type(record.get("id")) is str else 1


def _sniff_v4(record: dict[str, Any]) -> int:
    """Version 4 has fields of its own beside a string `content`."""
    if type(record.get("content")) is not str:
        return 0
    if any(name in record for name in ("toolInvocations", "experimental_attachments", "annotations")):
        return 3
    parts = record.get("parts")
    if type(parts) is list:
        return 3 if any(type(part) is dict and part.get("type") == "tool-invocation" for part in parts) else 2
    return 1 if type(record.get("id")) is str else 0


FORMAT = Format(
    name="ai-sdk-ui",
    title="AI SDK UIMessages",
    module=__name__,
    sniff=sniff,
    profiles=("v5", "v6", "v7"),
    why={
        "signature": "only its provider can read it; clients do not receive it",
        "encrypted": "only its provider can read it; clients do not receive it",
        "binding": "only its provider can read it; clients do not receive it",
        "usage": "clients do not receive what the server knows about the run",
        "model": "clients do not receive what the server knows about the run",
        "runId": "clients do not receive what the server knows about the run",
        "metadata": "only metadata that a client sent is returned to clients",
    },
)
