"""Times: ISO 8601 strings are kept as they came and parsed only where they are compared.

Seconds since 1970 keep their exact number: `1.5`, `1.0` and `1` are three different times.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any


def parse_time(text: Any) -> datetime | None:
    """Parse an ISO 8601 date and time (UTC if it has no zone); None for anything else.

    >>> parse_time("2026-01-02T03:04:05Z") == parse_time("2026-01-02T04:04:05.000000000+01:00")
    True
    >>> parse_time("yesterday"), parse_time("2026-01-02"), parse_time(5)
    (None, None, None)
    """
    if (
        type(text) is not str
        or len(text) < 16
        or text[4] != "-"
        or text[7] != "-"
        or text[10] not in "T "
        or text[13:14] != ":"
    ):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def is_time(text: Any) -> bool:
    """Whether the text is an ISO 8601 date and time."""
    return parse_time(text) is not None


def milliseconds(text: Any) -> int | None:
    """Milliseconds since 1970 of an ISO 8601 time; None for anything else.

    >>> milliseconds("1970-01-01T00:00:01Z")
    1000
    """
    time = parse_time(text)
    try:
        return None if time is None else round(time.timestamp() * 1000)
    except OverflowError:
        return None


def iso_time(moment: int) -> str:
    """Format milliseconds since 1970 as ISO 8601.

    >>> iso_time(1000)
    '1970-01-01T00:00:01.000Z'
    """
    return f"{_to_the_second(moment // 1000)}.{moment % 1000:03d}Z"


@lru_cache(64)
def _to_the_second(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"


def epoch_time(seconds: Any) -> str | None:
    """Format seconds since 1970 as a time that reads back as the same number and type; None if there is none.

    >>> epoch_time(1784164544.946), epoch_time(1784164500.0), epoch_time(1784164500)
    ('2026-07-16T01:15:44.946Z', '2026-07-16T01:15:00.0Z', '2026-07-16T01:15:00Z')
    """
    if type(seconds) not in (int, float, Decimal) or not 0 <= seconds < _FOREVER:
        return None
    whole, dot, fraction = str(seconds).partition(".")
    if not whole.isdigit() or (dot and not fraction.isdigit()):
        return None
    text = datetime.fromtimestamp(int(whole), UTC).strftime("%Y-%m-%dT%H:%M:%S") + dot + fraction + "Z"
    back = epoch_seconds(text)
    return text if type(back) is type(seconds) and str(back) == str(seconds) else None


def epoch_seconds(text: Any) -> int | float | Decimal | None:
    """Seconds since 1970 of a time: int for whole seconds, float where it is exact, else Decimal.

    >>> epoch_seconds("2026-07-16T03:15:44.946+02:00"), epoch_seconds("yesterday")
    (1784164544.946, None)
    """
    match = _TIME.fullmatch(text) if type(text) is str else None
    time = parse_time(match[1] + match[3]) if match else None
    if match is None or time is None:
        return None
    whole = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    if not match[2]:
        return whole
    if whole < 0:
        return None
    exact = f"{whole}{match[2]}"
    number = float(exact)
    return number if str(number) == exact or Decimal(str(number)) == Decimal(exact) else Decimal(exact)


_FOREVER = 253_402_300_800  # the year 10000
_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d|)", re.ASCII)
