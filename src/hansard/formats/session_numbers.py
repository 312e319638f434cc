"""The names of very many records, in little memory: a session file may be longer than memory is large."""

from __future__ import annotations

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
