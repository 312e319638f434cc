"""Tool arguments that a format writes as a string of JSON.

The canonical input is the data. The string itself is kept only when writing the data again would give another
string: other spacing, other escapes, or no JSON at all.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from hansard.errors import HansardError
from hansard.model import exact_json
from hansard.model.parts import ToolCallPart

_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=exact_json.exact_float)


def read_arguments(text: str) -> tuple[Any, str | UnsetType]:
    """`(input, input_text)` of a string of arguments.

    >>> read_arguments('{"a":1}'), read_arguments('{"a": 1}'), read_arguments('{"a"'), read_arguments("")
    (({'a': 1}, UNSET), ({'a': 1}, '{"a": 1}'), (UNSET, '{"a"'), (UNSET, UNSET))
    """
    if not text:
        return UNSET, UNSET
    try:  # a text that comes out letter for letter names no key twice
        value = _DECODER.decode(text)
        if exact_json.encode(value).decode() == text:
            return value, UNSET
    except (HansardError, msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        value = exact_json.decode(text)
        return (value, UNSET) if exact_json.encode(value).decode() == text else (value, text)
    except (HansardError, msgspec.MsgspecError, ValueError):
        return UNSET, text


def write_arguments(part: ToolCallPart) -> str:
    """The string of arguments a call was read from, or the compact JSON of its input."""
    if type(part.input_text) is str:
        exact_json.LoneSurrogates.look(part.input_text)
        return part.input_text
    return exact_json.encode(part.input).decode() if part.input is not UNSET else ""
