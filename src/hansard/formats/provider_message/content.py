"""The content of provider messages: a string, or parts (text, image, audio, file) with flat fields."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import force_setattr

from hansard.formats.provider_message import KINDS
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model.parts import Binding, CompactionPart, FilePart, Part, RawPart, RetryPart, TextPart

NAME = "provider-message"
_PROVIDERS = {"claude": "anthropic", "gemini": "google"}  # keys of `extra`; other providers are named as they are
_FORMATS = {
    "jpg": "image/jpeg",
    "mp3": "audio/mpeg",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
}


def _read_text(block: dict[str, Any], kind: str) -> Part:
    return TextPart(text=take_str(block, "text"), extra=pack(NAME, block))


def _write_text(part: TextPart) -> dict[str, Any]:
    return {"type": "text", "text": part.text, **unpack(NAME, part.extra)[0]}


def _read_file(block: dict[str, Any], kind: str) -> Part:
    format, hints = block.pop("format", UNSET), {}
    media = _media_of(kind, format)
    if format is not UNSET and media != format:
        hints["format"] = format
    if kind != _kind_of(media):
        hints["kind"] = kind
    return FilePart(
        media_type=media,
        url=take_maybe_str(block, "url"),
        data=take_maybe_str(block, "data"),
        file_id=take_maybe_str(block, "file_id"),
        name=take_maybe_str(block, "name"),
        extra=pack(NAME, block, hints),
    )


def _media_of(kind: str, format: Any) -> Any:
    """`format` is a media type or a short name."""
    if type(format) is str and "/" in format:
        return format
    if type(format) is str and format:
        return _FORMATS.get(format) or (f"{kind}/{format}" if kind != "file" else UNSET)
    return f"{kind}/*" if kind != "file" else UNSET


def _kind_of(media: Any) -> str:
    group = media.partition("/")[0] if type(media) is str else ""
    return group if group == "image" or group == "audio" else "file"


def _write_file(part: FilePart) -> dict[str, Any]:
    rest, hints = unpack(NAME, part.extra)
    kind = hints.get("kind") or _kind_of(part.media_type)
    format = hints.get("format", UNSET if part.media_type in ("image/*", "audio/*") else part.media_type)
    fields = set_present({}, format=format, file_id=part.file_id, name=part.name, url=part.url, data=part.data)
    return {"type": kind, **fields, **rest}


def _write_as_text(part: Any) -> Any:
    """Write text to the model for which this format has no type as plain text."""
    text = part.text if type(part) is CompactionPart else part.content
    return {"type": "text", "text": text} if type(text) is str and text else UNSET


def read_part(block: Any) -> Part:
    """Read a content part; keep an unknown or malformed one as a raw part."""
    kind = block.get("type") if type(block) is dict else None
    if type(kind) is not str or kind not in KINDS:
        return RawPart(format=NAME, value=block)
    taken = dict(block)
    del taken["type"]
    try:
        return _read_text(taken, kind) if kind == "text" else _read_file(taken, kind)
    except SchemaMismatch:
        return RawPart(format=NAME, value=block)


def write_part(part: Part) -> Any:
    """Write a content part; UNSET for parts that content cannot hold."""
    writer = _WRITERS.get(type(part))
    return writer(part) if writer is not None else UNSET


_WRITERS: dict[type, Any] = {
    TextPart: _write_text,
    FilePart: _write_file,
    CompactionPart: _write_as_text,
    RetryPart: _write_as_text,
    RawPart: lambda part: part.value if part.format == NAME else UNSET,
}


def read_content(content: Any, record: dict[str, Any], hints: dict[str, Any], more: bool) -> list[Any]:
    """The parts of `content`; with `more` the record has other parts too, and "" is the default for no content."""
    if type(content) is str:
        return [TextPart(text=content)] if content or not more else []
    if type(content) is list:
        parts: list[Any] = [read_part(block) for block in content]
        if plain_text(parts) is not None or (more and not parts):
            hints["content"] = "list"
        return parts
    if content is not UNSET and content is not None:
        record["content"] = content
    hints["content"] = "null" if content is None else "missing"
    return []


def write_content(parts: list[Any], hints: dict[str, Any], more: bool) -> Any:
    how = hints.get("content")
    written = list(map(write_part, parts))
    if UNSET in written:
        parts = [part for part, made in zip(parts, written, strict=True) if made is not UNSET]
        written = [made for made in written if made is not UNSET]
    text = plain_text(parts) if how != "list" else None
    if text is not None:
        return text
    if written or how == "list":
        return written
    if how == "missing":
        return UNSET
    return None if how == "null" else "" if more else []


def is_text(block: Any) -> bool:
    """Whether it is a non-empty text entry of `reasoning` or `refusal`."""
    text = block.get("text") if type(block) is dict and block.get("type") == "text" else ""
    return type(text) is str and text != ""


def write_texts(parts: list[Any], how: Any) -> Any:
    """Write `reasoning` or `refusal`: a list of entries, a string for a single text, UNSET for none."""
    said = [part for part in parts if type(part) is RawPart or part.text]
    entries = [part.value if type(part) is RawPart else _write_text(part) for part in said]
    if len(said) == 1 and type(said[0]) is not RawPart and len(entries[0]) == 2 and how != "list":
        return entries[0]["text"]
    return entries or UNSET


def plain_text(parts: list[Any]) -> str | None:
    """The text of a single plain text part, else None."""
    if len(parts) == 1 and type(parts[0]) is TextPart and (parts[0].extra is UNSET or NAME not in parts[0].extra):
        return parts[0].text
    return None


# -- keys inside `extra` -------------------------------------------------------------------------------------------


def find_extra(record: dict[str, Any], provider: str, key: str) -> list[Any]:
    extra = record.get("extra")
    held = extra.get(provider) if type(extra) is dict else None
    found = held.get(key) if type(held) is dict else None
    return found if type(found) is list else []


def take_extra(record: dict[str, Any], provider: str, key: str) -> None:
    """Remove the key, and its objects if they are then empty."""
    extra = dict(record["extra"])
    held = dict(extra[provider])
    del held[key]
    extra[provider] = held
    if not held:
        del extra[provider]
    record["extra"] = extra
    if not extra:
        del record["extra"]


def put_extra(out: dict[str, Any], provider: str, key: str, value: list[Any]) -> None:
    extra = out.get("extra", {})
    held = extra.get(provider, {}) if type(extra) is dict else None
    if type(held) is dict:
        out["extra"] = {**extra, provider: {**held, key: value}}


def read_file_ids(record: dict[str, Any], parts: list[Any]) -> None:
    """Bind the files of a record to the provider that knows their ids: `extra.openai.file_ids` lists OpenAI's."""
    for name in list(record["extra"]) if type(record.get("extra")) is dict else ():
        given = find_extra(record, name, "file_ids")
        known = [part for part in parts if type(part) is FilePart and part.file_id in given]
        if known and [part.file_id for part in known] == given:
            take_extra(record, name, "file_ids")
            for part in known:
                force_setattr(part, "binding", Binding(provider=_PROVIDERS.get(name, name)))


def write_file_ids(parts: list[Any], out: dict[str, Any]) -> None:
    """List the ids of files that a provider gave, below its name."""
    for part in parts:
        if type(part) is not FilePart or type(part.file_id) is not str or part.binding is UNSET:
            continue
        if isinstance(provider := part.binding.provider, str):
            name = next((name for name, one in _PROVIDERS.items() if one == provider), provider)
            put_extra(out, name, "file_ids", [*find_extra(out, name, "file_ids"), part.file_id])
