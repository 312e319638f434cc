"""The tokenizer of the search index, queries and snippets: the same rules on every database.

Text is folded first (case, accents, compatibility forms), then split at everything that is neither letter nor digit.
Scripts that are written without spaces are split into single characters; a query for several of them is a phrase.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

LONGEST = 64  # characters of a word; the rest is ignored
_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = f"[^\\W_{_ALONE}]"
_WORD = re.compile(f"[{_ALONE}]|{_LETTER}+")
_ONE_ALONE = re.compile(f"[{_ALONE}]")
_FOREIGN = re.compile(r"([^\x00-\x7f]+)")  # so that one arrow does not make a long English text slow
_ASCII_LETTER = "[a-z0-9]"
_GAPS = {code: " " for code in range(128) if not re.match(_ASCII_LETTER, chr(code))}
_REMEMBERED = 8192
_FEW = 40  # words up to which a loop is faster than Counter
_ASCII = bytes(range(128))
_SMALL = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256))


class _Marks(dict[int, int | None]):
    """Translates accents to nothing, signs to spaces, letters and digits to themselves; filled on demand."""

    def __missing__(self, code: int) -> int | None:
        kind = unicodedata.category(chr(code))[0]
        self[code] = kept = None if kind == "M" else code if kind in "LN" or code < 128 else 32
        return kept


_MARKS = _Marks()


def folded(text: str) -> str:
    """A text without case, accents and compatibility forms.

    >>> folded("Crème BRÛLÉE"), folded("Straße")
    ('creme brulee', 'strasse')
    """
    if text.isascii():
        return text.lower()
    pieces = _FOREIGN.split(text)
    pieces[1::2] = map(_RUNS.__getitem__, pieces[1::2])
    return "".join(pieces).lower()


class _Runs(dict[str, str]):
    """Folded runs of non-ASCII characters; a limited number of short ones is cached."""

    def __missing__(self, run: str) -> str:
        plain = unicodedata.normalize("NFKD", run.casefold())
        folded = unicodedata.normalize("NFKD", plain.translate(_MARKS).casefold()).translate(_MARKS)
        if len(run) < 64:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[run] = folded
        return folded


_RUNS = _Runs()


class _Signs(dict[str, bool]):
    """Whether a non-ASCII character is only a separator, in every context."""

    def __missing__(self, letter: str) -> bool:
        plain = unicodedata.category(letter)[0] not in "LNM" and letter == letter.casefold()
        sign = plain and letter == unicodedata.normalize("NFKD", letter)
        if len(self) < _REMEMBERED:
            self[letter] = sign
        return sign


_SIGNS = _Signs()


def tally(text: str) -> tuple[dict[str, int], int]:
    """How often each word occurs in a text that is not folded yet, and the number of words.

    Most texts are ASCII except for arrows, dashes and box lines: their bytes are folded and split in one pass.

    >>> tally("Stop → stop (now)")
    ({'stop': 2, 'now': 1}, 3)
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > len(text) and not all(map(_SIGNS.__getitem__, _not_ascii(data))):
        found = words(folded(text))
        return _counted(found), len(found)
    found = data.translate(_SMALL).decode("ascii").split()
    counts = _counted(found)
    if len(text) > LONGEST and max(map(len, counts), default=0) > LONGEST:
        counts = _counted([word[:LONGEST] for word in found])
    return counts, len(found)


def _counted(found: list[str]) -> dict[str, int]:
    if len(found) > _FEW:
        return Counter(found)
    counts: dict[str, int] = {}
    for word in found:
        counts[word] = counts.get(word, 0) + 1
    return counts


def _not_ascii(data: bytes) -> str:
    return data.translate(None, _ASCII).decode("utf-8", "surrogatepass")


def words(text: str) -> list[str]:
    """The words of a folded text, in order.

    >>> words("src/main_loop.py:12"), words("漢字 ok")
    (['src', 'main', 'loop', 'py', '12'], ['漢', '字', 'ok'])
    """
    found = text.translate(_GAPS).split() if text.isascii() else _WORD.findall(text)
    if len(text) <= LONGEST or max(map(len, found), default=0) <= LONGEST:
        return found
    return [word[:LONGEST] for word in found]


class TermPattern:
    """Finds several terms in folded texts: each is consecutive words, the last of which may be a prefix.

    >>> [bool(TermPattern([(("main", "loop"), False)]).search(text)) for text in ("the main_loop", "domain loop")]
    [True, False]
    """

    def __init__(self, terms: list[tuple[tuple[str, ...], bool]]) -> None:
        self.terms = terms

    def search(self, text: str) -> re.Match[str] | None:
        return self._for(text).search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Every match; its `lastindex` is the number of the term, from 1."""
        return self._for(text).finditer(text)

    def _for(self, text: str) -> re.Pattern[str]:
        return self._ascii if text.isascii() else self._general

    @cached_property
    def _ascii(self) -> re.Pattern[str]:  # the common case, and several times faster
        return _compiled(self.terms, _ASCII_LETTER, "[^a-z0-9]*")

    @cached_property
    def _general(self) -> re.Pattern[str]:
        return _compiled(self.terms, _LETTER, r"[\W_]*")


def _compiled(terms: list[tuple[tuple[str, ...], bool]], letter: str, gap: str) -> re.Pattern[str]:
    return re.compile("|".join(f"({_pattern(words, letter, gap, prefix)})" for words, prefix in terms))


def _pattern(term: tuple[str, ...], letter: str, gap: str, prefix: bool) -> str:
    pieces: list[str] = []
    for i, word in enumerate(term):
        escaped = re.escape(word)
        if _ONE_ALONE.fullmatch(word):
            pieces.append(escaped)
            continue
        end = f"{letter}*" if (prefix and i == len(term) - 1) or len(word) == LONGEST else f"(?!{letter})"
        # The lookbehind comes after the word, so that the pattern begins with a literal, which `re` finds fast.
        pieces.append(f"{escaped}(?<!{letter}{escaped}){end}")
    return gap.join(pieces)
