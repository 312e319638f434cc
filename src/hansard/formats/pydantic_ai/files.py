"""What Pydantic AI and formats after its model share below a part: files, and content of prompts and results.

A file's `identifier` is by default a digest of its address or bytes, so it does not count as residue.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

from msgspec import UNSET

from hansard.errors import Unreadable
from hansard.formats.pydantic_ai.fields import Dialect, filled, is_absent, lacks, settle
from hansard.formats.pydantic_ai.reasoning import bound_to, owner_name
from hansard.formats.residue import SchemaMismatch, pack, take_maybe_str, take_str, unpack
from hansard.model import exact_json
from hansard.model.parts import FilePart, Part, RawPart, RefusalPart, TextPart

_SAFE, _STANDARD = str.maketrans("+/", "-_"), str.maketrans("-_", "+/")
_FILE_OWNERS = {"anthropic", "openai", "google", "google-cloud", "google-gla", "google-vertex", "bedrock", "xai"}
_URLS = {"image-url": "image", "audio-url": "audio", "video-url": "video", "document-url": "document"}
_URL_KINDS = {family: kind for kind, family in _URLS.items()}
_FILES = (*_URLS, "uploaded-file", "binary")
_WORDS = ("text-content", "structured-content")
_FAMILIES = {
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp", "bmp", "svg"), "image"),
    **dict.fromkeys(("mp3", "wav", "flac", "ogg", "oga", "aac", "aiff", "m4a"), "audio"),
    **dict.fromkeys(("mp4", "mov", "webm", "mkv", "mpeg", "mpg", "wmv", "flv", "three_gp"), "video"),
    **dict.fromkeys(("pdf", "txt", "md", "csv", "html", "htm", "json", "xml", "docx", "xlsx", "rtf"), "document"),
}
_ANY_MEDIA = "application/octet-stream"


# -- files ---------------------------------------------------------------------------------------------------------


def read_file(item: dict[str, Any], dialect: Dialect) -> FilePart:
    """A file by address, by value or by a provider's id; SchemaMismatch when it is none of them."""
    block = dict(item)
    kind = take_str(block, "kind")
    marks: dict[str, Any] = {}
    if kind == "binary":
        return _read_binary(block, marks, dialect)
    if kind == "uploaded-file":
        return _read_uploaded(block, marks, dialect)
    if kind not in _URLS:
        raise SchemaMismatch("kind")
    url = take_str(block, "url")
    settle(dialect.defaults["url"], block, marks)
    media = take_maybe_str(block, "media_type")
    _read_identifier(url, block, marks)
    if kind != _url_kind(media, url):
        marks["kind"] = kind
    return FilePart(url=url, media_type=media, extra=pack(dialect.name, block, marks))


def _read_binary(block: dict[str, Any], marks: dict[str, Any], dialect: Dialect) -> FilePart:
    data, media = take_str(block, "data"), take_str(block, "media_type")
    if "+" in data or "/" in data:
        if "-" in data or "_" in data:
            raise SchemaMismatch("data")
        marks["alphabet"] = "standard"
    data = data.translate(_STANDARD)
    raw = decoded(data)
    if raw is None:
        raise SchemaMismatch("data")
    settle(dialect.defaults["binary"], block, marks)
    _read_identifier(raw, block, marks)
    return FilePart(data=data, media_type=media, extra=pack(dialect.name, block, marks))


def _read_uploaded(block: dict[str, Any], marks: dict[str, Any], dialect: Dialect) -> FilePart:
    file_id, owner = take_str(block, "file_id"), take_str(block, "provider_name")
    if owner not in _FILE_OWNERS:
        raise SchemaMismatch("provider_name")
    settle(dialect.defaults["uploaded-file"], block, marks)
    media = take_maybe_str(block, "media_type")
    _read_identifier(file_id, block, marks)
    return FilePart(file_id=file_id, media_type=media, binding=bound_to(owner), extra=pack(dialect.name, block, marks))


def write_file(part: FilePart, dialect: Dialect) -> dict[str, Any] | None:
    """The file as an item of content; None when the format has no way to say where it is."""
    rest, marks = unpack(dialect.name, part.extra)
    owner = owner_name(part.binding)
    media = part.media_type
    head: dict[str, Any]
    if type(part.file_id) is str and owner in _FILE_OWNERS:
        head = {"file_id": part.file_id, "provider_name": owner}
        kind, named = "uploaded-file", part.file_id.encode("utf-8", "surrogatepass")
    elif type(part.data) is str and (raw := decoded(part.data)) is not None:
        data = part.data if marks.get("alphabet") == "standard" else part.data.translate(_SAFE)
        head = {"data": data, "media_type": media if type(media) is str else _ANY_MEDIA}
        kind, named, media = "binary", raw, UNSET
    elif type(part.url) is str:
        head = {"url": part.url}
        kind, named = _url_kind(media, part.url), part.url.encode("utf-8", "surrogatepass")
        marked = marks.get("kind")
        kind = marked if type(marked) is str and marked in _URLS else kind
    else:
        return None
    out = {**head, **filled(dialect.defaults["url" if kind in _URLS else kind], marks), "kind": kind}
    if media is not UNSET:
        out["media_type"] = media
    if not is_absent(marks, "identifier"):
        out["identifier"] = _identifier(named)
    out.update(rest)
    return out


def _read_identifier(named: str | bytes, block: dict[str, Any], marks: dict[str, Any]) -> None:
    given = block.get("identifier", UNSET)
    if given is UNSET:
        lacks(marks, "identifier")
    elif given == _identifier(named if type(named) is bytes else named.encode("utf-8", "surrogatepass")):  # type: ignore[union-attr]
        del block["identifier"]


def _identifier(named: bytes) -> str:
    return hashlib.sha1(named, usedforsecurity=False).hexdigest()[:6]


def decoded(data: str) -> bytes | None:
    """The bytes of base64 in its standard alphabet, None if it is not."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _url_kind(media: Any, url: str) -> str:
    """Which kind of address a file has by its media type, or by how its address ends."""
    if type(media) is str and media:
        return _URL_KINDS.get(media.partition("/")[0], "document-url")
    if url.startswith("data:"):
        return _URL_KINDS.get(url[5:].partition("/")[0], "document-url")
    ending = url.partition("?")[0].partition("#")[0].rpartition(".")[2].lower()
    return _URL_KINDS[_FAMILIES.get(ending, "image")]


# -- content of prompts --------------------------------------------------------------------------------------------


def read_item(item: Any, dialect: Dialect) -> Part:
    """One item of a user's prompt: text, a file, or anything else unchanged."""
    if type(item) is str:
        return TextPart(text=item)
    if type(item) is dict:
        try:
            return _read_words(item, dialect) if item.get("kind") in _WORDS else read_file(item, dialect)
        except SchemaMismatch:
            pass
    whole = type(item) is dict and "part_kind" in item
    return RawPart(format=dialect.name, value=item, extra=pack(dialect.name, {}, {"whole": False} if whole else {}))


def _read_words(item: dict[str, Any], dialect: Dialect) -> Part:
    block, marks = dict(item), {"kind": item["kind"]}
    text = take_str(block, "content")
    settle(dialect.defaults[block.pop("kind")], block, marks)
    return TextPart(text=text, extra=pack(dialect.name, block, marks))


def write_item(part: Part, dialect: Dialect) -> Any:
    """The item, UNSET when a prompt cannot say it."""
    if isinstance(part, TextPart):
        rest, marks = unpack(dialect.name, part.extra)
        kind = marks.get("kind")
        if type(kind) is str and kind in _WORDS:
            return {"content": part.text, **filled(dialect.defaults[kind], marks), "kind": kind, **rest}
        return part.text
    if isinstance(part, FilePart):
        written = write_file(part, dialect)
        return UNSET if written is None else written
    if isinstance(part, RawPart):
        return part.value if part.format == dialect.name else UNSET
    return part.text if isinstance(part, RefusalPart) else UNSET


def is_item(part: Part, dialect: Dialect) -> bool:
    """Does the part stand inside a prompt, and not beside it?"""
    if isinstance(part, RawPart):
        whole = unpack(dialect.name, part.extra)[1].get("whole")
        return not (whole if type(whole) is bool else type(part.value) is dict and "part_kind" in part.value)
    return isinstance(part, TextPart | FilePart | RefusalPart)


def is_plain(part: Part, name: str) -> bool:
    """Whether it is plain text."""
    return type(part) is TextPart and (part.extra is UNSET or name not in part.extra)


# -- content of tool results ---------------------------------------------------------------------------------------


def read_returned(block: dict[str, Any], marks: dict[str, Any], dialect: Dialect) -> tuple[Any, Any]:
    """`(output, content)`: a result that holds files is a list of parts, any other is data."""
    value = block.pop("content", UNSET)
    if value is UNSET:
        if dialect.times:
            lacks(marks, "content")
        return UNSET, UNSET
    recorded = block.get("content_file_digests", UNSET)
    items = value if type(value) is list else [value]
    files: dict[int, FilePart] = {}
    for i, item in enumerate(items):
        if type(item) is dict and item.get("kind") in _FILES:
            if type(recorded) is list and item["kind"] != "binary" and _digest(item) not in recorded:
                continue
            try:
                files[i] = read_file(item, dialect)
            except SchemaMismatch:
                continue
    _read_digests(value, [items[i] for i in files], block, marks, dialect)
    if not files:
        return value, UNSET
    if type(value) is dict:
        marks["content"] = "one"
    return UNSET, [files.get(i) or _read_returned_item(item, dialect) for i, item in enumerate(items)]


def _read_returned_item(item: Any, dialect: Dialect) -> Part:
    """Data beside a file is shown to a model as the text of its JSON."""
    if type(item) is str:
        return TextPart(text=item)
    return TextPart(text=exact_json.encode(item).decode(), extra={dialect.name: {"$": {"json": True}}})


def write_returned(part: Any, marks: dict[str, Any], dialect: Dialect) -> tuple[Any, list[Any]]:
    """The content of a result, and the files in it that are recorded."""
    if part.content is UNSET:
        return part.output, []
    said = [(inner, _write_returned_item(inner, dialect)) for inner in part.content]
    items = [item for _, item in said if item is not UNSET]
    files = [item for inner, item in said if type(inner) is FilePart and item is not UNSET]
    if len(items) == 1 and (marks.get("content") == "one" or type(items[0]) is str):
        return items[0], files
    return items, files


def _write_returned_item(part: Part, dialect: Dialect) -> Any:
    if isinstance(part, TextPart):
        if unpack(dialect.name, part.extra)[1].get("json") is True:
            try:
                return exact_json.decode(part.text)
            except Unreadable:
                pass
        return part.text
    return write_item(part, dialect)


def _read_digests(value: Any, files: list[Any], block: dict[str, Any], marks: dict[str, Any], dialect: Dialect) -> None:
    if not (dialect.digests or dialect.documented) or type(value) not in (list, dict):
        return
    given = block.get("content_file_digests", UNSET)
    if given is UNSET:
        if dialect.digests:
            lacks(marks, "content_file_digests")
    elif given == digests(files):
        del block["content_file_digests"]


def tells_digests(content: Any, dialect: Dialect) -> bool:
    """Whether a result records which of its objects are files; a document only where data may look like one."""
    if type(content) not in (list, dict):
        return False
    items = content if type(content) is list else [content]
    return dialect.digests or (
        dialect.documented
        and any(type(item) is dict and item.get("kind") in (*_URLS, "uploaded-file") for item in items)
    )


def digests(files: list[Any]) -> list[str]:
    """What says which objects in a result are files of Pydantic AI and not data that looks like them."""
    found = {_digest(item) for item in files if item.get("kind") != "binary"}
    return sorted(digest for digest in found if digest is not None)


def _digest(item: dict[str, Any]) -> str | None:
    try:
        text = json.dumps(item, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError):
        return None
    return hashlib.sha256(text.encode()).hexdigest()
