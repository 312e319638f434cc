"""Streamed arguments as paths and values (`partialArgs`): `$.where.city` is "Bos", then "ton".

They are kept as data, and also written as JSON text while they arrive, so that clients can show them as they grow. The
text can only grow at its end: values that arrive out of order are correct in the data, and end the text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from hansard.errors import HansardError
from hansard.model import exact_json
from hansard.streams.text_buffer import escaped, joined

_STEP = re.compile(r"""\.([^.\[\]'"]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_KINDS = (
    ("stringValue", "string_value"),
    ("numberValue", "number_value"),
    ("boolValue", "bool_value"),
    ("nullValue", "null_value"),
)


class _GrowingString(list[str]):
    """A string that may still grow, as a list of fragments."""

    __slots__ = ()


class Arguments:
    """`take` returns the JSON text that a partial argument adds; `end` the text that closes it."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.unknown: list[Any] = []  # fragments that were not understood, verbatim
        self._data: dict[str, Any] = {}
        self._last: tuple[Any, ...] = ()
        self._string: _GrowingString | None = None  # the string at the last path
        self._written: set[tuple[Any, ...]] = set()
        self._ordered = True

    def take(self, piece: Any) -> str:
        """Take in one partial argument."""
        path = _path(piece.get("jsonPath", piece.get("json_path"))) if type(piece) is dict else ()
        found = [value for keys in _KINDS for key in keys if (value := _value_of(piece, key, keys[0])) is not _NONE]
        if not path or len(found) != 1 or not self._take(path, found[0]):
            self.unknown.append(piece)
            return ""
        return self._text_of(path, found[0])

    def is_growing(self, path: str) -> bool:
        """Whether the string at this path is the last value that arrived."""
        return self._string is not None and self._ordered and bool(self._last) and _path(path) == self._last

    def append(self, text: str) -> str:
        """Append to the string that grows."""
        if self._string is not None:
            self._string.append(text)
        if '"' in text or "\\" in text or not text.isprintable():
            text = escaped(text)
        self.text.append(text)
        return text

    def _text_of(self, path: tuple[Any, ...], value: Any) -> str:
        """The JSON text that a value appends; empty once values arrived out of order."""
        if path == self._last and self._string is not None and type(value) is str:
            return self._add(escaped(value)) if self._ordered else ""
        shared = 0
        while shared < min(len(path), len(self._last)) - 1 and path[shared] == self._last[shared]:
            shared += 1
        if path[: shared + 1] in self._written:
            self._ordered = False
        out = self._closing(shared) + ("," if self._last else "{")
        for depth in range(shared, len(path)):
            self._written.add(path[: depth + 1])
            if type(path[depth]) is str:
                out += exact_json.encode(path[depth]).decode() + ":"
            if depth + 1 < len(path):
                out += "{" if type(path[depth + 1]) is str else "["
        given = exact_json.encode(value).decode()
        self._last, self._string = path, None
        if type(value) is str:
            self._string = _at(self._data, path)
            given = given[:-1]
        return self._add(out + given) if self._ordered else ""

    def end(self) -> str:
        """The text that closes all open strings, arrays and objects."""
        closing = self._closing(0) + ("}" if self._last else "")
        self._string = None
        return self._add(closing) if self._ordered else ""

    def value(self) -> dict[str, Any]:
        return _joined(self._data)  # type: ignore[no-any-return]

    def json(self) -> str:
        """The JSON text so far; encoded from the data if values arrived out of order."""
        return "".join(self.text) if self._ordered else exact_json.encode(self.value()).decode()

    def _closing(self, shared: int) -> str:
        out = '"' if self._string is not None else ""
        for key in reversed(self._last[shared + 1 :]):
            out += "}" if type(key) is str else "]"
        return out

    def _add(self, text: str) -> str:
        self.text.append(text)
        return text

    def _take(self, path: tuple[Any, ...], value: Any) -> bool:
        """Set a value in the data; False if the path does not fit the data."""
        held: Any = self._data
        for i, key in enumerate(path):
            last = i + 1 == len(path)
            kind: Any = dict if type(key) is str else list
            if type(held) is not kind or (kind is list and key > len(held)):
                return False
            there = key in held if kind is dict else key < len(held)
            if last:
                made: Any = _GrowingString([value]) if type(value) is str else value
                if there and type(held[key]) is _GrowingString and type(value) is str:
                    held[key].append(value)
                    return True
                if there and type(held[key]) in (dict, list):
                    return False
            elif there:
                held = held[key]
                continue
            else:
                made = {} if type(path[i + 1]) is str else []
            if there or kind is dict:
                held[key] = made
            else:
                held.append(made)
            held = made
        return True


_NONE = object()


def _value_of(piece: dict[str, Any], key: str, kind: str) -> Any:
    if key not in piece:
        return _NONE
    if kind == "nullValue":
        return None if piece[key] is not None else _NONE
    return piece[key] if piece[key] is not None and type(piece[key]) not in (dict, list) else _NONE


@lru_cache(1024)
def _path(text: Any) -> tuple[Any, ...]:
    """The steps of a JSON path; empty if it has other steps than names and indices."""
    if type(text) is not str or not text.startswith("$"):
        return ()
    steps: list[Any] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return ()
        name, number, single, double = found.groups()
        if number is not None:
            steps.append(int(number))
        elif name is not None:
            steps.append(name)
        else:
            steps.append(_name(single if single is not None else double, "'" if single is not None else '"'))
        at = found.end()
    return tuple(steps) if steps and type(steps[0]) is str and None not in steps else ()


def _name(quoted: str, quote: str) -> str | None:
    """Decode a quoted name with JSON escapes; inside single quotes, double quotes need no escape."""
    if quote == "'":
        quoted = re.sub(r'\\.|"', lambda found: _RESPELLED.get(found[0], found[0]), quoted)
    try:
        return exact_json.decode(f'"{quoted}"')  # type: ignore[no-any-return]
    except HansardError:
        return None


_RESPELLED = {"\\'": "'", '"': '\\"'}


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def _joined(value: Any) -> Any:
    if type(value) is _GrowingString:
        return joined(value)
    if type(value) is dict:
        return {key: _joined(item) for key, item in value.items()}
    return [_joined(item) for item in value] if type(value) is list else value
