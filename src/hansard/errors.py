"""Errors that Hansard raises deliberately: one line that names the problem, the place and the remedy."""

from __future__ import annotations


class HansardError(Exception):
    """Base class: `except HansardError` catches all of them. `status` is the HTTP status code.

    >>> import hansard
    >>> try:
    ...     hansard.read({"messages": []}, "antropic")
    ... except HansardError as error:
    ...     print(error, error.status)
    unknown format 'antropic'; did you mean 'anthropic'? 400
    """

    status = 400


class Unreadable(HansardError):
    """A document that cannot be read; `path` is the place in it (`$.messages[3].role`)."""

    def __init__(self, problem: str, path: str = "$", way_out: str = "") -> None:
        self.problem, self.path, self.way_out = problem, path, way_out
        super().__init__(f"{path}: {problem}" + (f"; {way_out}" if way_out else ""))


class UnknownFormat(HansardError):
    """An unregistered format name, or data whose format cannot be detected."""


class AmbiguousFormat(UnknownFormat):
    """Data that matches several formats equally well."""


class CannotWrite(HansardError):
    """A conversation or target that a format does not support, such as an unknown profile."""


class PluginError(HansardError):
    """A plug-in failed: its name, its version and the line where it did."""

    status = 500


class TooLarge(HansardError):
    """Input beyond a limit of the ledger, such as message size, nesting or id length; nothing was written."""

    status = 413


class NotFound(HansardError):
    """A thread, message, run or branch that is not in the ledger, or belongs to another tenant or user."""

    status = 404


class Conflict(HansardError):
    """A concurrent change. `expected` and `found` are the two heads if the head has moved."""

    status = 409

    def __init__(self, text: str, *, expected: str | None = None, found: str | None = None) -> None:
        self.expected, self.found = expected, found
        super().__init__(text)


class Busy(Conflict):
    """Another run is active in the thread."""


class Forbidden(HansardError):
    """The server was not built to allow this."""

    status = 403


class StorageError(HansardError):
    """The disk or the database server failed; acknowledged writes are safe, and the call may be retried."""

    status = 503


class ReadOnlyServer(StorageError):
    """The database server is a standby: it can be read, writes need the primary."""


class Damaged(StorageError):
    """Stored data differs from what was written; `hansard verify` lists all damage."""


class SchemaTooNew(StorageError):
    """A ledger written by a newer release; nothing was changed."""


class ForkedHandle(StorageError):
    """A ledger handle that was opened before a fork and used after it."""
