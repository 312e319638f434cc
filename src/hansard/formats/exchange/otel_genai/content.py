"""Messages and parts inside attributes of OpenTelemetry spans; the map of the folder has the table."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.residue import HINTS, SchemaMismatch, pack, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model.conversation import ROLES, Message
from hansard.model.display import shown_input, shown_output
from hansard.model.parts import (
    CompactionPart,
    FilePart,
    RawPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

NAME = "otel-genai"


# -- parts ---------------------------------------------------------------------------------------------------------


def _read_text(rest: dict[str, Any]) -> Any:
    return TextPart(text=take_str(rest, "content"), extra=pack(NAME, rest))


def _read_reasoning(rest: dict[str, Any]) -> Any:
    return ReasoningPart(text=take_str(rest, "content"), extra=pack(NAME, rest))


def _read_call(rest: dict[str, Any]) -> Any:
    name, given = take_str(rest, "name"), rest.pop("arguments", UNSET)
    return ToolCallPart(tool_call_id=take_maybe_str(rest, "id"), tool_name=name, input=given, extra=pack(NAME, rest))


def _write_call(part: ToolCallPart) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "tool_call"}
    if part.tool_call_id is not UNSET:
        out["id"] = part.tool_call_id
    out["name"] = part.tool_name if part.tool_name is not UNSET else ""
    if part.input is not UNSET or part.input_text is not UNSET:
        out["arguments"] = shown_input(part)
    return out


def _read_response(rest: dict[str, Any]) -> Any:
    if "response" not in rest:
        raise SchemaMismatch("response")
    call_id, output = take_maybe_str(rest, "id"), rest.pop("response")
    return ToolResultPart(tool_call_id=call_id, output=output, extra=pack(NAME, rest))


def _write_response(part: ToolResultPart) -> dict[str, Any]:
    out: dict[str, Any] = {"type": "tool_call_response"}
    if part.tool_call_id is not UNSET:
        out["id"] = part.tool_call_id
    out["response"] = shown_output(part)
    return out


_FILES = {"blob": ("content", "data"), "uri": ("uri", "url"), "file": ("file_id", "file_id")}


def _read_file(kind: str, rest: dict[str, Any]) -> Any:
    key, field = _FILES[kind]
    value: Any = take_str(rest, key)
    media = take_maybe_str(rest, "mime_type")
    if rest.get("modality") == _modality(media):
        del rest["modality"]
    return FilePart(**{field: value}, media_type=media, extra=pack(NAME, rest))


def _modality(media: Any) -> str:
    kind = str(media).partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def _write_file(part: FilePart) -> dict[str, Any] | None:
    for kind, (key, field) in _FILES.items():
        value = getattr(part, field)
        if type(value) is str:
            out: dict[str, Any] = {"type": kind, "modality": _modality(part.media_type)}
            if part.media_type is not UNSET:
                out["mime_type"] = part.media_type
            return {**out, key: value}
    return None


_READERS = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    "tool_call": _read_call,
    "tool_call_response": _read_response,
}


# Older names of types and keys, which Pydantic AI still uses.
_OLDER_SPELLINGS: dict[str, tuple[str, dict[str, str]]] = {
    "thinking": ("reasoning", {}),
    "tool_call_response": ("tool_call_response", {"result": "response"}),
    "binary": ("blob", {"media_type": "mime_type"}),
    **{f"{sort}-url": ("uri", {"url": "uri"}) for sort in ("image", "audio", "video", "document")},
}


def _current_spelling(item: dict[str, Any], kind: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The part in the current spelling, and the hints that restore the older one; None if it is current already."""
    current, names = _OLDER_SPELLINGS[kind]
    if not names.keys() <= item.keys() or any(name in item for name in names.values()):
        return None
    made = {**{names.get(key, key): value for key, value in item.items()}, "type": current}
    added: dict[str, Any] = {}
    sort = kind.removesuffix("-url")
    if current == "uri" and sort != "document" and "mime_type" not in made:
        added["mime_type"] = f"{sort}/*"
    if current in _FILES and "modality" not in made:
        added["modality"] = _modality(added.get("mime_type", made.get("mime_type", UNSET)))
    return {**made, **added}, {"wording": kind, "added": list(added)}


def _older_spelling(out: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    kind, added = hints.get("wording"), hints.get("added")
    if type(kind) is not str or kind not in _OLDER_SPELLINGS or type(added) is not list:
        return out
    current, names = _OLDER_SPELLINGS[kind]
    if out["type"] != current:
        return out
    back = {name: key for key, name in names.items()}
    return {**{back.get(key, key): value for key, value in out.items() if key not in added}, "type": kind}


def read_part(item: Any) -> Any:
    """Read a part; one that the writer would change is kept raw."""
    kind = item.get("type") if type(item) is dict else None
    if type(kind) is str and kind in _OLDER_SPELLINGS and (found := _current_spelling(item, kind)) is not None:
        part = read_part(found[0])
        if type(part) is not RawPart:
            part = replace(part, extra=pack(NAME, unpack(NAME, part.extra)[0], found[1]))
            if exact_json.same(write_part(part), item):
                return part
        return RawPart(format=NAME, value=item)
    if type(kind) is str and (kind in _READERS or kind in _FILES):
        rest = {key: value for key, value in item.items() if key != "type"}
        try:
            part = _READERS[kind](rest) if kind in _READERS else _read_file(kind, rest)
            if exact_json.same(write_part(part), item):
                return part
        except SchemaMismatch:
            pass
    return RawPart(format=NAME, value=item)


def write_part(part: Any) -> Any:
    """Write a part; None if the conventions have no type for it."""
    kind = type(part)
    if kind is RawPart:
        return part.value if part.format == NAME else None
    if kind is TextPart or kind is RefusalPart or (kind is CompactionPart and part.text is not UNSET):
        out: Any = {"type": "text", "content": part.text}
    elif kind is ReasoningPart:
        out = {"type": "reasoning", "content": part.text}
    elif kind is ToolCallPart:
        out = _write_call(part)
    elif kind is ToolResultPart:
        out = _write_response(part)
    else:
        out = _write_file(part) if kind is FilePart else None
    if out is None or part.extra is UNSET:
        return out
    rest, hints = unpack(NAME, part.extra)
    return _older_spelling({**out, **rest}, hints)


# -- messages ------------------------------------------------------------------------------------------------------


def read_message(item: dict[str, Any]) -> Message:
    """Read a message of a list."""
    rest = dict(item)
    role, parts = rest.pop("role", None), rest.pop("parts", None)
    if type(role) is not str or role not in ROLES or role == "event" or type(parts) is not list:
        raw = RawPart(format=NAME, value={key: value for key, value in item.items() if key != "finish_reason"})
        extra = {NAME: {HINTS: {"whole": True}}}
        return Message(role="event", parts=[raw], finish_reason=take_maybe_str(rest, "finish_reason"), extra=extra)
    finish = take_maybe_str(rest, "finish_reason")
    return Message(role=role, parts=[read_part(part) for part in parts], finish_reason=finish, extra=pack(NAME, rest))


def write_message(message: Message, finish: bool) -> dict[str, Any]:
    """Write a message of a list; only outputs have a finish reason."""
    rest, hints = unpack(NAME, message.extra)
    end = {"finish_reason": message.finish_reason} if finish and message.finish_reason is not UNSET else {}
    first = message.parts[0] if len(message.parts) == 1 else None
    if type(first) is RawPart and "whole" in hints and type(first.value) is dict:
        return {**first.value, **end}
    parts = [part for part in map(write_part, message.parts) if part is not None]
    return {"role": message.role, "parts": parts, **rest, **end}
