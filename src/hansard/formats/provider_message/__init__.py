"""Provider messages: one provider-neutral `Message` type for OpenAI, Gemini and Claude; a list, an object, or one.

    canonical                         native
    system, developer, user           the same roles
    assistant                         reasoning, content, refusal, tool_calls
    tool                              one record per result; `call_id` (or `id`) is the id of the call
    text, file                        content: a string, or text, image, audio, file
    reasoning                         `reasoning`; signed: `extra.claude.thinking_blocks`
    refusal                           `refusal`
    tool-call                         tool_calls; `arguments` is a string of JSON
    signatures of Google              `extra.gemini.thought_signatures`
    a file id that a provider gave    `file_id`, and below its name in `extra`: `extra.openai.file_ids`
    raw(provider-message)             any other part, verbatim

Messages and parts that the format has no role or type for are left out, except retries and summaries, which are
written as text. Lost, and reported: the order of reasoning, text and calls in a message, tool errors, times, agents,
usage.

Read `messages` first, then `content`, `reasoning` (with the signatures in `extra`) and `tools`. May import: the core
of `formats`, the model. Free to change: detection, fast paths (they must equal the general path).
Stored, so never renamed: residue keys and spelling hints (`"$"`).
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

ROLES = ("system", "developer", "user", "assistant")
KINDS = ("text", "image", "audio", "file")
_FOREIGN_KEYS = (
    "parts",
    "kind",
    "uuid",
    "tool_call_id",
    "function_call",
    "reasoning_content",
    "reasoning_details",
    "messageId",
)


def sniff(document: Any) -> int:
    """`call_id`, flat tool calls and `extra` are unique to this format; plain roles and content fit others too."""
    records = document
    if type(document) is dict:
        records = document.get("messages") if "messages" in document else [document]
    if type(records) is not list or not records:
        return 0
    best = 1
    for record in records:
        if (sure := _sniff_record(record)) == 0:
            return 0
        best = max(best, sure)
    return best


def _sniff_record(record: Any) -> int:
    if type(record) is not dict or record.get("role") not in (*ROLES, "tool") or "content" not in record:
        return 0
    if any(key in record for key in _FOREIGN_KEYS) or type(record["content"]) not in (str, list):
        return 0
    best = 2 if type(record.get("reasoning")) in (str, list) else 1
    for block in record["content"] if type(record["content"]) is list else ():
        kind = block.get("type") if type(block) is dict else None
        if type(kind) is not str or kind not in KINDS:
            return 0
        if kind == "text":
            if type(block.get("text")) is not str:
                return 0
        else:
            if not any(type(block.get(key)) is str for key in ("url", "data", "file_id")) or "mediaType" in block:
                return 0
            best = max(best, 2)
    calls, extra = record.get("tool_calls"), record.get("extra")
    if type(calls) is list and calls:
        if not all(type(call) is dict and type(call.get("arguments")) is str and "name" in call for call in calls):
            return 0
        best = 3
    if type(record.get("call_id")) is str or (type(extra) is dict and ("claude" in extra or "gemini" in extra)):
        best = 3
    return best


FORMAT = Format(
    name="provider-message",
    title="Provider messages",
    module=__name__,
    sniff=sniff,
    binds=True,
)
