"""Usual documents, read and written with typed records.

A format lists the fields it knows as `Record`s. A text that holds no others is decoded to them in one go, without a
dict for each object; the reader maps the usual records itself and takes any other as `plain` values again. A text with
one unknown field anywhere is decoded to plain values as a whole, so what is read is the same either way. A writer
makes a `Written` for a usual message, a dict for any other.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.parts import RawPart


class Record(Struct, forbid_unknown_fields=True, gc=False):
    """An object whose keys are all known; an absent one is UNSET."""


class Written(Struct, gc=False):
    """An object as it is written, its fields in that order; one that is UNSET is left out."""


class Typed(Struct, gc=False, frozen=True):
    """A document of typed records, and the text it was decoded from."""

    document: Any
    text: bytes


class Unusual(Exception):
    """A part has to be kept word for word, with its keys in the order they came: only plain values have that."""


def check(messages: list[Message], start: int = 0) -> None:
    """Raise Unusual if one of the messages, read from typed records, holds a part that is kept raw."""
    for message in messages[start:]:
        for part in message.parts:
            if type(part) is RawPart:
                raise Unusual


def plain(record: Record) -> dict[str, Any]:
    """The record as the dict it would have been."""
    return exact_json.plain(record)  # type: ignore[no-any-return]


def fields(record: Record) -> dict[str, Any]:
    """The fields that are set, their values as they are."""
    found = ((name, getattr(record, name)) for name in record.__struct_fields__)
    return {name: value for name, value in found if value is not UNSET}


def decode(raw: bytes, record: Any, body: type[Record]) -> Any:
    """A list of records or a body around them; None when the text has to be decoded to plain values."""
    listed = raw[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    found = exact_json.decode_as(_decoder(list[record] if listed else body), raw)
    return fields(found) if isinstance(found, Record) else found


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, float_hook=exact_json.exact_float)
