"""Times as they came: strings of ISO 8601, parsed only where a rule has to compare them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any


def parse_time(text: Any) -> datetime | None:
    """The time a string says (one without a zone counts as UTC), None when it is no ISO 8601 date and time.

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
    """Is it a date and time of ISO 8601?"""
    return parse_time(text) is not None


def milliseconds(text: Any) -> int | None:
    """The same as milliseconds since 1970, None when it is no time.

    >>> milliseconds("1970-01-01T00:00:01Z")
    1000
    """
    time = parse_time(text)
    try:
        return None if time is None else round(time.timestamp() * 1000)
    except OverflowError:
        return None


def spelled(moment: int) -> str:
    """Milliseconds since 1970 as ISO 8601.

    >>> spelled(1000)
    '1970-01-01T00:00:01.000Z'
    """
    return f"{_to_the_second(moment // 1000)}.{moment % 1000:03d}Z"


@lru_cache(64)
def _to_the_second(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"
