"""The records of the Anthropic Messages API with all their fields; `usual` says what they are for."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats import field_table as usual
from hansard.formats.anthropic.content import read_block, write_block
from hansard.formats.field_table import Record, Unusual, Written, plain
from hansard.model.conversation import Message
from hansard.model.parts import RawPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart


class _Block(Record, tag_field="type"):
    cache_control: Any = UNSET


class _Text(_Block, tag="text", kw_only=True):
    text: str
    citations: Any = UNSET


class _Thinking(_Block, tag="thinking", kw_only=True):
    thinking: str
    signature: str


class _Redacted(_Block, tag="redacted_thinking"):
    data: Any = UNSET


class _Call(_Block, tag="tool_use", kw_only=True):
    id: str
    name: str
    input: Any = UNSET
    caller: Any = UNSET


class _ServerCall(_Block, tag="server_tool_use"):
    id: Any = UNSET
    name: Any = UNSET
    input: Any = UNSET
    caller: Any = UNSET


class _Result(_Block, tag="tool_result", kw_only=True):
    tool_use_id: str
    content: Any = UNSET
    is_error: bool | UnsetType = UNSET


class _Search(_Block, tag="web_search_tool_result"):
    tool_use_id: Any = UNSET
    content: Any = UNSET
    caller: Any = UNSET


class _Image(_Block, tag="image"):
    source: Any = UNSET


class _Document(_Block, tag="document"):
    source: Any = UNSET
    title: Any = UNSET
    context: Any = UNSET
    citations: Any = UNSET


class Said(Record):
    """A message of a request."""

    role: str
    content: str | list[_Text | _Thinking | _Redacted | _Call | _ServerCall | _Result | _Search | _Image | _Document]


class _Request(Record, kw_only=True):
    model: Any = UNSET
    max_tokens: Any = UNSET
    system: Any = UNSET
    messages: list[Said]
    tools: Any = UNSET
    tool_choice: Any = UNSET
    thinking: Any = UNSET
    temperature: Any = UNSET
    top_p: Any = UNSET
    top_k: Any = UNSET
    stop_sequences: Any = UNSET
    stream: Any = UNSET
    metadata: Any = UNSET
    service_tier: Any = UNSET
    container: Any = UNSET
    context_management: Any = UNSET
    mcp_servers: Any = UNSET
    output_config: Any = UNSET
    cache_control: Any = UNSET


def decode(raw: bytes) -> Any:
    """The document with typed messages, None when it holds anything else."""
    return usual.decode(raw, Said, _Request)


def read_said(said: Said, names: dict[str, str]) -> Message | None:
    """A usual message: words of the user's, an answer, results of tools and nothing beside them; None for any other."""
    content = said.content
    if type(content) is str:
        return Message(role="user", parts=[TextPart(text=content)]) if said.role == "user" else None
    if said.role == "assistant":
        return Message(role="assistant", parts=[_read_answer(block, names) for block in content])
    parts: list[Any] = []
    for block in content:
        if type(block) is not _Result or type(block.content) is not str or block.cache_control is not UNSET:
            return None
        if block.is_error is False:  # said, though nothing else is meant by silence
            return None
        call_id = block.tool_use_id
        parts.append(
            ToolResultPart(
                tool_call_id=call_id,
                tool_name=names.get(call_id, UNSET),
                output=block.content,
                is_error=block.is_error is True,
            )
        )
    return Message(role="tool", parts=parts) if parts and said.role == "user" else None


def _read_answer(block: Any, names: dict[str, str]) -> Any:
    kind = type(block)
    if block.cache_control is UNSET:
        if kind is _Text and block.citations is UNSET:
            return TextPart(text=block.text)
        if kind is _Call and block.caller is UNSET:
            names[block.id] = block.name
            return ToolCallPart(tool_call_id=block.id, tool_name=block.name, input=block.input)
        if kind is _Thinking:
            return ReasoningPart(text=block.thinking, signature=block.signature)
    part = read_block(plain(block), names)
    if type(part) is RawPart:
        raise Unusual
    return part


class _WrittenMessage(Written):
    role: str
    content: Any


class _WrittenText(Written):
    type: str
    text: str


class _WrittenCall(Written):
    type: str
    id: Any
    name: Any
    input: Any


class _WrittenResult(Written):
    type: str
    tool_use_id: Any
    content: str
    is_error: bool | UnsetType


def write_said(message: Message) -> Written | None:
    """A message without residue: words of the user's, an answer, one result of a tool; None for any other."""
    role, parts = message.role, message.parts
    if role == "assistant":
        return _WrittenMessage(role, [_write_answer(part) for part in parts])
    if len(parts) != 1:
        return None
    part = parts[0]
    if role == "user" and type(part) is TextPart and part.extra is UNSET:
        return _WrittenMessage(role, part.text)
    if role == "tool" and type(part) is ToolResultPart and part.extra is UNSET and type(part.output) is str:
        if part.content is UNSET:
            failed = True if part.is_error is True else UNSET
            return _WrittenMessage("user", [_WrittenResult("tool_result", part.tool_call_id, part.output, failed)])
    return None


def _write_answer(part: Any) -> Any:
    kind = type(part)
    if part.extra is UNSET:
        if kind is TextPart:
            return _WrittenText("text", part.text)
        if kind is ToolCallPart:
            return _WrittenCall("tool_use", part.tool_call_id, part.tool_name, part.input)
    return write_block(part)
