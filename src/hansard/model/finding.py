"""What a check found."""

from __future__ import annotations

from msgspec import Struct


class Finding(Struct, frozen=True, kw_only=True):
    """One finding: path, severity (error or warning), problem and fix."""

    check: str
    path: str
    severity: str
    problem: str
    fix: str
