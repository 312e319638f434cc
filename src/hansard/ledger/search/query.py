"""Search messages by a query, in pages.

Matches come in windows of the newest `WINDOW`, the newest window first; inside a window they are ordered by weight of
the matched words, then newest first. A message's weight depends only on the message, and a window keeps its bounds, so
a cursor continues at the same place however many messages arrive meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hansard.errors import HansardError
from hansard.ledger import tree
from hansard.ledger.backends.driver import Driver, Row, Tx, unsafe
from hansard.ledger.results import Hit, Page
from hansard.ledger.rows import find_thread
from hansard.ledger.search import facets
from hansard.ledger.search import indexed_text as index_tokens
from hansard.ledger.search.facets import ThreadFilter
from hansard.ledger.search.index import catch_up, decode_messages
from hansard.ledger.search.indexed_text import FIRST_TENANT, OFTEN, OTHER_TENANT
from hansard.ledger.search.language import Atom, Query, atoms, fts5, tsquery
from hansard.ledger.search.snippets import snippet
from hansard.ledger.search.tokenizer import folded
from hansard.model import exact_json
from hansard.model.conversation import Message
from hansard.model.digits import whole_number
from hansard.model.times import iso_time

WINDOW = 2000
MAX_READ = 800  # messages read for one page at most
_MAX_LOOKED_UP = 16_000  # matches looked up for one page at most, where most are in other threads
_FEW = 400  # threads that a query names at most; for more, the thread of each match is compared
_NO_FILTER = ThreadFilter()
_FAR = 1 << 62
_ALL = (1 << 31) - 1
_LEFT_OUT = ("aborted", "failed")
_SPELLING: dict[str, Callable[[list[list[Atom]], list[Atom]], str]] = {"sqlite": fts5, "postgres": tsquery}


class _Cursor(NamedTuple):
    """A window (low <= n <= high) and the last hit returned from it."""

    low: int
    high: int
    level: int
    n: int

    def encode(self, query: str) -> str:
        return ".".join(map(str, (*self, _digest(query))))


def _parse_cursor(text: str, query: str) -> _Cursor:
    *typed, digest = text.split(".")
    numbers = [number for number in map(whole_number, typed) if number is not None]
    if len(numbers) != len(typed) or len(numbers) != len(_Cursor._fields):
        raise HansardError(f"invalid cursor {text!r}; pass the `next` of the previous page")
    if digest != _digest(query):
        raise HansardError("this cursor belongs to another query; start without a cursor")
    return _Cursor(*numbers)


def _digest(query: str) -> str:
    return hashlib.blake2b(query.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def search(
    driver: Driver, text: str, limit: int, after: str | None, now: int, filters: ThreadFilter = _NO_FILTER
) -> Page[Hit]:
    """The messages that match a query, in the threads that match `filters`.

    Phrases are checked in the message itself, so a page ends, however short, when `MAX_READ` messages were read for
    it: a rare phrase of common words takes many pages instead of one long call.
    """
    query = Query(text, now)
    values = None if filters == _NO_FILTER else filters.values(now)
    text = text if values is None else f"{text}\0{filters}"  # a cursor belongs to both
    start = None if after is None else _parse_cursor(after, text)
    catch_up(driver)

    def job(tx: Tx) -> Page[Hit]:
        search_ = _Search(tx, driver, query, None if values is None else facets.numbers(tx, values))
        hits: list[Hit] = []
        last: _Cursor | None = None
        for hit, cursor in search_.hits(start, limit):
            if hit is None:
                if len(hits) == limit or search_.read >= MAX_READ or search_.looked_at >= _MAX_LOOKED_UP:
                    return Page(items=hits, next=cursor.encode(text))
                continue
            if len(hits) == limit and last is not None:
                return Page(items=hits, next=last.encode(text))
            hits.append(hit)
            last = cursor
        return Page(items=hits)

    return driver.read_replica(job)


class _Search:
    """One search in one transaction."""

    def __init__(self, tx: Tx, driver: Driver, query: Query, threads: set[int] | None) -> None:
        self.tx, self.query, self.threads = tx, query, threads
        self.looked_at = self.read = 0
        self.paths: dict[int, dict[int, tuple[int, int]]] = {}
        wanted = [choice for term in query.wanted for choice in atoms(term)]
        weights = [[*wanted, [Atom(mark + word)]] for word in query.heaviest for mark in OFTEN]
        unwanted = [atom for term in query.unwanted if len(term.words) == 1 for atom in atoms(term)[0]]
        for name, values in query.filters.items():
            wanted.append([self._scope(name, value) for value in values])
        for name, values in query.without.items():
            unwanted += (self._scope(name, value) for value in values)
        if threads is not None and len(threads) <= _FEW:
            wanted.append([Atom(index_tokens.in_thread(number)) for number in sorted(threads)])
        if query.since is not None or query.until is not None:
            wanted.append([Atom(token) for token in index_tokens.days(query.since, query.until)])
        if driver.tenant == FIRST_TENANT:
            unwanted.append(Atom(OTHER_TENANT))
        else:
            wanted.append([Atom(index_tokens.of_tenant(driver.tenant)[1])])
        spelling = _SPELLING[driver.dialect]
        self.nothing = not all(wanted)
        self.wanted = "" if self.nothing else spelling(wanted, unwanted)
        self.weights = _json([spelling(weight, []) for weight in weights])
        self.most = max(1, len(weights))

    def _scope(self, name: str, value: str) -> Atom:
        if name == "thread":
            return Atom(index_tokens.in_thread(find_thread(self.tx, value).thread))
        return Atom(index_tokens.scope(name, value))

    def hits(self, start: _Cursor | None, limit: int) -> Iterator[tuple[Hit | None, _Cursor]]:
        """All hits after a cursor, each with the cursor to continue from; None where there was no hit up to here."""
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
        """The matches that are hits, in their order."""
        rows = {row[0]: row for row in self.tx.all("search_found", ns=_json([n for _, n in chunk]))}
        kept = [(level, rows[n]) for level, n in chunk if n in rows and self._in_force(rows[n])]
        self.read += len(kept)
        for (level, row), message in zip(kept, decode_messages(self.tx, [row[8] for _, row in kept]), strict=True):
            if message is None:
                continue
            text = index_tokens.text_of(message)
            if self._has_phrases(text):
                yield level, (row[0], self._hit(row, message, text, level))

    def _in_force(self, row: Row) -> bool:
        created_at, status = row[7], row[10]
        query = self.query
        if self.threads is not None and row[1] not in self.threads:
            return False
        if status in _LEFT_OUT and not self._on_path(row[1], row[2], row[3], row[13], row[14]):
            return False
        if query.since is None and query.until is None:
            return True
        return (
            created_at is not None
            and (query.since is None or created_at >= query.since)
            and (query.until is None or created_at < query.until)
        )

    def _on_path(self, thread: int, seg: int, depth: int, head_seg: int, head: int) -> bool:
        if thread not in self.paths:
            path = tree.lineage(self.tx, thread, head_seg, head)
            self.paths[thread] = {part: (low, high) for part, low, high in path}
        low, high = self.paths[thread].get(seg, (0, 0))
        return low < depth <= high

    def _has_phrases(self, text: str) -> bool:
        """Whether the text has the wanted phrases and no excluded one."""
        query = self.query
        if not query.phrases and not query.no_phrases:
            return True
        plain = folded(text)
        return all(phrase.search(plain) for phrase in query.phrases) and not any(
            phrase.search(plain) for phrase in query.no_phrases
        )

    def _hit(self, row: Row, message: Message, text: str, level: int) -> Hit:
        _, thread, seg, depth, key, role, agent, created_at, _, run, status, thread_id, title, head_seg, head = row
        time = message.created_at
        return Hit(
            thread_id=unsafe(thread_id) or "",
            message_id=unsafe(key) or "",
            role=unsafe(role) or "",
            snippet=snippet(text, self.query.highlighted),
            title=unsafe(title),
            agent_id=unsafe(agent),
            created_at=time if isinstance(time, str) else None if created_at is None else iso_time(created_at),
            rank=level / self.most,
            active=self._on_path(thread, seg, depth, head_seg, head),
            run_id=unsafe(run),
            status=status,
        )


def _json(value: Any) -> str:
    return exact_json.encode(value).decode()
