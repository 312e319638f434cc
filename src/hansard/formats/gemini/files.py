"""Files in a Gemini part, by value (`inlineData`) or by address (`fileData`), also inside results of functions."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.data_url import by_value
from hansard.formats.gemini.fields import NAME, assemble, pack_part, take_fields, take_inner, wrap_part
from hansard.formats.gemini.reasoning import FROM_URL_SAFE, take_signature
from hansard.formats.residue import SchemaMismatch, set_present, take_maybe_str, take_str
from hansard.model.parts import FilePart, Part, RawPart

_TO_URL_SAFE = str.maketrans("+/", "-_")


def read_inline(taken: dict[str, Any], snake: bool, hints: dict[str, Any]) -> Part:
    inner = take_inner(taken, "inlineData", snake, hints)
    data = take_str(inner, "data")
    if ("-" in data or "_" in data) and "+" not in data and "/" not in data:
        data = data.translate(FROM_URL_SAFE)
        hints["base64"] = "url"
    return _read_file("inlineData", {"data": data}, inner, taken, hints)


def read_linked(taken: dict[str, Any], snake: bool, hints: dict[str, Any]) -> Part:
    inner = take_inner(taken, "fileData", snake, hints)
    url = take_str(inner, "fileUri")
    if url.startswith("data:"):
        hints["uri"] = "data"
    return _read_file("fileData", {"url": url}, inner, taken, hints)


def _read_file(
    key: str, source: dict[str, Any], inner: dict[str, Any], taken: dict[str, Any], hints: dict[str, Any]
) -> Part:
    media = take_maybe_str(inner, "mimeType")
    if media is not UNSET and media.endswith("/*"):
        hints["mimeType"] = "any"
    return FilePart(
        **source,
        media_type=media,
        name=take_maybe_str(inner, "displayName"),
        signature=take_signature(taken),
        extra=pack_part(taken, key, inner, hints),
    )


def write_file(part: FilePart, rest: dict[str, Any], hints: dict[str, Any], snake: bool) -> Any:
    """Write a file as `inlineData` or `fileData`; a data URL is written as `inlineData`."""
    if "uri" not in hints:
        part = by_value(part)
    data, url, media = part.data, part.url, part.media_type
    key, inner = "inlineData", {"data": data}
    if data is UNSET:
        key, inner = "fileData", {"fileUri": part.file_id if url is UNSET else url}
        if inner["fileUri"] is UNSET:
            return UNSET
    elif hints.get("base64") == "url":
        inner["data"] = data.translate(_TO_URL_SAFE)
    if type(media) is str and media.endswith("/*") and "mimeType" not in hints:
        media = UNSET
    return wrap_part(key, set_present(inner, mimeType=media, displayName=part.name), part, rest, hints, snake)


def read_media(block: Any, snake: bool) -> Part:
    """Read a part inside a functionResponse: a file, else a raw part."""
    if type(block) is dict:
        hints: dict[str, Any] = {}
        taken = take_fields(block, snake, hints)
        kinds = [key for key in taken if key in READERS]
        if len(kinds) == 1 and taken.keys().isdisjoint(("text", "thoughtSignature")):
            try:
                return READERS[kinds[0]](taken, snake, hints)  # type: ignore[no-any-return]
            except SchemaMismatch:
                pass
    return RawPart(format=NAME, value=block)


def write_media(part: Any, snake: bool) -> Any:
    if type(part) is FilePart:
        return assemble(replace(part, signature=UNSET, file_id=UNSET), write_file, snake)
    return part.value if type(part) is RawPart and part.format == NAME else UNSET


READERS: dict[str, Any] = {"inlineData": read_inline, "fileData": read_linked}
