"""Docs, docstrings, comments, errors and the viewer use the terms of the field: words that were left behind stay out.

`LEFT` has each word with its replacement. A use in its ordinary sense that the pattern would hit stands in `ALLOWED`.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
LEFT = {
    r"whoever|nobody|somebody|anybody|everybody": "name the subject: the caller, another process, each client",
    r"(is|are) no (?!longer\b|more than\b)[a-z]+": "is not a valid X; unknown X; there is no X",
    r"behind|beneath": "after (in a thread), below (in a folder)",
    r"(is|are|was|were|be) told": "receives, gets; is recognized by",
    r"what was said|word for word|last words?": "content; unchanged; the final value",
    r"(goes|go|gone|going) on": "continues; the active run",
    r"(given|gives) back": "returned; exported",
    r"for ever": "without limit",
    r"at the door|patience|silence": "access control; slow clients; watchdog",
    r"surrogate hal(f|ves)|half (of )?a surrogate|half surrogate": "lone surrogate",
    r"(un)?lawful|unfit": "conforming; SchemaMismatch",
    r"deeds?": "operation",
    r"upkeep": "maintenance",
    r"proofs?|proven": "fault test; found by reading back",
    r"anew|mended": "again; fixed",
}
WORD = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in LEFT), re.IGNORECASE)
ALLOWED = (
    "losses-are-proven",  # the name of a page
    "there is no",
    "there are no",
    "behind PgBouncer",
    "behind a pooler",
    "behind a proxy",
    "replica is behind",
    "left behind",
    "nothing behind",
    "(the conversation goes on)",  # sent to providers
)
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "reference").glob("*.md")]


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that people read: of Python docstrings, comments and strings with spaces; of other files all."""
    text = path.read_text()
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and " " in token.string):
            yield from enumerate(token.string.splitlines(), token.start[0])


def test_words_that_were_left_behind_stay_out() -> None:
    sources = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".py", ".js", ".html")]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {hit[0]}: {line.strip()}"
        for path in sorted([*sources, *PAGES])
        for number, line in prose(path)
        for hit in WORD.finditer(re.sub("|".join(map(re.escape, ALLOWED)), "", line, flags=re.IGNORECASE))
    ]
    assert not found, "\n".join(found)
