"""Tools in Chat Completions: `tool_calls`, the older `function_call`, and the records of their results."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.openai_chat.content import NAME, read_part, take_object, write_part
from hansard.formats.residue import HINTS, SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model.arguments import read_arguments, write_arguments
from hansard.model.parts import Binding, Part, RawPart, ToolCallPart, ToolResultPart

_GOOGLE = Binding(provider="google")


def read_call(item: Any, names: dict[str, str]) -> Part:
    """An entry of `tool_calls`; nearly all have an id, a name and arguments and nothing else."""
    if type(item) is dict and len(item) == 3 and item.get("type") == "function":
        call_id, function = item.get("id"), item.get("function")
        if type(call_id) is str and type(function) is dict and len(function) == 2:
            name, words = function.get("name"), function.get("arguments")
            if type(name) is str and type(words) is str:
                names[call_id] = name
                given, text = read_arguments(words)
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
            marks: dict[str, Any] = {"kind": "custom"}
        elif kind == "function" or kind is UNSET:
            inner = take_object(rest, "function")
            marks = {} if kind == "function" else {"kind": "untyped"}
            fields = _read_input(inner, marks)
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
    return ToolCallPart(tool_call_id=call_id, tool_name=name, **fields, extra=pack(NAME, rest, marks))


def read_function_call(record: dict[str, Any]) -> list[Any]:
    """The one call of an older message; it has no id."""
    if type(record.get("function_call")) is not dict:
        return []
    inner, marks = dict(record.pop("function_call")), {"kind": "function_call"}
    fields = _read_input(inner, marks)
    return [ToolCallPart(tool_name=take_maybe_str(inner, "name"), **fields, extra=pack(NAME, inner, marks))]


def write_function_call(part: ToolCallPart) -> dict[str, Any]:
    rest, marks = unpack(NAME, part.extra)
    return {**_write_input(part, marks, set_present({}, name=part.tool_name)), **rest}


def _read_input(inner: dict[str, Any], marks: dict[str, Any]) -> dict[str, Any]:
    given = inner.pop("arguments", UNSET)
    if type(given) is str:
        value, text = read_arguments(given)
        return {"input": value, "input_text": text}
    marks["arguments"] = "missing" if given is UNSET else "data"
    return {"input": given}


def _write_input(part: ToolCallPart, marks: dict[str, Any], out: dict[str, Any]) -> dict[str, Any]:
    how = marks.get("arguments")
    if how == "data":
        return set_present(out, arguments=part.input)
    if how != "missing":
        out["arguments"] = write_arguments(part)
    return out


def write_call(part: ToolCallPart) -> dict[str, Any]:
    call_id, name = part.tool_call_id, part.tool_name
    if part.extra is UNSET and part.signature is UNSET and call_id is not UNSET and name is not UNSET:
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": write_arguments(part)}}
    rest, marks = unpack(NAME, part.extra)
    inner = set_present({}, name=name)
    if marks.get("kind") == "custom" and type(part.input) is str:
        kind = "custom"
        inner["input"] = part.input
    else:
        kind = "function"
        _write_input(part, marks, inner)
    left = rest.pop(kind, None)
    if type(left) is dict:
        inner.update(left)
    out = set_present({}, id=call_id, type=UNSET if marks.get("kind") == "untyped" else kind)
    out[kind] = inner
    out.update(rest)
    if part.signature is not UNSET and part.binding is not UNSET and part.binding.provider == "google":
        _put_signature(out, part.signature)
    return out


def _take_signature(rest: dict[str, Any]) -> str | UnsetType:
    """Gemini's OpenAI endpoint: `extra_content.google.thought_signature`."""
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
    """A `tool` record, or an older `function` record, which names the tool and no call."""
    said, asked = record.get("content"), record.get("tool_call_id")
    if len(record) == 3 and role == "tool" and type(said) is str and type(asked) is str:
        return ToolResultPart(tool_call_id=asked, tool_name=names.get(asked, UNSET), output=said, is_error=False)
    record = dict(record)
    del record["role"]
    call_id, name = take_maybe_str(record, "tool_call_id"), take_maybe_str(record, "name")
    output, parts = record.pop("content", UNSET), UNSET
    marks: dict[str, Any] = {}
    if role == "function":
        marks["role"] = role
    elif name is not UNSET:
        marks["name"] = True
    elif call_id is not UNSET:
        name = names.get(call_id, UNSET)
    if type(output) is list:
        parts, output = [read_part(block) for block in output], UNSET  # type: ignore[assignment]
        if not parts:
            marks["content"] = "list"
    elif type(output) is not str:
        marks["content"] = "data"
    return ToolResultPart(
        tool_call_id=call_id,
        tool_name=name,
        output=output,
        content=parts,
        is_error=False,
        extra=pack(NAME, record, marks),
    )


def write_result(part: ToolResultPart) -> dict[str, Any]:
    call_id = part.tool_call_id
    if part.extra is UNSET and type(part.output) is str and part.content is UNSET and call_id is not UNSET:
        return {"role": "tool", "tool_call_id": call_id, "content": part.output}
    rest, marks = unpack(NAME, part.extra)
    named = marks.get("role") == "function"
    out: dict[str, Any] = {"role": "function" if named else "tool"}
    set_present(out, tool_call_id=call_id, name=part.tool_name if named or "name" in marks else UNSET)
    how = marks.get("content")
    if type(part.content) is list:
        written = [made for made in map(write_part, part.content) if made is not UNSET]
        out["content"] = written if written or how == "list" else ""
    elif type(part.output) is str or how == "data":
        set_present(out, content=part.output)
    else:
        out["content"] = "" if part.output is UNSET else exact_json.encode(part.output).decode()
    return {**out, **rest}
