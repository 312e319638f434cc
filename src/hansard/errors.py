"""Every error Hansard raises on purpose: each says where, what, and the way out, in one line."""

from __future__ import annotations


class HansardError(Exception):
    """The base of all of them; `except HansardError` is enough for a caller. `status` is what HTTP calls it."""

    status = 400


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


class TooLarge(HansardError):
    """More than a ledger takes: a message too long or nested too deeply, an id too long; nothing was written."""

    status = 413


class NotFound(HansardError):
    """A thread, message, run or branch that is not in the ledger (or belongs to somebody else)."""

    status = 404


class Conflict(HansardError):
    """Somebody else was there first. `expected` and `found` are the two heads, where it is about the head."""

    status = 409

    def __init__(self, text: str, *, expected: str | None = None, found: str | None = None) -> None:
        self.expected, self.found = expected, found
        super().__init__(text)


class StorageError(HansardError):
    """The disk or the database server said no; what was acknowledged before is safe, and trying again is too."""

    status = 503


class Damaged(StorageError):
    """Something stored that is not as it was written; `hansard verify` names all of it."""


class SchemaTooNew(StorageError):
    """A ledger that a newer hansard wrote; nothing was changed."""


class ForkedHandle(StorageError):
    """A ledger that was opened before a fork and used after it."""
