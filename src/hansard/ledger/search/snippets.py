"""Snippets: a stretch of a message around the matches, each match between \\x02 and \\x03.

Made from the message itself, so that it does not depend on the database.
"""

from __future__ import annotations

import re

from hansard.ledger.search.tokenizer import TermPattern, folded

OPEN, CLOSE = "\x02", "\x03"
_BLOCK = 65_536
_MOST_BLOCKS = 16
_WIDTH = 200
_BEFORE = 40
_MOST_SPANS = 200
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def snippet(text: str, pattern: TermPattern | None) -> str:
    """The stretch of a text with the most terms, the first of several; its beginning if it has none."""
    if pattern is None:
        return _marked(text, 0, [])
    best: tuple[int, int, list[tuple[int, int]]] = (0, 0, [])
    for start in range(0, min(len(text), _BLOCK * _MOST_BLOCKS), _BLOCK):
        spans = _spans(text[start : start + _BLOCK], pattern)
        count, first = _best(spans)
        if count > best[0]:
            best = (count, start + first - _BEFORE, [(a + start, b + start) for a, b, _ in spans])
        if count == len(pattern.terms):
            break
    return _marked(text, best[1], best[2])


def _spans(block: str, pattern: TermPattern) -> list[tuple[int, int, int]]:
    """The matches in a text: (start, end, number of the term)."""
    plain, origin = _mapped(block)
    found: list[tuple[int, int, int]] = []
    for match in pattern.finditer(plain):
        end = match.end() - 1
        found.append((origin[match.start()], origin[end] + 1, match.lastindex or 0))
        if len(found) == _MOST_SPANS:
            break
    return found


def _mapped(block: str) -> tuple[str, range | list[int]]:
    """The folded text, and for each of its characters the position it came from."""
    if block.isascii():
        return block.lower(), range(len(block))
    whole = folded(block)
    if len(whole) == len(block):  # precomposed characters: the common case
        return whole, range(len(block))
    letters: list[str] = []
    origin: list[int] = []
    for i, letter in enumerate(block):
        plain = folded(letter)
        letters.append(plain)
        origin += [i] * len(plain)
    return "".join(letters), origin


def _best(spans: list[tuple[int, int, int]]) -> tuple[int, int]:
    """The largest number of different terms in a stretch, and where it begins."""
    most = first = 0
    for i, (start, _, _) in enumerate(spans):
        terms: set[int] = set()
        for _, end, term in spans[i:]:
            if end > start + _WIDTH - _BEFORE:
                break
            terms.add(term)
        if len(terms) > most or not most:
            most, first = max(1, len(terms)), start
    return most, first


def _marked(text: str, start: int, spans: list[tuple[int, int]]) -> str:
    """A stretch of a text on one line, with its matches marked."""
    start = max(0, start)
    end = min(len(text), start + _WIDTH)
    if start and (blank := text.find(" ", start, start + 16)) >= 0:
        start = min(blank + 1, *(a for a, _ in spans if a >= start), end)
    out: list[str] = ["…"] if start else []
    at = start
    for a, b in spans:
        if at <= a and b <= max(end, at + 1) and a < end:
            out += (_plain(text[at:a]), OPEN, _plain(text[a:b]), CLOSE)
            at = b
    out.append(_plain(text[at:end]))
    if end < len(text):
        out.append("…")
    return "".join(out).strip()


def _plain(text: str) -> str:
    return _BLANK.sub(" ", text)
