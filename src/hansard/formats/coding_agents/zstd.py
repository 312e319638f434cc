"""Rollouts that went cold are compressed: the same records, behind zstd.

What comes out of it is bounded: few bytes go in at a time, so that a file made to blow up gives lines too long to be
held, not memory. New records go behind the old bytes as a frame of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hansard.formats.coding_agents.scanner import Bad, Record, Scanner
from hansard.formats.coding_agents.session_file import joined

MAGIC = b"\x28\xb5\x2f\xfd"
_BITE = 1024  # a block of zstd may say 128 KB in four bytes
_WINDOW = 128 * 1024 * 1024
_MUCH, _RATIO = 16 * 1024 * 1024, 100  # more than so many bytes, and so many times what went in, is no rollout


class Inflater:
    """Compressed bytes in, bytes out; `problem` says why no more come."""

    def __init__(self) -> None:
        self.problem = ""
        self.taken = self.given = 0
        self._frame: Any = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        import zstandard

        for at in range(0, len(data), _BITE):
            bite = data[at : at + _BITE]
            self.taken += len(bite)
            while bite and not self.problem:
                if self._frame is None:
                    self._frame = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
                try:
                    text = self._frame.decompress(bite)
                except zstandard.ZstdError as error:
                    self.problem = f"the compression is damaged: {error}"
                    return
                self.given += len(text)
                if self.given > _MUCH + _RATIO * self.taken:
                    self.problem = f"{self.taken} compressed bytes make {self.given}, more than {_RATIO} times as many"
                    return
                yield text
                bite = self._frame.unused_data if self._frame.eof else b""
                if self._frame.eof:
                    self._frame = None

    def finish(self) -> None:
        if self._frame is not None and not self.problem:
            self.problem = "the compressed file ends in the middle"


class ZstdScanner(Scanner):
    """A scanner that also reads compressed files; places are those of the text inside."""

    def __init__(self, decode: Callable[[bytes], Any], whole: Callable[[Any], bool]) -> None:
        super().__init__(decode, whole)
        self._start: bytes | None = b""
        self._inflater: Inflater | None = None

    def feed(self, data: bytes) -> Iterator[Record | Bad]:
        if self._start is not None:
            data = self._start = self._start + data
            if len(data) < len(MAGIC):
                return
            self._start = None
            self._inflater = Inflater() if data.startswith(MAGIC) else None
        if self._inflater is None:
            yield from super().feed(data)
        else:
            for text in self._inflater.feed(data):
                yield from super().feed(text)

    def finish(self) -> Iterator[Record | Bad]:
        if self._start:
            yield from super().feed(self._start)
        if self._inflater is not None:
            self._inflater.finish()
        yield from super().finish()
        if self._inflater is not None and self._inflater.problem:
            yield Bad(self._inflater.problem, self._byte, self._line)


def behind(text: bytes, lines: Iterable[bytes]) -> bytes:
    """A file and new lines behind it; behind a compressed one they are compressed too."""
    if not text.startswith(MAGIC):
        return joined(text, lines)
    import zstandard

    new = b"".join(lines)
    return text + zstandard.ZstdCompressor().compress(new) if new else text
