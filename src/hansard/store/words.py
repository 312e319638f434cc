"""What a word is, for the search index, for queries and for snippets: one rule, whichever database keeps the index.

A text is folded first (case, accents, compatibility forms), then cut at everything that is neither letter nor digit.
Scripts that are written without spaces are cut into single letters, and a query for several of them is a phrase.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 64  # of a longer word only the beginning counts
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = f"[^\\W_{_ALONE}]"
_WORD = re.compile(f"[{_ALONE}]|{_LETTER}+")
_ASCII_WORD = re.compile("[a-z0-9]+")
_GAP = r"[\W_]*"


class _Marks(dict[int, int | None]):
    """Accents and other marks to nothing, every other letter to itself; filled as letters are met."""

    def __missing__(self, code: int) -> int | None:
        kept = None if unicodedata.category(chr(code)).startswith("M") else code
        self[code] = kept
        return kept


_MARKS = _Marks()


def folded(text: str) -> str:
    """A text with nothing in it that a reader would not type.

    >>> folded("Crème BRÛLÉE"), folded("Straße")
    ('creme brulee', 'strasse')
    """
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFKD", plain.translate(_MARKS).casefold()).translate(_MARKS)


def words(text: str) -> list[str]:
    """The words of a folded text, in order.

    >>> words("src/main_loop.py:12"), words("漢字 ok")
    (['src', 'main', 'loop', 'py', '12'], ['漢', '字', 'ok'])
    """
    found = _ASCII_WORD.findall(text) if text.isascii() else _WORD.findall(text)
    if len(text) <= LONGEST or not any(len(word) > LONGEST for word in found):
        return found
    return [word[:LONGEST] for word in found]


def pattern(term: tuple[str, ...], *, prefix: bool = False) -> str:
    """A regular expression for words that follow one another in a folded text; the last one may go on if `prefix`.

    >>> bool(re.search(pattern(("main", "loop")), "the main_loop")), bool(re.search(pattern(("main",)), "domain"))
    (True, False)
    """
    last = len(term) - 1
    return _GAP.join(_one(word, goes_on=prefix and i == last) for i, word in enumerate(term))


def _one(word: str, *, goes_on: bool) -> str:
    if len(word) == 1 and re.fullmatch(f"[{_ALONE}]", word):
        return word
    end = f"{_LETTER}*" if goes_on or len(word) == LONGEST else f"(?!{_LETTER})"
    return f"(?<!{_LETTER}){re.escape(word)}{end}"
