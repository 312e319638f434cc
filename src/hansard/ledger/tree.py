"""The tree of a thread as segments: unbroken chains, each hanging on a place of another.

A path is a few range scans, one for each segment on it, and a fork is one row. A message goes into its parent's
segment if it is the tip of it, else it opens a new one; so nothing is ever moved or copied.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from hansard.errors import NotFound
from hansard.ledger import bodies
from hansard.ledger.backends.driver import Row, Tx, safe, unsafe
from hansard.ledger.rows import ROOT, Place, ThreadRow
from hansard.model import exact_json, native
from hansard.model.conversation import Message

ALL = 1 << 31
_BLOBS = 400


def lineage(tx: Tx, thread: int, seg: int, depth: int) -> list[tuple[int, int, int]]:
    """The path to a place: for each segment (seg, low, high), the messages low < depth <= high; the root's first."""
    found: list[tuple[int, int, int]] = []
    rows = tx.all("lineage", thread=thread, seg=seg, depth=depth) if seg else [(0, depth)]
    for i, (segment, high) in enumerate(rows):
        low = rows[i + 1][1] if i + 1 < len(rows) else 0
        if high > low:
            found.append((segment, low, high))
    return found[::-1]


def room(tx: Tx, thread: ThreadRow, place: Place) -> int:
    """The segment that takes the next message behind a place: its own where it is the tip, else the next new one."""
    row = tx.one("tip", thread=thread.thread, seg=place.seg)
    tip = row[0] if row else None
    return place.seg if tip is None or tip == place.depth else thread.next_seg


def open_segment(tx: Tx, thread: ThreadRow, place: Place) -> ThreadRow:
    """The next new segment, hung behind a place."""
    seg = thread.next_seg
    tx.run("add_segment", thread=thread.thread, seg=seg, parent_seg=place.seg, fork_depth=place.depth)
    return thread._replace(next_seg=seg + 1)


def messages_of(tx: Tx, rows: list[Row], *, verbatim: bool = False) -> list[Message]:
    """Rows of (id, body, ...) as messages; one that was said without an id is given the one it is kept under."""
    return [_message(row[0], body, verbatim) for row, body in zip(rows, texts(tx, [r[1] for r in rows]), strict=True)]


def _message(key: str, body: bytes, verbatim: bool) -> Message:
    message = native.decode_own(Message, body)
    if verbatim or message.id is not UNSET:
        return message
    return replace(message, id=unsafe(key) or "")


def texts(tx: Tx, stored: list[bytes]) -> list[bytes]:
    """Stored bodies as they were before."""
    wanted = sorted(bodies.needed(stored))
    if not wanted:
        return [bodies.opened(data) for data in stored]
    found: dict[bytes, bytes] = {}
    for i in range(0, len(wanted), _BLOBS):
        hashes = exact_json.encode([name.hex() for name in wanted[i : i + _BLOBS]]).decode()
        found.update((bytes(name), bodies.opened(data)) for name, data in tx.all("blobs", hashes=hashes))
    return [bodies.whole(data, found) for data in stored]


def path_rows(tx: Tx, thread: ThreadRow, place: Place) -> list[Row]:
    """The rows (id, body, depth, run, n) of a whole branch, the root's first."""
    rows: list[Row] = []
    for seg, low, high in lineage(tx, thread.thread, place.seg, place.depth):
        rows += tx.all("range_up", thread=thread.thread, seg=seg, low=low, high=high, limit=ALL)
    if len(rows) != place.depth:
        raise NotFound(
            f"thread {thread.id!r}: {place.depth - len(rows)} messages of a branch are gone; `hansard verify`"
        )
    return rows


def page_rows(
    tx: Tx, thread: ThreadRow, place: Place, limit: int, *, newest: bool, low: int = 0, high: int = ALL
) -> list[Row]:
    """At most `limit` rows of a branch with low < depth < high, from its new or from its old end."""
    rows: list[Row] = []
    pieces = lineage(tx, thread.thread, place.seg, place.depth)
    for seg, start, end in pieces[::-1] if newest else pieces:
        start, end = max(start, low), min(end, high - 1)
        if start < end and len(rows) < limit:
            name = "range_down" if newest else "range_up"
            rows += tx.all(name, thread=thread.thread, seg=seg, low=start, high=end, limit=limit - len(rows))
    return rows


def depth_on_path(tx: Tx, thread: ThreadRow, place: Place, message_id: str) -> int:
    """How deep a message stands on a branch; an error when it is not on it."""
    row = tx.one("place", thread=thread.thread, id=safe(message_id))
    if row is not None:
        for seg, low, high in lineage(tx, thread.thread, place.seg, place.depth):
            if seg == row[0] and low < row[1] <= high:
                return int(row[1])
    raise NotFound(f"no message {message_id!r} on this branch of thread {thread.id!r}")


def children(tx: Tx, thread: ThreadRow) -> dict[int, list[tuple[int, int]]]:
    """For each segment the ones that hang on it: (fork depth, segment)."""
    found: dict[int, list[tuple[int, int]]] = {}
    for seg, parent, depth in tx.all("segments", thread=thread.thread):
        found.setdefault(parent, []).append((depth, seg))
    return found


def place_of(tx: Tx, thread: ThreadRow, seg: int, depth: int) -> Place:
    """The place of the message that stands at (seg, depth)."""
    if depth == 0:
        return ROOT
    row = tx.one("at_place", thread=thread.thread, seg=seg, depth=depth)
    if row is None:
        raise NotFound(f"thread {thread.id!r} has no message at ({seg}, {depth}); run `hansard verify`")
    return Place(seg, depth, row[1], row[2])
