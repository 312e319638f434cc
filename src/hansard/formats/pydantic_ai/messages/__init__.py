"""Documents and messages of Pydantic AI."""

from __future__ import annotations

from hansard.formats.pydantic_ai.messages.documents import decode_typed, read, write

__all__ = ["decode_typed", "read", "write"]
