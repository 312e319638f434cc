"""Files of ModelMessages: `file` and `image` parts, and the forms of their `data`.

A file's `data` is written as the one form that every version reads from JSON: base64, an address or a data URL. The
tagged forms of version 7 (`{"type": "url", ...}`) are spelling hints.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.ai_sdk.reasoning import put_opaque, take_opaque
from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model.display import shown_media
from hansard.model.parts import Binding, FilePart, Part

NAME = "ai-sdk-model"


def read_file(block: dict[str, Any], role: str) -> Part:
    media = take_str(block, "mediaType")
    return read_data(block, block.pop("data", None), media, {})


def read_image(block: dict[str, Any], role: str) -> Part:
    media = block.pop("mediaType") if type(block.get("mediaType")) is str else UNSET
    marks: dict[str, Any] = {"image": True}
    if media is UNSET:
        marks["untyped"] = True
    return read_data(block, block.pop("image", None), "image/*" if media is UNSET else media, marks)


def write_file(part: FilePart, profile: str | None) -> dict[str, Any] | None:
    rest, marks = unpack(NAME, part.extra)
    data = write_data(part, marks, profile)
    if data is None:
        return None
    media = shown_media(part)
    if marks.get("image") and profile is None:
        out: dict[str, Any] = {"type": "image", "image": data, **({} if marks.get("untyped") else {"mediaType": media})}
    else:
        out = {"type": "file", "data": data, "mediaType": media}
    if "reference" not in marks:
        put_opaque(rest, "providerOptions", part, make=True)
    return {**rest, **set_present(out, filename=part.name)}


# -- the forms of `data`: a string, or an object with a tag ---------------------------------------------------------


def read_data(block: dict[str, Any], data: Any, media: str, marks: dict[str, Any]) -> Part:
    fields: dict[str, Any] = {"media_type": media, "name": take_maybe_str(block, "filename")}
    head = f"data:{media};base64,"
    if type(data) is dict:
        tag, inner = _tagged(data)
        if tag == "reference":
            ((owner, fields["file_id"]),) = inner.items()
            fields["binding"] = Binding(provider=owner)
            marks["reference"] = owner
        else:
            marks["form"], data = tag, inner
    if type(data) is str:
        if data.startswith(head) and marks.get("form") != "data":
            fields["data"] = data[len(head) :]
            marks["form"] = "url" if marks.get("form") == "url" else "data-url"
        elif marks.get("form") == "url" or (":" in data and "form" not in marks):
            fields["url"] = data
        else:
            fields["data"] = data
    elif "reference" not in marks:
        raise SchemaMismatch("data")
    if "reference" not in marks:
        fields.update(take_opaque(block, "providerOptions", make=True))
    return FilePart(**fields, extra=pack(NAME, block, marks))


def write_data(part: FilePart, marks: dict[str, Any], profile: str | None) -> Any:
    """The data of a file; None if only the provider has its content."""
    if type(marks.get("reference")) is str and part.file_id is not UNSET:
        reference = {marks["reference"]: part.file_id}
        return {"type": "reference", "reference": reference} if profile in (None, "v7") else None
    form = marks.get("form") if profile is None else None
    if part.data is not UNSET:
        if form == "data":
            return {"type": "data", "data": part.data}
        whole = f"data:{shown_media(part)};base64,{part.data}"
        return {"type": "url", "url": whole} if form == "url" else whole if form == "data-url" else part.data
    if part.url is UNSET:
        return None
    return {"type": "url", "url": part.url} if form == "url" else part.url


def _tagged(data: dict[str, Any]) -> tuple[str, Any]:
    kind = data.get("type")
    if kind in ("data", "url") and data.keys() == {"type", kind} and type(data[kind]) is str:
        return str(kind), data[kind]
    if kind == "reference" and data.keys() == {"type", "reference"}:
        inner = data["reference"]
        if type(inner) is dict and len(inner) == 1 and all(type(value) is str for value in inner.values()):
            return "reference", inner
    raise SchemaMismatch("data")
