"""Files in a Gemini part, and what all kinds of part share: the object they are about, and the signature.

What is left over of a part stays in the residue at the place it had: `{"functionCall": {"willContinue": true}}`.
"""

from __future__ import annotations

import base64
from typing import Any, TypeGuard

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hansard.formats.data_url import by_value
from hansard.formats.gemini.fields import INNER, NAME, PART, camel, put_nulls, spelled, take_nulls
from hansard.formats.residue import Unfit, pack, put, take_maybe_str, take_str, unpack
from hansard.model.parts import FilePart, Part, RawPart

_DUMMY_WORDS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
_DUMMIES = {*_DUMMY_WORDS, *(base64.b64encode(word.encode()).decode() for word in _DUMMY_WORDS)}
DUMMY = base64.b64encode(_DUMMY_WORDS[0].encode()).decode()
_TO_URL_SAFE = str.maketrans("+/", "-_")
_FROM_URL_SAFE = str.maketrans("-_", "+/")


# -- every part ----------------------------------------------------------------------------------------------------


def taken_apart(block: dict[str, Any], snake: bool, marks: dict[str, Any]) -> dict[str, Any]:
    """A copy of the part to take fields from."""
    taken = camel(block, PART, snake, marks)
    take_nulls(taken, marks, "null")
    return taken


def put_together(part: Any, writer: Any, snake: bool) -> Any:
    """The part as its writer has it, in the document's spelling; UNSET for what Gemini cannot say."""
    rest, marks = unpack(NAME, part.extra)
    block = writer(part, rest, marks, snake)
    if block is UNSET:
        return UNSET
    put_nulls(block, marks, "null")
    return spelled(block, PART, snake, marks)


def take_held(taken: dict[str, Any], key: str, snake: bool, marks: dict[str, Any]) -> dict[str, Any]:
    """The object that the part is about."""
    held = taken.pop(key)
    if type(held) is not dict:
        raise Unfit(key)
    held = camel(held, INNER, snake, marks)
    take_nulls(held, marks, "innerNull")
    return held


def packed(taken: dict[str, Any], key: str, held: dict[str, Any], marks: dict[str, Any]) -> Any:
    if held:
        taken[key] = held
    return pack(NAME, taken, marks)


def around(
    key: str, held: dict[str, Any], part: Any, rest: dict[str, Any], marks: dict[str, Any], snake: bool
) -> dict[str, Any]:
    """The part around the object it is about, with what was left over of both."""
    left = rest.pop(key, None)
    if type(left) is dict:
        held.update(left)
    put_nulls(held, marks, "innerNull")
    return {**put_signature({key: spelled(held, INNER, snake, marks)}, part), **rest}


def take_signature(taken: dict[str, Any]) -> str | UnsetType:
    """The signature; the documented dummies sign nothing and stay residue, and so does what is no base64."""
    value = taken.get("thoughtSignature")
    if not is_signature(value):
        return UNSET
    del taken["thoughtSignature"]
    return value


def is_signature(value: Any) -> TypeGuard[str]:
    return type(value) is str and value not in _DUMMIES and is_base64(value)


def put_signature(out: dict[str, Any], part: Any) -> dict[str, Any]:
    if is_signed(part):
        out["thoughtSignature"] = part.signature
    return out


def is_signed(part: Any) -> bool:
    return part.signature is not UNSET and is_base64(part.signature)


def is_base64(text: str) -> bool:
    """In either alphabet, padded or not."""
    try:
        base64.b64decode(text.translate(_FROM_URL_SAFE) + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return False
    return True


# -- files -----------------------------------------------------------------------------------------------------------


def read_inline(taken: dict[str, Any], snake: bool, marks: dict[str, Any]) -> Part:
    held = take_held(taken, "inlineData", snake, marks)
    data = take_str(held, "data")
    if ("-" in data or "_" in data) and "+" not in data and "/" not in data:
        data = data.translate(_FROM_URL_SAFE)
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
    return around(key, put(held, mimeType=media, displayName=part.name), part, rest, marks, snake)


def read_media(block: Any, snake: bool) -> Part:
    """A part inside a function's response: a file, or raw."""
    if type(block) is dict:
        marks: dict[str, Any] = {}
        taken = taken_apart(block, snake, marks)
        about = [key for key in taken if key in READERS]
        if len(about) == 1 and taken.keys().isdisjoint(("text", "thoughtSignature")):
            try:
                return READERS[about[0]](taken, snake, marks)  # type: ignore[no-any-return]
            except Unfit:
                pass
    return RawPart(format=NAME, value=block)


def write_media(part: Any, snake: bool) -> Any:
    if type(part) is FilePart:
        return put_together(replace(part, signature=UNSET, file_id=UNSET), write_file, snake)
    return part.value if type(part) is RawPart and part.format == NAME else UNSET


READERS: dict[str, Any] = {"inlineData": read_inline, "fileData": read_linked}
