"""Hostile documents, made of good ones: what is JSON in them is changed as JSON, and any of their bytes as bytes.

A seed is cut into pieces of JSON and what stands between them (lines, `data: ` of an event), so that files of lines
and streams are changed as well as documents. The oddest values are written as raw JSON: what no encoder would write.
"""

from __future__ import annotations

import random
import re
from itertools import accumulate
from typing import Any

import msgspec

Raw = msgspec.Raw
_DATA = re.compile(rb"(?m)^((?:data: ?)?)([\[{\"\d].*)$")
_HUGE = 200_000
_WINDOW = 4
_ODD_TEXT = (
    "",
    "\0",
    "\u2028",
    "\x85\x0c\x0b",
    "\ufeff",
    "\x1b[2J\x1b]0;x\x07",
    "\u202e",
    "__proto__",
    "a" * 300,
    "[",
    "{",
    "\n",
    "\r\n",
    "²",
    "٣",
    "9" * 4500,
)
_IDS = re.compile(r"(?i)(^|_)(uu)?id$|Id$|Uuid$|parent|leaf|head|call|rewind|run")
_ODD: list[Any] = [
    None, True, False, 0, -1, 1, 1.5, 2**53 + 1, 2**63, -(2**63) - 1, 1e308, "", "x", [], {}, [None], [[]], {"": ""},
    {"type": "x"}, {"type": None}, "2026-11-18T10:00:00Z", "0000-00-00T99:99:99Z", "9999-12-31T23:59:60+25:00", "-1",
    *(text for text in _ODD_TEXT),
    *(Raw(text) for text in (
        b'"\\ud800"', b'"\\udc00\\ud83d"', b'"\\u0000"', b"1e999", b"-0.0", b"1E2", b"1.10", b"9" * 5000, b"1e-400",
        b'{"a":1,"a":2}', b"NaN", b"-Infinity", b"[" * 99 + b"]" * 99, b"[" * 1100 + b"]" * 1100,
        b'{"a":' * 300 + b"1" + b"}" * 300, b'{"__proto__":{"x":1},"\\u0000":1,"\\ud800":2}',
        b"tru", b"'x'", b"\xff", b"",
    )),
]  # fmt: skip
_ODD_BYTES = (
    b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\n", b"\r", b"\r\n\r\n", b"\n\n", b'"', b"\\", b"\\u", b"{", b"}",
    b"[", b"]", b",", b":", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"null", b"1e400", b"data: ", b"event: ",
    b"\x1f\x8b\x08", b"PK\x03\x04", b"(\xb5/\xfd",
)  # fmt: skip


class Seed:
    """A good document: pieces that are JSON, and the bytes between them."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.pieces: list[Any] = []
        try:
            self.pieces = [msgspec.json.decode(raw)]
            self.between = [b"", b""]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            at, self.between = 0, []
            for found in _DATA.finditer(raw):
                try:
                    value = msgspec.json.decode(found[2].rstrip())
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    continue
                self.pieces.append(value)
                self.between.append(raw[at : found.start(2)])
                at = found.end(2)
            self.between.append(raw[at:])
        self.ids = sorted({text for piece in self.pieces for text in _ids(piece)})[:50]


class Mutator:
    """`make` gives the next document, more often one like a short seed; `change` one that is like a given one.

    `huge` is how often one is blown up beyond all use: such a one takes the time of a thousand others.
    """

    def __init__(self, seeds: list[bytes], rng: random.Random, huge: float = 0.002) -> None:
        self.seeds = [Seed(raw) for raw in seeds]
        self.rng = rng
        self._huge = huge
        self._turns = list(accumulate(1 / (200 + len(raw)) ** 2 for raw in seeds))
        self._structured = [seed for seed in self.seeds if seed.pieces]
        self.keys = sorted({key for seed in self.seeds for piece in seed.pieces for key in _keys(piece)}) or ["x"]
        self._nodes = [node for seed in self._structured for piece in seed.pieces for node in _nodes(piece)][:5000]

    def make(self) -> bytes:
        return self.change(self.rng.choices(self.seeds, cum_weights=self._turns)[0])

    def change(self, seed: Seed) -> bytes:
        dice = self.rng.random
        data = self._structure(seed) if seed.pieces and dice() < 0.75 else seed.raw
        if data is seed.raw or dice() < 0.2:
            for _ in range(1 + int(dice() * 3)):
                data = self._bytes(data)
        return data

    def _structure(self, seed: Seed) -> bytes:
        rng = self.rng
        pieces, between = list(seed.pieces), seed.between
        if len(pieces) > _WINDOW + 2 and rng.random() < 0.7:  # how it begins, and a part of the rest
            at = rng.randrange(2, len(pieces) - _WINDOW + 1)
            pieces = [*pieces[:2], *pieces[at : at + _WINDOW]]
            between = [*between[:2], *between[at : at + _WINDOW], between[-1]]
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at = rng.randrange(len(pieces))
            how = rng.random()
            if len(pieces) > 2 and how < 0.15:
                between = list(between)
                if how < 0.05 and len(pieces) > 1:
                    del pieces[at], between[at]
                elif how < 0.10:
                    to = rng.randrange(len(pieces))
                    pieces[at], pieces[to] = pieces[to], pieces[at]
                else:
                    pieces.insert(at, pieces[at])
                    between.insert(at, between[at] or b"\n")
            elif how > 1 - self._huge:
                pieces[at] = self._blown(pieces[at])
            else:
                pieces[at] = self._value(pieces[at], seed.ids, "")
        out = [between[0]]
        for value, behind in zip(pieces, between[1:], strict=True):
            out += (_encode(value), behind)
        return b"".join(out)

    def _value(self, value: Any, ids: list[str], key: str) -> Any:
        """The value with one thing in it changed: only what stands above that is made anew."""
        rng = self.rng
        how = rng.random()
        if type(value) is dict and value:
            if how < 0.75:
                name = rng.choice(list(value))
                return {**value, name: self._value(value[name], ids, name)}
            return self._object(value, ids, how)
        if type(value) is list and value:
            at = rng.randrange(len(value))
            if how < 0.7:
                return [*value[:at], self._value(value[at], ids, key), *value[at + 1 :]]
            return self._list(value, at, how)
        if type(value) is str and how < 0.5:
            if ids and how < 0.25 and _IDS.search(key):
                return rng.choice(ids)
            at = rng.randrange(len(value) + 1)
            return value[:at] + rng.choice(_ODD_TEXT) + value[at + int(how * 4) :]
        if how < 0.6:
            return [value] if how < 0.55 else {rng.choice(self.keys): value}
        if how < 0.65:
            return str(value) if type(value) is not str else len(value)
        return self._other()

    def _object(self, value: dict[str, Any], ids: list[str], how: float) -> Any:
        rng = self.rng
        name = rng.choice(list(value))
        if how < 0.81:
            return {key: one for key, one in value.items() if key != name}
        if how < 0.86:
            return {**value, rng.choice(self.keys): self._other()}
        if how < 0.90:
            new = rng.choice(self.keys)
            return {new if key == name else key: one for key, one in value.items()}
        if how < 0.92:
            both = _encode({name: value[name]})[:-1] + b"," + _encode(value)[1:]
            return Raw(both)
        if how < 0.95 and ids:
            return {**value, **{key: rng.choice(ids) for key in value if _IDS.search(key)}}
        return self._other() if how < 0.98 else [value]

    def _list(self, value: list[Any], at: int, how: float) -> Any:
        rng = self.rng
        if how < 0.77:
            return value[:at] + value[at + 1 :]
        if how < 0.83:
            return [*value[:at], value[at], *value[at:]]
        if how < 0.88:
            return [*value[:at], self._other(), *value[at:]]
        if how < 0.92:
            return rng.sample(value, len(value))
        return self._other() if how < 0.96 else value[at]

    def _other(self) -> Any:
        return self.rng.choice(self._nodes if self._nodes and self.rng.random() < 0.4 else _ODD)

    def _blown(self, value: Any) -> Any:
        """The value, grown beyond all use: long, wide or deep."""
        how = self.rng.random()
        if how < 0.3:
            deep = self.rng.choice((150, 990, 5000, 100_000))
            return Raw(b'{"a":' * deep + b"1" + b"}" * deep if how < 0.1 else b"[" * deep + b"]" * deep)
        return self._grown(value)

    def _grown(self, value: Any) -> Any:
        """One of the lists in it many times as long, or a text of it."""
        if type(value) is list and value:
            return value * max(1, min(20_000, _HUGE // (len(_encode(value)) + 1)))
        if type(value) is dict and value:
            names = [name for name, one in value.items() if type(one) in (list, dict) and one] or list(value)
            name = self.rng.choice(names)
            return {**value, name: self._grown(value[name])}
        return value * (_HUGE // (len(value) + 1)) if type(value) is str else 10**300

    def _bytes(self, data: bytes) -> bytes:
        rng = self.rng
        how, size = rng.random(), len(data)
        at = rng.randrange(size + 1)
        if how < 0.25:
            return data[:at] + bytes((rng.randrange(256),)) + data[at + 1 :]
        if how < 0.5:
            return data[:at] + rng.choice(_ODD_BYTES) + data[at + int(how * 4) - 1 :]
        to = min(size, at + int(rng.expovariate(1 / 20)))
        if how < 0.65:
            return data[:at] + data[to:]
        if how < 0.75:
            return data[:to] + data[at:]
        if how < 0.85:
            return data[:at]
        if how < 1 - self._huge:
            other = rng.choice(self.seeds).raw
            return data[:at] + other[rng.randrange(len(other) + 1) :][:5000]
        return data[:at] + data[at:to] * (_HUGE // (to - at + 1)) + data[to:]


def _encode(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _keys(value: Any) -> set[str]:
    if type(value) is dict:
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if type(value) is list else set()


def _nodes(value: Any) -> list[Any]:
    below = value.values() if type(value) is dict else value if type(value) is list else ()
    return [value, *(node for one in below for node in _nodes(one))]


def _ids(value: Any) -> set[str]:
    if type(value) is dict:
        own = {one for key, one in value.items() if type(one) is str and len(one) < 100 and _IDS.search(key)}
        return own.union(*map(_ids, value.values()))
    return set().union(*map(_ids, value)) if type(value) is list else set()
