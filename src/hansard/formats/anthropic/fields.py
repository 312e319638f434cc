"""Field tables of the Anthropic Messages API: blocks and settings. Blocks with logic are in `content` and `files`."""

from __future__ import annotations

from hansard.formats.field_table.blocks import Block
from hansard.formats.field_table.rows import Row
from hansard.model.parts import CompactionPart, ReasoningPart, TextPart, ToolCallPart

NAME = "anthropic"
CACHE = Row("cache_control")

TEXT = Block(NAME, "text", TextPart, [Row("text", "text", str, True), Row("citations"), CACHE])
THINKING = Block(
    NAME,
    "thinking",
    ReasoningPart,
    [Row("thinking", "text", str, True), Row("signature", "signature", str), CACHE],
)
REDACTED = Block(
    NAME,
    "redacted_thinking",
    ReasoningPart,
    [Row("data", "encrypted", str, True), CACHE],
    fixed={"text": ""},
)
COMPACTION = Block(
    NAME,
    "compaction",
    CompactionPart,
    [
        Row("content", "text", str, True),
        Row("encrypted_content", "encrypted", str),
        Row("signature", "signature", str),
        CACHE,
    ],
)


def _remember_name(call: ToolCallPart, names: dict[str, str]) -> None:
    """A result does not say the name of its tool: the call does."""
    names[call.tool_call_id] = call.tool_name  # type: ignore[index, assignment]


CALL = Block(
    NAME,
    "tool_use",
    ToolCallPart,
    [
        Row("id", "tool_call_id", str, True),
        Row("name", "tool_name", str, True),
        Row("input", "input"),
        Row("caller"),
        CACHE,
    ],
    names={"server_tool_use": {"provider_executed": True}, "mcp_tool_use": {"provider_executed": True}},
    then=_remember_name,
)

SETTINGS = (
    *("model", "max_tokens", "system", "tools", "tool_choice", "thinking", "temperature", "top_p", "top_k"),
    *("stop_sequences", "stream", "metadata", "service_tier", "container", "context_management", "mcp_servers"),
    *("output_config", "cache_control"),
)
