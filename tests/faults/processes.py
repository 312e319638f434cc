"""Several processes that do the same thing at the same time, and what each of them has to tell.

They come from one clean process that was started before there were threads or connections, so nothing is inherited.
"""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Barrier
from typing import Any

_STUCK = 120.0
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    ["hansard.ledger.ledger", "hansard.ledger.backends.postgres", "hansard.ledger.backends.sqlite", __name__]
)

Target = Callable[..., Any]
"""Called with its number, a barrier that all of them share, and what else it was given."""


class Failed(Exception):
    """A process that ended with an error, which is the text."""


class Child:
    def __init__(self, target: Target, number: int, barrier: Barrier, given: tuple[Any, ...]) -> None:
        self._barrier = barrier  # it is gone for the others when we let go of it
        self._answer, theirs = _context.Pipe(duplex=False)
        self.process: ForkServerProcess = _context.Process(
            target=_run, args=(target, theirs, number, barrier, given), daemon=True
        )
        self.process.start()
        theirs.close()

    def answer(self) -> Any:
        """What it returned; None if it was killed."""
        try:
            good, value = self._answer.recv()
        except EOFError:
            return None
        finally:
            self.process.join()
        if not good:
            raise Failed(value)
        return value


def started(target: Target, count: int, *given: Any) -> list[Child]:
    barrier = _context.Barrier(count)
    return [Child(target, number, barrier, given) for number in range(count)]


def together(target: Target, count: int, *given: Any) -> list[Any]:
    """What each of them returned."""
    answers = [child.answer() for child in started(target, count, *given)]
    if None in answers:
        raise Failed("a process ended without a word")
    return answers


def _run(target: Target, answer: Connection, number: int, barrier: Barrier, given: tuple[Any, ...]) -> None:
    try:
        answer.send((True, target(number, barrier, *given)))
    except BaseException:
        barrier.abort()
        answer.send((False, traceback.format_exc()))


def wait(barrier: Barrier) -> None:
    barrier.wait(_STUCK)
