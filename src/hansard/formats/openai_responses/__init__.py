"""OpenAI Responses API: a request, a list of items, or a response.  As of openai 3.49.0.

    canonical                         native
    system (hint `at`)                the `instructions` field
    system, developer, user           one message item each; a single text is a string
    assistant                         consecutive items of the model: reasoning, messages, calls
    tool                              the consecutive outputs after them
    developer, one raw part           control items: additional_tools, configuration_update, compaction_trigger
    text, refusal                     a message item of the assistant; its short form without residue
    reasoning, compaction             reasoning: summaries (or content) joined, encrypted_content; compaction
    tool-call, tool-result            see `tools`
    file                              see `content`
    raw(openai-responses)             any other item or block, verbatim
    tools, settings                   see `settings`; docs/model.md has the table

A response is an assistant message with model, usage and finish reason, with the tools and settings it repeats. Lost,
and reported: ids and times of messages, the error flag of function outputs, other providers' reasoning, and the
boundary between consecutive assistant messages.

Read `messages` first, then `tools` (calls and outputs: two tables), `content` (blocks), `reasoning`, `rules`. `stream`
is the decoder; only it may import `streams`. Otherwise: the core of `formats`, `rules`, the model.
`coding_agents/codex` builds on this format. Free to change: detection, a row in `tools._TOOLS` for a new built-in tool
(add its type to `KINDS`).
Stored, so never renamed: residue keys and spelling hints (`"$"`: `type`, `item`, `same` ...).
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_SETTINGS = {"instructions", "previous_response_id", "max_output_tokens", "store", "include", "reasoning", "tools"}
ROLES = ("user", "system", "developer")
KINDS = frozenset(
    {"reasoning", "compaction", "item_reference", "mcp_approval_request", "mcp_call", "mcp_list_tools", "program"}
    | {"apply_patch_call", "code_interpreter_call", "computer_call", "custom_tool_call", "file_search_call"}
    | {"function_call", "image_generation_call", "local_shell_call", "shell_call", "tool_search_call"}
    | {"web_search_call", "apply_patch_call_output", "computer_call_output", "custom_tool_call_output"}
    | {"function_call_output", "local_shell_call_output", "program_output", "shell_call_output", "tool_search_output"}
)
_FOREIGN_REQUEST_KEYS = {"messages", "contents", "generation_config", "encoding_format", "dimensions"}
_FOREIGN_KEYS = {"contents", "messageId", "parts", "tool_calls", "tool_call_id", "kind", "payload", "uuid"}
_BLOCKS = ("text", "image", "tool_use", "tool_result", "thinking", "image_url", "tool-call")  # of other formats


def sniff(document: Any) -> int:
    """`input` items and blocks such as input_text are unique; a list of plain messages is ambiguous."""
    items = document
    if type(document) is dict:
        if document.get("object") == "response" and type(document.get("output")) is list:
            return 3
        if _FOREIGN_REQUEST_KEYS & document.keys():
            return 0
        items = document.get("input")
        if type(items) is str:
            return 2 if _SETTINGS & document.keys() else 1
    if type(items) is not list or not items or not all(map(is_item, items)):
        return 0
    confidence, ambiguous = (2, False) if type(document) is dict else (1, False)
    for item in items:
        kind, content = item.get("type", "message"), item.get("content")
        if _FOREIGN_KEYS & item.keys() or type(kind) is not str or kind in _BLOCKS:
            return 0
        if kind in KINDS:
            confidence = 3
        elif kind != "message" or item.get("role") not in (*ROLES, "assistant"):
            ambiguous = True
        for block in content if type(content) is list and kind == "message" else ():
            block_type = block.get("type") if type(block) is dict else None
            if block_type in ("input_text", "output_text", "input_image", "input_file"):
                confidence = 3
            elif block_type in _BLOCKS:
                return 0
            ambiguous = ambiguous or type(block_type) is not str
    return 0 if ambiguous and confidence == 1 else confidence


def is_item(value: Any) -> bool:
    """Whether this is an item: an object with a type, a role or an id."""
    if type(value) is not dict:
        return False
    return type(value.get("type")) is str or type(value.get("role")) is str or type(value.get("id")) is str


FORMAT = Format(
    name="openai-responses",
    title="OpenAI Responses API",
    module=__name__,
    sniff=sniff,
    keys=frozenset({"input", "output"}),
    binds=True,
    own_provider="openai",
    why={"isError": "function_call_output has no error flag"},
)
