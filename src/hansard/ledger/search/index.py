"""The search index: catch up with new messages in batches, rebuild.

Appends do not write the index: they leave entries in a feed, and the next search indexes them first, so a search finds
everything acknowledged before it began. Facets are collected in the same pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hansard.errors import ReadOnlyServer, StorageError
from hansard.ledger import tree
from hansard.ledger.backends.driver import Driver, Row, Tx, unsafe
from hansard.ledger.search import facets
from hansard.ledger.search.indexed_text import TokenCache, tokens, tools_of
from hansard.model import native
from hansard.model.conversation import Message
from hansard.model.parts import ToolCallPart

BATCH = 500
_NOT_IN_FEED = -1
_LOOK_BACK = 8
Progress = Callable[[int], None]


def catch_up(driver: Driver, progress: Progress | None = None) -> int:
    """Index what was acknowledged before this call; the number of messages indexed."""
    end = driver.read(_feed_end)
    if end is None:
        return 0
    with driver.catching_up:
        try:
            return _index_all(driver, driver.write(_fill_feed) if end == _NOT_IN_FEED else end, progress)
        except ReadOnlyServer:  # a standby finds what the primary has indexed
            return 0


def _index_all(driver: Driver, end: int | None, progress: Progress | None) -> int:
    count, cache = 0, TokenCache()
    while end is not None:
        batch = driver.read(lambda tx: _read_batch(tx, driver.tenant, end, cache))
        if batch is None:
            break
        count += driver.write(lambda tx: _write_batch(tx, batch, end))  # noqa: B023
        if progress is not None:
            progress(count)
    return count


def _feed_end(tx: Tx) -> int | None:
    row = tx.one("feed_end")
    return row[0] if row else None


def _fill_feed(tx: Tx) -> int | None:
    """Put new messages into the feed (SQLite); its end then, which later messages do not change."""
    tx.run("feed_new")
    tx.run("fed_all")
    return _feed_end(tx)


def rebuild(driver: Driver, progress: Progress | None = None) -> int:
    """Delete the index and rebuild it from the messages."""

    def job(tx: Tx) -> None:
        tx.one("lock_search")
        for name in ("drop_search", "make_search", "drop_feed", "feed_all"):
            tx.run(name)

    driver.write(job)
    return catch_up(driver, progress)


class _IndexBatch(NamedTuple):
    """The next messages of the feed, prepared for the index."""

    rows: list[Row]
    entries: list[dict[str, Any]]
    messages: list[tuple[int, str | None, Message]]


def _read_batch(tx: Tx, tenant: int, end: int, cache: TokenCache) -> _IndexBatch | None:
    """Read and tokenize the next messages of the feed, while others write; None at its end."""
    rows = tx.all("fed", end=end, limit=BATCH)
    if not rows:
        return None
    present = [row for row in rows if row[6] is not None]
    names: dict[tuple[int, str], str] = {}
    entries: list[dict[str, Any]] = []
    read: list[tuple[int, str | None, Message]] = []
    for row, message in zip(present, decode_messages(tx, [row[11] for row in present]), strict=True):
        _, _, _, thread, seg, depth, n, _, role, agent, created_at, _ = row
        if message is None:
            continue  # damaged: `hansard verify` names it; the others must be findable
        read.append((thread, unsafe(agent), message))
        tools = _tools(tx, names, thread, seg, depth, message)
        text = tokens(
            message,
            cache,
            tenant=tenant,
            thread=thread,
            role=unsafe(role) or "",
            agent=unsafe(agent),
            created_at=created_at,
            tools=tools,
        )
        entries.append({"n": n, "thread": thread, "seg": seg, "depth": depth, "words": text})
    return _IndexBatch([row[:8] for row in rows], entries, read)


def _write_batch(tx: Tx, batch: _IndexBatch, end: int) -> int:
    """Index a prepared batch and remove it from the feed, unless the feed has changed since it was read."""
    tx.one("lock_search")
    if tx.all("fed_still", end=end, limit=BATCH) != batch.rows:
        return 0
    tx.many("index_words", batch.entries)
    facets.collect(tx, batch.messages)
    _advance(tx, batch.rows)
    return len(batch.entries)


def _advance(tx: Tx, rows: list[Row]) -> None:
    """Remove indexed messages from the feed: whole entries, and the beginning of long ones."""
    reached = {row[0]: (min(row[2], row[1] + BATCH), row[2]) for row in rows}
    last = rows[-1]
    if len(rows) == BATCH and last[5] is not None:
        reached[last[0]] = (last[5], last[2])
    tx.many("feed_done", [{"n": n} for n, (depth, high) in reached.items() if depth >= high])
    tx.many("feed_reached", [{"n": n, "low": depth} for n, (depth, high) in reached.items() if depth < high])


def decode_messages(tx: Tx, stored: list[bytes]) -> list[Message | None]:
    """Stored bodies as messages; None for a damaged one."""
    try:
        return [native.decode_own(Message, body) for body in tree.read_bodies(tx, stored)]
    except StorageError:
        if len(stored) == 1:
            return [None]
        return [decode_messages(tx, [body])[0] for body in stored]


def _tools(tx: Tx, names: dict[tuple[int, str], str], thread: int, seg: int, depth: int, message: Message) -> set[str]:
    """The tools of a message; for a result without a tool name, the call is looked up a few messages before."""
    tools, unnamed = tools_of(message)
    _note_calls(names, thread, message)
    for call in unnamed:
        if (thread, call) not in names:
            low = max(0, depth - 1 - _LOOK_BACK)
            rows = tx.all("range_down", thread=thread, seg=seg, low=low, high=depth - 1, limit=_LOOK_BACK)
            for earlier in decode_messages(tx, [row[1] for row in rows]):
                if earlier is not None:
                    _note_calls(names, thread, earlier)
        if (name := names.get((thread, call))) is not None:
            tools.add(name)
    return tools


def _note_calls(names: dict[tuple[int, str], str], thread: int, message: Message) -> None:
    for part in message.parts:
        if isinstance(part, ToolCallPart) and isinstance(part.tool_name, str):
            if isinstance(part.tool_call_id, str):
                names[thread, part.tool_call_id] = part.tool_name
