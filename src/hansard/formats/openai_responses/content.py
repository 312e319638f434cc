"""Content of the OpenAI Responses API: the blocks inside messages and tool outputs.

    canonical                         native
    text                              output_text where the model speaks, input_text elsewhere
    refusal                           refusal
    file                              input_image, input_file, input_audio, computer_screenshot
    raw(openai-responses)             any other block, verbatim

`annotations: []` and `detail: auto` are the default spelling and leave no hint; non-empty annotations, log
probabilities and cache breakpoints are residue.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from hansard.formats.residue import SchemaMismatch, pack, set_present, take_maybe_str, take_str, unpack
from hansard.model.parts import Binding, FilePart, Part, RawPart, RefusalPart, TextPart

NAME = "openai-responses"
PROVIDER = "openai"
NO_RESIDUE: tuple[dict[str, Any], dict[str, Any]] = ({}, {})  # residue and hints of a value without any
_OWN_FILE = Binding(provider=PROVIDER)
_AUDIO = {"mp3": "audio/mpeg"}


def _read_text(kind: str, block: dict[str, Any], usual: str, hints: dict[str, Any]) -> Part:
    text = take_str(block, "text")
    if kind != usual:
        hints["type"] = kind
    if kind == "output_text":
        if "annotations" not in block:
            hints["bare"] = True
        elif block["annotations"] == []:
            del block["annotations"]
    return TextPart(text=text, extra=pack(NAME, block, hints))


def _write_text(part: TextPart, usual: str, rest: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    kind = hints["type"] if hints.get("type") in ("input_text", "output_text") else usual
    out: dict[str, Any] = {"type": kind, "text": part.text}
    if kind == "output_text" and "bare" not in hints:
        out["annotations"] = []
    return {**out, **rest}


def _read_refusal(kind: str, block: dict[str, Any], usual: str, hints: dict[str, Any]) -> Part:
    return RefusalPart(text=take_str(block, "refusal"), extra=pack(NAME, block, hints))


def _write_refusal(part: RefusalPart, usual: str, rest: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    return {"type": "refusal", "refusal": part.text, **rest}


# -- files ---------------------------------------------------------------------------------------------------------


def from_data_url(url: str) -> dict[str, str]:
    """The media type and data of a data URL, else the URL.

    >>> from_data_url("data:image/png;base64,aGk="), from_data_url("https://example.org/a.png")
    ({'media_type': 'image/png', 'data': 'aGk='}, {'url': 'https://example.org/a.png'})
    """
    if url.startswith("data:"):
        head, comma, data = url.partition(",")
        media = head[5:-7]
        if comma and head.endswith(";base64") and media and ";" not in media:
            return {"media_type": media, "data": data}
    return {"url": url}


def _data_url(part: FilePart) -> Any:
    if part.data is UNSET:
        return part.url
    return f"data:{part.media_type or 'image/*'};base64,{part.data}"


def _read_image(kind: str, block: dict[str, Any], usual: str, hints: dict[str, Any]) -> Part:
    """Read an image by URL, data or id; also a screenshot."""
    url, file_id = take_maybe_str(block, "image_url"), take_maybe_str(block, "file_id")
    if url is UNSET and file_id is UNSET:
        raise SchemaMismatch("image_url")
    fields: dict[str, Any] = from_data_url(url) if url is not UNSET else {}
    media = fields.setdefault("media_type", "image/*")
    if kind != "input_image" or not media.startswith("image/"):
        hints["type"] = kind
    if kind == "input_image":
        if "detail" not in block:
            hints["bare"] = True
        elif block["detail"] == "auto":
            del block["detail"]
    if file_id is not UNSET:
        fields.update(file_id=file_id, binding=_OWN_FILE)
    return FilePart(**fields, extra=pack(NAME, block, hints))


def _write_image(part: FilePart, kind: str, rest: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    out = set_present({"type": kind}, image_url=_data_url(part), file_id=part.file_id)
    if kind == "input_image" and "bare" not in hints:
        out["detail"] = "auto"
    return {**out, **rest}


def _read_file(kind: str, block: dict[str, Any], usual: str, hints: dict[str, Any]) -> Part:
    data, url = take_maybe_str(block, "file_data"), take_maybe_str(block, "file_url")
    file_id, name = take_maybe_str(block, "file_id"), take_maybe_str(block, "filename")
    fields: dict[str, Any] = {}
    if data is not UNSET:
        fields = from_data_url(data)
        if "url" in fields:
            fields = {"data": data}
        media = fields.get("media_type", "")
        if media.startswith("image/"):
            hints["type"] = kind
        if name is UNSET:
            hints["nameless"] = True
        elif name == _unnamed(media):
            name = UNSET
    elif url is not UNSET:
        fields = {"media_type": "application/pdf"}
    elif file_id is UNSET:
        raise SchemaMismatch("file_data")
    if url is not UNSET:
        fields["url"] = url
        if data is not UNSET:
            hints["both"] = True
    if file_id is not UNSET:
        fields.update(file_id=file_id, binding=_OWN_FILE)
    return FilePart(**fields, name=name, extra=pack(NAME, block, hints))


def _unnamed(media: str) -> str:
    """The name to send for an inline file without one: OpenAI requires a name."""
    return "unnamed.pdf" if media == "application/pdf" else "unnamed"


def _write_file_block(part: FilePart, kind: str, rest: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    media = part.media_type if type(part.media_type) is str else ""
    out = set_present({"type": kind}, file_id=part.file_id, filename=part.name)
    if part.data is not UNSET:
        out["file_data"] = _data_url(part) if media else part.data
        if part.name is UNSET and "nameless" not in hints:
            out["filename"] = _unnamed(media)
    if part.data is UNSET or "both" in hints:
        set_present(out, file_url=part.url)
    return {**out, **rest}


def _read_audio(kind: str, block: dict[str, Any], usual: str, hints: dict[str, Any]) -> Part:
    held = block.pop("input_audio", None)
    if type(held) is not dict:
        raise SchemaMismatch("input_audio")
    held = dict(held)
    data, audio_format = take_str(held, "data"), held.get("format")
    media = _AUDIO.get(audio_format, f"audio/{audio_format}") if type(audio_format) is str else "audio/*"
    return FilePart(data=data, media_type=media, extra=pack(NAME, block, {**hints, "type": kind, "audio": held}))


def _write_audio(part: FilePart, kind: str, rest: dict[str, Any], hints: dict[str, Any]) -> dict[str, Any]:
    held = hints.get("audio")
    return {"type": kind, "input_audio": set_present(dict(held) if type(held) is dict else {}, data=part.data), **rest}


_FILES: dict[str, Any] = {
    "input_image": _write_image,
    "computer_screenshot": _write_image,
    "input_file": _write_file_block,
    "input_audio": _write_audio,
}


def _write_file(part: FilePart, usual: str, rest: dict[str, Any], hints: dict[str, Any]) -> Any:
    if part.url is UNSET and part.data is UNSET and part.file_id is UNSET:
        return UNSET
    kind = hints.get("type")
    if type(kind) is not str or kind not in _FILES:
        is_image = type(part.media_type) is str and part.media_type.startswith("image/")
        kind = "input_image" if is_image else "input_file"
    return _FILES[kind](part, kind, rest, hints)


# -- blocks --------------------------------------------------------------------------------------------------------


def read_block(block: Any, usual: str, hints: dict[str, Any]) -> Part:
    """Read a block; keep an unknown or malformed one as a raw part. `usual` is the default type of text blocks."""
    kind = block.get("type") if type(block) is dict else None
    if kind == "input_text" == usual and len(block) == 2 and not hints and type(block.get("text")) is str:
        return TextPart(text=block["text"])  # fast path: text only
    reader = _READERS.get(kind) if type(kind) is str else None
    if reader is not None:
        taken = dict(block)
        del taken["type"]
        try:
            return reader(kind, taken, usual, dict(hints))  # type: ignore[no-any-return]
        except SchemaMismatch:
            pass
    return RawPart(format=NAME, value=block, extra=pack(NAME, {}, hints))


def write_block(part: Part, usual: str) -> Any:
    """Write a block; UNSET if the part cannot be a block."""
    writer = _WRITERS.get(type(part))
    return writer(part, usual, *unpack(NAME, part.extra)) if writer is not None else UNSET


def write_blocks(parts: list[Any], usual: str) -> list[Any]:
    """Write the blocks of those parts that can be blocks."""
    blocks = [write_block(part, usual) for part in parts]
    return [block for block in blocks if block is not UNSET]


_READERS: dict[str, Any] = {
    "input_text": _read_text,
    "output_text": _read_text,
    "refusal": _read_refusal,
    "input_image": _read_image,
    "computer_screenshot": _read_image,
    "input_file": _read_file,
    "input_audio": _read_audio,
}
_WRITERS: dict[type, Any] = {
    TextPart: _write_text,
    RefusalPart: _write_refusal,
    FilePart: _write_file,
    RawPart: lambda part, usual, rest, hints: part.value if part.format == NAME else UNSET,
}
