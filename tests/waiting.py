"""Waiting for another process, thread or task: poll a condition until a deadline, never sleep for a fixed time.

A test that waits any other way depends on how fast the machine is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

DEADLINE = 60.0
"""Far longer than anything takes on a loaded machine: only a test that fails waits this long."""
INTERVAL = 0.01


def wait_until(
    condition: Callable[[], T],
    what: str = "",
    *,
    seconds: float = DEADLINE,
    pause: Callable[[float], object] = time.sleep,
) -> T:
    """Poll until the condition is truthy and return its value; after `seconds` fail, naming `what`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(_late(condition, what, seconds, value))
        pause(INTERVAL)
    return value


async def wait_until_async(condition: Callable[[], T], what: str = "", *, seconds: float = DEADLINE) -> T:
    """The same without blocking the event loop."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(_late(condition, what, seconds, value))
        await asyncio.sleep(INTERVAL)
    return value


def _late(condition: Callable[[], object], what: str, seconds: float, value: object) -> str:
    return f"{what or getattr(condition, '__qualname__', condition)} is still {value!r} after {seconds:.0f} s"
