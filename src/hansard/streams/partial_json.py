"""The value of incomplete JSON, as the AI SDK's clients show it while a tool's input arrives.

The text is completed: an open string is closed (an incomplete escape is dropped), `tru` becomes true, a number ends at
its last digit, a key without a value is dropped.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET

from hansard.errors import HansardError
from hansard.model import exact_json

_TOKEN = re.compile(
    r"""\s+ | (?P<mark>[{}\[\],:])
    | "(?P<text>[^"\\]*(?:\\(?:[^u]|u[0-9a-fA-F]{4})[^"\\]*)*)(?P<end>"?)
    | (?P<number>-?[0-9][-+0-9.eE]*) | (?P<word>[tfn][a-z]*) | .""",
    re.VERBOSE | re.DOTALL,
)
_CLOSE = {"{": "}", "[": "]"}
_WORDS = ("true", "false", "null")


def partial(text: str) -> Any:
    """The value of a JSON text that may be incomplete; UNSET if it is empty or invalid.

    >>> partial('{"city": "To'), partial('[1, 2.'), partial("")
    ({'city': 'To'}, [1, 2], UNSET)
    """
    for attempt in (text, _closed(text)):
        try:
            return exact_json.decode(attempt)
        except HansardError:
            continue
    return UNSET


def _closed(text: str) -> str:
    """The text up to its last valid position, with closing characters."""
    stack: list[str] = []
    good, tail = 0, ""
    place = "value"  # expected here: value, first (or end of list), key, :, or what follows a value
    for token in _TOKEN.finditer(text):
        mark, end = token["mark"], token.end()
        if place in ("value", "first"):
            if mark in ("{", "["):
                stack.append(mark)
                good, tail, place = end, "", "key" if mark == "{" else "first"
            elif mark == "]" and place == "first":
                stack.pop()
                good, place = end, "after"
            elif not mark and (found := _scalar(token)) is not None:
                good, tail = found
                place = "after"
        elif place == "key":
            if token["text"] is not None:
                place = ":"
            elif mark == "}" and text[good:end].strip() == "}":  # nothing after the brace or the last value
                stack.pop()
                good, place = end, "after"
        elif place == ":":
            place = "value" if mark == ":" else place
        elif mark == ",":
            place = "key" if stack[-1] == "{" else "value"
        elif mark and mark in "}]" and mark == _CLOSE[stack[-1]]:
            stack.pop()
            good, tail = end, ""
        if (place == "after" and not stack) or (token["text"] is not None and not token["end"]):
            break
    return text[:good] + tail + "".join(_CLOSE[mark] for mark in reversed(stack))


def _scalar(token: re.Match[str]) -> tuple[int, str] | None:
    """The valid end of a string, number or literal, and its completion."""
    word, number = token["word"], token["number"]
    if token["text"] is not None:
        return token.end(), "" if token["end"] else '"'
    if number:
        return token.start() + len(number.rstrip("-+.eE")), ""
    if word:
        return token.end(), next((whole[len(word) :] for whole in _WORDS if whole.startswith(word)), "")
    return None
