"""Images and documents of the Anthropic Messages API: by value, address, file id or, for documents, as text."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from msgspec import UNSET, UnsetType

from hansard.formats.anthropic.fields import CACHE, NAME
from hansard.formats.data_url import by_value
from hansard.formats.field_table.blocks import Block
from hansard.formats.field_table.rows import Row
from hansard.formats.residue import SchemaMismatch, residue_of, set_present, take_str, unpack
from hansard.model.parts import Binding, FilePart

_OURS = Binding(provider="anthropic")


def _read_file(block: dict[str, Any], names: dict[str, str]) -> FilePart:
    kind, source = block["type"], block.get("source")
    if type(source) is not dict:
        raise SchemaMismatch("source")
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
        raise SchemaMismatch("source")
    if held:
        marks["source"] = held
    if "media_type" not in fields:
        fields["media_type"] = "image/*" if kind == "image" else "application/pdf" if how == "url" else UNSET
    if kind != _kind_of(fields["media_type"], how == "file"):
        marks["type"] = kind
    given = block.get("title")
    title = given if type(given) is str else UNSET
    return FilePart(**fields, name=title, extra=residue_of(NAME, block, _FILE if title is UNSET else _TITLED, marks))


_FILE = frozenset({"type", "source"})
_TITLED = _FILE | {"title"}


def _kind_of(media: str | UnsetType, by_id: bool) -> str:
    """The block of a file; of an unknown type a document if the provider has it, else an image."""
    if not media:
        return "document" if by_id else "image"
    return "image" if media.startswith("image/") else "document"


def _from_text(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def write_file(part: FilePart) -> dict[str, Any]:
    rest, marks = unpack(NAME, part.extra)
    if "url" not in marks:
        part = by_value(part)
    media = part.media_type if type(part.media_type) is str else ""
    kind = marks.get("type") or _kind_of(media, part.file_id is not UNSET)
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
        set_present(out, title=part.name)
    return {**out, **rest}


def _to_text(data: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return data


_SOURCE = Row("source")
IMAGE = Block(NAME, "image", FilePart, [_SOURCE, CACHE], reader=_read_file)
DOCUMENT = Block(
    NAME,
    "document",
    FilePart,
    [_SOURCE, Row("title"), Row("context"), Row("citations"), CACHE],
    reader=_read_file,
)
