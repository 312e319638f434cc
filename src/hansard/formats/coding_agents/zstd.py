"""Session files compressed with zstd: the same records inside.

Memory is bounded: few bytes are decompressed at a time, so that a decompression bomb gives lines too long to be held.
New records are appended as a zstd frame of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hansard.formats.coding_agents.scanner import Bad, Record, Scanner
from hansard.formats.coding_agents.session_file import append_lines

MAGIC = b"\x28\xb5\x2f\xfd"
_BITE = 1024  # four bytes of zstd may expand to a block of 128 KB
_WINDOW = 128 * 1024 * 1024
_MUCH, _RATIO = 16 * 1024 * 1024, 100  # a file that expands beyond both limits is refused


class Decompressor:
    """Compressed bytes in, bytes out; `problem` says why decompression stopped."""

    def __init__(self) -> None:
        self.problem = ""
        self.consumed = self.produced = 0
        self._frame: Any = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        import zstandard

        for at in range(0, len(data), _BITE):
            bite = data[at : at + _BITE]
            self.consumed += len(bite)
            while bite and not self.problem:
                if self._frame is None:
                    self._frame = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()
                try:
                    text = self._frame.decompress(bite)
                except zstandard.ZstdError as error:
                    self.problem = f"damaged zstd data: {error}"
                    return
                self.produced += len(text)
                if self.produced > _MUCH + _RATIO * self.consumed:
                    self.problem = (
                        f"{self.consumed} compressed bytes expand to {self.produced}, more than {_RATIO} times as many"
                    )
                    return
                yield text
                bite = self._frame.unused_data if self._frame.eof else b""
                if self._frame.eof:
                    self._frame = None

    def finish(self) -> None:
        if self._frame is not None and not self.problem:
            self.problem = "the compressed file is truncated"


class ZstdScanner(Scanner):
    """A scanner that also reads compressed files; places refer to the decompressed text."""

    def __init__(self, decode: Callable[[bytes], Any], whole: Callable[[Any], bool]) -> None:
        super().__init__(decode, whole)
        self._start: bytes | None = b""
        self._decompressor: Decompressor | None = None

    def feed(self, data: bytes) -> Iterator[Record | Bad]:
        if self._start is not None:
            data = self._start = self._start + data
            if len(data) < len(MAGIC):
                return
            self._start = None
            self._decompressor = Decompressor() if data.startswith(MAGIC) else None
        if self._decompressor is None:
            yield from super().feed(data)
        else:
            for text in self._decompressor.feed(data):
                yield from super().feed(text)

    def finish(self) -> Iterator[Record | Bad]:
        if self._start:
            yield from super().feed(self._start)
        if self._decompressor is not None:
            self._decompressor.finish()
        yield from super().finish()
        if self._decompressor is not None and self._decompressor.problem:
            yield Bad(self._decompressor.problem, self._byte, self._line)


def append_frame(text: bytes, lines: Iterable[bytes]) -> bytes:
    """A file with new lines appended; to a compressed file they are appended compressed."""
    if not text.startswith(MAGIC):
        return append_lines(text, lines)
    import zstandard

    new = b"".join(lines)
    return text + zstandard.ZstdCompressor().compress(new) if new else text
