"""The tree of a thread, stored as segments: chains of messages, each forking from a place in another segment.

A branch is read by one range scan per segment, and a fork is one row. A message is added to its parent's segment if the
parent is the segment's tip, else it opens a new segment; so messages are never moved or copied.
"""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import force_setattr, replace

from hansard.errors import NotFound
from hansard.ledger import bodies
from hansard.ledger.backends.driver import Row, Tx, safe, unsafe
from hansard.ledger.results import Branch, Page, TreeNode
from hansard.ledger.rows import ROOT, Place, ThreadRow, find_place, find_runs, find_thread, id_at
from hansard.model import exact_json, native
from hansard.model.conversation import Message
from hansard.model.stored import StoredMessage, set_parent
from hansard.model.times import iso_time

ALL = 1 << 31
_BLOBS = 400


def lineage(tx: Tx, thread: int, seg: int, depth: int) -> list[tuple[int, int, int]]:
    """The path to a place, from the root: for each segment (seg, low, high), the messages low < depth <= high."""
    found: list[tuple[int, int, int]] = []
    rows = tx.all("lineage", thread=thread, seg=seg, depth=depth) if seg else [(0, depth)]
    for i, (segment, high) in enumerate(rows):
        low = rows[i + 1][1] if i + 1 < len(rows) else 0
        if high > low:
            found.append((segment, low, high))
    return found[::-1]


def segment_after(tx: Tx, thread: ThreadRow, place: Place) -> int:
    """The segment for a message after a place: the same one if the place is its tip, else the next new one."""
    row = tx.one("tip", thread=thread.thread, seg=place.seg)
    tip = row[0] if row else None
    return place.seg if tip is None or tip == place.depth else thread.next_seg


def open_segment(tx: Tx, thread: ThreadRow, place: Place) -> ThreadRow:
    """Insert the next new segment, forking from a place."""
    seg = thread.next_seg
    tx.run("add_segment", thread=thread.thread, seg=seg, parent_seg=place.seg, fork_depth=place.depth)
    return thread._replace(next_seg=seg + 1)


def on_path(messages: list[StoredMessage], parent: str | None) -> list[StoredMessage]:
    """Consecutive messages of a branch, each given its parent; `parent` is the id of the message before the first."""
    for message in messages:
        set_parent(message, parent)
        parent = message.id
    return messages


def messages_of(tx: Tx, rows: list[Row], *, verbatim: bool = False) -> list[Message]:
    """Rows of (id, body, ...) as messages; a message without an id of its own gets the id it is stored under."""
    return [
        _message(row[0], body, verbatim) for row, body in zip(rows, read_bodies(tx, [r[1] for r in rows]), strict=True)
    ]


def _message(key: str, body: bytes, verbatim: bool) -> Message:
    message = native.decode_own(Message, body)
    if verbatim or message.id is not UNSET:
        return message
    return replace(message, id=unsafe(key) or "")


def stored_messages(tx: Tx, thread: ThreadRow, rows: list[Row]) -> list[StoredMessage]:
    """Rows of (id, body, ...) as callers get them; a message without a time has that of its thread."""
    found: list[StoredMessage] = []
    for row, body in zip(rows, read_bodies(tx, [r[1] for r in rows]), strict=True):
        message = native.decode_own(StoredMessage, body)
        if not message.id:
            force_setattr(message, "id", unsafe(row[0]) or "")
        if not message.created_at:
            force_setattr(message, "created_at", iso_time(thread.created_at))
        found.append(message)
    return found


def read_bodies(tx: Tx, stored: list[bytes]) -> list[bytes]:
    """Stored bodies as JSON, with their blobs."""
    wanted = sorted(bodies.blobs_of(stored))
    if not wanted:
        return [bodies.decompress(data) for data in stored]
    found: dict[bytes, bytes] = {}
    for i in range(0, len(wanted), _BLOBS):
        hashes = exact_json.encode([name.hex() for name in wanted[i : i + _BLOBS]]).decode()
        found.update((bytes(name), bodies.decompress(data)) for name, data in tx.all("blobs", hashes=hashes))
    return [bodies.unpack(data, found) for data in stored]


def message(tx: Tx, thread_id: str, message_id: str) -> StoredMessage:
    """One message of a thread, on any branch."""
    return message_at(tx, find_thread(tx, thread_id), message_id)


def message_at(tx: Tx, thread: ThreadRow, message_id: str) -> StoredMessage:
    """One message of a thread whose row is known."""
    place = find_place(tx, thread, message_id)
    rows = tx.all("range_up", thread=thread.thread, seg=place.seg, low=place.depth - 1, high=place.depth, limit=1)
    return on_path(stored_messages(tx, thread, rows), parent_id(tx, thread, place))[0]


def parent_id(tx: Tx, thread: ThreadRow, place: Place) -> str | None:
    """The id of the message before a place on its branch; None for the first."""
    pieces = lineage(tx, thread.thread, place.seg, place.depth - 1) if place.depth > 1 else []
    if not pieces:
        return None
    seg, _, depth = pieces[-1]
    rows = tx.all("range_up", thread=thread.thread, seg=seg, low=depth - 1, high=depth, limit=1)
    return stored_messages(tx, thread, rows)[0].id or None


def transcript(tx: Tx, thread_id: str, head: str | None) -> list[StoredMessage]:
    """All messages of the active branch, or of the branch that ends with `head`."""
    thread = find_thread(tx, thread_id)
    place = thread.head if head is None else find_place(tx, thread, head)
    return on_path(stored_messages(tx, thread, path_rows(tx, thread, place)), None)


def page(
    tx: Tx, thread_id: str, limit: int, *, newest: bool, before: str | None, after: str | None, head: str | None
) -> Page[StoredMessage]:
    """A page of a branch; see `Ledger.messages`."""
    thread = find_thread(tx, thread_id)
    place = thread.head if head is None else find_place(tx, thread, head)
    low = 0 if after is None else depth_on_path(tx, thread, place, after)
    high = ALL if before is None else depth_on_path(tx, thread, place, before)
    rows = page_rows(tx, thread, place, limit + 1, newest=newest, low=low, high=high)
    found = stored_messages(tx, thread, rows if newest else rows[:limit])
    if newest:  # the message before the page, if there is one, tells the parent of its last
        parent = found[limit].id if len(rows) > limit else after
        found = on_path(found[limit - 1 :: -1], parent or None)[::-1]
    else:
        found = on_path(found, after)
    return Page(items=found, next=found[-1].id if len(rows) > limit else None)


def path_rows(tx: Tx, thread: ThreadRow, place: Place) -> list[Row]:
    """The rows (id, body, depth, run, n) of a whole branch, from the root."""
    rows: list[Row] = []
    for seg, low, high in lineage(tx, thread.thread, place.seg, place.depth):
        rows += tx.all("range_up", thread=thread.thread, seg=seg, low=low, high=high, limit=ALL)
    if len(rows) != place.depth:
        raise NotFound(
            f"thread {thread.id!r}: {place.depth - len(rows)} messages of a branch are missing; run `hansard verify`"
        )
    return rows


def page_rows(
    tx: Tx, thread: ThreadRow, place: Place, limit: int, *, newest: bool, low: int = 0, high: int = ALL
) -> list[Row]:
    """At most `limit` rows of a branch with low < depth < high, newest or oldest first."""
    rows: list[Row] = []
    pieces = lineage(tx, thread.thread, place.seg, place.depth)
    for seg, start, end in pieces[::-1] if newest else pieces:
        start, end = max(start, low), min(end, high - 1)
        if start < end and len(rows) < limit:
            name = "range_down" if newest else "range_up"
            rows += tx.all(name, thread=thread.thread, seg=seg, low=start, high=end, limit=limit - len(rows))
    return rows


def depth_on_path(tx: Tx, thread: ThreadRow, place: Place, message_id: str) -> int:
    """The depth of a message on a branch; `NotFound` if it is not on the branch."""
    row = tx.one("place", thread=thread.thread, id=safe(message_id))
    if row is not None:
        for seg, low, high in lineage(tx, thread.thread, place.seg, place.depth):
            if seg == row[0] and low < row[1] <= high:
                return int(row[1])
    raise NotFound(f"no message {message_id!r} on this branch of thread {thread.id!r}")


def children(tx: Tx, thread: ThreadRow) -> dict[int, list[tuple[int, int]]]:
    """For each segment, the segments that fork from it: (fork depth, segment)."""
    found: dict[int, list[tuple[int, int]]] = {}
    for seg, parent, depth in tx.all("segments", thread=thread.thread):
        found.setdefault(parent, []).append((depth, seg))
    return found


def place_of(tx: Tx, thread: ThreadRow, seg: int, depth: int) -> Place:
    """The place of the message at (seg, depth), with its hashes."""
    if depth == 0:
        return ROOT
    row = tx.one("at_place", thread=thread.thread, seg=seg, depth=depth)
    if row is None:
        raise NotFound(f"thread {thread.id!r} has no message at ({seg}, {depth}); run `hansard verify`")
    return Place(seg, depth, row[1], row[2])


# -- nodes and branches ----------------------------------------------------------------------------------------------


def nodes(tx: Tx, thread: ThreadRow) -> list[TreeNode]:
    """Every message in the order they were written, with its parent."""
    return [node for node, _ in placed_nodes(tx, thread)]


def placed_nodes(tx: Tx, thread: ThreadRow) -> list[tuple[TreeNode, int]]:
    """The same, each with its segment."""
    path = lineage(tx, thread.thread, thread.head_seg, thread.head_depth)
    active = {seg: (low, high) for seg, low, high in path}
    forks = {seg: (parent, depth) for seg, parent, depth in tx.all("segments", thread=thread.thread)}
    runs = find_runs(tx, thread)
    rows = tx.all("outline", thread=thread.thread)
    ids = {(row[2], row[3]): row[1] for row in rows}
    found: list[tuple[TreeNode, int]] = []
    for _, key, seg, depth, run, role, agent, _ in rows:
        low, high = active.get(seg, (0, 0))
        of = runs.get(run) if run is not None else None
        node = TreeNode(
            id=unsafe(key) or "",
            parent_id=unsafe(_parent(ids, forks, seg, depth)),
            depth=depth,
            role=unsafe(role) or "",
            active=low < depth <= high,
            run_id=unsafe(of.id) if of else None,
            status=of.status if of else None,
            agent_id=unsafe(agent),
        )
        found.append((node, seg))
    return found


def _parent(ids: dict[tuple[int, int], str], forks: dict[int, tuple[int, int]], seg: int, depth: int) -> str | None:
    """The id of the parent: in the same segment, or where that forks from."""
    depth -= 1
    while depth > 0:
        if (found := ids.get((seg, depth))) is not None:
            return found
        if seg not in forks:
            return None
        seg = forks[seg][0]
    return None


def branches(tx: Tx, thread: ThreadRow) -> list[Branch]:
    """Every end of the tree, and the head if it is not an end; the active one first."""
    forks = {seg: (parent, depth) for seg, parent, depth in tx.all("segments", thread=thread.thread)}
    tips: dict[int, int] = dict(tx.all("tips", thread=thread.thread))
    continued = set(forks.values())
    ends = {(seg, depth) for seg, depth in tips.items() if (seg, depth) not in continued}
    head = (thread.head_seg, thread.head_depth)
    runs = find_runs(tx, thread)
    found: list[Branch] = []
    for seg, depth in sorted({*ends, head}):
        parent, fork_depth = forks.get(seg, (0, 0))
        row = tx.one("at_place", thread=thread.thread, seg=seg, depth=depth)
        of = runs.get(row[3]) if row else None
        found.append(
            Branch(
                head=unsafe(row[0]) if row else None,
                forked_from=unsafe(id_at(tx, thread, (parent, fork_depth))) if seg else None,
                depth=depth,
                messages=depth - fork_depth,
                active=(seg, depth) == head,
                status=of.status if of else "said",
                run_id=unsafe(of.id) if of else None,
            )
        )
    return sorted(found, key=lambda branch: not branch.active)
