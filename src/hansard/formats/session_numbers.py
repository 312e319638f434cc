"""The names of very many records, in little memory: a session file may be longer than memory is large."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left

_RECENT = 100_000


class Numbers:
    """A number for each of very many names, in little memory: older names are kept as sorted hashes."""

    def __init__(self, recent: int = _RECENT) -> None:
        self._recent: dict[str, int] = {}
        self._limit = recent
        self._older: list[tuple[array[int], array[int]]] = []

    def __setitem__(self, name: str, number: int) -> None:
        if len(self._recent) >= self._limit:
            self._pack()
        self._recent[name] = number

    def get(self, name: str) -> int | None:
        """The number of a name, the last one it was given."""
        if (number := self._recent.get(name)) is not None or not self._older:
            return number
        key = hash(name)
        for keys, numbers in reversed(self._older):
            at = bisect_left(keys, key)
            if at < len(keys) and keys[at] == key:
                return numbers[at]
        return None

    def _pack(self) -> None:
        pairs = sorted((hash(name), number) for name, number in self._recent.items())
        self._older.append((array("q", (key for key, _ in pairs)), array("q", (number for _, number in pairs))))
        self._recent = {}


class Uuids:
    """Very many UUIDs by their numbers, sixteen bytes each; other names as they are."""

    def __init__(self) -> None:
        self._halves = array("Q")
        self._odd: dict[int, str | None] = {}

    def __len__(self) -> int:
        return len(self._halves) // 2

    def append(self, name: str | None) -> None:
        """One more."""
        self._halves.extend((0, 0))
        self[len(self) - 1] = name

    def __setitem__(self, at: int, name: str | None) -> None:
        if name is None or not _UUID.fullmatch(name):
            self._odd[at] = name
            return
        number = int(name.replace("-", ""), 16)
        self._halves[2 * at], self._halves[2 * at + 1] = number >> 64, number & _LOW
        if self._odd:
            self._odd.pop(at, None)

    def __getitem__(self, at: int) -> str | None:
        if at in self._odd:
            return self._odd[at]
        text = f"{self._halves[2 * at]:016x}{self._halves[2 * at + 1]:016x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_LOW = (1 << 64) - 1
