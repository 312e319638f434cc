"""Conversations as markdown, for people."""

from __future__ import annotations

from hansard.formats.contract import Format

FORMAT = Format(
    name="markdown",
    title="Markdown (only written)",
    module=__name__,
    text=True,
    suffix="md",
    write_only=True,
)
