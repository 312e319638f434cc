"""A text that grows by pieces: a list of them, which is made short before it gets long.

Thousands of small strings take many times the room of their letters. So whoever appends calls `compact` once there are
more than `LIMIT`, and the first piece of the list is from then on the text so far. It is added to while nobody else
holds it: CPython then lets it grow where it is, so that a long answer is neither copied at every step nor held twice.
"""

from __future__ import annotations

import base64
import re

from hansard.model import exact_json

LIMIT = 1024
_HALF = re.compile("[\ud800-\udfff]")


def compact(pieces: list[str]) -> None:
    """The same text in one piece."""
    text, pieces[0] = pieces[0], ""
    text += "".join(pieces)
    pieces[:] = (text,)


def joined(pieces: list[str]) -> str:
    """The pieces as one text; halves of a surrogate pair that came in two pieces meet again.

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
    """Bytes may come in pieces that were each encoded for themselves: padding inside the text would end it there.

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
    """The text as it stands inside a JSON string.

    >>> escaped('a"b')
    'a\\\\"b'
    """
    return exact_json.encode(text)[1:-1].decode()
