"""What people type and what people are shown: queries, and transcripts in a terminal."""

from __future__ import annotations

import random
import re
import unicodedata

import hansard
from hansard import formats
from hansard.cli.transcript import gist, page
from hansard.ledger.search.language import Query, atoms, fts5, tsquery
from hansard.model import Message, TextPart
from tests.faults.fuzz.engine import Surface, Target
from tests.faults.fuzz.formats import seeds

QUERIES = [
    b'which tea -coffee "green tea"* since:7d until:2026-11-18 role:user tool:"web search" agent:x thread:t',
    b"role:user role:assistant OR AND NOT NEAR(a b, 3) a* ^b {c} col:d e+f (g)",
    b'since:2026-11 until:yesterday since:99999y until:0000-00-00 -"" "" * ** -- -- -a*',
    "näïve ﬃ ＡＢＣ 日本語 テスト ß İ ı \u0301 \U0001f600".encode(),
]
_STEERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]")


def queries() -> Target:
    """A query is taken apart, and its words are quoted for both indexes."""
    now = 1_800_000_000_000

    def target(data: bytes, rng: random.Random) -> bool:
        text = data.decode("utf-8", "replace" if rng.random() < 0.5 else "surrogateescape")
        query = Query(text, now)
        wanted = [either for term in query.wanted for either in atoms(term)]
        unwanted = [atom for term in query.unwanted for either in atoms(term) for atom in either]
        for spelling in (fts5, tsquery):
            assert isinstance(spelling(wanted, unwanted), str)
        return bool(query.wanted)

    return target


def searches() -> Target:
    """A query is asked of a ledger."""
    ledger = hansard.open(":memory:")
    ledger.create_thread("t", title="Tea")
    for i, words in enumerate(("Which green tea?", "green tea, not coffee", "日本語 テスト", "a b c d e f g")):
        ledger.append("t", Message(id=f"m{i}", role="user", parts=[TextPart(text=words)]))

    def target(data: bytes, rng: random.Random) -> bool:
        text = data.decode("utf-8", "replace" if rng.random() < 0.5 else "surrogateescape")
        return bool(ledger.search(text).items)

    return target


def terminal() -> Target:
    """A transcript as `hansard show` prints it: nothing in it steers the terminal."""

    def target(data: bytes, rng: random.Random) -> bool:
        for message in formats.read(data, "hansard").messages:
            text = "\n".join([*page(message, full=rng.random() < 0.5, colour=False), gist(message)])
            assert _STEERS.search(text) is None, "a sign that steers the terminal"
            text.encode()
            assert all(unicodedata.category(sign) != "Cs" for sign in text), "half a pair"
        return True

    return target


SURFACES = [
    Surface("search queries", lambda: QUERIES, queries),
    Surface("searches", lambda: QUERIES, searches),
    Surface("transcripts in a terminal", lambda: seeds("hansard"), terminal),
]
