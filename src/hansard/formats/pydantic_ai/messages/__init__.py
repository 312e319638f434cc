"""Documents of Pydantic AI: `documents` has requests and responses, `requests` the parts of a request.

May import what `pydantic_ai` may. Free to change: everything, as long as its golden files and laws pass.
"""

from __future__ import annotations

from hansard.formats.pydantic_ai.messages.documents import decode_typed, read, write

__all__ = ["decode_typed", "read", "write"]
