"""A text that grows by pieces: a list that is joined before it gets long.

Thousands of small strings need many times the memory of their characters. So the code that appends calls `compact` when
there are more than `LIMIT`, and the first piece of the list is then the text so far. There is only one reference to it
while it is extended: CPython then extends it in place, so that a long answer is neither copied at every step nor held
twice.
"""

from __future__ import annotations

import base64
import re

from hansard.model import exact_json

LIMIT = 1024
_HALF = re.compile("[\ud800-\udfff]")


def compact(pieces: list[str]) -> None:
    """Join the pieces."""
    text, pieces[0] = pieces[0], ""
    text += "".join(pieces)
    pieces[:] = (text,)


def joined(pieces: list[str]) -> str:
    """The pieces as one text; a surrogate pair split over two pieces is joined.

    >>> joined(["a", "\\ud83d", "\\ude00"])
    'a\U0001f600'
    """
    if len(pieces) > 1:
        compact(pieces)
    text = pieces[0] if pieces else ""
    if text.isascii() or _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def joined_base64(pieces: list[str]) -> str:
    """Join pieces of base64 that were encoded separately: padding inside the text would end it.

    >>> joined_base64(["YQ==", "Yg=="])
    'YWI='
    """
    if any("=" in piece for piece in pieces[:-1]):
        try:
            return base64.b64encode(b"".join(base64.b64decode(piece, validate=True) for piece in pieces)).decode()
        except ValueError:
            pass
    return joined(pieces)


def escaped(text: str) -> str:
    """The text as the content of a JSON string.

    >>> escaped('a"b')
    'a\\\\"b'
    """
    return exact_json.encode(text)[1:-1].decode()
