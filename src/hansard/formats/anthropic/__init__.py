"""Anthropic Messages API: a request, a bare list of messages, or a response.  As of anthropic 2.8.0, GA and beta.

    canonical                         native
    system (leading)                  the `system` field; later ones `role: system`
    user, tool                        a user message; tool results and the rest of it are messages of their own
    text                              text; citations and cache_control are residue
    reasoning                         thinking (signature), redacted_thinking (encrypted)
    compaction                        compaction (its text, encrypted, signature)
    tool-call                         tool_use; provider-executed: server_tool_use, mcp_tool_use
    tool-result                       tool_result; provider-executed: every other *_tool_result
    file                              image, document (base64, url, file, text)
    raw(anthropic)                    any other block, verbatim; alone in an event: a record of an unknown role
    tools, settings                   see `settings`; docs/model.md has the table

Other settings stay with the conversation. Lost, and reported: ids,
times, agents, other providers' reasoning.

Read `fields` first (the field tables; `formats/field_table/` explains them), then `content` (blocks with logic),
`files`, `messages`, `rules`. `stream` is the decoder; only it may import `streams`. Otherwise: the core of `formats`,
`rules`, the model. Free to change: detection, a new key or block in `fields`, `rules` when the API changes what it
accepts. Stored, so never renamed: residue keys and spelling hints (`"$"`: `type`, `content`, `joined`, `at` ...).
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

ROLES = ("user", "assistant", "system")
_TELLING = {
    *("thinking", "redacted_thinking", "compaction", "fallback"),
    *("tool_use", "tool_result", "server_tool_use", "mcp_tool_use"),
}
_NOT_BLOCKS = {  # what others put into the content of a message with a role
    *("image", "image_url", "input_audio", "file", "audio", "refusal", "reasoning", "custom"),
    *("input_text", "output_text", "input_image", "input_file", "tool-call", "tool-result", "tool-invocation"),
}


def sniff(document: Any) -> int:
    """Anthropic has block types of its own; plain `messages` also match other formats."""
    if type(document) is dict and document.get("type") == "message" and type(document.get("content")) is list:
        blocks = [block.get("type") for block in document["content"] if type(block) is dict]
        return 0 if any(kind in _NOT_BLOCKS for kind in blocks if type(kind) is str) else 3
    records = document.get("messages") if type(document) is dict else document
    if type(records) is not list or not records or not all(type(record) is dict for record in records):
        return 0
    if any(
        record.get("role") not in ROLES or ("content" not in record and record["role"] != "system")
        for record in records
    ):
        return 0
    if any(
        key in record
        for record in records
        for key in ("parts", "tool_calls", "tool_call_id", "call_id", "kind", "messageId")
    ):
        return 0
    sure = 2 if type(document) is dict and ("system" in document or "max_tokens" in document) else 1
    odd = False
    for record in records:
        for block in record["content"] if type(record.get("content")) is list else ():
            kind = block.get("type") if type(block) is dict else None
            if type(kind) is not str:
                odd = True
            elif kind == "thinking" and type(block.get(kind)) is list:
                return 0
            elif kind in _TELLING or (kind in ("image", "document") and type(block.get("source")) is dict):
                sure = 3
            elif kind in _NOT_BLOCKS:
                return 0
    return 0 if odd and sure < 3 else sure


FORMAT = Format(
    name="anthropic",
    title="Anthropic Messages API",
    module=__name__,
    sniff=sniff,
    binds=True,
    own_provider="anthropic",
)
