"""Pausing Python's cyclic garbage collector while documents are converted, and tuning it for servers.

Thousands of short-lived small dicts trigger it again and again: half the time of reading a long conversation. Nothing
created in between can be part of a cycle.
"""

from __future__ import annotations

import gc
from types import TracebackType


class gc_pause:
    """`with gc_pause(): ...`; nested and from several threads, it always ends as it was."""

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._was_on:
            gc.enable()


def freeze_startup_objects() -> None:
    """For a server process after set-up: freeze existing objects and collect less often.

    A full collection scans all libraries that an agent loads, a quarter of a second on a slow core, and would stall
    each stream again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
