"""Typed records of Chat Completions: the fast path that reads and writes common messages, see `formats.field_table`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.field_table.records import Record, Written
from hansard.formats.field_table.records import decode as decode_table
from hansard.formats.openai_chat.content import NAME
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.calls import append_result
from hansard.model.conversation import Message
from hansard.model.parts import TextPart, ToolCallPart, ToolResultPart


class _Function(Record):
    name: str
    arguments: str


class _Call(Record, tag_field="type", tag="function"):
    id: str
    function: _Function
    extra_content: Any = UNSET
    index: Any = UNSET


class _CustomCall(Record, tag_field="type", tag="custom"):
    id: Any = UNSET
    custom: Any = UNSET


class _Message(Record, tag_field="role"):
    content: Any = UNSET
    name: Any = UNSET


class _System(_Message, tag="system"):
    pass


class _Developer(_Message, tag="developer"):
    pass


class _User(_Message, tag="user"):
    pass


class _Assistant(_Message, tag="assistant"):
    tool_calls: list[_Call | _CustomCall] | UnsetType | None = UNSET
    refusal: Any = UNSET
    audio: Any = UNSET
    annotations: Any = UNSET
    reasoning: Any = UNSET
    reasoning_content: Any = UNSET
    reasoning_details: Any = UNSET


class _Tool(_Message, tag="tool"):
    tool_call_id: Any = UNSET


_AnyMessage = _System | _Developer | _User | _Assistant | _Tool
_ROLES: dict[type, str] = {_System: "system", _Developer: "developer", _User: "user", _Assistant: "assistant"}


class _Request(Record, kw_only=True):
    model: Any = UNSET
    messages: list[_AnyMessage]
    tools: Any = UNSET
    tool_choice: Any = UNSET
    parallel_tool_calls: Any = UNSET
    response_format: Any = UNSET
    reasoning_effort: Any = UNSET
    temperature: Any = UNSET
    top_p: Any = UNSET
    n: Any = UNSET
    seed: Any = UNSET
    stop: Any = UNSET
    max_tokens: Any = UNSET
    max_completion_tokens: Any = UNSET
    presence_penalty: Any = UNSET
    frequency_penalty: Any = UNSET
    logprobs: Any = UNSET
    top_logprobs: Any = UNSET
    logit_bias: Any = UNSET
    stream: Any = UNSET
    stream_options: Any = UNSET
    store: Any = UNSET
    metadata: Any = UNSET
    user: Any = UNSET
    service_tier: Any = UNSET
    prompt_cache_key: Any = UNSET
    safety_identifier: Any = UNSET
    verbosity: Any = UNSET


def decode(raw: bytes) -> Any:
    """Decode a document with typed messages; None if it has any unknown key."""
    return decode_table(raw, _AnyMessage, _Request)


def read_typed(record: Any, names: dict[str, str], out: list[Message]) -> bool:
    """Append a common message (text, calls after it, a tool result); False for all others."""
    content, kind = record.content, type(record)
    if record.name is not UNSET:
        return False
    if kind is _Tool:
        call_id = record.tool_call_id
        if type(content) is not str or type(call_id) is not str:
            return False
        name = names.get(call_id, UNSET)
        result = ToolResultPart(tool_call_id=call_id, tool_name=name, output=content, is_error=False)
        append_result(out, result)
        return True
    if kind is not _Assistant:
        if type(content) is not str:
            return False
        out.append(Message(role=_ROLES[kind], parts=[TextPart(text=content)]))
        return True
    if (
        record.refusal is not UNSET
        or record.audio is not UNSET
        or record.annotations is not UNSET
        or record.reasoning is not UNSET
        or record.reasoning_content is not UNSET
        or record.reasoning_details is not UNSET
    ):
        return False
    calls = record.tool_calls
    if calls is UNSET:
        if type(content) is not str:
            return False
        out.append(Message(role="assistant", parts=[TextPart(text=content)]))
        return True
    parts: list[Any] = [TextPart(text=content)] if content else []
    if not calls or (type(content) is not str and content is not None) or content == "":
        return False
    for call in calls:
        if type(call) is not _Call or call.extra_content is not UNSET or call.index is not UNSET:
            return False
        name = call.function.name
        given, text = read_arguments(call.function.arguments)
        names[call.id] = name
        parts.append(ToolCallPart(tool_call_id=call.id, tool_name=name, input=given, input_text=text))
    out.append(Message(role="assistant", parts=parts))
    return True


class _TextMessage(Written):
    role: str
    content: str


class _Result(Written):
    role: str
    tool_call_id: Any
    content: str


class _WrittenCall(Written):
    id: Any
    type: str
    function: Any


class _WrittenFunction(Written):
    name: Any
    arguments: str


class _CallMessage(Written):
    role: str
    content: str | None
    tool_calls: list[Any]


def write_typed(message: Message, out: list[Any]) -> bool:
    """Append a message without residue (text, calls after it, a tool result); False for all others."""
    role, parts = message.role, message.parts
    if not parts or message.name is not UNSET or (message.extra is not UNSET and NAME in message.extra):
        return False
    first: Any = parts[0]
    if role == "tool":
        return len(parts) == 1 and _write_result(first, out)
    if type(first) is not TextPart or first.extra is not UNSET or role == "event":
        return False
    if len(parts) == 1:
        out.append(_TextMessage(role, first.text))
        return True
    if role != "assistant":
        return False
    calls: list[Any] = []
    for part in parts[1:]:
        if (
            type(part) is not ToolCallPart
            or part.extra is not UNSET
            or part.signature is not UNSET
            or part.provider_executed is True
            or part.tool_call_id is UNSET
            or part.tool_name is UNSET
        ):
            return False
        function = _WrittenFunction(part.tool_name, write_arguments(part))
        calls.append(_WrittenCall(part.tool_call_id, "function", function))
    out.append(_CallMessage(role, first.text or None, calls))
    return True


def _write_result(part: Any, out: list[Any]) -> bool:
    if (
        type(part) is not ToolResultPart
        or part.extra is not UNSET
        or type(part.output) is not str
        or part.content is not UNSET
        or part.tool_call_id is UNSET
        or part.provider_executed is True
    ):
        return False
    out.append(_Result("tool", part.tool_call_id, part.output))
    return True
