"""Content in ATIF: a string, or a list of text, image and audio; media are files by URL."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.residue import SchemaMismatch, pack, take_str, unpack
from hansard.model import exact_json
from hansard.model.display import shown_output
from hansard.model.parts import CompactionPart, FilePart, RawPart, RefusalPart, TextPart, ToolResultPart

NAME = "atif"
IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
AUDIO = frozenset(f"audio/{kind}" for kind in ("wav", "mpeg", "mp4", "aac", "ogg", "flac", "webm", "aiff"))


def _read_part(item: Any) -> Any:
    try:
        rest = dict(item) if type(item) is dict else {}
        kind = take_str(rest, "type")
        if kind == "text":
            return TextPart(text=take_str(rest, "text"), extra=pack(NAME, rest))
        if kind not in ("image", "audio") or type(rest.get("source")) is not dict:
            raise SchemaMismatch("type")
        source = dict(rest.pop("source"))
        media, path = take_str(source, "media_type"), take_str(source, "path")
        if media.partition("/")[0] != kind:
            raise SchemaMismatch("media_type")
        return FilePart(media_type=media, url=path, extra=pack(NAME, rest, {"source": source} if source else None))
    except SchemaMismatch:
        return RawPart(format=NAME, value=item)


def _write_part(part: Any) -> Any:
    """Write a content part; None if ATIF has no type for it."""
    kind = type(part)
    if kind is RawPart:
        return part.value if part.format == NAME and "at" not in unpack(NAME, part.extra)[1] else None
    if kind is TextPart or kind is RefusalPart or (kind is CompactionPart and part.text is not UNSET):
        return {"type": "text", "text": part.text, **unpack(NAME, part.extra)[0]}
    if kind is FilePart and type(part.url) is str and not part.url.startswith("data:"):
        media = part.media_type
        if media in IMAGES or media in AUDIO or _was_read_here(part):
            rest, hints = unpack(NAME, part.extra)
            more = hints.get("source")
            source = {"media_type": media, "path": part.url, **(more if type(more) is dict else {})}
            return {"type": str(media).partition("/")[0], "source": source, **rest}
    return None


def _was_read_here(part: FilePart) -> bool:
    return part.extra is not UNSET and NAME in part.extra and str(part.media_type).startswith(("image/", "audio/"))


def read_content(content: Any, hints: dict[str, Any]) -> list[Any]:
    """Read a string or a list of parts; an empty string has no parts."""
    if type(content) is str:
        return [TextPart(text=content)] if content else []
    parts = [_read_part(item) for item in content]
    if write_content(parts, {}) != content:
        hints["message"] = "list"
    return parts


def write_content(parts: list[Any], hints: dict[str, Any]) -> Any:
    """Write a string for one text or none, else a list."""
    items = [item for item in map(_write_part, parts) if item is not None]
    if hints.get("message") == "list":
        return items
    if not items:
        return ""
    if len(items) == 1 and type(items[0]) is dict and items[0].keys() == {"type", "text"}:
        return items[0]["text"]
    return items


def result_content(part: ToolResultPart) -> Any:
    """Write the content of a result: its text, its parts, or its data as JSON."""
    if part.content is not UNSET:
        return [item for item in map(_write_part, part.content) if item is not None]
    output = shown_output(part) if part.output is not UNSET else UNSET
    return output if output is UNSET or type(output) is str else exact_json.encode(output).decode()


def has_audio(parts: list[Any]) -> bool:
    """Whether there is audio, which only ATIF 1.8 knows."""
    return any(type(part) is FilePart and str(part.media_type).startswith("audio/") for part in parts)
