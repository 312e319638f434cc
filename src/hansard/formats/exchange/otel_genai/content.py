"""Messages and parts inside attributes of OpenTelemetry spans; the map of the folder has the table."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.field_table.blocks import Block, Blocks
from hansard.formats.field_table.rows import Row, refused, unchanged
from hansard.formats.residue import HINTS, pack, take_maybe_str, unpack
from hansard.model import exact_json
from hansard.model import parts as p
from hansard.model.conversation import ROLES, Message
from hansard.model.display import shown_input, shown_output

NAME = "otel-genai"


# -- parts ---------------------------------------------------------------------------------------------------------


def _name(part: p.ToolCallPart, hints: dict[str, Any]) -> str:
    return ""  # required by the conventions, and not always known


def _arguments(part: p.ToolCallPart, hints: dict[str, Any]) -> Any:
    return shown_input(part) if part.input is not UNSET or part.input_text is not UNSET else UNSET


def _response(part: p.ToolResultPart, hints: dict[str, Any]) -> Any:
    return shown_output(part)


_TEXT = Block(NAME, "text", p.TextPart, [Row("content", "text", str, True)])
_REASONING = Block(NAME, "reasoning", p.ReasoningPart, [Row("content", "text", str, True)])
_CALL = Block(
    NAME,
    "tool_call",
    p.ToolCallPart,
    [
        Row("id", "tool_call_id", str),
        Row("name", "tool_name", str, True, read=refused, write=_name),
        Row("arguments", "input", read=unchanged, write=_arguments),
    ],
)
_RESPONSE = Block(
    NAME,
    "tool_call_response",
    p.ToolResultPart,
    [Row("id", "tool_call_id", str), Row("response", "output", None, True, read=unchanged, write=_response)],
)
_BLOCKS = Blocks(_TEXT, _REASONING, _CALL, _RESPONSE)
_WRITERS: dict[type, Block] = {p.ReasoningPart: _REASONING, p.ToolCallPart: _CALL, p.ToolResultPart: _RESPONSE}


_FILES = {"blob": ("content", "data"), "uri": ("uri", "url"), "file": ("file_id", "file_id")}


def _read_file(kind: str, item: dict[str, Any]) -> Any:
    key, field = _FILES[kind]
    rest = {name: value for name, value in item.items() if name != "type"}
    value: Any = take_maybe_str(rest, key)
    if value is UNSET:
        return p.RawPart(format=NAME, value=item)
    media = take_maybe_str(rest, "mime_type")
    if rest.get("modality") == _modality(media):
        del rest["modality"]
    return p.FilePart(**{field: value}, media_type=media, extra=pack(NAME, rest))


def _modality(media: Any) -> str:
    kind = str(media).partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def _write_file(part: p.FilePart) -> dict[str, Any] | None:
    for kind, (key, field) in _FILES.items():
        value = getattr(part, field)
        if type(value) is str:
            out: dict[str, Any] = {"type": kind, "modality": _modality(part.media_type)}
            if part.media_type is not UNSET:
                out["mime_type"] = part.media_type
            return {**out, key: value}
    return None


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
        if type(part) is not p.RawPart:
            part = replace(part, extra=pack(NAME, unpack(NAME, part.extra)[0], found[1]))
            if exact_json.same(write_part(part), item):
                return part
        return p.RawPart(format=NAME, value=item)
    part = _read_file(kind, item) if type(kind) is str and kind in _FILES else _BLOCKS.read(item, None)
    return part if exact_json.same(write_part(part), item) else p.RawPart(format=NAME, value=item)


def write_part(part: Any) -> Any:
    """Write a part; None if the conventions have no type for it."""
    kind = type(part)
    if kind is p.RawPart:
        return part.value if part.format == NAME else None
    if kind is p.TextPart or kind is p.RefusalPart or (kind is p.CompactionPart and part.text is not UNSET):
        out: Any = {"type": "text", "content": part.text}
    elif kind in _WRITERS:
        out = _WRITERS[kind].write(part)
    else:
        out = _write_file(part) if kind is p.FilePart else None
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
        raw = p.RawPart(format=NAME, value={key: value for key, value in item.items() if key != "finish_reason"})
        extra = {NAME: {HINTS: {"whole": True}}}
        return Message(role="event", parts=[raw], finish_reason=take_maybe_str(rest, "finish_reason"), extra=extra)
    finish = take_maybe_str(rest, "finish_reason")
    return Message(role=role, parts=[read_part(part) for part in parts], finish_reason=finish, extra=pack(NAME, rest))


def write_message(message: Message, finish: bool) -> dict[str, Any]:
    """Write a message of a list; only outputs have a finish reason."""
    rest, hints = unpack(NAME, message.extra)
    end = {"finish_reason": message.finish_reason} if finish and message.finish_reason is not UNSET else {}
    first = message.parts[0] if len(message.parts) == 1 else None
    if type(first) is p.RawPart and "whole" in hints and type(first.value) is dict:
        return {**first.value, **end}
    parts = [part for part in map(write_part, message.parts) if part is not None]
    return {"role": message.role, "parts": parts, **rest, **end}
