"""AI SDK UIMessages: a list, one message, or the body a `DefaultChatTransport` posts.  As of ai 5.0, 6.0 and 7.0.

    canonical                         native
    user                              a user message; inside an answer a `steering-message`
    assistant, tool, assistant ...    one assistant message, until the next user message; each assistant message
                                      begins with a `step-start`
    system                            only one that a client sent; other system prompts stay on the server
    text, reasoning                   text, reasoning (`state: done`)
    tool-call with its tool-result    one `tool-<name>` or `dynamic-tool` part (see `tools`)
    file                              file: a URL, or bytes as a data URL
    source                            source-url, source-document
    data                              data-<name>
    event of named data, with a time  data-<event type> in the answer; source and target in the metadata (`events`)
    raw(ai-sdk-ui)                    any other part (`custom`, `reasoning-file`), verbatim

The reader accepts messages of version 4 too (`versions`). Without a profile the writer returns the document as it was
read; with one (v5, v6, v7) it writes what that version accepts (`rules`).

A UIMessage must have an id: a message without one is written as `hansard-<position in the list>`, and that id at that
position reads as no id. This is a client format: encrypted reasoning, signatures, usage, models, runs, metadata and
the residue of other formats are written only if they came from such a document. Opaque reasoning is not bound to the
text before it, because the system prompt is not in the document. Lost, and reported: ids after the first of an answer.

Read `messages` first, then `content`, `tools` (call and result in one part), `versions` (messages of version 4) and
`rules` (what each version accepts). `stream` is the decoder of the UI message stream, `emit` its emitter; only these
two may import `streams`. Otherwise: the core of `formats`, `ai_sdk.reasoning`, the model. Free to change: detection,
`rules` and the chunk table in `emit` after a release of the SDK (`tests/judges/test_ai_sdk.py` asks the real
packages).
Stored, so never renamed: residue keys and spelling hints (`"$"`), ids `hansard-<n>`, `call-<n>`, `approval-<id>`.
"""

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
