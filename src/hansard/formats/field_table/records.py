"""Structs of typed documents: records that are decoded, and structs that are written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.parts import RawPart


class Record(Struct, forbid_unknown_fields=True, gc=False):
    """An object as it is decoded, whose keys are all known; an absent one is UNSET."""


class Written(Struct, gc=False):
    """An object as it is written, its fields in that order; one that is UNSET is left out."""


class Typed(Struct, gc=False, frozen=True):
    """A document of typed records, and the text it was decoded from."""

    document: Any
    text: bytes


class NeedsPlainDecode(Exception):
    """A part has to be kept raw, with its keys in the order they came: only plain values have that order."""


def check(messages: list[Message], start: int = 0) -> None:
    """Raise NeedsPlainDecode if one of the messages, read from typed records, holds a part that is kept raw."""
    for message in messages[start:]:
        for part in message.parts:
            if type(part) is RawPart:
                raise NeedsPlainDecode


def plain(record: Struct) -> dict[str, Any]:
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


def body(name: str, key: str, message: Any, settings: Sequence[str]) -> type[Record]:
    """The record of a request: the key of its list of messages, and the settings around them."""
    rows: list[Any] = [(key, list[message]), *((setting, Any, UNSET) for setting in settings)]
    return msgspec.defstruct(name, rows, bases=(Record,), kw_only=True, gc=False)  # type: ignore[return-value]


def written_with(values: dict[str, Any]) -> Any:
    """A struct to write, with these values as defaults."""
    named = [(name, Any, value) for name, value in values.items()]
    return msgspec.defstruct("Complete", named, bases=(Written,), gc=False)
