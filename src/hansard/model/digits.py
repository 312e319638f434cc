"""Strict parsing of whole numbers in foreign data: ASCII digits, 64 bits."""

from __future__ import annotations

import re
from typing import Any

_PLAIN = re.compile(r"-?[0-9]{1,19}")


def whole_number(text: Any) -> int | None:
    """Parse decimal digits; None for other text and for numbers beyond 64 bits.

    >>> whole_number("-12"), whole_number("²"), whole_number("--1"), whole_number("9" * 5000), whole_number(12)
    (-12, None, None, None, None)
    """
    if type(text) is not str or not _PLAIN.fullmatch(text):
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None
