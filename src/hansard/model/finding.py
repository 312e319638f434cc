"""What a check found."""

from __future__ import annotations

from msgspec import Struct


class Finding(Struct, frozen=True, kw_only=True):
    """One finding: path, severity (error or warning), problem and fix.

    >>> import hansard
    >>> found = hansard.validate(hansard.Conversation(messages=[hansard.Message(role="usr", parts=[])]))
    >>> found[0].path, found[0].problem
    ('$.messages[0].role', "unknown role 'usr'")
    """

    check: str
    path: str
    severity: str
    problem: str
    fix: str
