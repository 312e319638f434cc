"""Seconds since 1970 and the times that say exactly the same number: `1.5`, `1.0` and `1` are three times."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hansard.model.times import parse_time


def epoch_time(seconds: Any) -> str | None:
    """Seconds since 1970 as a time that says the same number, kind included; None where there is no such time.

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
    """The seconds since 1970 that a time says; whole ones are an int, others a float where it is the same number.

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
