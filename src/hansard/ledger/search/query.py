"""Finding messages: the index follows the feed in batches, and whoever searches first lets it catch up.

So appending pays nothing for the index, and a search finds all that was acknowledged before it began. Matches come in
windows of the newest `WINDOW` of them, the newest window first; inside a window those come first in which the words
weigh most, then the newest. What a message weighs depends on nothing but itself, and a window keeps its bounds, so a
cursor goes on at the same place however many messages arrive meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hansard.errors import HansardError, StorageError
from hansard.ledger import tree
from hansard.ledger.backends.driver import Driver, Row, Tx, unsafe
from hansard.ledger.results import Hit, Page
from hansard.ledger.rows import find_thread
from hansard.ledger.search import facets as facts
from hansard.ledger.search import indexed_text as searchable
from hansard.ledger.search.indexed_text import FIRST_TENANT, FOREIGN, OFTEN
from hansard.ledger.search.language import Atom, Query, atoms, fts5, tsquery
from hansard.ledger.search.snippets import snippet
from hansard.ledger.search.tokenizer import folded
from hansard.model import exact_json, native
from hansard.model.conversation import Message
from hansard.model.digits import whole_number
from hansard.model.parts import ToolCallPart
from hansard.model.times import iso_time

WINDOW = 2000
PATIENCE = 800  # so many messages are read for one page at the most
_SKIMMED = 16_000  # and so many matches looked up, where most are in other threads than those asked for
_FEW = 400  # threads that a query names, at the most; of more each match is asked for its thread
_EVERY = facts.Only()
BATCH = 500
_UNFED = -1
_FAR = 1 << 62
_ALL = (1 << 31) - 1
_LOOK_BACK = 8
_LEFT_OUT = ("aborted", "failed")
_SPELLING: dict[str, Callable[[list[list[Atom]], list[Atom]], str]] = {"sqlite": fts5, "postgres": tsquery}
Progress = Callable[[int], None]


# -- the index -----------------------------------------------------------------------------------------------------


def catch_up(driver: Driver, progress: Progress | None = None) -> int:
    """Index what was acknowledged before this call; how many messages it were."""
    end = driver.read(_feed_end)
    if end is None:
        return 0
    with driver.catching_up:
        return _caught_up(driver, driver.write(_feed) if end == _UNFED else end, progress)


def _caught_up(driver: Driver, end: int | None, progress: Progress | None) -> int:
    count, repeats = 0, searchable.Repeats()
    while end is not None:
        made = driver.read(lambda tx: _made(tx, driver.tenant, end, repeats))
        if made is None:
            break
        count += driver.write(lambda tx: _filed(tx, made, end))  # noqa: B023
        if progress is not None:
            progress(count)
    return count


def _feed_end(tx: Tx) -> int | None:
    row = tx.one("feed_end")
    return row[0] if row else None


def _feed(tx: Tx) -> int | None:
    """Put what is new into the feed; the end of it then, whatever is said afterwards."""
    tx.run("feed_new")
    tx.run("fed_all")
    return _feed_end(tx)


def rebuild(driver: Driver, progress: Progress | None = None) -> int:
    """Throw the index away and make it again from the messages."""

    def job(tx: Tx) -> None:
        tx.one("lock_search")
        for name in ("drop_search", "make_search", "drop_feed", "feed_all"):
            tx.run(name)

    driver.write(job)
    return catch_up(driver, progress)


class _Made(NamedTuple):
    """The next messages of the feed, ready for the index."""

    rows: list[Row]
    entries: list[dict[str, Any]]
    said: list[tuple[int, str | None, Message]]


def _made(tx: Tx, tenant: int, end: int, repeats: searchable.Repeats) -> _Made | None:
    """Read what is next in the feed and cut it into words, while others write; None when there is nothing."""
    rows = tx.all("fed", end=end, limit=BATCH)
    if not rows:
        return None
    present = [row for row in rows if row[6] is not None]
    names: dict[tuple[int, str], str] = {}
    entries: list[dict[str, Any]] = []
    said: list[tuple[int, str | None, Message]] = []
    for row, message in zip(present, _messages(tx, [row[11] for row in present]), strict=True):
        _, _, _, thread, seg, depth, n, _, role, agent, created_at, _ = row
        if message is None:
            continue  # damaged: `hansard verify` names it, and the others are to be found
        said.append((thread, unsafe(agent), message))
        tools = _tools(tx, names, thread, seg, depth, message)
        text = searchable.tokens(
            message,
            repeats,
            tenant=tenant,
            thread=thread,
            role=unsafe(role) or "",
            agent=unsafe(agent),
            created_at=created_at,
            tools=tools,
        )
        entries.append({"n": n, "thread": thread, "seg": seg, "depth": depth, "words": text})
    return _Made([row[:8] for row in rows], entries, said)


def _filed(tx: Tx, made: _Made, end: int) -> int:
    """Index what was made ready and take it off the feed, unless somebody was quicker or has deleted some of it."""
    tx.one("lock_search")
    if tx.all("fed_still", end=end, limit=BATCH) != made.rows:
        return 0
    tx.many("index_words", made.entries)
    facts.gather(tx, made.said)
    _advance(tx, made.rows)
    return len(made.entries)


def _advance(tx: Tx, rows: list[Row]) -> None:
    """Take off the feed what was read of it: whole entries, and of long ones the beginning."""
    reached = {row[0]: (min(row[2], row[1] + BATCH), row[2]) for row in rows}
    last = rows[-1]
    if len(rows) == BATCH and last[5] is not None:
        reached[last[0]] = (last[5], last[2])
    tx.many("feed_done", [{"n": n} for n, (depth, high) in reached.items() if depth >= high])
    tx.many("feed_reached", [{"n": n, "low": depth} for n, (depth, high) in reached.items() if depth < high])


def _messages(tx: Tx, stored: list[bytes]) -> list[Message | None]:
    try:
        return [native.decode_own(Message, body) for body in tree.texts(tx, stored)]
    except StorageError:
        if len(stored) == 1:
            return [None]
        return [_messages(tx, [body])[0] for body in stored]


def _tools(tx: Tx, names: dict[tuple[int, str], str], thread: int, seg: int, depth: int, message: Message) -> set[str]:
    """The tools of a message; an answer that does not name its tool is looked up by its call, a few messages before."""
    tools, unnamed = searchable.tools_of(message)
    _note(names, thread, message)
    for call in unnamed:
        if (thread, call) not in names:
            low = max(0, depth - 1 - _LOOK_BACK)
            rows = tx.all("range_down", thread=thread, seg=seg, low=low, high=depth - 1, limit=_LOOK_BACK)
            for earlier in _messages(tx, [row[1] for row in rows]):
                if earlier is not None:
                    _note(names, thread, earlier)
        if (name := names.get((thread, call))) is not None:
            tools.add(name)
    return tools


def _note(names: dict[tuple[int, str], str], thread: int, message: Message) -> None:
    for part in message.parts:
        if isinstance(part, ToolCallPart) and isinstance(part.tool_name, str):
            if isinstance(part.tool_call_id, str):
                names[thread, part.tool_call_id] = part.tool_name


# -- searching -----------------------------------------------------------------------------------------------------


class _Cursor(NamedTuple):
    """A window (low <= n <= high) and the last hit of it that was given."""

    low: int
    high: int
    level: int
    n: int

    def iso_time(self, query: str) -> str:
        return ".".join(map(str, (*self, _digest(query))))


def _cursor(text: str, query: str) -> _Cursor:
    *told, digest = text.split(".")
    numbers = [number for number in map(whole_number, told) if number is not None]
    if len(numbers) != len(told) or len(numbers) != len(_Cursor._fields):
        raise HansardError(f"no cursor {text!r}; give the `next` of the page before")
    if digest != _digest(query):
        raise HansardError("this cursor belongs to another query; begin without one")
    return _Cursor(*numbers)


def _digest(query: str) -> str:
    return hashlib.blake2b(query.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def search(driver: Driver, text: str, limit: int, after: str | None, now: int, only: facts.Only = _EVERY) -> Page[Hit]:
    """The messages a query finds in the threads that are left by `only`; `after` is the `next` of the page before.

    Whether a message has a phrase is seen only in the message: a page ends, however short, when `PATIENCE`
    messages were read for it, so that a rare phrase of common words takes many pages and not one long wait.
    """
    query = Query(text, now)
    values = None if only == _EVERY else only.values(now)
    text = text if values is None else f"{text}\0{only}"  # a cursor belongs to both
    start = None if after is None else _cursor(after, text)
    catch_up(driver)

    def job(tx: Tx) -> Page[Hit]:
        looking = _Looking(tx, driver, query, None if values is None else facts.numbers(tx, values))
        hits: list[Hit] = []
        last: _Cursor | None = None
        for hit, cursor in looking.hits(start, limit):
            if hit is None:
                if len(hits) == limit or looking.read >= PATIENCE or looking.looked_at >= _SKIMMED:
                    return Page(items=hits, next=cursor.iso_time(text))
                continue
            if len(hits) == limit and last is not None:
                return Page(items=hits, next=last.iso_time(text))
            hits.append(hit)
            last = cursor
        return Page(items=hits)

    return driver.read(job)


class _Looking:
    """One search in one transaction."""

    def __init__(self, tx: Tx, driver: Driver, query: Query, only: set[int] | None) -> None:
        self.tx, self.query, self.only = tx, query, only
        self.looked_at = self.read = 0
        self.paths: dict[int, dict[int, tuple[int, int]]] = {}
        wanted = [choice for term in query.wanted for choice in atoms(term)]
        weights = [[*wanted, [Atom(mark + word)]] for word in query.heaviest for mark in OFTEN]
        unwanted = [atom for term in query.unwanted if len(term.words) == 1 for atom in atoms(term)[0]]
        for name, values in query.filters.items():
            wanted.append([self._scope(name, value) for value in values])
        for name, values in query.without.items():
            unwanted += (self._scope(name, value) for value in values)
        if only is not None and len(only) <= _FEW:
            wanted.append([Atom(searchable.in_thread(number)) for number in sorted(only)])
        if query.since is not None or query.until is not None:
            wanted.append([Atom(token) for token in searchable.days(query.since, query.until)])
        if driver.tenant == FIRST_TENANT:
            unwanted.append(Atom(FOREIGN))
        else:
            wanted.append([Atom(searchable.of_tenant(driver.tenant)[1])])
        spelling = _SPELLING[driver.dialect]
        self.nothing = not all(wanted)
        self.wanted = "" if self.nothing else spelling(wanted, unwanted)
        self.weights = _json([spelling(weight, []) for weight in weights])
        self.most = max(1, len(weights))

    def _scope(self, name: str, value: str) -> Atom:
        if name == "thread":
            return Atom(searchable.in_thread(find_thread(self.tx, value).thread))
        return Atom(searchable.scope(name, value))

    def hits(self, start: _Cursor | None, limit: int) -> Iterator[tuple[Hit | None, _Cursor]]:
        """All hits behind a cursor, each with the cursor that goes on behind it; None: nothing was found up to here."""
        low, high = (0, _FAR) if start is None else (start.low, start.high)
        most = WINDOW if start is None else _ALL
        while not self.nothing:
            rows = self.tx.all(
                "search_matches", wanted=self.wanted, weights=self.weights, low=low, high=high, most=most
            )
            if most == WINDOW:
                high = max((n for n, _ in rows), default=0)
                low = min(n for n, _ in rows) if len(rows) == WINDOW else 0
            ordered = sorted((-level, -n) for n, level in rows)
            if start is not None:
                ordered = [row for row in ordered if row > (-start.level, -start.n)]
                start = None
            at, step = 0, limit + 1
            while at < len(ordered):
                chunk = [(-level, -n) for level, n in ordered[at : at + step]]
                for level, hit in self._found(chunk):
                    yield hit[1], _Cursor(low, high, level, hit[0])
                self.looked_at += len(chunk)
                at, step = at + step, min(step * 2, 200)
                if at < len(ordered) or low:
                    yield None, _Cursor(low, high, *chunk[-1])
            if low == 0:
                return
            low, high, most = 0, low - 1, WINDOW

    def _found(self, chunk: list[tuple[int, int]]) -> Iterator[tuple[int, tuple[int, Hit]]]:
        """Those of some matches that are hits, in their order."""
        rows = {row[0]: row for row in self.tx.all("search_found", ns=_json([n for _, n in chunk]))}
        kept = [(level, rows[n]) for level, n in chunk if n in rows and self._in_force(rows[n])]
        self.read += len(kept)
        for (level, row), message in zip(kept, _messages(self.tx, [row[8] for _, row in kept]), strict=True):
            if message is None:
                continue
            text = searchable.text_of(message)
            if self._says(text):
                yield level, (row[0], self._hit(row, message, text, level))

    def _in_force(self, row: Row) -> bool:
        created_at, status = row[7], row[10]
        query = self.query
        if status in _LEFT_OUT or (self.only is not None and row[1] not in self.only):
            return False
        if query.since is None and query.until is None:
            return True
        return (
            created_at is not None
            and (query.since is None or created_at >= query.since)
            and (query.until is None or created_at < query.until)
        )

    def _says(self, text: str) -> bool:
        """Does the text have the phrases, and none that it must not have?"""
        query = self.query
        if not query.phrases and not query.no_phrases:
            return True
        plain = folded(text)
        return all(phrase.search(plain) for phrase in query.phrases) and not any(
            phrase.search(plain) for phrase in query.no_phrases
        )

    def _hit(self, row: Row, message: Message, text: str, level: int) -> Hit:
        _, thread, seg, depth, key, role, agent, created_at, _, run, status, thread_id, title, head_seg, head = row
        if thread not in self.paths:
            path = tree.lineage(self.tx, thread, head_seg, head)
            self.paths[thread] = {part: (low, high) for part, low, high in path}
        low, high = self.paths[thread].get(seg, (0, 0))
        told = message.created_at
        return Hit(
            thread_id=unsafe(thread_id) or "",
            message_id=unsafe(key) or "",
            role=unsafe(role) or "",
            snippet=snippet(text, self.query.shown),
            title=unsafe(title),
            agent_id=unsafe(agent),
            created_at=told if isinstance(told, str) else None if created_at is None else iso_time(created_at),
            rank=level / self.most,
            active=low < depth <= high,
            run_id=unsafe(run),
            status=status,
        )


def _json(value: Any) -> str:
    return exact_json.encode(value).decode()
