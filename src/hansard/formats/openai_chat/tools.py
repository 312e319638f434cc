"""Tools in Chat Completions: `tool_calls`, the deprecated `function_call`, and result messages."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.openai_chat.content import NAME, read_part, take_object, write_part
from hansard.formats.residue import (
    HINTS,
    SchemaMismatch,
    hinted,
    pack,
    set_present,
    take_maybe_str,
    take_str,
    unpack,
)
from hansard.model import exact_json
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.parts import Binding, Part, RawPart, ToolCallPart, ToolResultPart

_GOOGLE = Binding(provider="google")


def read_call(item: Any, names: dict[str, str]) -> Part:
    """Read an item of `tool_calls`; the fast path takes those with only id, name and arguments."""
    if type(item) is dict and len(item) == 3 and item.get("type") == "function":
        call_id, function = item.get("id"), item.get("function")
        if type(call_id) is str and type(function) is dict and len(function) == 2:
            name, arguments = function.get("name"), function.get("arguments")
            if type(name) is str and type(arguments) is str:
                names[call_id] = name
                given, text = read_arguments(arguments)
                return ToolCallPart(tool_call_id=call_id, tool_name=name, input=given, input_text=text)
    return _read_other_call(item, names)


def _read_other_call(item: Any, names: dict[str, str]) -> Part:
    try:
        if type(item) is not dict:
            raise SchemaMismatch("tool call")
        rest = dict(item)
        kind = rest.pop("type", UNSET)
        call_id = take_maybe_str(rest, "id")
        signature = _take_signature(rest)
        if kind == "custom":
            inner = take_object(rest, "custom")
            fields: dict[str, Any] = {"input": take_str(inner, "input")}
            hints: dict[str, Any] = {"kind": "custom"}
        elif kind == "function" or kind is UNSET:
            inner = take_object(rest, "function")
            hints = {} if kind == "function" else {"kind": "untyped"}
            fields = _read_input(inner, hints)
        else:
            raise SchemaMismatch("type")
    except SchemaMismatch:
        return RawPart(format=NAME, value=item, extra={NAME: {HINTS: {"at": "tool_calls"}}})
    name = take_maybe_str(inner, "name")
    if type(call_id) is str and type(name) is str:
        names[call_id] = name
    if inner:
        rest["custom" if kind == "custom" else "function"] = inner
    if signature is not UNSET:
        fields.update(signature=signature, binding=_GOOGLE)
    return ToolCallPart(tool_call_id=call_id, tool_name=name, **fields, extra=pack(NAME, rest, hints))


def read_function_call(record: dict[str, Any]) -> list[Any]:
    """Read the deprecated `function_call`, which has no id."""
    if type(record.get("function_call")) is not dict:
        return []
    inner, hints = dict(record.pop("function_call")), {"kind": "function_call"}
    fields = _read_input(inner, hints)
    return [ToolCallPart(tool_name=take_maybe_str(inner, "name"), **fields, extra=pack(NAME, inner, hints))]


def write_function_call(part: ToolCallPart) -> dict[str, Any]:
    rest, hints = unpack(NAME, part.extra)
    return {**_write_input(part, hints, set_present({}, name=part.tool_name)), **rest}


def _read_input(inner: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    given = inner.pop("arguments", UNSET)
    if type(given) is str:
        value, text = read_arguments(given)
        return {"input": value, "input_text": text}
    hints["arguments"] = "missing" if given is UNSET else "data"
    return {"input": given}


def _write_input(part: ToolCallPart, hints: dict[str, Any], out: dict[str, Any]) -> dict[str, Any]:
    how = hints.get("arguments")
    if how == "data":
        return set_present(out, arguments=part.input)
    if how != "missing":
        out["arguments"] = write_arguments(part)
    return out


def write_call(part: ToolCallPart) -> dict[str, Any]:
    call_id, name = part.tool_call_id, part.tool_name
    if part.extra is UNSET and part.signature is UNSET and call_id is not UNSET and name is not UNSET:
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": write_arguments(part)}}
    rest, hints = unpack(NAME, part.extra)
    inner = set_present({}, name=name)
    if hints.get("kind") == "custom" and type(part.input) is str:
        kind = "custom"
        inner["input"] = part.input
    else:
        kind = "function"
        _write_input(part, hints, inner)
    left = rest.pop(kind, None)
    if type(left) is dict:
        inner.update(left)
    out = set_present({}, id=call_id, type=UNSET if hints.get("kind") == "untyped" else kind)
    out[kind] = inner
    out.update(rest)
    if part.signature is not UNSET and part.binding is not UNSET and part.binding.provider == "google":
        _put_signature(out, part.signature)
    return out


def _take_signature(rest: dict[str, Any]) -> str | UnsetType:
    """Take the signature that Gemini's OpenAI endpoint returns: `extra_content.google.thought_signature`."""
    content = rest.get("extra_content")
    google = content.get("google") if type(content) is dict else None
    if type(google) is not dict or type(google.get("thought_signature")) is not str:
        return UNSET
    content, google = dict(content), dict(google)  # type: ignore[arg-type]
    signature: str = google.pop("thought_signature")
    content["google"] = google
    if not google:
        del content["google"]
    rest["extra_content"] = content
    if not content:
        del rest["extra_content"]
    return signature


def _put_signature(out: dict[str, Any], signature: str) -> None:
    content = out.get("extra_content", {})
    if type(content) is dict:
        google = content.get("google", {})
        if type(google) is dict:
            out["extra_content"] = {**content, "google": {**google, "thought_signature": signature}}


def read_result(record: dict[str, Any], role: str, names: dict[str, str]) -> ToolResultPart:
    """Read a `tool` message, or a deprecated `function` message, which has a tool name and no call id."""
    content, asked_id = record.get("content"), record.get("tool_call_id")
    if len(record) == 3 and role == "tool" and type(content) is str and type(asked_id) is str:
        return ToolResultPart(
            tool_call_id=asked_id, tool_name=names.get(asked_id, UNSET), output=content, is_error=False
        )
    record = dict(record)
    del record["role"]
    call_id, name = take_maybe_str(record, "tool_call_id"), take_maybe_str(record, "name")
    output, parts = record.pop("content", UNSET), UNSET
    hints: dict[str, Any] = {}
    if role == "function":
        hints["role"] = role
    elif name is not UNSET:
        hints["name"] = True
    elif call_id is not UNSET:
        name = names.get(call_id, UNSET)
    if type(output) is list:
        parts, output = [read_part(block) for block in output], UNSET  # type: ignore[assignment]
        if not parts:
            hints["content"] = "list"
    elif type(output) is not str:
        hints["content"] = "data"
    return ToolResultPart(
        tool_call_id=call_id,
        tool_name=name,
        output=output,
        content=parts,
        is_error=False,
        extra=pack(NAME, record, hints),
    )


def write_result(part: ToolResultPart) -> dict[str, Any]:
    call_id = part.tool_call_id
    if part.extra is UNSET and type(part.output) is str and part.content is UNSET and call_id is not UNSET:
        return {"role": "tool", "tool_call_id": call_id, "content": part.output}
    rest, hints = unpack(NAME, part.extra)
    named = hints.get("role") == "function"
    out: dict[str, Any] = {"role": "function" if named else "tool"}
    named = named or hinted(part.extra, "name", NAME, "provider-message")
    set_present(out, tool_call_id=call_id, name=part.tool_name if named else UNSET)
    how = hints.get("content")
    if type(part.content) is list:
        written = [made for made in map(write_part, part.content) if made is not UNSET]
        out["content"] = written if written or how == "list" else ""
    elif type(part.output) is str or how == "data":
        set_present(out, content=part.output)
    else:
        out["content"] = "" if part.output is UNSET else exact_json.encode(part.output).decode()
    return {**out, **rest}
