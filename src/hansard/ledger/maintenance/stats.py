"""Statistics: counts and sizes of a ledger."""

from __future__ import annotations

import zstandard

from hansard.ledger import bodies
from hansard.ledger.analysis.answers import answers
from hansard.ledger.backends.driver import Driver, Tx
from hansard.ledger.backends.migrations import migrations
from hansard.ledger.results import Stats, TokenSum

_BATCH = 500


def stats(driver: Driver) -> Stats:
    """Count everything, a few hundred threads at a time."""
    last = live = forgotten = messages = payload = stored = 0
    while rows := driver.read(lambda tx: tx.all("thread_sums", after=last, limit=_BATCH)):  # noqa: B023
        for _, count, _, gone in rows:
            live, forgotten = live + (gone is None), forgotten + (gone is not None)
            messages += count if gone is None else 0
        first, last = rows[0][0], rows[-1][0]
        more = driver.read(lambda tx: _sizes(tx, first, last))  # noqa: B023
        payload, stored = payload + more[0], stored + more[1]
    runs, blobs, data = driver.read(lambda tx: tx.all("sums"))[0]
    return Stats(
        threads=live,
        forgotten=forgotten,
        messages=messages,
        runs=runs,
        blobs=blobs,
        payload_bytes=payload,
        stored_bytes=stored + int(data),
        bytes_on_disk=driver.size(),
        schema=migrations(driver.dialect)[-1].number,
        usage=_tokens(driver),
    )


def _tokens(driver: Driver) -> TokenSum:
    """The tokens of all answers, each counted once."""
    names = TokenSum.__struct_fields__
    sums = dict.fromkeys(names, 0)
    for answer in answers(driver):
        for name in names:
            sums[name] += getattr(answer.tokens, name)
    return TokenSum(**sums)


def _sizes(tx: Tx, first: int, last: int) -> tuple[int, int]:
    """The size of the message bodies of these threads, as JSON and as stored."""
    payload = stored = 0
    sizes: dict[bytes, int] = {}
    for start, length, body in tx.all("body_sizes", first=first, last=last, mark=bodies.CUT):
        stored += length
        if body is None:
            payload += _uncompressed_size(bytes(start), length)
            continue
        names = bodies.cuts(bytes(body))
        for name in names:
            if name not in sizes:
                row = tx.one("blob_size", hash=name)
                sizes[name] = row[0] if row else 0
        rest = bytes(body)[bodies.header(len(names)) :]
        payload += _uncompressed_size(rest, len(rest)) + sum(sizes[name] for name in names)
    return payload, stored


def _uncompressed_size(start: bytes, length: int) -> int:
    """The size of a body of layout 0 or 1, from its first bytes."""
    if start[:1] == bodies.PLAIN:
        return length - 1
    try:
        return max(0, zstandard.frame_content_size(start[1:]))
    except zstandard.ZstdError:
        return 0
