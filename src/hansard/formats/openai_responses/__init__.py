"""The Responses API of OpenAI."""

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
_OTHERS = {"messages", "contents", "generation_config", "encoding_format", "dimensions"}
_FOREIGN = {"parts", "tool_calls", "tool_call_id", "kind", "payload", "uuid"}
_BLOCKS = ("text", "image", "tool_use", "tool_result", "thinking", "image_url", "tool-call")  # others' content


def sniff(document: Any) -> int:
    """Nobody else has `input` items, or blocks called input_text; a list of plain messages could be others' too."""
    items = document
    if type(document) is dict:
        if document.get("object") == "response" and type(document.get("output")) is list:
            return 3
        if _OTHERS & document.keys():
            return 0
        items = document.get("input")
        if type(items) is str:
            return 2 if _SETTINGS & document.keys() else 1
    if type(items) is not list or not items or not all(map(is_item, items)):
        return 0
    sure, odd = (2, False) if type(document) is dict else (1, False)
    for item in items:
        kind, content = item.get("type", "message"), item.get("content")
        if _FOREIGN & item.keys() or type(kind) is not str or kind in _BLOCKS:
            return 0
        if kind in KINDS:
            sure = 3
        elif kind != "message" or item.get("role") not in (*ROLES, "assistant"):
            odd = True
        for block in content if type(content) is list and kind == "message" else ():
            sort = block.get("type") if type(block) is dict else None
            if sort in ("input_text", "output_text", "input_image", "input_file"):
                sure = 3
            elif sort in _BLOCKS:
                return 0
            odd = odd or type(sort) is not str
    return 0 if odd and sure == 1 else sure


def is_item(value: Any) -> bool:
    """An object that says of what kind it is, who said it, or which item it stands for."""
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
    why={"isError": "the output of a function says no more than its words"},
)
