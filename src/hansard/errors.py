"""Every error Hansard raises on purpose: each says where, what, and the way out, in one line."""

from __future__ import annotations


class HansardError(Exception):
    """The base of all of them; `except HansardError` is enough for a caller."""


class Unreadable(HansardError):
    """A document that cannot be read: `path` is the place inside it (`$.messages[3].role`)."""

    def __init__(self, problem: str, path: str = "$", way_out: str = "") -> None:
        self.problem, self.path, self.way_out = problem, path, way_out
        super().__init__(f"{path}: {problem}" + (f"; {way_out}" if way_out else ""))


class UnknownFormat(HansardError):
    """A format name nobody registered, or data whose format could not be told."""


class AmbiguousFormat(UnknownFormat):
    """Data that two formats fit equally well: we do not guess."""


class CannotWrite(HansardError):
    """A conversation or target that a format cannot be asked for (an unknown profile, say)."""
