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
    hints: dict[str, Any] = {"image": True}
    if media is UNSET:
        hints["untyped"] = True
    return read_data(block, block.pop("image", None), "image/*" if media is UNSET else media, hints)


def write_file(part: FilePart, profile: str | None) -> dict[str, Any] | None:
    rest, hints = unpack(NAME, part.extra)
    data = write_data(part, hints, profile)
    if data is None:
        return None
    media = shown_media(part)
    if hints.get("image") and profile is None:
        out: dict[str, Any] = {"type": "image", "image": data, **({} if hints.get("untyped") else {"mediaType": media})}
    else:
        out = {"type": "file", "data": data, "mediaType": media}
    if "reference" not in hints:
        put_opaque(rest, "providerOptions", part, make=True)
    return {**rest, **set_present(out, filename=part.name)}


# -- the forms of `data`: a string, or an object with a tag ---------------------------------------------------------


def read_data(block: dict[str, Any], data: Any, media: str, hints: dict[str, Any]) -> Part:
    fields: dict[str, Any] = {"media_type": media, "name": take_maybe_str(block, "filename")}
    head = f"data:{media};base64,"
    if type(data) is dict:
        tag, inner = _tagged(data)
        if tag == "reference":
            ((owner, fields["file_id"]),) = inner.items()
            fields["binding"] = Binding(provider=owner)
            hints["reference"] = owner
        else:
            hints["form"], data = tag, inner
    if type(data) is str:
        if data.startswith(head) and hints.get("form") != "data":
            fields["data"] = data[len(head) :]
            hints["form"] = "url" if hints.get("form") == "url" else "data-url"
        elif hints.get("form") == "url" or (":" in data and "form" not in hints):
            fields["url"] = data
        else:
            fields["data"] = data
    elif "reference" not in hints:
        raise SchemaMismatch("data")
    if "reference" not in hints:
        fields.update(take_opaque(block, "providerOptions", make=True))
    return FilePart(**fields, extra=pack(NAME, block, hints))


def write_data(part: FilePart, hints: dict[str, Any], profile: str | None) -> Any:
    """The data of a file; None if only the provider has its content."""
    if type(hints.get("reference")) is str and part.file_id is not UNSET:
        reference = {hints["reference"]: part.file_id}
        return {"type": "reference", "reference": reference} if profile in (None, "v7") else None
    form = hints.get("form") if profile is None else None
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
