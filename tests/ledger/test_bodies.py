"""Stored bodies: what is long and what is short comes back as it was, and each is compressed its own way."""

from __future__ import annotations

import pytest
import zstandard

from hansard.ledger import bodies
from hansard.ledger.zstd_dictionary import DICTIONARY


def test_what_is_compressed_comes_back() -> None:
    for size in (0, 1, 299, 300, bodies.LONG - 1, bodies.LONG, 100_000):
        data = (DICTIONARY * (1 + size // len(DICTIONARY)))[:size]
        assert bodies.decompress(bodies.compress(data)) == data, size
        assert bodies.decompress(bodies.compress_fast(data)) == data, size


def test_what_is_long_needs_no_dictionary() -> None:
    words = DICTIONARY * (1 + bodies.LONG // len(DICTIONARY))
    plain = zstandard.ZstdDecompressor()
    assert plain.decompress(bodies.compress(words[: bodies.LONG])[1:]) == words[: bodies.LONG]
    with pytest.raises(zstandard.ZstdError):
        plain.decompress(bodies.compress(words[: bodies.LONG - 1])[1:])
