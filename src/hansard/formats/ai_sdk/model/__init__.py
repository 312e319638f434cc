"""AI SDK ModelMessages: the input of `streamText` and the content of `responseMessages`.  As of ai 5.0, 6.0 and 7.0.

    canonical                         native
    system                            system (`content` is a string)
    user, assistant, tool             the same; `content` is a list of parts, or a string
    text, reasoning                   text, reasoning; opaque reasoning in `providerOptions`
    file                              file (`data`: base64, an https URL or a data URL), image
    tool-call                         tool-call; its `approval` a tool-approval-request after it and, once answered,
                                      a tool-approval-response in the tool message
    tool-result                       tool-result (`tools`); in an assistant message: run by the provider
    raw(ai-sdk-model)                 any other part (`custom`, `reasoning-file`), verbatim

A server format: signatures are written into `providerOptions`. Without a profile the writer returns the document as it
was read; with one (v5, v6, v7) it writes what `streamText` of that version accepts. Version 7 takes system messages
in `messages` only with `allowSystemInMessages: true`. Calls and results are paired, and files have readable content
(`repair`, `pairing`). Lost, and reported: ids, times, models and usage, sources, data, calls that were cut off.

Read `messages` first, then `content`, `files`, `tools` (results and approvals); `repair` and `pairing` change messages
before they are written, `rules` is what the schema of each SDK version accepts. May import: the core of `formats`,
`formats.rules`, `ai_sdk.reasoning`, the model. Free to change: detection, `rules` after a release of the SDK
(`tests/judges/test_ai_sdk.py` and `test_stream_text.py` ask the real packages).
Stored, so never renamed: residue keys and spelling hints (`"$"`).
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

ROLES = ("system", "user", "assistant", "tool")
_DISTINCTIVE = {"tool-call", "tool-result", "tool-approval-request", "tool-approval-response", "reasoning-file"}


def sniff(document: Any) -> int:
    """ModelMessages have hyphenated part types and `providerOptions`; plain messages fit other formats too."""
    records = document.get("messages") if type(document) is dict else document
    if type(records) is not list or not records:
        return 0
    sure = 1
    for record in records:
        if type(record) is not dict or record.get("role") not in ROLES or "parts" in record:
            return 0
        content = record.get("content")
        if any(key in record for key in ("id", "tool_calls", "tool_call_id", "name", "type", "messageId")):
            return 0
        if "providerOptions" in record:
            sure = 3
        if type(content) is list:
            for part in content:
                found = _sniff_part(part)
                if not found:
                    return 0
                sure = max(sure, found)
        elif type(content) is not str or record["role"] == "tool":
            return 0
    return sure


def _sniff_part(part: Any) -> int:
    if type(part) is not dict or type(part.get("type")) is not str:
        return 0
    kind = part["type"]
    if kind in _DISTINCTIVE or "providerOptions" in part or (kind in ("file", "image") and "mediaType" in part):
        return 3
    if kind == "reasoning" and type(part.get("text")) is str:
        return 2
    return (
        1 if kind == "text" and not part.keys() - {"type", "text"} else 1 if kind in ("file", "image", "custom") else 0
    )


FORMAT = Format(
    name="ai-sdk-model",
    title="AI SDK ModelMessages",
    module=__name__,
    sniff=sniff,
    profiles=("v5", "v6", "v7"),
    binds=True,
)
