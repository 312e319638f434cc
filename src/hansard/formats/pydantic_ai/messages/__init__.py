"""Documents of Pydantic AI: `documents` has requests and responses, `requests` the parts of a request."""

from __future__ import annotations

from hansard.formats.pydantic_ai.messages.documents import decode_typed, read, write

__all__ = ["decode_typed", "read", "write"]
