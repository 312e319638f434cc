"""A few words of a message around what was looked for, each find between \\x02 and \\x03.

Made from the message itself, so that it is the same whichever database found it.
"""

from __future__ import annotations

import re

from hansard.ledger.search.tokenizer import Sought, folded

OPEN, CLOSE = "\x02", "\x03"
_BLOCK = 65_536
_MOST_BLOCKS = 16
_WIDTH = 200
_BEFORE = 40
_MOST_SPANS = 200
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def snippet(text: str, shown: Sought | None) -> str:
    """The stretch of a text that has most of the terms, the first of several; the beginning if it has none."""
    if shown is None:
        return _marked(text, 0, [])
    best: tuple[int, int, list[tuple[int, int]]] = (0, 0, [])
    for start in range(0, min(len(text), _BLOCK * _MOST_BLOCKS), _BLOCK):
        spans = _spans(text[start : start + _BLOCK], shown)
        count, first = _best(spans)
        if count > best[0]:
            best = (count, start + first - _BEFORE, [(a + start, b + start) for a, b, _ in spans])
        if count == len(shown.terms):
            break
    return _marked(text, best[1], best[2])


def _spans(block: str, shown: Sought) -> list[tuple[int, int, int]]:
    """Where terms are in a text: (start, end, which)."""
    plain, origin = _mapped(block)
    found: list[tuple[int, int, int]] = []
    for match in shown.finditer(plain):
        end = match.end() - 1
        found.append((origin[match.start()], origin[end] + 1, match.lastindex or 0))
        if len(found) == _MOST_SPANS:
            break
    return found


def _mapped(block: str) -> tuple[str, range | list[int]]:
    """A text folded, and for each of its letters where it came from."""
    if block.isascii():
        return block.lower(), range(len(block))
    whole = folded(block)
    if len(whole) == len(block):  # letters with their accents in one: the usual case
        return whole, range(len(block))
    letters: list[str] = []
    origin: list[int] = []
    for i, letter in enumerate(block):
        plain = folded(letter)
        letters.append(plain)
        origin += [i] * len(plain)
    return "".join(letters), origin


def _best(spans: list[tuple[int, int, int]]) -> tuple[int, int]:
    """How many different terms a stretch has at most, and where it begins."""
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
    """A stretch of a text on one line, its finds marked."""
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
