"""The content blocks of the Anthropic Messages API; `anthropic` has the map and the documents around them."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.data_url import by_value
from hansard.formats.residue import Unfit, left, put, take_str, unpack
from hansard.model import exact_json
from hansard.model.parts import (
    Binding,
    CompactionPart,
    FilePart,
    Part,
    RawPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

NAME = "anthropic"
_OURS = Binding(provider="anthropic")


def _read_text(block: dict[str, Any], names: dict[str, str]) -> Part:
    text = block.get("text")
    if type(text) is not str:
        raise Unfit("text")
    return TextPart(text=text, extra=left(NAME, block, _TEXT))


_TEXT = frozenset({"type", "text"})


def _write_text(part: TextPart) -> dict[str, Any]:
    if part.extra is UNSET:
        return {"type": "text", "text": part.text}
    return {"type": "text", "text": part.text, **unpack(NAME, part.extra)[0]}


def _read_thinking(block: dict[str, Any], names: dict[str, str]) -> Part:
    text, signature = block.get("thinking"), block.get("signature", UNSET)
    if type(text) is not str:
        raise Unfit("thinking")
    if type(signature) is not str:
        return ReasoningPart(text=text, extra=left(NAME, block, _THINKING - {"signature"}))
    return ReasoningPart(text=text, signature=signature, extra=left(NAME, block, _THINKING))


_THINKING = frozenset({"type", "thinking", "signature"})


def _read_redacted(block: dict[str, Any], names: dict[str, str]) -> Part:
    if type(block.get("data")) is not str:
        raise Unfit("data")
    return ReasoningPart(text="", encrypted=block["data"], extra=left(NAME, block, _REDACTED))


_REDACTED = frozenset({"type", "data"})


def _write_reasoning(part: ReasoningPart) -> dict[str, Any]:
    rest, _ = unpack(NAME, part.extra)
    if part.encrypted is not UNSET:
        return {"type": "redacted_thinking", "data": part.encrypted, **rest}
    return {**put({"type": "thinking", "thinking": part.text}, signature=part.signature), **rest}


def _read_compaction(block: dict[str, Any], names: dict[str, str]) -> Part:
    if type(block.get("content")) is not str:
        raise Unfit("content")
    known = _SUMMARY | {key for key in _SEALS if type(block.get(key)) is str}
    seals = {field: block[key] for key, field in _SEALS.items() if key in known}
    return CompactionPart(text=block["content"], **seals, extra=left(NAME, block, known))


_SUMMARY = frozenset({"type", "content"})
_SEALS = {"encrypted_content": "encrypted", "signature": "signature"}


def _write_compaction(part: CompactionPart) -> dict[str, Any]:
    out = put({"type": "compaction"}, content=part.text, encrypted_content=part.encrypted, signature=part.signature)
    return {**out, **unpack(NAME, part.extra)[0]}


def _read_call(block: dict[str, Any], names: dict[str, str]) -> Part:
    kind, call_id, name = block["type"], block.get("id"), block.get("name")
    if type(call_id) is not str or type(name) is not str:
        raise Unfit("id")
    names[call_id] = name
    by_provider = kind != "tool_use"
    return ToolCallPart(
        tool_call_id=call_id,
        tool_name=name,
        input=block.get("input", UNSET),
        provider_executed=True if by_provider else UNSET,
        extra=left(NAME, block, _CALL, {"type": kind} if by_provider else None),
    )


_CALL = frozenset({"type", "id", "name", "input"})


def _write_call(part: ToolCallPart) -> dict[str, Any]:
    out = {"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name}
    if part.input is not UNSET:
        out["input"] = part.input
    if part.extra is not UNSET:
        rest, marks = unpack(NAME, part.extra)
        out["type"] = marks.get("type", "tool_use")
        out.update(rest)
    return out


def _read_result(block: dict[str, Any], names: dict[str, str]) -> Part:
    call_id, content, is_error = block.get("tool_use_id"), block.get("content", UNSET), block.get("is_error", UNSET)
    if type(call_id) is not str:
        raise Unfit("tool_use_id")
    parts: Any = UNSET
    if type(content) is list:
        parts, content = [read_block(item, names) for item in content], UNSET
    elif type(content) is not str and content is not UNSET:
        raise Unfit("content")
    usual = is_error is True or is_error is UNSET
    return ToolResultPart(
        tool_call_id=call_id,
        tool_name=names.get(call_id, UNSET),
        output=content,
        content=parts,
        is_error=is_error is True,
        extra=left(NAME, block, _RESULT, None if usual else {"is_error": is_error}),
    )


_RESULT = frozenset({"type", "tool_use_id", "content", "is_error"})


def _read_server_result(block: dict[str, Any], names: dict[str, str]) -> Part:
    kind, call_id, content = block["type"], block.get("tool_use_id"), block.get("content", UNSET)
    if type(call_id) is not str:
        raise Unfit("tool_use_id")
    failed = type(content) is dict and str(content.get("type", "")).endswith("_error")
    return ToolResultPart(
        tool_call_id=call_id,
        tool_name=names.get(call_id, kind.removesuffix("_tool_result")),
        output=content,
        is_error=failed or block.get("is_error") is True,
        provider_executed=True,
        extra=left(NAME, block, _SERVER_RESULT, {"type": kind}),
    )


_SERVER_RESULT = frozenset({"type", "tool_use_id", "content"})


def _write_result(part: ToolResultPart) -> dict[str, Any]:
    rest, marks = unpack(NAME, part.extra) if part.extra is not UNSET else NOTHING
    if "type" in marks:
        return {**put({"type": marks["type"], "tool_use_id": part.tool_call_id}, content=part.output), **rest}
    out: dict[str, Any] = {"type": "tool_result", "tool_use_id": part.tool_call_id}
    if part.content is not UNSET:
        out["content"] = [write_block(inner) for inner in part.content]
    elif part.output is not UNSET:
        out["content"] = part.output if type(part.output) is str else exact_json.encode(part.output).decode()
    if part.is_error is True:
        out["is_error"] = True
    elif "is_error" in marks:
        out["is_error"] = marks["is_error"]
    out.update(rest)
    return out


NOTHING: tuple[dict[str, Any], dict[str, Any]] = ({}, {})


def _read_file(block: dict[str, Any], names: dict[str, str]) -> Part:
    kind, source = block["type"], block.get("source")
    if type(source) is not dict:
        raise Unfit("source")
    held = dict(source)
    how = held.pop("type", None)
    marks: dict[str, Any] = {}
    fields: dict[str, Any]
    if how == "base64":
        fields = {"data": take_str(held, "data"), "media_type": take_str(held, "media_type")}
    elif how == "url":
        fields = {"url": take_str(held, "url")}
        if fields["url"].startswith("data:"):
            marks["url"] = "data"
    elif how == "file":
        fields = {"file_id": take_str(held, "file_id"), "binding": _OURS}
    elif how == "text" and kind == "document":
        fields = {"data": _from_text(take_str(held, "data")), "media_type": take_str(held, "media_type")}
        marks["text"] = True
    else:
        raise Unfit("source")
    if held:
        marks["source"] = held
    if kind != _kind_of(fields.get("media_type", UNSET), how):
        marks["type"] = kind
    if "media_type" not in fields:
        fields["media_type"] = "image/*" if kind == "image" else "application/pdf" if how == "url" else UNSET
    given = block.get("title")
    title = given if type(given) is str else UNSET
    return FilePart(**fields, name=title, extra=left(NAME, block, _FILE if title is UNSET else _TITLED, marks))


_FILE = frozenset({"type", "source"})
_TITLED = _FILE | {"title"}


def _kind_of(media: str | UnsetType, how: Any) -> str:
    if media is UNSET:
        return "image" if how in ("url", "file") else "document"
    return "image" if media.startswith("image/") else "document"


def _from_text(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def _write_file(part: FilePart) -> dict[str, Any]:
    rest, marks = unpack(NAME, part.extra)
    if "url" not in marks:
        part = by_value(part)
    media = part.media_type if type(part.media_type) is str else ""
    kind = marks.get("type") or ("document" if media and not media.startswith("image/") else "image")
    source: dict[str, Any]
    if part.file_id is not UNSET:
        source = {"type": "file", "file_id": part.file_id}
    elif part.data is not UNSET:
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        if marks.get("text") or media == "text/plain":
            source = {"type": "text", "media_type": part.media_type, "data": _to_text(part.data)}
    else:
        source = {"type": "url", "url": part.url}
    more = marks.get("source")
    source.update(more if type(more) is dict else {})
    out = {"type": kind, "source": source}
    if kind == "document":
        put(out, title=part.name)
    return {**out, **rest}


def _to_text(data: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return data


def read_block(block: Any, names: dict[str, str]) -> Any:
    """A block; one that is unknown or not as its type promises is kept raw."""
    if type(block) is dict:
        kind = block.get("type")
        if kind == "text" and len(block) == 2 and type(block.get("text")) is str:  # nearly always
            return TextPart(text=block["text"])
        reader = _READERS.get(kind) if type(kind) is str else None
        if reader is None and type(kind) is str and kind.endswith("_tool_result"):
            reader = _read_server_result
        if reader is not None:
            try:
                return reader(block, names)
            except Unfit:
                pass
    return RawPart(format=NAME, value=block)


def write_block(part: Part) -> Any:
    return _WRITERS[type(part)](part)


_READERS: dict[str, Any] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "redacted_thinking": _read_redacted,
    "compaction": _read_compaction,
    "tool_use": _read_call,
    "server_tool_use": _read_call,
    "mcp_tool_use": _read_call,
    "tool_result": _read_result,
    "image": _read_file,
    "document": _read_file,
}
_WRITERS: dict[type, Any] = {
    TextPart: _write_text,
    ReasoningPart: _write_reasoning,
    CompactionPart: _write_compaction,
    ToolCallPart: _write_call,
    ToolResultPart: _write_result,
    FilePart: _write_file,
    RawPart: lambda part: part.value,
}
