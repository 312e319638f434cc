"""JSON in and out without changing a value: big integers, long decimals, `1` beside `1.0`, lone surrogates.

msgspec does the work. What it would change or refuse takes a slower way through the standard library:
a decimal that no float holds becomes a `Decimal`, a lone surrogate stays in its string, a key that is
given twice and the literals `NaN` and `Infinity` are rejected with a clear error (fast parsers keep the last
of two equal keys silently).
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from hansard.errors import Unreadable

T = TypeVar("T")
_BOM = b"\xef\xbb\xbf"
_ENCODER = msgspec.json.Encoder(decimal_format="number")


class _Respelled:
    """Counts the numbers whose literal and canonical spelling differ, for the check on keys given twice."""

    count = 0


def exact_float(literal: str) -> float | Decimal:
    """The float that the literal means, or a Decimal where a float would be another number.

    >>> exact_float("0.5"), exact_float("0.12345678901234567890")
    (0.5, Decimal('0.12345678901234567890'))
    """
    number = float(literal)
    text = repr(number)
    if text == literal:
        return number
    _Respelled.count += 1
    try:
        exact = Decimal(literal)
    except InvalidOperation:
        shown = literal if len(literal) <= 40 else f"{literal[:40]}..."
        raise Unreadable(f"the number {shown} is beyond all that can be kept", way_out="give it as a string") from None
    if number - number == 0 and Decimal(text) == exact:
        return number
    return exact if exact.as_tuple().exponent else Decimal(f"{exact}.0")  # one without a point would be an integer


_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=exact_float)


def decode(data: bytes | str) -> Any:
    """Any JSON text as Python values; an Unreadable names line, column and the way out."""
    return decode_noting(data)[0]


def is_json(data: bytes | str) -> bool:
    """Would `decode` give a value?"""
    try:
        decode(data)
    except Unreadable:
        return False
    return True


def decode_noting(data: bytes | str) -> tuple[Any, bool]:
    """The same, and whether some string in it may hold a lone surrogate."""
    raw = _raw(data)
    value = _decoded(_DECODER, raw)
    return (_decode_slowly(raw), True) if value is UNSET else (value, False)


class LoneSurrogates:
    """Counts the texts read or written that may hold a lone surrogate, such as the arguments of a call.

    Readers and writers compare `count` before and after: searching the complete document takes longer.
    """

    count = 0

    @classmethod
    def look(cls, text: str) -> None:
        """Count a text that is passed on without being decoded."""
        if "\\ud" in text or "\\uD" in text:
            cls.count += 1


def decode_as(decoder: msgspec.json.Decoder[T], data: bytes | str) -> T | None:
    """The typed value, or None when only the slow way (decode, then convert) can tell what is there."""
    value = _decoded(decoder, _raw(data))
    return None if value is UNSET else value


def _decoded(decoder: msgspec.json.Decoder[Any], raw: bytes) -> Any:
    """The value, or UNSET when the text is not plain JSON or may name a key twice."""
    respelled = _Respelled.count
    try:
        value = decoder.decode(raw)
        return UNSET if _repeats_a_key(raw, value, respelled == _Respelled.count) else value
    except (msgspec.DecodeError, UnicodeDecodeError):
        return UNSET
    except RecursionError:
        raise _too_deep() from None


def encode(value: Any) -> bytes:
    """Compact JSON, UTF-8; lone surrogates come out as their escapes."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return encode_surrogates(value)


def encode_utf8(value: Any) -> bytes | None:
    """Compact JSON, or None if a string holds a lone surrogate."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return None


def encode_surrogates(value: Any) -> bytes:
    """The same text with lone surrogates as escapes: UTF-8 cannot encode them."""
    LoneSurrogates.count += 1
    return _ENCODER.encode(_escaped(plain(value)))


def pretty(value: Any, indent: int = 2) -> bytes:
    """The same JSON for people to read."""
    return msgspec.json.format(encode(value), indent=indent)


def same(left: Any, right: Any) -> bool:
    """Equal as JSON with the kind of every number kept: 1 is not 1.0 and not true.

    >>> same({"a": 1}, {"a": 1.0}), same([1, "x"], [1, "x"])
    (False, True)
    """
    if type(left) is not type(right):
        return False
    if type(left) is dict:
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if type(left) is list:
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def plain(value: Any) -> Any:
    """A copy of data in which structs stand for objects: dicts in their place."""
    return msgspec.to_builtins(value, builtin_types=(Decimal,))


def copied(value: Any) -> Any:
    """Data as plain JSON, for a reader that takes its document apart: a copy. What JSON cannot say is refused by name.

    >>> copied([1, {"a": (2, b"hi")}])
    [1, {'a': [2, 'aGk=']}]
    """
    try:
        return _copied(value)
    except RecursionError:
        raise _too_deep() from None


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return value
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_copied(item) for item in value]
    if kind is float and value - value != 0:
        _refuse_constant("NaN" if value != value else "Infinity")
    return value if kind in _PLAIN else _spelled(value)


_PLAIN = frozenset({int, float, bool, type(None), Decimal})
_BARE: dict[type, Any] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    dict: dict,
    list: list,
    tuple: list,
}


def _spelled(value: Any) -> Any:
    """What a value of another kind is in JSON: bytes are base64, a time is ISO 8601, an SDK object what it dumps."""
    for kind, bare in _BARE.items():
        if isinstance(value, kind):
            return _copied(bare(value))
    from hansard.model.sdk_objects import as_sent, is_sdk_object  # slow to import, and seldom needed

    if is_sdk_object(value):
        return _copied(as_sent(value))
    try:
        return _DECODER.decode(_ENCODER.encode(value))
    except (TypeError, ValueError):
        raise Unreadable(f"{type(value).__name__} is not JSON: {value!r}", way_out="give plain data") from None


def _repeats_a_key(raw: bytes, value: Any, numbers_as_written: bool) -> bool:
    """Whether the text may have a key twice. A parser keeps the last of the two silently.

    The value written again is then shorter. A text of the same length names none (only numbers could be longer
    than they were); for others the quotes are counted: `\\u0022` is the one spelling that hides a quote.
    """
    try:
        again = _ENCODER.encode(value)
    except ValueError:  # a lone surrogate too
        return True
    end = raw[-8:]
    if numbers_as_written and len(again) == len(raw) - len(end) + len(end.rstrip(b"\r\n ")):
        return False
    return b"\\u0022" in raw or raw.count(b'"') != again.count(b'"')


def _raw(data: bytes | str) -> bytes:
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    if raw.startswith(_BOM):
        raw = raw[3:]
    if not raw[:8].strip(b" \t\r\n") and not raw.strip(b" \t\r\n"):
        raise Unreadable("the document is empty", way_out="give a file with JSON in it")
    return raw


def _too_deep() -> Unreadable:
    return Unreadable(
        "nested too deeply to be a conversation",
        way_out="look at the file: real ones nest a few dozen levels",
    )


def _decode_slowly(raw: bytes) -> Any:
    try:
        text = raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        utf16 = raw[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in raw[:4]
        way_out = "it looks like UTF-16: save it as UTF-8" if utf16 else "save it as UTF-8"
        raise Unreadable(f"not UTF-8 at byte {error.start}", way_out=way_out) from None
    if "\x00" in text[:4]:
        raise Unreadable("not UTF-8 text", way_out="it looks like UTF-16 or UTF-32: save it as UTF-8")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_float=exact_float,
            parse_constant=_refuse_constant,
            parse_int=_integer,
        )
        LoneSurrogates.count += 1
        return value
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}",
            way_out="mend or cut the file there",
        ) from None
    except RecursionError:
        raise _too_deep() from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise Unreadable(f"the key {twice!r} is given twice in one object", way_out="keep one of the two")
    return found


def _refuse_constant(word: str) -> Any:
    raise Unreadable(f"{word} is not valid JSON", way_out="use null or a string")


def _integer(literal: str) -> int | Decimal:
    return int(literal) if len(literal) <= 4000 else Decimal(literal)


def _escaped(value: Any) -> Any:
    if type(value) is str:
        return value if is_unicode(value) else msgspec.Raw(json.dumps(value).encode())
    if type(value) is list or type(value) is tuple:
        return [_escaped(item) for item in value]
    if type(value) is dict:
        if all(map(is_unicode, value)):
            return {key: _escaped(item) for key, item in value.items()}
        pairs = (json.dumps(key).encode() + b":" + encode(item) for key, item in value.items())
        return msgspec.Raw(b"{" + b",".join(pairs) + b"}")
    return value


def is_unicode(text: str) -> bool:
    """False for a string with a lone surrogate, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_HALF = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u[dD]")


def may_hold_surrogates(value: Any) -> bool:
    """Whether some string in the data may hold a lone surrogate, or JSON with one."""
    if type(value) is str:
        return _ESCAPED.search(value) is not None or (not value.isascii() and _HALF.search(value) is not None)
    if isinstance(value, dict):
        return any(may_hold_surrogates(key) or may_hold_surrogates(item) for key, item in value.items())
    return type(value) is list and any(map(may_hold_surrogates, value))


_BEGINS = frozenset(bytes((sign,)) for sign in b'{["-0123456789tfnNI')


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not valid JSON")


_SLOW = json.JSONDecoder(parse_float=exact_float, parse_constant=_refused)


def decode_record(raw: bytes) -> Any:
    """The value of a record. Of a key that is given twice the last one counts, as it does for the agents."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_record_slowly(raw)
    except RecursionError:
        raise Unreadable("nested too deeply") from None


def _decode_record_slowly(raw: bytes) -> Any:
    """The same for lone surrogates and huge numbers."""
    if raw.isascii() and raw.lstrip()[:1] not in _BEGINS:  # a page of plain text: many lines, each refused at once
        raise Unreadable("not JSON: Expecting value at character 0")
    try:
        return _SLOW.decode(raw.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 at byte {error.start} of the line") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg} at character {error.pos}") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON: {error}") from None
