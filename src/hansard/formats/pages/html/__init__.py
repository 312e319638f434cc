"""Conversations as a web page, for people."""

from __future__ import annotations

from hansard.formats.contract import Format

FORMAT = Format(
    name="html",
    title="A web page in one file (only written)",
    module=__name__,
    text=True,
    suffix="html",
    write_only=True,
)
