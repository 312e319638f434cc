"""Files in a Gemini part, by value (`inlineData`) or by address (`fileData`), also inside results of functions."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from hansard.formats.data_url import by_value
from hansard.formats.gemini.fields import NAME, around, packed, put_together, take_held, taken_apart
from hansard.formats.gemini.reasoning import FROM_URL_SAFE, take_signature
from hansard.formats.residue import SchemaMismatch, set_present, take_maybe_str, take_str
from hansard.model.parts import FilePart, Part, RawPart

_TO_URL_SAFE = str.maketrans("+/", "-_")


def read_inline(taken: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Part:
    held = take_held(taken, "inlineData", snake, marks)
    data = take_str(held, "data")
    if ("-" in data or "_" in data) and "+" not in data and "/" not in data:
        data = data.translate(FROM_URL_SAFE)
        marks["base64"] = "url"
    return _read_file("inlineData", {"data": data}, held, taken, marks)


def read_linked(taken: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Part:
    held = take_held(taken, "fileData", snake, marks)
    url = take_str(held, "fileUri")
    if url.startswith("data:"):
        marks["uri"] = "data"
    return _read_file("fileData", {"url": url}, held, taken, marks)


def _read_file(
    key: str, source: dict[str, Any], held: dict[str, Any], taken: dict[str, Any], marks: dict[str, Any]
) -> Part:
    media = take_maybe_str(held, "mimeType")
    if media is not UNSET and media.endswith("/*"):
        marks["mimeType"] = "any"
    return FilePart(
        **source,
        media_type=media,
        name=take_maybe_str(held, "displayName"),
        signature=take_signature(taken),
        extra=packed(taken, key, held, marks),
    )


def write_file(part: FilePart, rest: dict[str, Any], marks: dict[str, Any], snake: bool) -> Any:
    """By value, or by address; the one kind of address that is a value is written as one."""
    if "uri" not in marks:
        part = by_value(part)
    data, url, media = part.data, part.url, part.media_type
    key, held = "inlineData", {"data": data}
    if data is UNSET:
        key, held = "fileData", {"fileUri": part.file_id if url is UNSET else url}
        if held["fileUri"] is UNSET:
            return UNSET
    elif marks.get("base64") == "url":
        held["data"] = data.translate(_TO_URL_SAFE)
    if type(media) is str and media.endswith("/*") and "mimeType" not in marks:
        media = UNSET
    return around(key, set_present(held, mimeType=media, displayName=part.name), part, rest, marks, snake)


def read_media(block: Any, snake: bool) -> Part:
    """A part inside a function's response: a file, or raw."""
    if type(block) is dict:
        marks: dict[str, Any] = {}
        taken = taken_apart(block, snake, marks)
        about = [key for key in taken if key in READERS]
        if len(about) == 1 and taken.keys().isdisjoint(("text", "thoughtSignature")):
            try:
                return READERS[about[0]](taken, snake, marks)  # type: ignore[no-any-return]
            except SchemaMismatch:
                pass
    return RawPart(format=NAME, value=block)


def write_media(part: Any, snake: bool) -> Any:
    if type(part) is FilePart:
        return put_together(replace(part, signature=UNSET, file_id=UNSET), write_file, snake)
    return part.value if type(part) is RawPart and part.format == NAME else UNSET


READERS: dict[str, Any] = {"inlineData": read_inline, "fileData": read_linked}
