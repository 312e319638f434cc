"""Files in LangChain's content: a table of all spellings in use, from which blocks are read and written.

A spelling names the fields that identify it, and the path of each file field in the block. A file of another format is
written in the standard spelling (`url`, `base64` or `file_id` beside `mime_type`).
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

from msgspec import UNSET

from hansard.formats.residue import SchemaMismatch, pack, unpack
from hansard.model.parts import FilePart

NAME = "langchain"
_STANDARD = ("image", "audio", "video", "file")


class _Spelling(NamedTuple):
    types: tuple[str, ...]
    places: dict[str, tuple[str, ...]]  # file field to path; the required one first
    discriminators: dict[tuple[str, ...], str] = {}  # fixed values that identify the spelling
    media: tuple[str, ...] = ()  # path of the media type
    prefix: str = ""  # prefix of the media type, or the media type itself


_MIME = ("mime_type",)
_FILENAME = ("extras", "filename")
_SOURCE = ("image", "document")
_SPELLINGS: dict[str, _Spelling] = {
    "v0-url": _Spelling(_STANDARD, {"url": ("url",)}, {("source_type",): "url"}, _MIME),
    "v0-base64": _Spelling(_STANDARD, {"data": ("data",)}, {("source_type",): "base64"}, _MIME),
    "v0-id": _Spelling(_STANDARD, {"file_id": ("id",)}, {("source_type",): "id"}, _MIME),
    "v0-text": _Spelling(("file",), {"text": ("text",)}, {("source_type",): "text"}, _MIME),
    "url": _Spelling(_STANDARD, {"url": ("url",), "name": _FILENAME}, {}, _MIME),
    "base64": _Spelling(_STANDARD, {"data": ("base64",), "name": _FILENAME}, {}, _MIME),
    "file_id": _Spelling(_STANDARD, {"file_id": ("file_id",), "name": _FILENAME}, {}, _MIME),
    "text": _Spelling(("text-plain",), {"text": ("text",), "name": ("title",)}, {}, _MIME),
    "image_url": _Spelling(("image_url",), {"url": ("image_url", "url")}, prefix="image/*"),
    "image_url-string": _Spelling(("image_url",), {"url": ("image_url",)}, prefix="image/*"),
    "audio": _Spelling(("input_audio",), {"data": ("input_audio", "data")}, {}, ("input_audio", "format"), "audio/"),
    "openai-data": _Spelling(("file",), {"url": ("file", "file_data"), "name": ("file", "filename")}),
    "openai-id": _Spelling(("file",), {"file_id": ("file", "file_id")}),
    "source-base64": _Spelling(
        _SOURCE,
        {"data": ("source", "data"), "name": ("title",)},
        {("source", "type"): "base64"},
        ("source", "media_type"),
    ),
    "source-url": _Spelling(_SOURCE, {"url": ("source", "url"), "name": ("title",)}, {("source", "type"): "url"}),
    "source-file": _Spelling(
        _SOURCE, {"file_id": ("source", "file_id"), "name": ("title",)}, {("source", "type"): "file"}
    ),
    "media-data": _Spelling(("media",), {"data": ("data",)}, {}, _MIME),
    "media-uri": _Spelling(("media",), {"url": ("file_uri",)}, {}, _MIME),
}
_DEFAULT_MEDIA = {"image": "image/*", "audio": "audio/*", "video": "video/*", "document": "application/pdf"}
TYPES = frozenset(kind for row in _SPELLINGS.values() for kind in row.types)


def read_file(block: dict[str, Any]) -> FilePart:
    """Read the file of a block."""
    for name, spelling in _SPELLINGS.items():
        main = next(iter(spelling.places.values()))
        if block["type"] in spelling.types and type(_get(block, main)) is str:
            if all(_get(block, path) == value for path, value in spelling.discriminators.items()):
                return _read_spelling(block, name, spelling)
    raise SchemaMismatch("file")


def _read_spelling(block: dict[str, Any], name: str, spelling: _Spelling) -> FilePart:
    kind, rest = block["type"], _copied(block)
    del rest["type"]
    for path in spelling.discriminators:
        _take(rest, path)
    fields: dict[str, Any] = {}
    for field, path in spelling.places.items():
        if type(_get(rest, path)) is str:
            fields[field] = _take(rest, path)
    if "text" in fields:
        fields["data"] = _encoded(fields.pop("text"))
    hints: dict[str, Any] = {}
    if spelling.media and type(_get(rest, spelling.media)) is str:
        fields["media_type"] = spelling.prefix + _take(rest, spelling.media)
    elif spelling.prefix and not spelling.media:
        fields["media_type"] = spelling.prefix
    elif kind in _DEFAULT_MEDIA:
        fields["media_type"] = _DEFAULT_MEDIA[kind]
        if spelling.media:
            hints["media"] = False
    part = FilePart(**fields)
    if name != _default_spelling(part):
        hints["as"] = name
    if kind != _default_kind(part, name):
        hints["type"] = kind
    return FilePart(**fields, extra=pack(NAME, rest, hints))


def write_file(part: FilePart) -> Any:
    """Write a file block; UNSET if the file has no location."""
    rest, hints = unpack(NAME, part.extra)
    how = hints.get("as")
    if type(how) is not str or how not in _SPELLINGS:
        how = _default_spelling(part)
        if how is None:
            return UNSET
    spelling, kind, media = _SPELLINGS[how], hints.get("type"), part.media_type
    out: dict[str, Any] = {"type": kind if type(kind) is str and kind in spelling.types else _default_kind(part, how)}
    for field, path in spelling.places.items():
        value = _decoded(part.data) if field == "text" else getattr(part, field)
        if type(value) is str:
            _set(out, path, value)
    for path, fixed in spelling.discriminators.items():
        _set(out, path, fixed)
    if spelling.media and type(media) is str and media.startswith(spelling.prefix) and "media" not in hints:
        _set(out, spelling.media, media[len(spelling.prefix) :])
    return merge_deep(out, rest)


def _default_spelling(part: FilePart) -> str | None:
    for field, name in (("data", "base64"), ("url", "url"), ("file_id", "file_id")):
        if type(getattr(part, field)) is str:
            return name
    return None


def _default_kind(part: FilePart, spelling: str) -> str:
    types = _SPELLINGS[spelling].types
    group = part.media_type.partition("/")[0] if type(part.media_type) is str else ""
    return group if group in types else "file" if "file" in types else types[-1]


def _encoded(text: str) -> str:
    try:
        return base64.b64encode(text.encode()).decode()
    except UnicodeEncodeError:
        raise SchemaMismatch("text") from None


def _decoded(data: Any) -> Any:
    try:
        return base64.b64decode(data, validate=True).decode() if type(data) is str else UNSET
    except (binascii.Error, UnicodeError):
        return UNSET


# -- places inside a block -----------------------------------------------------------------------------------------


def _get(block: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        block = block.get(key) if type(block) is dict else None
    return block


def _take(block: dict[str, Any], path: tuple[str, ...]) -> Any:
    """Remove the value, and its object if that is then empty."""
    if len(path) == 1:
        return block.pop(path[0])
    inner = block[path[0]]
    value = _take(inner, path[1:])
    if not inner:
        del block[path[0]]
    return value


def _set(block: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        block = block.setdefault(key, {})
    block[path[-1]] = value


def merge_deep(out: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """Merge the residue into the written fields, one object deep."""
    for key, value in rest.items():
        held = out.get(key)
        out[key] = {**held, **value} if type(held) is dict and type(value) is dict else value
    return out


def _copied(block: dict[str, Any]) -> dict[str, Any]:
    return {key: dict(value) if type(value) is dict else value for key, value in block.items()}
