"""Encodings of a value in an OpenTelemetry attribute: as it is, as a JSON string, or as OTLP's AnyValue.

A style is a list of encoding steps; the reader stores the first one that gives the same attribute again. Names of steps
are stored in residue: do not rename them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from hansard.errors import Unreadable
from hansard.formats.residue import SchemaMismatch
from hansard.model import exact_json
from hansard.model.digits import whole_number
from hansard.model.times import epoch_seconds, epoch_time


def from_any(value: Any) -> Any:
    """Decode an AnyValue of OTLP."""
    if type(value) is not dict or len(value) != 1:
        raise SchemaMismatch("value")
    ((kind, inner),) = value.items()
    if kind == "intValue":
        return inner if (number := whole_number(inner)) is None else number
    if kind == "arrayValue":
        return [from_any(item) for item in _values(inner)]
    if kind == "kvlistValue":
        return {item["key"]: from_any(item["value"]) for item in _values(inner) if _is_pair(item)}
    return inner


def _values(inner: Any) -> list[Any]:
    found = inner.get("values", []) if type(inner) is dict else None
    if type(found) is not list:
        raise SchemaMismatch("values")
    return found


def _is_pair(item: Any) -> bool:
    return type(item) is dict and type(item.get("key")) is str and "value" in item


def to_any(value: Any) -> Any:
    """Encode an AnyValue; integers as strings, the JSON form of 64-bit integers."""
    if type(value) is bool:
        return {"boolValue": value}
    if type(value) is int:
        return {"intValue": str(value)}
    if type(value) is str:
        return {"stringValue": value}
    if type(value) is list:
        return {"arrayValue": {"values": [to_any(item) for item in value]}}
    if type(value) is dict:
        return {"kvlistValue": {"values": [{"key": key, "value": to_any(item)} for key, item in value.items()]}}
    return {} if value is None else {"doubleValue": value}


def _number(value: Any) -> Any:
    return {"intValue": value}


def _compact(value: Any) -> str:
    return exact_json.encode(value).decode()


def _spaced(value: Any) -> str:
    return json.dumps(value)


def _spaced_unicode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _escaped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _nanoseconds(value: Any) -> str:
    """A time as nanoseconds since 1970."""
    if type(value) is not str:
        raise SchemaMismatch("time")
    whole, dot, fraction = value.removesuffix("Z").partition(".")
    seconds = epoch_seconds(whole + "Z")
    if not value.endswith("Z") or type(seconds) is not int or (dot and not re.fullmatch("[0-9]{1,9}", fraction)):
        raise SchemaMismatch("time")
    return str(seconds * 10**9 + int(fraction.ljust(9, "0") or 0))


def time_of(value: Any) -> str | None:
    """The time of nanoseconds since 1970, or of a string."""
    value = value if (number := whole_number(value)) is None else number
    if type(value) is int and value > 0:
        text = epoch_time(value // 10**9)
        fraction = f"{value % 10**9:09}".rstrip("0")
        return None if text is None else text.removesuffix("Z") + (f".{fraction}Z" if fraction else "Z")
    return value if type(value) is str and value else None


def _nanoseconds_number(value: Any) -> int:
    return int(_nanoseconds(value))


_STEPS: dict[str, Callable[[Any], Any]] = {
    "compact": _compact,
    "spaced": _spaced,
    "unicode": _spaced_unicode,
    "escaped": _escaped,
    "any": to_any,
    "number": _number,
    "nano": _nanoseconds,
    "nanonumber": _nanoseconds_number,
}
_STYLES: tuple[list[str], ...] = (
    ["compact", "any"],
    ["any"],
    [],
    ["compact"],
    ["spaced", "any"],
    ["spaced"],
    ["unicode", "any"],
    ["unicode"],
    ["escaped", "any"],
    ["escaped"],
    ["number"],
    ["nano"],
    ["nanonumber"],
)


def encoded(value: Any, style: Any) -> Any:
    """Encode a value; raise SchemaMismatch for an invalid style or one that does not fit the value."""
    if type(style) is dict and type(style.get("text")) is str:  # a text of its own, kept while it decodes to the value
        try:
            if exact_json.same(exact_json.decode(style["text"]), value):
                return encoded(style["text"], style.get("then", []))
        except Unreadable:
            pass
        return encoded(value, ["compact", *(style["then"] if type(style.get("then")) is list else [])])
    if type(style) is not list or not all(type(step) is str and step in _STEPS for step in style):
        raise SchemaMismatch("style")
    try:
        for step in style:
            value = _STEPS[step](value)
    except (TypeError, ValueError, UnicodeError):
        raise SchemaMismatch("style") from None
    return value


def style_of(value: Any, attribute: Any) -> Any:
    """The style that gives the attribute; None if no style does."""
    for style in _STYLES:
        try:
            if exact_json.same(encoded(value, style), attribute):
                return style
        except SchemaMismatch:
            continue
    text = attribute.get("stringValue") if type(attribute) is dict else attribute
    if type(text) is str and exact_json.same(_decoded(text), value):
        own = {"text": text, "then": ["any"] if type(attribute) is dict else []}
        return own if exact_json.same(encoded(value, own), attribute) else None
    return None


def _decoded(text: str) -> Any:
    try:
        return exact_json.decode(text)
    except Unreadable:
        return SchemaMismatch


def messages_in(attribute: Any) -> list[Any] | None:
    """The list of objects in an attribute of any style; None if it holds anything else."""
    value = attribute
    try:
        if type(value) is dict:
            value = from_any(value)
    except SchemaMismatch:
        return None
    if type(value) is str:
        value = _decoded(value)
    return value if type(value) is list and all(type(item) is dict for item in value) else None
