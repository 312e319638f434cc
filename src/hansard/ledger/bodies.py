"""The stored form of a body: native JSON with long strings moved to blobs, and the rest compressed.

The bytes of a body are restored exactly: long JSON strings are cut out of the text and put back at the same offsets, so
no content of a message can be mistaken for a reference. The layouts are frozen; the first byte names them:

    0  the bytes themselves
    1  zstd, with the dictionary below or without one
    2  count, then (offset, sha256) of each string that was cut out, then what is left as layout 0 or 1
    3  a checksum, then layout 0 or 1: for what no hash chain covers (threads, runs, snapshots, sums)
"""

from __future__ import annotations

import hashlib
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping

import zstandard

from hansard.errors import Damaged
from hansard.ledger.zstd_dictionary import DICTIONARY

PLAIN, ZSTD, CUT, SEALED = b"\x00", b"\x01", b"\x02", b"\x03"
LONG = 4096
_SMALL = 300
_SHORT = 64
_ENTRY = struct.Struct("<I32s")
_COUNT = struct.Struct("<H")
_SUM = struct.Struct("<I")
_MOST = 0xFFFF
_LEVEL = 3
_DICTIONARY = zstandard.ZstdCompressionDict(DICTIONARY, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
_DICTIONARY.precompute_compress(level=_LEVEL)


class _Zstd(threading.local):
    """Compressors of one thread: zstandard's must not be shared."""

    def __init__(self) -> None:
        self.pack = zstandard.ZstdCompressor(level=_LEVEL, dict_data=_DICTIONARY, write_content_size=True).compress
        self.long = zstandard.ZstdCompressor(level=_LEVEL, write_content_size=True).compress
        self.quick = zstandard.ZstdCompressor(level=1, write_content_size=True).compress
        self.unpack = zstandard.ZstdDecompressor(dict_data=_DICTIONARY).decompress


_zstd = _Zstd()


def compress(data: bytes) -> bytes:
    """Layout 0 or 1, whichever is smaller."""
    if len(data) >= _SMALL:  # the dictionary helps short bodies; long ones compress better and faster without
        small = _zstd.pack(data) if len(data) < LONG else _zstd.long(data)
        if len(small) < len(data):
            return ZSTD + small
    return PLAIN + data


def compress_fast(data: bytes) -> bytes:
    """Layout 0 or 1 at disk speed: for files of a workspace, which are many and rarely read."""
    if len(data) >= _SHORT:
        small = _zstd.quick(data)
        if len(small) < len(data):
            return ZSTD + small
    return PLAIN + data


def decompress(data: bytes) -> bytes:
    """The bytes of layout 0 or 1."""
    kind = data[:1]
    if kind == ZSTD:
        try:
            return _zstd.unpack(data[1:])
        except zstandard.ZstdError as error:
            raise Damaged(f"a stored body cannot be opened: {error}; run `hansard verify`") from None
    if kind == PLAIN:
        return data[1:]
    raise Damaged(f"a stored body has the unknown layout {data[:1]!r}; it was written by a newer hansard")


def seal(data: bytes, how: Callable[[bytes], bytes] = compress) -> bytes:
    """Layout 3: a changed bit is detected on reading."""
    return SEALED + _SUM.pack(zlib.crc32(data)) + how(data)


def unseal(data: bytes) -> bytes:
    """The bytes of layout 3."""
    if data[:1] == SEALED and len(data) > _SUM.size:
        found = decompress(data[1 + _SUM.size :])
        if zlib.crc32(found) == _SUM.unpack_from(data, 1)[0]:
            return found
    raise Damaged("a stored record is damaged: its checksum does not hold; run `hansard verify`")


def pack(body: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """A body as it is stored, and the long strings it refers to by their hash."""
    if len(body) <= LONG:
        return compress(body), {}
    blobs: dict[bytes, bytes] = {}
    cuts: list[bytes] = []
    rest: list[bytes] = []
    at = 0
    bare = body.replace(rb"\\", b"..").replace(rb"\"", b"..")  # every quote that is left begins or ends a string
    start = bare.find(b'"')
    while start >= 0:
        if not (end := bare.find(b'"', start + 1) + 1):
            break
        if end - start >= LONG and len(cuts) < _MOST:
            text = body[start:end]
            name = hashlib.sha256(text).digest()
            blobs[name] = text
            cuts.append(_ENTRY.pack(start, name))
            rest.append(body[at:start])
            at = end
        start = bare.find(b'"', end)
    if not cuts:
        return compress(body), {}
    rest.append(body[at:])
    return CUT + _COUNT.pack(len(cuts)) + b"".join(cuts) + compress(b"".join(rest)), blobs


def cuts(data: bytes) -> list[bytes]:
    """The hashes of the blobs that a stored body refers to, in order."""
    return [name for _, name in _entries(data)] if data[:1] == CUT else []


def _entries(data: bytes) -> list[tuple[int, bytes]]:
    """The offsets and hashes of the strings that were cut out of a body."""
    try:
        (count,) = _COUNT.unpack_from(data, 1)
        return [_ENTRY.unpack_from(data, header(i)) for i in range(count)]
    except struct.error:
        raise Damaged("a stored body is damaged: it is cut short; run `hansard verify`") from None


def header(count: int) -> int:
    """The size of the header of a body with this many blobs."""
    return 1 + _COUNT.size + count * _ENTRY.size


def unpack(data: bytes, blobs: Mapping[bytes, bytes]) -> bytes:
    """The original bytes of a stored body."""
    if data[:1] != CUT:
        return decompress(data)
    entries = _entries(data)
    rest = decompress(data[header(len(entries)) :])
    pieces: list[bytes] = []
    taken = length = 0
    for start, name in entries:
        text = blobs.get(name)
        if text is None:
            raise Damaged(f"the blob {name.hex()} is missing; run `hansard verify` and restore a backup")
        gap = start - length
        pieces += (rest[taken : taken + gap], text)
        taken += gap
        length = start + len(text)
    pieces.append(rest[taken:])
    return b"".join(pieces)


def blobs_of(rows: Iterable[bytes]) -> set[bytes]:
    """The hashes of all blobs that these bodies refer to."""
    return {name for data in rows if data[:1] == CUT for name in cuts(data)}
