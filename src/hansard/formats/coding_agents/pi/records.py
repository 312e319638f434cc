"""Messages inside pi's entries, each kind read and written side by side; the map is in the package docstring."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.formats.coding_agents.records import only_part, raw_record
from hansard.formats.residue import (
    SchemaMismatch,
    pack,
    residue_of,
    set_present,
    take_maybe_int,
    take_maybe_str,
    take_str,
    unpack,
)
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import Message, ModelRef, Usage

NAME = "pi"
SYSTEM = "hansard.system"  # our custom entries for system prompts, which pi does not keep in sessions
_STOP = {"tool_call": "toolUse"}
_FINISH = {"toolUse": "tool_call"}


# -- blocks ----------------------------------------------------------------------------------------------------------


def _read_text(block: dict[str, Any], binding: Any) -> Any:
    signature = take_maybe_str(block, "textSignature")
    text = take_str(block, "text")
    bound = UNSET if signature is UNSET else binding
    return p.TextPart(text=text, signature=signature, binding=bound, extra=residue_of(NAME, block, _TYPE))


def _read_thinking(block: dict[str, Any], binding: Any) -> Any:
    signature, text = take_maybe_str(block, "thinkingSignature"), take_str(block, "thinking")
    bound = UNSET if signature is UNSET else binding
    return p.ReasoningPart(text=text, signature=signature, binding=bound, extra=residue_of(NAME, block, _TYPE))


def _read_call(block: dict[str, Any], binding: Any) -> Any:
    call, name, signature = take_str(block, "id"), take_str(block, "name"), take_maybe_str(block, "thoughtSignature")
    given = block.pop("arguments", UNSET)
    bound = UNSET if signature is UNSET else binding
    fields: dict[str, Any] = {"tool_call_id": call, "tool_name": name, "input": given}
    return p.ToolCallPart(**fields, signature=signature, binding=bound, extra=residue_of(NAME, block, _TYPE))


def _read_image(block: dict[str, Any], binding: Any) -> Any:
    data, media = take_str(block, "data"), take_str(block, "mimeType")
    return p.FilePart(data=data, media_type=media, extra=residue_of(NAME, block, _TYPE))


_TYPE = frozenset({"type"})
_BLOCKS: dict[Any, Any] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "toolCall": _read_call,
    "image": _read_image,
}


def read_block(block: Any, binding: Any = UNSET) -> Any:
    reader = _BLOCKS.get(block.get("type")) if type(block) is dict and type(block.get("type")) is str else None
    try:
        return reader(dict(block), binding) if reader else p.RawPart(format=NAME, value=block)
    except SchemaMismatch:
        return p.RawPart(format=NAME, value=block)


def write_block(part: Any, role: str) -> Any:
    """A block, or None if pi has none for the part."""
    kind = type(part)
    rest, _ = unpack(NAME, part.extra)
    if kind is p.TextPart:
        return {**set_present({"type": "text", "text": part.text}, textSignature=part.signature), **rest}
    if kind is p.RefusalPart or (kind is p.CompactionPart and type(part.text) is str):
        return {"type": "text", "text": part.text}
    if kind is p.FilePart and part.data is not UNSET and part.media_type is not UNSET:
        return {"type": "image", "data": part.data, "mimeType": part.media_type, **rest}
    if kind is p.RawPart and part.format == NAME:
        return part.value
    if role != "assistant":
        return None
    if kind is p.ReasoningPart:
        return {**set_present({"type": "thinking", "thinking": part.text}, thinkingSignature=part.signature), **rest}
    if kind is p.ToolCallPart:
        return {**_write_call(part), **rest}
    return None


def _write_call(part: p.ToolCallPart) -> dict[str, Any]:
    given = part.input if part.input is not UNSET else {}
    if part.input is UNSET and type(part.input_text) is str:
        given = {"input": part.input_text}
    call = "" if part.tool_call_id is UNSET else part.tool_call_id
    out = {"type": "toolCall", "id": call, "name": "tool" if part.tool_name is UNSET else part.tool_name}
    return set_present({**out, "arguments": given}, thoughtSignature=part.signature)


# -- usage -----------------------------------------------------------------------------------------------------------


def _read_usage(value: Any) -> Usage | UnsetType:
    if type(value) is not dict or type(value.get("input")) is not int or value == _NO_USAGE:
        return UNSET
    rest = dict(value)
    read, wrote = take_maybe_int(rest, "cacheRead"), take_maybe_int(rest, "cacheWrite")
    return Usage(
        input_tokens=rest.pop("input") + (read or 0) + (wrote or 0),
        output_tokens=take_maybe_int(rest, "output"),
        total_tokens=take_maybe_int(rest, "totalTokens"),
        cache_read_tokens=read,
        cache_write_tokens=wrote,
        reasoning_tokens=take_maybe_int(rest, "reasoningTokens"),
        extra=pack(NAME, rest),
    )


_NO_USAGE = {
    **dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0),
    "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0),
}


def _write_usage(usage: Usage | UnsetType) -> dict[str, Any] | UnsetType:
    if usage is UNSET or usage.input_tokens is UNSET:
        return UNSET
    read, wrote = usage.cache_read_tokens, usage.cache_write_tokens
    out = {"input": usage.input_tokens - (read or 0) - (wrote or 0)}
    set_present(out, output=usage.output_tokens, cacheRead=read, cacheWrite=wrote)
    set_present(out, reasoningTokens=usage.reasoning_tokens, totalTokens=usage.total_tokens)
    return {**out, **unpack(NAME, usage.extra)[0]}


# -- messages --------------------------------------------------------------------------------------------------------


def read_body(body: dict[str, Any], fields: dict[str, Any], rest: dict[str, Any]) -> Message:
    """The message of an entry of type message; `body` is taken out of it."""
    reader = _ROLES.get(body.get("role")) if type(body.get("role")) is str else None
    try:
        if reader is not None:
            return reader(dict(body), fields, dict(rest))  # type: ignore[no-any-return]
    except SchemaMismatch:
        pass
    return Message(
        role="event", parts=[p.RawPart(format=NAME, value={"type": "message", "message": body, **rest})], **fields
    )


def _read_user(body: dict[str, Any], fields: dict[str, Any], rest: dict[str, Any]) -> Message:
    del body["role"]
    content = body.pop("content", None)
    parts: list[Any]
    marks: dict[str, Any] = {}
    if type(content) is str:
        parts, marks = [p.TextPart(text=content)], {"content": "string"}
    elif type(content) is list:
        parts = [read_block(block) for block in content]
    else:
        raise SchemaMismatch("content")
    return Message(role="user", parts=parts, **fields, extra=_residue(rest, body, marks))


def _read_assistant(body: dict[str, Any], fields: dict[str, Any], rest: dict[str, Any]) -> Message:
    del body["role"]
    content = body.pop("content", None)
    if type(content) is not list:
        raise SchemaMismatch("content")
    provider, model = take_maybe_str(body, "provider"), take_maybe_str(body, "model")
    api = body.get("api")
    binding = p.Binding(provider=provider, transport=api if type(api) is str else UNSET, model=model)
    response, stop = take_maybe_str(body, "responseId"), take_maybe_str(body, "stopReason")
    usage = _read_usage(body.get("usage"))
    if usage is not UNSET or body.get("usage") == _NO_USAGE:
        del body["usage"]
    marks = {"stop": True} if stop in _STOP else {}
    named = provider is not UNSET or model is not UNSET or response is not UNSET
    return Message(
        role="assistant",
        parts=[read_block(block, binding) for block in content],
        **fields,
        model=ModelRef(provider=provider, name=model, response_id=response) if named else UNSET,
        usage=usage,
        finish_reason=stop if stop is UNSET or marks else _FINISH.get(stop, stop),
        extra=_residue(rest, body, marks),
    )


def _read_result(body: dict[str, Any], fields: dict[str, Any], rest: dict[str, Any]) -> Message:
    del body["role"]
    call, name, content = take_str(body, "toolCallId"), take_maybe_str(body, "toolName"), body.pop("content", None)
    if type(content) is not list:
        raise SchemaMismatch("content")
    failed = body.pop("isError") if type(body.get("isError")) is bool else UNSET
    parts = [read_block(block) for block in content]
    result: dict[str, Any] = {"content": parts}
    if len(parts) == 1 and type(parts[0]) is p.TextPart and parts[0].extra is UNSET and parts[0].signature is UNSET:
        result = {"output": parts[0].text}
    part = p.ToolResultPart(tool_call_id=call, tool_name=name, is_error=failed, **result)
    return Message(role="tool", parts=[part], **fields, extra=_residue(rest, body, {}))


def _read_command(body: dict[str, Any], fields: dict[str, Any], rest: dict[str, Any]) -> Message:
    """A command that the user ran: the text pi gives the model, or an event if it withholds it."""
    del body["role"]
    command, output = take_str(body, "command"), take_str(body, "output")
    role = "event" if body.get("excludeFromContext") is True else "user"
    marks = {"ran": [len(command), len(output)]}
    part = p.TextPart(text=_command_text(command, output, body))
    return Message(role=role, parts=[part], **fields, extra=_residue(rest, body, marks))


def _command_text(command: str, output: str, body: dict[str, Any]) -> str:
    text = f"{_RAN}{command}{_GAVE}{output}\n```" if output else f"{_RAN}{command}`\n(no output)"
    if body.get("cancelled") is True:
        return f"{text}\n\n(command cancelled)"
    code = body.get("exitCode")
    return f"{text}\n\nCommand exited with code {code}" if type(code) is int and code else text


_RAN, _GAVE = "Ran `", "`\n```\n"


def _write_command(message: Message, lengths: Any, body: dict[str, Any]) -> dict[str, Any] | None:
    """The command as it was run, if the text still matches it."""
    part = only_part(message)
    if type(part) is not p.TextPart or type(lengths) is not list or [type(length) for length in lengths] != [int, int]:
        return None
    end = len(_RAN) + lengths[0]
    command = part.text[len(_RAN) : end]
    output = part.text[end + len(_GAVE) : end + len(_GAVE) + lengths[1]] if lengths[1] else ""
    if _command_text(command, output, body) != part.text:
        return None
    return {"role": "bashExecution", "command": command, "output": output}


def _read_custom(body: dict[str, Any], fields: dict[str, Any], rest: dict[str, Any]) -> Message:
    """A message from an extension to the model."""
    role = body["role"]
    message = _read_user(body, fields, rest)
    kept, marks = unpack(NAME, message.extra)
    return replace(message, extra=pack(NAME, kept, {**marks, "role": role}))


_ROLES: dict[Any, Any] = {
    "user": _read_user,
    "assistant": _read_assistant,
    "toolResult": _read_result,
    "bashExecution": _read_command,
    "custom": _read_custom,
    "hookMessage": _read_custom,
}


def _residue(rest: dict[str, Any], body: dict[str, Any], marks: dict[str, Any]) -> dict[str, Any] | UnsetType:
    return pack(NAME, {**rest, "message": body} if body else rest, marks)


def write_entries(message: Message, time: int) -> list[dict[str, Any]]:
    """The entries of a message, without ids and times; more than one for several results."""
    rest, marks = unpack(NAME, message.extra)
    held = rest.pop("message", {})
    inner = held if type(held) is dict else {}
    if (command := _write_command(message, marks.get("ran"), inner)) is not None:
        return [_entry({**command, **inner, **({} if "timestamp" in inner else {"timestamp": time})}, rest)]
    if message.role == "event":
        return _write_event(message, rest)
    if (entry := _write_kept(message, rest, marks)) is not None:
        return [entry]
    results = [part for part in message.parts if type(part) is p.ToolResultPart]
    others = [part for part in message.parts if type(part) is not p.ToolResultPart]
    entries: list[dict[str, Any]] = []
    if others or not results:
        blocks = [block for part in others if (block := write_block(part, message.role)) is not None]
        entries.append(_entry(_write_body(message, blocks, marks, inner, time), rest))
    for part in results:
        entries.append(_entry({**_write_result(part), "timestamp": time, **inner}, rest))
    return entries


def _entry(body: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    if body.get("type") == "custom_message":
        return {**body, **rest}
    return {"type": "message", "message": body, **rest}


def _write_body(
    message: Message, blocks: list[Any], marks: dict[str, Any], inner: dict[str, Any], time: int
) -> dict[str, Any]:
    if message.role == "assistant":
        model = message.model if message.model is not UNSET else ModelRef()
        out: dict[str, Any] = {"role": "assistant", "content": blocks, "api": "unknown"}
        set_present(out, provider=model.provider, model=model.name, responseId=model.response_id)
        usage = _write_usage(message.usage)
        out["usage"] = _NO_USAGE if usage is UNSET else usage  # pi does not start without it
        if type(message.finish_reason) is str:
            stop = message.finish_reason
            out["stopReason"] = stop if marks.get("stop") is True else _STOP.get(stop, stop)
        return {**out, "timestamp": time, **inner}
    if message.role in ("system", "developer"):
        return {"type": "custom_message", "customType": f"{SYSTEM}.{message.role}", "content": blocks, "display": False}
    content: Any = blocks
    if marks.get("content") == "string" and len(blocks) == 1 and type(blocks[0]) is dict:
        content = blocks[0].get("text", blocks)
    role = marks["role"] if marks.get("role") in ("custom", "hookMessage") else "user"
    return {"role": role, "content": content, "timestamp": time, **inner}


def _write_result(part: p.ToolResultPart) -> dict[str, Any]:
    if part.content is not UNSET:
        blocks = [block for inner in part.content if (block := write_block(inner, "tool")) is not None]
    elif part.output is UNSET:
        blocks = []
    else:
        text = part.output if type(part.output) is str else exact_json.encode(part.output).decode()
        blocks = [{"type": "text", "text": text}]
    call = "" if part.tool_call_id is UNSET else part.tool_call_id
    out = set_present({"role": "toolResult", "toolCallId": call}, toolName=part.tool_name)
    return set_present({**out, "content": blocks}, isError=part.is_error)


# -- other entries ---------------------------------------------------------------------------------------------------


def read_event(kind: str, rest: dict[str, Any], fields: dict[str, Any]) -> Message:
    """An entry that is not a message; as in pi, what the model gets of it is a user message."""
    if kind == "compaction" and type(rest.get("summary")) is str:
        text = rest.pop("summary")
        return Message(role="user", parts=[p.CompactionPart(text=text)], **fields, extra=_kept(kind, rest))
    if kind == "branch_summary" and type(rest.get("summary")) is str:
        text = rest.pop("summary")
        return Message(role="user", parts=[p.TextPart(text=text)], **fields, extra=_kept(kind, rest))
    if kind == "custom" and type(rest.get("customType")) is str:
        name = rest.pop("customType")
        part = p.DataPart(name=name, data=rest.pop("data", UNSET))
        return Message(role="event", parts=[part], **fields, extra=pack(NAME, rest))
    content: Any = rest.get("content")
    if kind == "custom_message" and type(content) is list:
        owner, _, role = str(rest.get("customType")).rpartition(".")
        if owner == SYSTEM and role in ("system", "developer") and rest.keys() == {"customType", "content", "display"}:
            return Message(role=role, parts=[read_block(block) for block in content], **fields)
    if kind == "custom_message" and type(content) in (str, list):
        del rest["content"]
        parts = [p.TextPart(text=content)] if type(content) is str else [read_block(block) for block in content]
        marks = {"content": "string"} if type(content) is str else {}
        return Message(role="user", parts=parts, **fields, extra=_kept(kind, rest, marks))
    return Message(role="event", parts=[p.RawPart(format=NAME, value={"type": kind, **rest})], **fields)


def _kept(kind: str, rest: dict[str, Any], marks: dict[str, Any] | None = None) -> dict[str, Any] | UnsetType:
    return pack(NAME, rest, {**(marks or {}), "entry": kind})


def _write_kept(message: Message, rest: dict[str, Any], marks: dict[str, Any]) -> dict[str, Any] | None:
    """The entry that a user message was read from, if the message still matches it."""
    kind, part = marks.get("entry"), only_part(message)
    if kind == "compaction" and type(part) is p.CompactionPart and type(part.text) is str:
        return {"type": kind, "summary": part.text, **rest}
    if kind == "branch_summary" and type(part) is p.TextPart:
        return {"type": kind, "summary": part.text, **rest}
    if kind != "custom_message":
        return None
    if marks.get("content") == "string" and type(part) is p.TextPart:
        return {"type": kind, "content": part.text, **rest}
    blocks = [block for part in message.parts if (block := write_block(part, "user")) is not None]
    return {"type": kind, "content": blocks, **rest}


def _write_event(message: Message, rest: dict[str, Any]) -> list[dict[str, Any]]:
    """The entry of an event; none if pi cannot express it."""
    part = only_part(message)
    if (raw := raw_record(message, NAME)) is not None:
        return [dict(raw)]
    if type(part) is p.CompactionPart and type(part.text) is str:
        return [{"type": "compaction", "summary": part.text, **rest}]
    if type(part) is p.DataPart:
        return [{**set_present({"type": "custom", "customType": part.name}, data=part.data), **rest}]
    text = "\n".join(one.text for one in message.parts if type(one) is p.TextPart)
    return [{"type": "custom", "customType": "event", "data": text}] if text else []
