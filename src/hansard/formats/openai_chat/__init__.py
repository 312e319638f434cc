"""OpenAI Chat Completions and its dialects: a request, a list of messages, or a response.  As of openai 3.49.0.

    canonical                         native
    system, developer, user           the same roles; `name` is the sender's
    assistant                         content, then refusal, then tool_calls: reasoning first, calls last
    tool                              one `tool` message for each result; `function` is the deprecated spelling
    text                              the content string, or a text part; `audio.transcript`
    refusal                           the field `refusal`, or a refusal part
    tool-call                         tool_calls: function, custom; `function_call` is the deprecated spelling
    file                              image_url, input_audio, file; `audio` of an assistant
    reasoning                         the dialects' keys, see `reasoning`; written only if read from there
    raw(openai-chat)                  any other part, verbatim
    tools, settings                   see `settings`; docs/model.md has the table

Other settings stay with the conversation. The first choice of a response
is the message, other choices stay with the conversation. Lost, and reported: the order of text and calls in a turn,
errors of tools, files of results, ids, times, agents, other providers' reasoning.

Read `messages` first, then `content` (parts), `tools`, `reasoning` (dialects), `fields` (typed fast path), `rules`.
`stream` is the decoder, `emit` the emitter; only these may import `streams`. Otherwise: the core of `formats`, `rules`,
the model. `exchange/openai_finetune` builds on this format. Free to change: detection, a new dialect in `reasoning`.
Stored, so never renamed: residue keys and spelling hints (`"$"`: `key`, `at`, `content`, `shape`, `wordless` ...).
"""

from __future__ import annotations

from typing import Any

from hansard.formats.contract import Format

_TEXT_KEYS = {"delta", "text"}
_NOT_CHAT = ("parts", "kind", "call_id", "extra", "uuid", "turns", "contents", "messageId")
_DIALECT = ("reasoning_content", "reasoning_details", "thinking_blocks", "tool_call_id", "function_call")
_NOT_SETTINGS = ("system", "contents", "input", "stop_sequences", "anthropic_version", "systemInstruction")
_SETTINGS = ("max_completion_tokens", "response_format", "frequency_penalty", "presence_penalty", "logit_bias", "seed")
ROLES = ("developer", "system", "user", "assistant", "tool", "function")
PARTS = frozenset({"text", "refusal", "thinking", "image_url", "input_audio", "file"})
_MODELS = ("gpt-", "chatgpt-", "o1", "o3", "o4", "openai/")
_MORE_SETTINGS = ("reasoning_effort", "stream_options", "parallel_tool_calls", "logprobs", "functions", "n")
_NOT_PARTS = frozenset(  # block types of other formats with role and content
    {"image", "document", "thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use", "input_text"}
    | {"output_text", "input_image", "input_file", "reasoning", "tool-call", "tool-result", "audio", "custom"}
)


def sniff(document: Any) -> int:
    """Chat has unique keys; a plain list of roles and strings is ambiguous."""
    records = document
    if type(document) is dict:
        choices = document.get("choices")
        if type(choices) is list and "messages" not in document:
            whole = document.get("object") == "chat.completion"
            first = choices[0] if choices else {"message": {}} if whole else None
            return 3 if is_choice(first) else 0
        if any(key in document for key in _NOT_SETTINGS):
            return 0
        records = document.get("messages")
    if type(records) is not list or not records:
        return 0
    best = 1
    for record in records:
        if (confidence := _sniff_record(record)) == 0:
            return 0
        best = max(best, confidence)
    if best < 3 and any(map(_has_untyped_block, records)):
        return 0
    if best < 3 and type(document) is dict:
        if any(key in document for key in (*_SETTINGS, *_MORE_SETTINGS)) or _function_tools(document.get("tools")):
            return 3
        model = document.get("model")
        if type(model) is str and model.startswith(_MODELS):
            return 3
        if type(model) is str and records[0]["role"] in ("system", "developer"):
            return 2
        plain = all(record.keys() == {"role", "content"} and type(record["content"]) is str for record in records)
        if plain and "max_tokens" not in document:
            return 2  # a plain body means the same in every format that it fits; Anthropic requires `max_tokens`
    return best


def is_choice(choice: Any) -> bool:
    """Whether this is a choice with a message, or one whose message was removed by a content filter."""
    if type(choice) is not dict or type(choice.get("message")) is dict:
        return type(choice) is dict
    return choice.get("message") is None and type(choice.get("finish_reason")) is str and not _TEXT_KEYS & choice.keys()


def _sniff_record(record: Any) -> int:
    if type(record) is not dict or record.get("role") not in ROLES or any(key in record for key in _NOT_CHAT):
        return 0
    content, calls = record.get("content"), record.get("tool_calls")
    best = 3 if any(key in record for key in _DIALECT) or record["role"] == "function" else 1
    if type(content) is list:
        for block in content:
            kind = block.get("type") if type(block) is dict else None
            if kind == "text" or kind == "refusal":
                continue
            if (
                type(kind) is str
                and kind in PARTS
                and kind in block
                and not (kind == "thinking" and _is_anthropic_thinking(block))
            ):
                best = 3
            elif type(kind) is str and kind in _NOT_PARTS:
                return 0
    elif type(content) is dict and "format" in content:
        return 0
    if type(calls) is list and calls:
        if any(type(call) is dict and "arguments" in call for call in calls):
            return 0
        best = 3
    return best


def _has_untyped_block(record: dict[str, Any]) -> bool:
    """Whether the content has a block without a type, as other formats have."""
    content = record.get("content")
    return type(content) is list and any(type(one) is not dict or type(one.get("type")) is not str for one in content)


def _is_anthropic_thinking(block: dict[str, Any]) -> bool:
    return type(block["thinking"]) is str


def _function_tools(tools: Any) -> bool:
    return type(tools) is list and bool(tools) and type(tools[0]) is dict and type(tools[0].get("function")) is dict


FORMAT = Format(
    name="openai-chat",
    title="OpenAI Chat Completions",
    module=__name__,
    sniff=sniff,
    binds=True,
    own_provider="openai",
)
