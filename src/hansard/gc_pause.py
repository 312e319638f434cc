"""Python's cyclic collector, kept quiet while a document is taken apart or built, and seldom in a process that serves.

Thousands of small dicts that live for a moment make it run again and again: half the time of reading a long
conversation. Nothing made in between can be part of a cycle.
"""

from __future__ import annotations

import gc
from types import TracebackType


class quiet_collector:
    """`with quiet_collector(): ...`; nested and from several threads, it always ends as it was."""

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._was_on:
            gc.enable()


def collect_seldom() -> None:
    """For a process that only serves, once it is set up: what is there by then is not looked through again.

    A full collection goes through all the libraries that an agent needs, and everybody waits for it: a quarter of a
    second on a slow core. With it each stream would stand still again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
