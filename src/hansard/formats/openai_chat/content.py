"""The content of Chat Completions messages: a string, or parts (text, refusal, image_url, input_audio, file)."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from hansard.errors import Unreadable
from hansard.formats.residue import SchemaMismatch, pack, residue_of, set_present, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model.parts import Binding, FilePart, Part, RawPart, ReasoningPart, RefusalPart, TextPart

NAME = "openai-chat"
PROVIDER = "openai"
OWN = Binding(provider=PROVIDER)
_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
SOUND_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def _write_text(part: TextPart) -> dict[str, Any]:
    if part.extra is UNSET:
        return {"type": "text", "text": part.text}
    return {"type": "text", "text": part.text, **unpack(NAME, part.extra)[0]}


def _read_refusal(block: dict[str, Any]) -> Part:
    return RefusalPart(text=take_str(block, "refusal"), extra=pack(NAME, block, {"at": "content"}))


def _write_refusal(part: RefusalPart) -> dict[str, Any]:
    return {"type": "refusal", "refusal": part.text, **unpack(NAME, part.extra)[0]}


def _read_thinking(block: dict[str, Any]) -> Part:
    """Read thinking inside the content, as Mistral's models return it: a list of texts."""
    entries = block.pop("thinking", None)
    if type(entries) is not list or not all(type(entry) is dict and entry.keys() == _TEXT for entry in entries):
        raise SchemaMismatch("thinking")
    if not all(entry["type"] == "text" and type(entry["text"]) is str for entry in entries):
        raise SchemaMismatch("thinking")
    hints: dict[str, Any] = {"at": "content"}
    if len(entries) != 1:
        hints["cuts"] = [len(entry["text"]) for entry in entries]
    return ReasoningPart(text="".join(entry["text"] for entry in entries), extra=pack(NAME, block, hints))


def _write_thinking(part: ReasoningPart) -> Any:
    rest, hints = unpack(NAME, part.extra)
    if hints.get("at") != "content":
        return UNSET
    texts, at, cuts = [], 0, hints.get("cuts")
    for length in cuts if type(cuts) is list and all(type(cut) is int for cut in cuts) else ():
        texts.append(part.text[at : at + length])
        at += length
    if "".join(texts) != part.text or (not texts and cuts is None):
        texts = [part.text]
    return {"type": "thinking", "thinking": [{"type": "text", "text": text} for text in texts], **rest}


def _read_image(block: dict[str, Any]) -> Part:
    image, hints = block.pop("image_url", None), {}
    if type(image) is str:
        image, hints = {"url": image}, {"string": True}
    if type(image) is not dict:
        raise SchemaMismatch("image_url")
    inner = dict(image)
    url = take_str(inner, "url")
    fields = _from_data_url(url) or {"url": url, "media_type": "image/*"}
    return _file(fields, "image_url", block, inner, hints)


def _read_audio(block: dict[str, Any]) -> Part:
    inner = take_object(block, "input_audio")
    data, format = take_str(inner, "data"), take_str(inner, "format")
    return _file({"data": data, "media_type": _SOUNDS.get(format, f"audio/{format}")}, "input_audio", block, inner, {})


def _read_file(block: dict[str, Any]) -> Part:
    inner = take_object(block, "file")
    hints: dict[str, Any] = {}
    data, file_id = take_maybe_str(inner, "file_data"), take_maybe_str(inner, "file_id")
    fields: dict[str, Any] = {"name": take_maybe_str(inner, "filename"), "file_id": file_id}
    if data is not UNSET:
        found = _from_data_url(data)
        fields.update(found or {"data": data})
        if not found:
            hints["bare"] = True
    elif file_id is UNSET:
        raise SchemaMismatch("file")
    if file_id is not UNSET:
        fields["binding"] = OWN
    return _file(fields, "file", block, inner, hints)


def take_object(block: dict[str, Any], key: str) -> dict[str, Any]:
    value = block.pop(key, None)
    if type(value) is not dict:
        raise SchemaMismatch(key)
    return dict(value)


def _file(
    fields: dict[str, Any], kind: str, rest: dict[str, Any], inner: dict[str, Any], hints: dict[str, Any]
) -> Part:
    part = FilePart(**fields)
    if inner:
        rest[kind] = inner
    if _kind_of(part) != kind or (kind == "input_audio" and part.media_type not in SOUND_FORMATS):
        hints["kind"] = kind
    extra = pack(NAME, rest, hints)
    return part if extra is UNSET else FilePart(**fields, extra=extra)


def _from_data_url(url: str) -> dict[str, Any] | None:
    """Media type and data of a data URL, if it would be written the same again."""
    head, comma, data = url.partition(";base64,")
    media = head.removeprefix("data:")
    return {"media_type": media, "data": data} if comma and media and media != head else None


def _kind_of(part: FilePart) -> str:
    """The block type that a file is written as."""
    media = part.media_type if type(part.media_type) is str else ""
    if media.startswith("image/") and (part.url is not UNSET or part.data is not UNSET):
        return "image_url"
    return "input_audio" if media in SOUND_FORMATS and part.data is not UNSET else "file"


def _write_file(part: FilePart) -> Any:
    rest, hints = unpack(NAME, part.extra)
    kind = hints.get("kind") or _kind_of(part)
    inner: dict[str, Any]
    if kind == "image_url":
        inner = set_present({}, url=_data_url(part))
        if "string" in hints and inner:
            return {"type": kind, kind: inner["url"], **rest}
    elif kind == "input_audio":
        media = str(part.media_type)
        format = SOUND_FORMATS.get(media) or media.removeprefix("audio/")
        inner = {"data": part.data, "format": format} if part.data is not UNSET else {}
    else:
        kind = "file"
        data = part.data if "bare" in hints or part.media_type is UNSET else _data_url(part)
        inner = set_present({}, file_data=data, file_id=part.file_id)
        if inner:
            set_present(inner, filename=part.name)
    if not inner:
        return UNSET
    inner_rest = rest.pop(kind, None)
    return {"type": kind, kind: {**inner, **inner_rest} if type(inner_rest) is dict else inner, **rest}


def _data_url(part: FilePart) -> str | UnsetType:
    """The file as a data URL; without data its URL, where chat accepts that."""
    if part.data is not UNSET:
        return f"data:{part.media_type};base64,{part.data}"
    fetched = part.url if type(part.url) is str else ""
    return fetched if fetched.startswith("data:") or _kind_of(part) == "image_url" else UNSET


def read_part(block: Any) -> Part:
    """Read a content part; keep an unknown or malformed one as a raw part."""
    if type(block) is dict:
        kind, text = block.get("type"), block.get("text")
        if kind == "text" and type(text) is str:
            return TextPart(text=text, extra=residue_of(NAME, block, _TEXT))
        reader = _READERS.get(kind) if type(kind) is str else None
        if reader is not None:
            taken = dict(block)
            del taken["type"]
            try:
                return reader(taken)  # type: ignore[no-any-return]
            except SchemaMismatch:
                pass
    return RawPart(format=NAME, value=block)


_TEXT = frozenset({"type", "text"})


def write_part(part: Part) -> Any:
    """Write a content part; UNSET for parts that content cannot hold."""
    writer = _WRITERS.get(type(part))
    return writer(part) if writer is not None else UNSET


_READERS: dict[str, Any] = {
    "refusal": _read_refusal,
    "thinking": _read_thinking,
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}
_WRITERS: dict[type, Any] = {
    TextPart: _write_text,
    RefusalPart: _write_refusal,
    ReasoningPart: _write_thinking,
    FilePart: _write_file,
    RawPart: lambda part: part.value if part.format == NAME else UNSET,
}


def read_content(content: Any, hints: dict[str, Any], more: bool) -> list[Any]:
    """Read the parts of `content`. With `more` the message has other fields, and null content is the usual spelling."""
    if type(content) is str:
        if content or not more:
            return [TextPart(text=content)]
        hints["content"] = "empty"
        return []
    if type(content) is list:
        parts: list[Any] = [read_part(block) for block in content]
        if not parts or _plain_text(parts) is not None:
            hints["content"] = "list"
        return parts
    if content is None:
        if not more:
            hints["content"] = "null"
        return []
    if content is not UNSET:  # a JSON value instead of text: some servers return structured output so
        hints["content"] = "value"
        return [TextPart(text=exact_json.encode(content).decode())]
    hints["content"] = "missing"
    return []


def write_content(parts: list[Any], hints: dict[str, Any], more: bool) -> Any:
    how = hints.get("content")
    text = _plain_text(parts) if how != "list" else None
    if text:
        return text if how != "value" else _value(text)
    written = list(map(write_part, parts))
    if UNSET in written:
        parts = [part for part, made in zip(parts, written, strict=True) if made is not UNSET]
        written = [made for made in written if made is not UNSET]
    text = _plain_text(parts) if how != "list" else None
    if text is not None and (text or not more):
        return text
    if (written and text is None) or how == "list":
        return written
    if how == "missing":
        return UNSET
    return None if (more and how != "empty") or how == "null" else ""


def _value(text: str) -> Any:
    """The JSON value that was read as this text; the text itself if it does not encode a value."""
    try:
        value = exact_json.decode(text.encode("utf-8", "surrogatepass"))
    except Unreadable:
        return text
    return value if type(value) not in (str, list) and exact_json.encode(value).decode() == text else text


def _plain_text(parts: list[Any]) -> str | None:
    """The text, if the message has only one text part."""
    if len(parts) == 1 and type(parts[0]) is TextPart and (parts[0].extra is UNSET or NAME not in parts[0].extra):
        return parts[0].text
    return None
