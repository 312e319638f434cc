"""Compact maps of record ids: bounded memory for session files that are larger than memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from hansard.formats.coding_agents.identity import UUID

_RECENT = 100_000


class IdNumbers:
    """A map from ids to numbers in little memory: older ids are kept as sorted hashes."""

    def __init__(self, recent: int = _RECENT) -> None:
        self._recent: dict[str, int] = {}
        self._limit = recent
        self._older: list[tuple[array[int], array[int]]] = []

    def __setitem__(self, name: str, number: int) -> None:
        if len(self._recent) >= self._limit:
            self._pack()
        self._recent[name] = number

    def get(self, name: str) -> int | None:
        """The number last set for an id."""
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


class IdList:
    """A list of UUIDs, sixteen bytes each; recent ones, and ids that are not UUIDs, are kept as strings."""

    def __init__(self, recent: int = _RECENT) -> None:
        self._words64 = array("Q")
        self._names: dict[int, str | None] = {}
        self._limit = self._full = recent

    def __len__(self) -> int:
        return len(self._words64) // 2

    def append(self, name: str | None) -> None:
        """Append an id."""
        self._words64.extend((0, 0))
        self[len(self) - 1] = name

    def __setitem__(self, at: int, name: str | None) -> None:
        if len(self._names) >= self._full:
            self._pack()
        self._names[at] = name

    def __getitem__(self, at: int) -> str | None:
        if at in self._names:
            return self._names[at]
        text = f"{self._words64[2 * at]:016x}{self._words64[2 * at + 1]:016x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def _pack(self) -> None:
        others: dict[int, str | None] = {}
        for at, name in self._names.items():
            if name is not None and UUID.fullmatch(name):
                number = int(name.replace("-", ""), 16)
                self._words64[2 * at], self._words64[2 * at + 1] = number >> 64, number & _LOW
            else:
                others[at] = name
        self._names, self._full = others, len(others) + self._limit


_LOW = (1 << 64) - 1
